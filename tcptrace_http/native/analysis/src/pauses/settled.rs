//! What a receiver's delay had to do with a pause, near the sender as the time line of its data has settled it.

use super::pause::{Pause, PeerAck, ACK_DELAY_MIN_NS};
use crate::waits::Waits;

impl Pause {
    /// Near the sender ACKs tell when data came, and later ones how slow the link is that it came over: when that had
    /// carried what was sent before the pause, and how late the ACKs were that may have ended it.
    pub(super) fn is_settled_by(&mut self, waits: &Waits) {
        if !self.path.is_nearer_to_sender() {
            return;
        }
        let drained_ns = waits.response_had_drained_ns(self.data.start);
        self.drained_ns = self.drained_ns.min(drained_ns.unwrap_or(i64::MAX));
        for ending in &mut self.endings {
            ending.ack.late_ns = waits.response_ack_was_late_ns(ending.ack.time_ns);
        }
    }

    /// How long the receiver kept an ACK.
    pub(super) fn ack_delay_ns(&self, ack: &PeerAck, covers_all: bool) -> i64 {
        // What stood in the queue of a slow link came when that had drained.
        let queued_until_ns = self.queued_until_ns.filter(|_| covers_all);
        let came_ns = queued_until_ns.map_or(ack.covered_ns, |until| {
            ack.covered_ns.max(until.min(ack.time_ns))
        });
        ack.late_ns.unwrap_or_else(|| {
            ack.time_ns
                .saturating_sub(came_ns)
                .saturating_sub(self.there_ns(ack))
                .saturating_sub(self.path.receiver_rtt_ns.unwrap_or(0))
        })
    }

    /// Whether a timer of the receiver may have kept it so long.
    pub(super) fn may_be_delayed(&self, ack: &PeerAck, delay_ns: i64, covers_all: bool) -> bool {
        let newly_acked = ack.after.saturating_sub(ack.before);
        let at_once = u64::from(self.path.segment_bytes).saturating_mul(2);
        // One that counts the options in, and so waits for a third segment, shows its delay next to it, or where the
        // link is known.
        let shows_delay = !self.path.is_nearer_to_sender() || ack.late_ns.is_some();
        let is_acked_at_once =
            newly_acked > at_once || (newly_acked == at_once && !(shows_delay && self.is_short));
        delay_ns >= ACK_DELAY_MIN_NS && covers_all && !is_acked_at_once
    }
}

#[cfg(test)]
mod tests {
    use super::super::pause::tests::{acknowledged, pause_between};
    use super::super::test_path::{path, segment};
    use super::*;
    use crate::pauses::Path;

    const MS: i64 = 1_000_000;
    const START: u64 = (1 << 32) - 500;

    /// The delay of an ACK that came 150 ms after so many bytes left on a path of 100 ms, and whether a timer may have
    /// kept it; it came so much later than these let it, if that is known.
    fn delay(newly_acked: u64, late_ns: Option<i64>) -> (i64, bool) {
        let near = Path {
            receiver_rtt_ns: Some(100 * MS),
            ..path(1000, 0, 0)
        };
        let (first, second) = (
            segment(0, START, 1000),
            segment(150 * MS, START + 1000, 400),
        );
        let pause = Pause {
            is_short: true,
            ..pause_between(first, second, near)
        };
        let mut ack = acknowledged(150 * MS, 0).ack;
        (ack.before, ack.late_ns) = (ack.after - newly_acked, late_ns);
        let delay_ns = pause.ack_delay_ns(&ack, true);
        (delay_ns / MS, pause.may_be_delayed(&ack, delay_ns, true))
    }

    #[test]
    fn an_ack_that_comes_as_late_as_the_link_lets_it_was_not_delayed() {
        assert_eq!(delay(1000, None), (50, true));
        assert_eq!(delay(1000, Some(MS)), (1, false));
        assert_eq!(delay(1000, Some(30 * MS)), (30, true));
    }

    #[test]
    fn that_a_receiver_waits_for_a_third_segment_shows_where_the_link_is_known() {
        assert_eq!(delay(2000, None), (50, false));
        assert_eq!(delay(2000, Some(30 * MS)), (30, true));
        assert_eq!(delay(3000, Some(30 * MS)), (30, false));
    }
}
