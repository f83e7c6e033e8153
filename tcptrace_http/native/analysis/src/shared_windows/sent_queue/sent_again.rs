//! What was sent again, and stands in the queue behind all that was sent before it.
//!
//! Theory of operation. Of what was lost before the slowest link nothing stands in its queue: the ACK of a copy comes
//! sooner than it is due behind all that was sent, by what that link would have taken for those.

use trace_model::SeqNumber;

use super::{Heard, OnItsWay, SentQueue, Side};

impl SentQueue {
    /// An ACK came that covers something that was sent again last of all, and what had come behind that. If it is nearer to
    /// when the copy is due than what was sent first, the copy has brought it: all that stood in the queue before has left.
    pub(super) fn copy_was_due(&mut self, time_ns: i64, heard: Heard) {
        let fills_hole = |it: &OnItsWay| heard.newest.is_some_and(|newest| newest.end != it.end);
        let copy = heard
            .latest
            .filter(|it| it.was_sent_again && fills_hole(it));
        let due = copy.and_then(|it| it.due_ns.zip(it.due_again_ns));
        let Some((due_ns, due_again_ns)) = due else {
            return;
        };
        let early_ns = due_again_ns.saturating_sub(time_ns).max(0);
        if early_ns < time_ns.saturating_sub(due_ns) {
            let left_ns = early_ns.min(self.copies_ns);
            self.copies_ns = self.copies_ns.saturating_sub(left_ns);
            self.due_ns = self.due_ns.saturating_sub(left_ns);
        }
    }
}

impl Side {
    /// What lies there is sent again.
    pub(super) fn leaves_again(
        &mut self,
        (time_ns, due_ns): (i64, Option<i64>),
        (start, end): (SeqNumber, SeqNumber),
        order: u64,
    ) {
        for sent in &mut self.on_its_way {
            if sent.end.is_after(start) && !sent.end.is_after(end) {
                sent.order = order;
                sent.was_sent_again = true;
                sent.left_again_ns = time_ns;
                sent.due_again_ns = due_ns;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{number, of_known_link, BYTES, MS, PORTS, WAY};

    /// On a link that takes 11 ms for a segment five leave after a second, of which the first is sent again 45 ms later, and
    /// four more behind it. All five are acknowledged then: when the ACK of another segment is due that leaves after it.
    fn due_after(acked_ms: i64) -> Option<i64> {
        let mut queue = of_known_link();
        for segment in 5..10 {
            queue.sends(1000 * MS, PORTS, (number(segment), BYTES), WAY);
        }
        queue.sends(1045 * MS, PORTS, (number(5), BYTES), WAY);
        for segment in 10..14 {
            queue.sends(1045 * MS, PORTS, (number(segment), BYTES), WAY);
        }
        queue.hears(acked_ms * MS, PORTS, (number(10), 0), WAY, None);
        let due_ns = queue.sends(1077 * MS, PORTS, (number(14), BYTES), WAY);
        due_ns.map(|ns| ns / MS)
    }

    #[test]
    fn of_what_was_lost_before_the_link_nothing_stands_in_its_queue() {
        let behind_all = due_after(1086);
        assert_eq!(due_after(1076), behind_all.map(|ms| ms - 9));
    }
}
