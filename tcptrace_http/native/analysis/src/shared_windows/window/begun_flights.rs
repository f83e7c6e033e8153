//! A buffer that one connection after another fills before the first ACK of its data.
//!
//! Theory of operation. A host that keeps what connections have learnt begins each with the window that another has left (RFC
//! 2140, section 3). Once that one has used it up, its ACKs have let it grow, and the next one that is opened begins with more,
//! unless it has its window from another. All windows that are not kept begin alike (RFC 5681, section 3.1). So where one
//! connection after another begins with just as much in flight, more than a window begins with, it is no window that is full.

use super::Stopped;
use crate::used_window::WINDOW_NOW_SEGMENTS;

/// So many connections begin with just as much as the one before, though they were opened later: once it may be another's
/// window that they have.
const LATER_SURE: u32 = 2;

/// What the connections of two hosts had in flight when they began.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BegunFlights {
    /// The least that any had in flight when it stopped before a full segment: no window begins with more.
    least: Option<i64>,
    newest: Option<Begun>,
}

/// A flight that was larger than that.
#[derive(Clone, Copy, Debug)]
struct Begun {
    bytes: i64,
    /// When its connection went on.
    time_ns: i64,
    /// So many connections have begun with as much, each opened later than that of the one before.
    later: u32,
}

impl BegunFlights {
    /// A connection has stopped, and an ACK of its own lets it go on: the buffer that it has filled, if that shows.
    pub(super) fn buffer(&mut self, stopped: Stopped) -> Option<i64> {
        let (bytes, full_bytes) = (stopped.outstanding, stopped.full_bytes);
        if stopped.is_before_full {
            self.least = Some(self.least.map_or(bytes, |it| it.min(bytes)));
        }
        let (opened_ns, least) = stopped.begun_ns.zip(self.least)?;
        let initial = full_bytes.saturating_mul(WINDOW_NOW_SEGMENTS);
        if bytes <= initial || bytes < least.saturating_add(full_bytes) {
            return None;
        }
        let is_alike = |it: &Begun| it.bytes.abs_diff(bytes) < full_bytes.unsigned_abs();
        let before = self.newest.filter(is_alike);
        let later = before.map_or(0, |before| {
            before
                .later
                .saturating_add(u32::from(opened_ns > before.time_ns))
        });
        let bytes = before.map_or(bytes, |it| it.bytes.max(bytes));
        self.newest = Some(Begun {
            bytes,
            time_ns: stopped.time_ns,
            later,
        });
        (later >= LATER_SURE).then_some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: i64 = 1000;

    /// The buffer that shows when connections begin with so many segments in flight, each opened so long after the one before
    /// went on, and a first one had stopped with two.
    fn shown(flights: &[i64], opened_after_ns: i64) -> Option<i64> {
        let mut begun = BegunFlights::default();
        let mut stops = |segments: i64, time_ns: i64, begun_ns: Option<i64>| {
            begun.buffer(Stopped {
                outstanding: segments * FULL,
                full_bytes: FULL,
                client_port: 1,
                is_full: false,
                is_paced: false,
                time_ns,
                begun_ns,
                is_before_full: true,
                may_be_window: false,
            })
        };
        stops(2, 0, None);
        let times_ns = (1..).map(|at| 100 * at);
        let told = flights.iter().zip(times_ns).map(|(segments, time_ns)| {
            stops(*segments, time_ns, Some(time_ns - 100 + opened_after_ns))
        });
        told.last().flatten()
    }

    #[test]
    fn connections_that_are_opened_one_after_another_and_begin_with_as_much_have_full_buffers() {
        assert_eq!(shown(&[12, 12, 12], 1), Some(12 * FULL));
        assert_eq!(shown(&[12, 12], 1), None, "it may be another's window");
        assert_eq!(shown(&[12, 12, 13], 1), None, "it grows");
        assert_eq!(shown(&[10, 10, 10], 1), None, "as all begin");
    }

    #[test]
    fn connections_that_are_opened_side_by_side_begin_with_the_window_of_one() {
        assert_eq!(shown(&[12, 12, 12], 0), None);
    }
}
