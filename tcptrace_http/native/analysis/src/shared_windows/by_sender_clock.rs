//! What a clock of the server let go, as is seen next to it.

use trace_model::rows::ObservationPoint;
use trace_model::Segment;

use super::host_pair::HostPair;
use super::sender_clock::Leaves;
use crate::jitter::CLOSE_NS;
use crate::observation::observation_point;

impl HostPair {
    /// How long the clock of the server has gone, as is seen next to it, if it let new data go.
    pub(super) fn by_sender_clock_ns(
        &mut self,
        time_ns: i64,
        segment: &Segment<'_>,
        was_buffered: bool,
    ) -> Option<i64> {
        if !self.is_at_server() {
            return None;
        }
        let paces = self.is_shared || self.sender_clock.has_gone();
        let since_ns = self.sender_clock.leaves(Leaves {
            time_ns,
            client_port: segment.destination_port,
            end: segment.payload_seq().plus(segment.payload_bytes),
            was_heard_now: self.was_heard_now(time_ns),
            was_held: paces && was_buffered,
            round_trip_ns: self.round_trip_ns(),
        })?;
        Some(time_ns.saturating_sub(since_ns))
    }

    /// Whether something has just come from the client, as what that lets go leaves then next to the server.
    pub(super) fn was_heard_now(&self, time_ns: i64) -> bool {
        let heard_ns = self.asked.heard_ns().unwrap_or(i64::MIN);
        let is_at_client =
            observation_point(self.to_server_ns, self.to_client_ns) == ObservationPoint::Client;
        !is_at_client && time_ns.saturating_sub(heard_ns) <= CLOSE_NS
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::segment;
    use super::*;
    use trace_model::flags;

    const MS: i64 = 1_000_000;

    /// Two hosts that are 100 ms apart, at one of which a bare packet of the client went by last after a second.
    fn heard(is_at_server: bool) -> HostPair {
        let near = if is_at_server { 0 } else { 100 * MS };
        let mut pair = HostPair::with_path(near);
        pair.to_client_ns = Some(100 * MS - near);
        pair.asked.heard(1000 * MS, 0, None);
        pair
    }

    #[test]
    fn what_leaves_with_what_came_from_the_client_shows_so_unless_that_is_as_far_away_as_the_client(
    ) {
        for (is_at_server, after_us, is_now) in
            [(true, 300, true), (true, 700, false), (false, 300, false)]
        {
            let time_ns = 1000 * MS + after_us * 1000;
            assert_eq!(heard(is_at_server).was_heard_now(time_ns), is_now);
        }
    }

    #[test]
    fn a_clock_of_the_server_shows_next_to_it() {
        for is_at_server in [true, false] {
            let mut pair = heard(is_at_server);
            let mut leaves = |time_ms: i64| {
                let data = segment(flags::ACK, 0, 0, 1000);
                pair.by_sender_clock_ns(time_ms * MS, &data, false)
            };
            let told = [1100, 1120, 1140].map(&mut leaves);
            assert_eq!(told, [None, None, is_at_server.then_some(40 * MS)]);
        }
    }
}
