//! ACKs wait for what later ones tell, near the sender.
//!
//! Theory of operation. The slowest link carries data in order, each segment behind the one before. So what an ACK of
//! later data tells bounds when all before had come: that much sooner as the link takes for what is between. An ACK that
//! a timer had delayed looks like one of a slow link until then, and a link is known the better the more ACKs have come.
//! Nothing is asked of the time line until a transaction is over.

use super::super::partition::Moment;
use super::{Route, Timeline};

/// As many ACKs wait at most: what a delay of the first has cost shows within a few round trips.
const WAITING_ACKS_MAX: usize = 16;

/// An ACK of data, and what it brought of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitingAck {
    pub(super) at: Moment,
    pub(super) acked: i64,
    bytes: u32,
}

impl Timeline {
    /// An ACK of data came, of which later ones may tell more.
    pub(super) fn ack_waits(&mut self, (at, acked): (Moment, i64), route: Route) {
        if self.waiting_acks.len() >= WAITING_ACKS_MAX {
            self.settle_waiting(route);
        }
        self.waiting_acks.push_back(WaitingAck {
            at,
            acked,
            bytes: 0,
        });
    }

    /// The newest ACK brought so much of a request.
    pub(in crate::waits) fn ack_came_with(&mut self, time_ns: i64, bytes: u32) {
        let newest = self.waiting_acks.back_mut();
        if let Some(ack) = newest.filter(|ack| ack.at.time_ns == time_ns && ack.bytes == 0) {
            ack.bytes = bytes;
        }
    }

    /// When a bare ACK would have come instead: the link is taken to be as slow in that direction.
    pub(super) fn bare_ns(&self, ack: WaitingAck) -> i64 {
        let takes_ns = self.link.if_agreed().of(ack.bytes, 0);
        ack.at.time_ns.saturating_sub(takes_ns)
    }

    /// What the ACKs tell that have waited.
    pub(in crate::waits) fn settle_waiting(&mut self, route: Route) {
        let mut latest = self.latest_by_later_acks();
        while let Some(ack) = self.waiting_acks.pop_front() {
            self.settle_by_ack(ack, &mut latest, route);
        }
    }

    /// When each segment came at the latest, the newest first, by the ACKs of what was sent behind it, if the link is
    /// known. What was sent again came out of order.
    fn latest_by_later_acks(&self) -> Vec<i64> {
        let mut acks = self.waiting_acks.iter().rev().peekable();
        let Some(WaitingAck { acked, .. }) = acks.peek().filter(|_| self.link.has_agreed()) else {
            return Vec::new();
        };
        let covered = self.pending.partition_point(|sent| sent.end <= *acked);
        let mut latest_ns = i64::MAX;
        let latest = self.pending.range(..covered).rev().map(|sent| {
            while let Some(ack) = acks.next_if(|ack| ack.acked >= sent.end) {
                latest_ns = latest_ns.min(self.bare_ns(*ack));
            }
            if sent.stall.is_some() {
                latest_ns = i64::MAX;
                return latest_ns;
            }
            let came_ns = latest_ns;
            let takes_ns = self.link.of(sent.bytes, sent.segments);
            latest_ns = latest_ns.saturating_sub(takes_ns);
            came_ns
        });
        latest.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::acks::Acks;
    use super::super::{Data, Words};
    use super::*;
    use crate::byte_time::ByteTime;

    const MS: i64 = 1_000_000;

    /// When the second of five segments was there, which left at once on a path of 20 ms whose link takes 105.4 ms for
    /// each, by ACKs of one of them each.
    fn second_came_ms(acks_ms: &[i64]) -> Option<i64> {
        second_came_with_ms(0, acks_ms)
    }

    /// ... which bring so much of a request each.
    fn second_came_with_ms(bytes: u32, acks_ms: &[i64]) -> Option<i64> {
        let route = Route {
            byte_time: Some(ByteTime::with_frames(100_000_000)),
            ..Route::at_sender(20)
        };
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        timeline.shook_hands(20 * MS, 0, route);
        for segment in 1..=5 {
            let data = Data::at_ms(0, 1 + 1000 * segment);
            timeline.new_data(data, None, route, &Acks::default());
        }
        timeline.opens(1, None);
        timeline.closes(1, 2001);
        for (segments, time_ms) in (1..).zip(acks_ms) {
            let at = Moment::at_ms(*time_ms);
            timeline.acknowledged(at, 1 + 1000 * segments, route);
            timeline.ack_came_with(at.time_ns, bytes);
        }
        timeline.settle_waiting(route);
        let last = timeline.take_extent(1)?.last?;
        Some(last.time_ns / MS)
    }

    #[test]
    fn the_ack_of_later_data_tells_that_what_left_before_had_come_sooner_than_its_own_late_acks_have_it(
    ) {
        assert_eq!(second_came_ms(&[127, 430]), Some(232));
        assert_eq!(second_came_ms(&[127, 430, 535, 640, 541]), Some(224));
        assert_eq!(second_came_ms(&[120, 225, 331, 436, 541]), Some(225));
    }

    #[test]
    fn an_ack_that_brings_a_request_comes_as_much_later_as_that_takes() {
        assert_eq!(second_came_with_ms(200, &[140, 245]), Some(225));
        assert_eq!(second_came_with_ms(0, &[120, 226]), Some(226));
    }
}
