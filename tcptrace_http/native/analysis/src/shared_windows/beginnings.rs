//! With which windows the connections of a pair begin: the first ACK of their data lets more go.

use super::connection::{Connection, Step};
use super::host_pair::HostPair;
use super::inherited::Candidate;
use super::threshold::OPTIONS_BYTES;
use crate::jitter::CLOSE_NS;

impl HostPair {
    /// New data of a connection comes, before which the slowest link was idle or not.
    pub(super) fn begins_with(
        &mut self,
        (time_ns, bytes): (i64, u32),
        ports: (u16, u16),
        step: Step,
        was_idle: bool,
    ) {
        self.pace_is_known();
        let way_ns = self.to_server_ns.unwrap_or(0);
        let full_bytes = self.full_bytes();
        let Some(connection) = self.connection(ports.0, ports.1) else {
            return;
        };
        let (syn_ns, is_opened_again) = (connection.syn_ns, connection.is_opened_again);
        let begun = connection.beginning.goes_on(time_ns, step.newly, way_ns);
        let (beginning, acked_ns) = (connection.beginning, connection.acked_ns);
        self.inherited.begins_with(&beginning);
        // Whose SYN was lost begins with a segment (RFC 5681, section 3.1).
        let Some(flight) = begun.filter(|_| !is_opened_again && !step.begins) else {
            return;
        };
        let after_ns = time_ns.saturating_sub(way_ns).saturating_sub(acked_ns);
        // No algorithm of Nagle holds a full segment behind what was pushed; each holds what is short behind what is
        // short, though the window has room.
        let is_full = i64::from(bytes).saturating_add(OPTIONS_BYTES) >= full_bytes;
        let may_be_held = !is_full && flight.has_short(full_bytes);
        let is_missing = step.is_hole || self.missing.has_unaccounted(syn_ns);
        if step.had_more && was_idle {
            self.inherited
                .began_with(flight, full_bytes, (is_missing, may_be_held));
        } else if step.had_more || is_full {
            self.inherited.candidate = Some(Candidate {
                flight,
                after_ns,
                bytes,
                is_missing,
                may_be_held,
            });
        }
    }

    /// What followed an ACK by as much as way and link take was let go by that. Others tell later how long the link
    /// takes, and never that it takes longer.
    fn pace_is_known(&mut self) {
        let Some(candidate) = self.inherited.candidate else {
            return;
        };
        let on_link = self.pace.on_link(candidate.bytes);
        // Two that were held each by itself tell nothing of the link.
        let Some(on_link) = on_link.filter(|it| it.takes_ns < self.round_trip_ns()) else {
            return;
        };
        let late_ns = candidate.after_ns.saturating_sub(on_link.longer_ns());
        // The round trip of a SYN has its options and framing besides.
        let close_ns = CLOSE_NS.saturating_add(on_link.bare_ns);
        if late_ns >= close_ns.saturating_neg() {
            self.inherited.candidate = None;
        }
        if late_ns.saturating_abs() <= close_ns {
            let full_bytes = self.full_bytes();
            let doubts = (candidate.is_missing, candidate.may_be_held);
            self.inherited
                .began_with(candidate.flight, full_bytes, doubts);
        }
    }

    /// The least window that each connection begins with, if each has one of its own.
    pub(super) fn initial_window_bytes(&self) -> u64 {
        let may_be_shared = self.is_shared || self.evidence > 0;
        let window = self.inherited.least_bytes();
        if may_be_shared {
            0
        } else {
            u64::try_from(window).unwrap_or(0)
        }
    }

    /// The threshold that a connection had from others before it, in bytes, if its host keeps that.
    pub(super) fn inherited_threshold(&mut self, ports: (u16, u16)) -> Option<i64> {
        let is_shown = self.inherited.is_kept() && !self.is_shared;
        let connection: Option<&mut Connection> = self.connection(ports.0, ports.1);
        connection.filter(|_| is_shown)?.beginning.threshold
    }
}

#[cfg(test)]
mod tests {
    use super::super::inherited::Begun;
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn what_follows_an_ack_by_way_and_link_was_let_go_by_that() {
        for (after_ms, is_known) in [(10, true), (60, false)] {
            let mut pair = HostPair::with_path(100 * MS);
            let flight = Begun {
                bytes: 170,
                packets: 1,
            };
            pair.inherited.candidate = Some(Candidate {
                flight,
                after_ns: after_ms * MS,
                bytes: 1000,
                is_missing: false,
                may_be_held: false,
            });
            pair.pace.follows(300 * MS, 1000);
            pair.pace_is_known();
            assert_eq!(pair.inherited.first, None, "the link's pace is not known");
            pair.pace.follows(10 * MS, 1000);
            pair.pace_is_known();
            assert_eq!(pair.inherited.first.is_some(), is_known);
        }
    }
}
