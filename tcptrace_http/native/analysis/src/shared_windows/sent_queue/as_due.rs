//! Which ACKs of full segments came when they were due, as tells when their receiver sends them.
//!
//! Theory of operation. Of a link that is known it is known when each ACK is due. Where only bounds of it are, an ACK that
//! comes when the path alone lets it was prompt; and one is late that comes later than what was on its way takes at the
//! most. An ACK that brings data went when its sender had that.

use super::{Heard, OnItsWay, SentQueue};
use crate::byte_time::{takes_ns, HEADER_BYTES};
use crate::jitter::{acks_late_max_ns, known_link_varies_ns};
use crate::shared_windows::way::Way;

impl SentQueue {
    /// A packet without payload leaves, which the link carries as well: what is sent behind it is due later.
    pub(in crate::shared_windows) fn sends_bare(&mut self, time_ns: i64, way: Way) {
        let Some(byte_time) = self.link.byte_time() else {
            return;
        };
        let alone_ns = time_ns.saturating_add(way.bare_ns(self.link.byte_ps()));
        let behind_ns = self.due_ns.saturating_add(byte_time.takes_ns(0, 1));
        self.due_ns = alone_ns.max(behind_ns);
    }

    /// An ACK came that was due at another time, as far as that is known.
    pub(super) fn was_due(&mut self, time_ns: i64, newest: OnItsWay) {
        if let Some(due_ns) = newest.due_ns {
            self.late_ns = time_ns.saturating_sub(due_ns);
            // What is due so much too late was lost before the link, or takes less there.
            self.due_ns = self.due_ns.saturating_add(self.late_ns.min(0));
        }
    }

    /// A bare ACK of so much that was new came at a time, and another one before it.
    pub(super) fn tells_receiver(
        &mut self,
        (time_ns, before_ns): (i64, i64),
        newest: OnItsWay,
        heard: Heard,
        way: Way,
    ) {
        let full_bytes = self.link.full_bytes();
        let link_ns = takes_ns(self.link.byte_ps().unwrap_or(0), full_bytes);
        let most_ns = acks_late_max_ns(way.elapsed_ns, known_link_varies_ns(link_ns));
        let full = heard.full_segments(full_bytes);
        if let Some(due_ns) = newest.due_ns {
            let late_ns = time_ns.saturating_sub(due_ns);
            return self.receiver.acks(full, late_ns, most_ns);
        }
        let alone_ns = newest.left_ns.saturating_add(way.elapsed_ns);
        let late_ns = time_ns.saturating_sub(alone_ns);
        if late_ns <= most_ns {
            return self.receiver.acks(full, late_ns, most_ns);
        }
        let Some(bound_ps) = self.link.bound_ps() else {
            return;
        };
        let on_its_way = self.in_flight.saturating_add(heard.newly);
        let segments = on_its_way.checked_div(full_bytes).unwrap_or(0);
        let headers = segments
            .saturating_add(heard.segments)
            .saturating_mul(HEADER_BYTES);
        let takes_ns = takes_ns(bound_ps, on_its_way.saturating_add(headers));
        let latest_ns = alone_ns.max(before_ns).saturating_add(takes_ns);
        let late_ns = time_ns.saturating_sub(latest_ns);
        if late_ns > most_ns {
            self.receiver.acks(full, late_ns, most_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{number, BYTES, MS, PORTS, WAY};
    use super::*;
    use trace_model::SeqNumber;

    /// Whether the receiver waits for three segments, as far as its ACK of three tells, which a fast link brings at once,
    /// and one of two that comes so long after these have left, and with so many bytes.
    fn waits_for_three(acked_after_ms: i64, bytes: u32) -> bool {
        waits_for_three_with(acked_after_ms, bytes, None)
    }

    /// ... where one of the two was sent again so long after it had left.
    fn waits_for_three_with(acked_after_ms: i64, bytes: u32, again_ms: Option<i64>) -> bool {
        queue_with(acked_after_ms, bytes, again_ms)
            .receiver()
            .waits_for_three()
    }

    fn queue_with(acked_after_ms: i64, bytes: u32, again_ms: Option<i64>) -> SentQueue {
        let mut queue = SentQueue::default();
        queue.opens(PORTS, number(0));
        for segment in 0..3 {
            queue.sends(0, PORTS, (number(segment), BYTES), WAY);
        }
        queue.hears(20 * MS + 500_000, PORTS, (number(3), 0), WAY, None);
        assert_eq!(queue.byte_ps(), None);
        for segment in 3..5 {
            queue.sends(100 * MS, PORTS, (number(segment), BYTES), WAY);
        }
        if let Some(again_ms) = again_ms {
            queue.sends((100 + again_ms) * MS, PORTS, (number(3), BYTES), WAY);
        }
        let acked_ns = (100 + acked_after_ms) * MS;
        queue.hears(acked_ns, PORTS, (number(5), bytes), WAY, None);
        queue
    }

    #[test]
    fn an_ack_is_late_that_comes_later_than_what_bounds_the_link_lets_it() {
        assert!(waits_for_three(200, 0));
        assert!(!waits_for_three(21, 0));
    }

    #[test]
    fn two_full_segments_that_are_acknowledged_with_a_short_one_are_three() {
        let waits_still = |rest: u32| {
            let mut queue = queue_with(200, 0, None);
            for segment in 5..7 {
                queue.sends(400 * MS, PORTS, (number(segment), BYTES), WAY);
            }
            queue.sends(400 * MS, PORTS, (number(7), rest), WAY);
            let all = SeqNumber(number(7).0 + rest);
            queue.hears(421 * MS, PORTS, (all, 0), WAY, None);
            queue.receiver().waits_for_three()
        };
        assert!(waits_still(600));
        assert!(!waits_still(0));
    }

    #[test]
    fn an_ack_that_brings_data_tells_of_its_sender_and_of_no_timer() {
        assert!(!waits_for_three(200, 100));
    }

    #[test]
    fn an_ack_of_what_was_sent_again_was_late_for_its_loss() {
        assert!(!waits_for_three_with(200, 0, Some(180)));
    }
}
