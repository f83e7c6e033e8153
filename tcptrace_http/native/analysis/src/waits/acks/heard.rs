//! Which ACKs the sender of data had heard, as the timestamps tell that it echoes.

use super::{Ack, Acks};
use crate::echoes::HeardOf;

impl Acks {
    /// What the sender of the data that comes now had heard.
    pub(in crate::waits) fn are_heard(&mut self, heard: HeardOf) {
        self.heard_before = std::mem::replace(&mut self.heard, heard);
    }

    /// Until when those went by that the sender of the data before may have heard.
    pub(in crate::waits) fn heard_before_ns(&self) -> i64 {
        self.heard_before.until_ns.unwrap_or(i64::MAX)
    }

    /// Whether all ACKs that made room for data up to `end` in the receiver's window before the one that let it go may have
    /// been lost: the data before had not heard of them, and nothing left in between.
    pub(in crate::waits) fn made_no_room_surely(&self, end: i64) -> bool {
        let before = self.heard_before.until_ns.and_then(|ns| self.edge_by(ns));
        before.is_some_and(|edge| end > edge)
    }

    /// When the one went by that let the data go that comes now, if that left at once when its sender had heard it.
    pub(in crate::waits) fn let_go_ns(&self) -> Option<i64> {
        let newest = self.newest_by(i64::MAX)?;
        self.let_go_at_once(newest).then_some(newest.time_ns)
    }

    /// Whether the data that comes now left at once when its sender had heard of an ACK.
    pub(super) fn let_go_at_once(&self, ack: Ack) -> bool {
        let heard_ns = self.heard.at_once_ns;
        heard_ns.is_some_and(|heard_ns| ack.time_ns >= heard_ns)
    }

    /// How many had gone by here at `time_ns` of those that the sender of the data that comes now may have heard.
    pub(super) fn heard_by(&self, time_ns: i64) -> usize {
        let until_ns = self.heard.until_ns.unwrap_or(i64::MAX).min(time_ns);
        self.ring.partition_point(|ack| ack.time_ns <= until_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{acks, MS};
    use super::super::Released;
    use super::*;

    fn heard(until_ms: i64, at_once_ms: Option<i64>) -> HeardOf {
        HeardOf {
            until_ns: Some(until_ms * MS),
            at_once_ns: at_once_ms.map(|ms| ms * MS),
        }
    }

    #[test]
    fn what_its_sender_had_not_heard_let_no_data_go() {
        let mut acks = acks(&[(0, 1000, 9000), (60, 2000, 9000), (100, 3000, 9000)]);
        let released = |acks: &Acks| acks.released(200 * MS, 6000, 100 * MS, 0);
        assert_eq!(released(&acks), Released::ByAck);
        acks.are_heard(heard(99, None));
        assert_eq!(released(&acks), Released::ByNone);
        assert_eq!(
            (acks.acked_by(150 * MS), acks.edge_by(150 * MS)),
            (2000, Some(11_000))
        );
        assert_eq!(acks.between(0, 150 * MS).count(), 1);
        assert!(!acks.let_go_closely(200 * MS, 100 * MS));
    }

    #[test]
    fn what_left_at_once_an_ack_let_go_however_late_it_comes() {
        let mut acks = acks(&[(0, 1000, 9000), (60, 2000, 9000), (100, 3000, 9000)]);
        let released = |acks: &Acks| acks.released(400 * MS, 6000, 100 * MS, 0);
        acks.are_heard(heard(99, Some(61)));
        assert_eq!(
            (released(&acks), acks.let_go_ns()),
            (Released::ByNone, None)
        );
        acks.are_heard(heard(99, Some(60)));
        assert_eq!(released(&acks), Released::ByAck);
        assert_eq!(acks.let_go_ns(), Some(60 * MS));
    }

    #[test]
    fn an_ack_that_the_data_before_had_not_heard_may_have_been_lost() {
        let mut acks = acks(&[(0, 1000, 3000), (60, 2000, 3000), (100, 3000, 3000)]);
        acks.are_heard(heard(59, None));
        assert!(
            !acks.made_no_room_surely(4500),
            "nothing is known of the data before"
        );
        acks.are_heard(heard(150, None));
        assert!(acks.made_no_room_surely(4500));
        assert!(!acks.made_no_room_surely(4000));
    }

    #[test]
    fn an_ack_that_was_not_heard_delayed_nothing() {
        let mut acks = acks(&[(0, 1000, 9000), (250, 2000, 9000)]);
        acks.are_heard(heard(249, None));
        assert_eq!(
            acks.delay_of((50 * MS, 1000, 2000), (400 * MS, 100 * MS)),
            None
        );
    }
}
