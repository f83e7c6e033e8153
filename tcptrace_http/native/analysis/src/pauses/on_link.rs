//! What the segments around a pause took on the slowest link, be that before the observation point or behind it.

use super::pause::{OpenPause, Pause, PeerAck, EQUALLY_NEAR_NS};
use super::{PauseTracker, RELEASE_MAX_NS};

/// Two segments further apart than this were not sent back to back: a full one takes this long at
/// 6 Mbit/s.
const SPACING_MAX_NS: i64 = 2_000_000;
/// ... nor if it is more than this part of the pause that follows.
const SPACING_SHARE: i64 = 10;
/// So many segments may be lost of a flight of which the rest shows that they had their time on the link.
const LOST_MAX: i64 = 3;
/// A TCP header has no more options (RFC 9293, section 3.1), and a SYN and its answer had theirs both, which took their
/// time on the link: an ACK without any, and what it let go, come sooner than the round trip that these show.
const OPTIONS_MAX: i64 = 2 * 40;
/// ... which were no larger share of what the two took than this, where the link is not known.
const OPTIONS_PERCENT_MAX: i64 = 30;
/// By so much, or such a share, the least round trip that was seen is above the least there is.
const LEAST_ABOVE_NS: i64 = 2_000_000;
const LEAST_ABOVE_SHARE: i64 = 20;

impl Pause {
    /// Whether it came sooner than an ACK lets data go that is `since_ns` before it but for the path.
    pub(super) fn came_before_its_ack(&self, since_ns: i64, takes_ns: i64) -> bool {
        let path_ns = self.path.sender_rtt_ns.unwrap_or(0);
        let path_ns = path_ns.saturating_add(self.path.receiver_rtt_ns.unwrap_or(0));
        let takes_ns = takes_ns.max(self.path.takes_ns).max(self.bound_ns);
        let options_ns = if takes_ns > 0 {
            took_ns(OPTIONS_MAX, (takes_ns, self.data.bytes))
        } else {
            path_ns.saturating_mul(OPTIONS_PERCENT_MAX) / 100
        };
        let early_max_ns = options_ns
            .clamp(LEAST_ABOVE_NS, RELEASE_MAX_NS)
            .max(path_ns / LEAST_ABOVE_SHARE);
        since_ns < early_max_ns.saturating_neg()
    }

    /// How long after the segment before it would have come, had nothing held it: at the pace of those before, or as soon
    /// as the link had carried it.
    pub(super) fn would_come_after_ns(&self, takes_ns: i64, may_be_delayed: bool) -> i64 {
        let path = &self.path;
        let gap = self.data.time_ns.saturating_sub(self.previous.time_ns);
        let is_pace = self.spacing_ns <= SPACING_MAX_NS.min(gap / SPACING_SHARE);
        // What came without taking its time on the link shows that this is faster than its bound.
        let bound_ns = if takes_ns > 0 { self.bound_ns } else { 0 };
        let (service_ns, known_ns) = if path.is_nearer_to_sender() {
            (0, 0)
        } else {
            // That it seems to have come so behind a delayed ACK puts in doubt what is known of the link; ordinary ones
            // come all the time.
            let known_ns = if may_be_delayed { 0 } else { path.takes_ns };
            (path.service_ns.max(bound_ns), known_ns)
        };
        let takes_ns = takes_ns.max(known_ns).max(service_ns);
        let spacing = if is_pace { self.spacing_ns } else { 0 }.max(takes_ns);
        // With what was lost before it the link may have had all that time to do.
        let with_lost = spacing.saturating_add(self.lost_ns(takes_ns));
        if with_lost >= gap.saturating_sub(EQUALLY_NEAR_NS) {
            gap
        } else {
            spacing
        }
    }

    /// How long it may have stood behind what was lost right before it, which may have taken its time on the link.
    pub(super) fn lost_ns(&self, takes_ns: i64) -> i64 {
        let missing = self.data.start.saturating_sub(self.previous.end);
        let most = i64::from(self.path.segment_bytes).saturating_mul(LOST_MAX);
        let missing = i64::try_from(missing).unwrap_or(i64::MAX).min(most);
        takes_ns
            .saturating_mul(missing)
            .checked_div(i64::from(self.data.bytes))
            .unwrap_or(0)
    }

    /// What the segment before took on the link to its receiver, and what the ACK brought took on the way back, where
    /// it may have stood in a queue.
    pub(super) fn there_ns(&self, ack: &PeerAck) -> i64 {
        let full = (self.path.there_ns, self.path.segment_bytes);
        took_ns(self.bytes_there(ack), full).saturating_add(ack.stood_ns)
    }

    /// What went to the receiver, and came back with its ACK.
    pub(super) fn bytes_there(&self, ack: &PeerAck) -> i64 {
        i64::from(self.previous.bytes).saturating_add(i64::from(ack.bytes))
    }
}

impl OpenPause {
    /// It shows only now what the link to the receiver takes for a full segment.
    fn link_is(&mut self, full: (i64, u32)) {
        let bytes = std::mem::take(&mut self.bytes_there);
        let ack_delay = self.row.ack_delay;
        self.row.ack_delay = ack_delay.saturating_sub(took_ns(bytes, full));
    }
}

impl PauseTracker {
    /// What the link to the receiver takes for a full segment shows in what came back over it.
    pub fn link_there_is(&mut self, full: (i64, u32)) {
        if full.0 > 0 {
            for pause in &mut self.open {
                pause.link_is(full);
            }
        }
    }
}

/// What so many bytes take, if a full segment takes this and has so many.
fn took_ns(bytes: i64, (takes_ns, full_bytes): (i64, u32)) -> i64 {
    let takes_ns = takes_ns.saturating_mul(bytes);
    takes_ns.checked_div(full_bytes.into()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::pause::tests::{acknowledged, pause_between};
    use super::super::test_path::{path, segment};
    use crate::pauses::Path;

    const MS: i64 = 1_000_000;
    const START: u64 = (1 << 32) - 500;

    /// How long after a full segment 400 bytes would have come that came 12 ms after it, near the receiver or the sender,
    /// as if they took no time on a link that is known to take 11 for them.
    fn would_come_after_ms(sender_rtt_ms: i64, may_be_delayed: bool) -> i64 {
        let known = Path {
            receiver_rtt_ns: Some(5 * MS),
            ..path(1000, sender_rtt_ms * MS, 11 * MS)
        };
        let (first, second) = (segment(0, START, 1000), segment(12 * MS, START + 1000, 400));
        let pause = pause_between(first, second, known);
        pause.would_come_after_ns(0, may_be_delayed) / MS
    }

    #[test]
    fn what_came_no_later_than_a_known_link_lets_it_waited_for_no_ack_that_was_not_delayed() {
        assert_eq!(would_come_after_ms(10, false), 12);
        assert_eq!(would_come_after_ms(10, true), 0);
        assert_eq!(would_come_after_ms(0, false), 0, "the link is behind it");
    }

    #[test]
    fn what_a_full_segment_and_its_ack_took_on_the_link_is_no_delay_of_the_ack() {
        let near = Path {
            there_ns: 8 * MS,
            ..path(1000, 0, 0)
        };
        let (first, second) = (segment(0, START, 1000), segment(60 * MS, START + 1000, 400));
        let pause = pause_between(first, second, near);
        let mut ack = acknowledged(60 * MS, 0).ack;
        assert_eq!(pause.there_ns(&ack), 8 * MS);
        ack.bytes = 500;
        assert_eq!(pause.there_ns(&ack), 12 * MS);
        ack.stood_ns = 30 * MS;
        assert_eq!(pause.there_ns(&ack), 42 * MS);
    }
    /// The delay in ms of an ACK that came 80 ms after its full segment left, if this is found out later of the link.
    fn delay_ms(known_ns: i64, found_ns: i64) -> Option<i64> {
        let near = Path {
            there_ns: known_ns,
            ..path(1000, 0, 0)
        };
        let (first, second) = (
            segment(0, START, 1000),
            segment(80 * MS, START + 1000, 1000),
        );
        let ending = std::iter::once(acknowledged(80 * MS, 0));
        let mut open = pause_between(first, second, near).ended_by(ending, 0)?;
        open.link_is((found_ns, 1000));
        open.link_is((found_ns, 1000));
        Some(open.row.ack_delay / MS)
    }

    #[test]
    fn how_slow_the_link_is_that_an_ack_came_over_may_show_only_later() {
        assert_eq!(delay_ms(0, 0), Some(80));
        assert_eq!(delay_ms(0, 70 * MS), Some(10));
        assert_eq!(delay_ms(60 * MS, 70 * MS), Some(20), "it was known");
    }
}
