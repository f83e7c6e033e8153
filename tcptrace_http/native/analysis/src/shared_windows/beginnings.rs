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
        if !connection.beginning.has_begun() {
            self.learns(ports);
            self.take_parts(ports);
        }
        let Some(connection) = self.connection(ports.0, ports.1) else {
            return;
        };
        let (syn_ns, is_opened_again) = (connection.syn_ns, connection.is_opened_again);
        let begun = connection.beginning.goes_on(time_ns, step.newly, way_ns);
        let (beginning, acked_ns) = (connection.beginning, connection.acked_ns);
        self.inherited.begins_with(&beginning, full_bytes);
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

    /// A clock let data of a connection go: before an ACK can have done that its host paces a window that it knows from
    /// connections before (Visweswaraiah and Heidemann 1997; Eggert 1999, section 3.1).
    pub(super) fn begins_paced(&mut self, ports: (u16, u16)) {
        let has_others = self.connections.len() > 1;
        self.inherited.begin_paced |= has_others && self.is_before_acks(ports);
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

    /// A connection begins: with the mean of the thresholds of those that are open (RFC 2140, section 4), of which one
    /// without has the greatest there is, or else with that of the one that was over last (section 3).
    fn learns(&mut self, ports: (u16, u16)) {
        let is_other = |it: &&Connection| (it.client_port, it.server_port) != ports;
        let others = || self.connections.iter().filter(is_other);
        let is_open = |it: &&Connection| it.acked.is_some() && it.ended.is_none();
        let open = others().filter(is_open);
        let count = i64::try_from(open.clone().count()).unwrap_or(0);
        let sum: Option<i64> = open.map(Connection::learnt).sum();
        let over = others().filter(|it| it.over_ns.is_some());
        let last = over.max_by_key(|it| it.over_ns);
        let threshold = match count {
            0 => last.and_then(Connection::learnt),
            _ => sum.and_then(|sum| sum.checked_div(count)),
        };
        if let Some(connection) = self.connection(ports.0, ports.1) {
            connection.beginning.threshold = threshold;
        }
    }

    /// The threshold that a connection had from others, in bytes, if its host keeps or divides that.
    pub(super) fn inherited_threshold(&mut self, ports: (u16, u16)) -> Option<i64> {
        let (is_kept, are_divided) = (self.inherited.is_kept(), self.are_divided);
        let is_shown = (is_kept || are_divided) && !self.is_shared;
        let connection: Option<&mut Connection> = self.connection(ports.0, ports.1);
        let connection = connection.filter(|_| is_shown)?;
        // Who is not known to divide what connections learn may do so.
        let one_by_one = connection.beginning.threshold.filter(|_| !are_divided);
        one_by_one.or(connection.part.threshold)
    }
}

#[cfg(test)]
mod tests {
    use super::super::inherited::Begun;
    use super::*;
    use trace_model::SeqNumber;

    const MS: i64 = 1_000_000;

    /// The threshold that a connection begins with beside others: where slow start of each ends, and when it was over.
    fn begins_beside(others: &[(Option<i64>, Option<i64>)]) -> Option<i64> {
        let mut pair = HostPair::with_path(100 * MS);
        let ports = others.len() as u16 + 1;
        for port in 1..=ports {
            let first = SeqNumber(u32::MAX - 100);
            let mut connection = Connection::new(0, (port, 80), first, false);
            connection.acked = Some(first);
            if let Some((threshold, over_ns)) = others.get(usize::from(port) - 1) {
                connection.own_threshold = *threshold;
                connection.over_ns = *over_ns;
                connection.ended = over_ns.map(|_| first.plus(5000));
            }
            pair.connections.push_back(connection);
        }
        pair.learns((ports, 80));
        pair.connection(ports, 80).unwrap().beginning.threshold
    }

    #[test]
    fn a_connection_begins_with_the_mean_of_the_open_ones_thresholds_if_each_has_one() {
        let open = |threshold| (threshold, None);
        assert_eq!(begins_beside(&[]), None);
        let both = [open(Some(4000)), open(Some(8000))];
        assert_eq!(begins_beside(&both), Some(6000));
        assert_eq!(begins_beside(&[open(Some(4000)), open(None)]), None);
        assert_eq!(begins_beside(&[open(None), (Some(4000), Some(9))]), None);
    }

    #[test]
    fn a_connection_that_is_alone_begins_with_the_threshold_of_the_one_that_was_over_last() {
        let over = |threshold, ms: i64| (threshold, Some(ms * MS));
        let with = [over(Some(4000), 20), over(None, 10)];
        assert_eq!(begins_beside(&with), Some(4000));
        let without = [over(Some(4000), 20), over(None, 30)];
        assert_eq!(begins_beside(&without), None);
    }

    #[test]
    fn who_divides_a_window_has_its_part_of_the_threshold_and_who_may_do_so_where_nothing_else_is_known(
    ) {
        let first = SeqNumber(u32::MAX - 100);
        let (one_by_one, part) = (Some(8000), Some(3000));
        for (are_divided, is_kept, beginning, threshold) in [
            (false, false, one_by_one, None),
            (false, true, one_by_one, one_by_one),
            (false, true, None, part),
            (true, false, one_by_one, part),
        ] {
            let mut pair = HostPair::with_path(100 * MS);
            let mut connection = Connection::new(0, (1, 80), first, false);
            connection.beginning.threshold = beginning;
            connection.part.threshold = part;
            pair.connections.push_back(connection);
            (pair.are_divided, pair.inherited.is_shown) = (are_divided, is_kept);
            assert_eq!(pair.inherited_threshold((1, 80)), threshold);
        }
    }

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
