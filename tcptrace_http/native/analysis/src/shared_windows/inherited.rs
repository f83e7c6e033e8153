//! Whether connections begin with what others before them had learnt of the path.
//!
//! Theory of operation. A host that knows nothing of a path begins each connection with the same window (RFC 5681,
//! section 3.1). One that keeps what connections have learnt (RFC 2140, section 3) begins with the window that another
//! left, and with its threshold. So where what a connection had in flight when it stopped for the first ACK of data is
//! not what others had, by a segment at least, the host keeps that; once something was lost there is a threshold as
//! well, and who is not below it begins in congestion avoidance.

use super::connection::{Connection, Step};
use super::host_pair::HostPair;
use crate::jitter::CLOSE_NS;

/// What a connection sends until the first ACK of its data lets more go.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Beginning {
    flight: Begun,
    is_over: bool,
    /// When the client acknowledged data first.
    acked_ns: Option<i64>,
    /// The threshold of connections before, when it was opened.
    threshold: Option<i64>,
}

/// A flight, by what it may be that a window counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Begun {
    bytes: i64,
    packets: i64,
}

/// With which windows connections of a pair have begun.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Inherited {
    first: Option<Begun>,
    is_shown: bool,
}

impl Beginning {
    pub(super) fn with(threshold: Option<i64>) -> Self {
        Beginning {
            threshold,
            ..Beginning::default()
        }
    }

    pub(super) fn is_acked(&mut self, time_ns: i64) {
        self.acked_ns.get_or_insert(time_ns);
    }

    /// New data comes that may have been let go by an ACK as long before: what had come before that, if it is the first.
    fn goes_on(&mut self, time_ns: i64, newly: i64, way_ns: i64) -> Option<Begun> {
        let left_ns = time_ns.saturating_sub(way_ns).saturating_add(CLOSE_NS);
        if self.acked_ns.is_some_and(|acked_ns| acked_ns <= left_ns) {
            return (!std::mem::replace(&mut self.is_over, true)).then_some(self.flight);
        }
        self.flight.bytes = self.flight.bytes.saturating_add(newly);
        self.flight.packets = self.flight.packets.saturating_add(1);
        None
    }
}

impl Inherited {
    /// A connection stopped with so much in flight, of which so much fills a segment.
    fn began_with(&mut self, flight: Begun, full_bytes: i64) {
        let segments = |it: Begun| {
            (it.bytes.saturating_add(full_bytes).saturating_sub(1)).checked_div(full_bytes)
        };
        let first = *self.first.get_or_insert(flight);
        let is_more =
            |it: Begun, than: Begun| it.packets > than.packets && segments(it) > segments(than);
        self.is_shown |= is_more(flight, first) || is_more(first, flight);
    }
}

impl HostPair {
    /// New data of a connection comes, before which the slowest link was idle or not.
    pub(super) fn begins_with(
        &mut self,
        time_ns: i64,
        ports: (u16, u16),
        step: Step,
        was_idle: bool,
    ) {
        let way_ns = self.to_server_ns.unwrap_or(0);
        let full_bytes = i64::from(self.pace.largest_bytes);
        let Some(connection) = self.connection(ports.0, ports.1) else {
            return;
        };
        let is_opened_again = connection.is_opened_again;
        let begun = connection.beginning.goes_on(time_ns, step.newly, way_ns);
        // Whose SYN was lost begins with a segment (RFC 5681, section 3.1).
        let was_held = step.had_more && !step.begins && was_idle && !is_opened_again;
        if let Some(flight) = begun.filter(|_| was_held && !step.is_hole) {
            self.inherited.began_with(flight, full_bytes);
        }
    }

    /// The threshold that a connection had from others before it, in bytes, if its host keeps that.
    pub(super) fn inherited_threshold(&mut self, ports: (u16, u16)) -> Option<i64> {
        let is_shown = self.inherited.is_shown && !self.is_shared;
        let connection: Option<&mut Connection> = self.connection(ports.0, ports.1);
        connection.filter(|_| is_shown)?.beginning.threshold
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// What is known when connections have begun with so many bytes, each in so many packets.
    fn shows(flights: &[(i64, i64)]) -> bool {
        let mut inherited = Inherited::default();
        for (bytes, packets) in flights.iter().copied() {
            inherited.began_with(Begun { bytes, packets }, 1000);
        }
        inherited.is_shown
    }

    #[test]
    fn connections_that_begin_with_other_windows_than_those_before_have_them_from_these() {
        assert!(!shows(&[(2000, 2), (2000, 2)]));
        assert!(shows(&[(2000, 2), (4000, 4)]));
        assert!(shows(&[(4000, 4), (2000, 2)]));
    }

    #[test]
    fn what_does_not_fill_a_segment_or_a_packet_more_is_the_same_window() {
        assert!(!shows(&[(1700, 2), (2000, 2)]), "whole segments");
        assert!(!shows(&[(1700, 2), (2000, 3)]), "bytes are counted");
        assert!(!shows(&[(2000, 3), (3000, 3)]), "packets are counted");
    }

    #[test]
    fn a_connection_begins_with_what_comes_before_the_first_ack_can_have_let_more_go() {
        let mut beginning = Beginning::with(None);
        assert_eq!(beginning.goes_on(100 * MS, 1000, 50 * MS), None);
        beginning.is_acked(100 * MS);
        assert_eq!(beginning.goes_on(110 * MS, 700, 50 * MS), None);
        let flight = Begun {
            bytes: 1700,
            packets: 2,
        };
        assert_eq!(beginning.goes_on(150 * MS, 1000, 50 * MS), Some(flight));
        assert_eq!(beginning.goes_on(250 * MS, 1000, 50 * MS), None);
    }
}
