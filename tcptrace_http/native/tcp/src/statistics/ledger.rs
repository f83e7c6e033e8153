//! Unacknowledged segments of one direction: last send time and number of sends.
//!
//! Round trips and retransmissions derive from them.

use std::collections::VecDeque;

use crate::holes::{Hole, Holes};

/// Maximum number of unacknowledged segments: a window of 1 GiB in super-segments of 64 KiB.
///
/// Older segments are no longer measured.
const UNACKED_MAX: usize = 1 << 14;

#[derive(Clone, Copy, Debug)]
struct SentSegment {
    start: i64,
    end: i64,
    time_ns: i64,
    resent: u32,
}

/// Effect of sending a range of numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sending {
    /// Sequence numbers of first transmissions.
    pub new: u64,
    /// Retransmitted sequence numbers.
    pub again: u64,
    /// True if the range starts and ends before the highest number.
    pub is_behind: bool,
    /// Time since the first repeated segment was last sent; none if that segment is acknowledged or unknown.
    pub since_last_ns: Option<i64>,
}

/// Measurement of the segment that ends at an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sample {
    /// Segment sent once, with no later retransmission before it: its round trip and its numbers.
    RoundTrip(i64, i64),
    /// Segment sent more than once: the time since the last send.
    Ambiguous(i64),
    /// A retransmission before the segment may have delayed the ACK.
    PostLoss,
}

/// Effect of an ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckEffect {
    pub sample: Option<Sample>,
    /// Segments that end before the ACK.
    pub cumulatively: u64,
}

#[derive(Debug, Default)]
pub struct Ledger {
    /// Segments in ascending order, not overlapping.
    unacked: VecDeque<SentSegment>,
    holes: Holes,
    /// Range of all numbers seen.
    seen: Option<(i64, i64)>,
    acked: i64,
    /// Last send time of the acknowledged numbers.
    acked_sent_ns: Option<i64>,
    pub resent_max: u32,
}

impl Ledger {
    /// Return the number after the last number seen.
    #[must_use]
    pub fn next(&self) -> i64 {
        self.seen.map_or(0, |seen| seen.1)
    }

    /// Take the numbers from `start` to `end`; call `resent` per retransmitted segment with the time since
    /// its last send.
    pub fn send(
        &mut self,
        start: i64,
        end: i64,
        time_ns: i64,
        mut resent: impl FnMut(i64),
    ) -> Sending {
        let new = self.see(start, end);
        let length = u64::try_from(end.saturating_sub(start)).unwrap_or(0);
        let mut sending = Sending {
            new,
            again: length.saturating_sub(new),
            is_behind: end < self.next(),
            since_last_ns: None,
        };
        let is_next = self.unacked.back().is_none_or(|last| start >= last.end);
        if is_next && start >= self.acked {
            self.remember(self.unacked.len(), start, end, time_ns);
            return sending;
        }
        if start < self.acked && sending.again > 0 {
            self.acked_sent_ns = self.acked_sent_ns.max(Some(time_ns));
        }
        self.send_between(start.max(self.acked), end, time_ns, |elapsed| {
            sending.since_last_ns.get_or_insert(elapsed);
            resent(elapsed);
        });
        sending
    }

    /// Send unacknowledged numbers again, and the numbers between them for the first time.
    fn send_between(&mut self, start: i64, end: i64, time_ns: i64, mut resent: impl FnMut(i64)) {
        let mut from = start;
        let mut at = self.unacked.partition_point(|sent| sent.end <= start);
        while from < end {
            let Some(sent) = self.unacked.get_mut(at) else {
                break;
            };
            if from < sent.start {
                let until = end.min(sent.start);
                self.remember(at, from, until, time_ns);
                from = until;
            } else {
                resent(time_ns.saturating_sub(sent.time_ns));
                sent.time_ns = time_ns;
                sent.resent = sent.resent.saturating_add(1);
                self.resent_max = self.resent_max.max(sent.resent);
                from = sent.end;
            }
            at = at.saturating_add(1);
        }
        if from < end {
            self.remember(self.unacked.len(), from, end, time_ns);
        }
    }

    fn remember(&mut self, at: usize, start: i64, end: i64, time_ns: i64) {
        let mut at = at;
        if self.unacked.len() >= UNACKED_MAX {
            self.unacked.pop_front();
            at = at.saturating_sub(1);
        }
        self.unacked.insert(
            at,
            SentSegment {
                start,
                end,
                time_ns,
                resent: 0,
            },
        );
    }

    /// Mark the numbers from `start` to `end` as seen, and return the number of new ones.
    fn see(&mut self, start: i64, end: i64) -> u64 {
        let Some((first, next)) = self.seen else {
            self.seen = Some((start, end));
            return end.abs_diff(start);
        };
        self.seen = Some((first.min(start), next.max(end)));
        let (from, to) = if start > next {
            (next, start)
        } else {
            (end, first)
        };
        if from < to {
            self.holes.add(Hole {
                start: from,
                end: to,
                frame: None,
            });
        }
        let behind = end.saturating_sub(start.max(next)).max(0);
        let before = end.min(first).saturating_sub(start).max(0);
        behind
            .unsigned_abs()
            .saturating_add(before.unsigned_abs())
            .saturating_add(self.holes.fill(start, end))
    }

    /// Take the peer's ACK up to `ack`.
    pub fn acknowledge(&mut self, ack: i64, time_ns: i64) -> AckEffect {
        let mut acked = AckEffect::default();
        self.acked = self.acked.max(ack);
        while let Some(sent) = self.unacked.front().copied().filter(|sent| sent.end <= ack) {
            self.unacked.pop_front();
            let is_latest = self.acked_sent_ns <= Some(sent.time_ns);
            self.acked_sent_ns = self.acked_sent_ns.max(Some(sent.time_ns));
            let elapsed = time_ns.saturating_sub(sent.time_ns);
            if sent.end < ack {
                acked.cumulatively = acked.cumulatively.saturating_add(1);
            } else if !is_latest {
                acked.sample = Some(Sample::PostLoss);
            } else if sent.resent > 0 {
                acked.sample = Some(Sample::Ambiguous(elapsed));
            } else {
                let numbers = sent.end.saturating_sub(sent.start);
                acked.sample = Some(Sample::RoundTrip(elapsed, numbers));
            }
        }
        acked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(ranges: &[(i64, i64)]) -> Ledger {
        let mut ledger = Ledger::default();
        for (time, (start, end)) in (0..).zip(ranges) {
            ledger.send(*start, *end, time, |_| ());
        }
        ledger
    }

    #[test]
    fn only_the_segment_at_the_end_of_the_ack_is_sampled() {
        let mut ledger = sent(&[(1, 11), (11, 21), (21, 31)]);
        let acked = ledger.acknowledge(21, 7);
        assert_eq!(acked.sample, Some(Sample::RoundTrip(6, 10)));
        assert_eq!(acked.cumulatively, 1);
        // An ACK inside a segment acknowledges no segment; a super-segment waits for the ACK of its end.
        assert_eq!(ledger.acknowledge(25, 8), AckEffect::default());
        assert_eq!(
            ledger.acknowledge(31, 9).sample,
            Some(Sample::RoundTrip(7, 10))
        );
    }

    #[test]
    fn retransmitted_data_and_data_behind_it_give_no_round_trip() {
        let mut ledger = sent(&[(1, 11), (11, 21)]);
        let mut elapsed = Vec::new();
        let sending = ledger.send(1, 11, 50, |time| elapsed.push(time));
        assert_eq!(
            (sending.new, sending.again, sending.since_last_ns),
            (0, 10, Some(50))
        );
        assert_eq!(elapsed, [50]);
        assert_eq!(ledger.acknowledge(21, 60).sample, Some(Sample::PostLoss));
        let mut ledger = sent(&[(1, 11)]);
        ledger.send(1, 11, 50, |_| ());
        assert_eq!(
            ledger.acknowledge(11, 60).sample,
            Some(Sample::Ambiguous(10))
        );
        assert_eq!(ledger.resent_max, 1);
    }

    #[test]
    fn numbers_are_new_once_in_any_order() {
        let mut ledger = sent(&[(21, 31), (41, 51)]);
        let late = ledger.send(31, 41, 3, |_| ());
        assert_eq!((late.new, late.again, late.is_behind), (10, 0, true));
        let before = ledger.send(1, 25, 4, |_| ());
        assert_eq!((before.new, before.again), (20, 4));
        ledger.acknowledge(51, 5);
        let over = ledger.send(45, 61, 6, |_| ());
        assert_eq!((over.new, over.again, over.is_behind), (10, 6, false));
    }

    #[test]
    fn the_ledger_does_not_grow_without_acks() {
        let mut ledger = Ledger::default();
        for at in 0..(1_i64 << 15) {
            ledger.send(at * 10, at * 10 + 10, at, |_| ());
        }
        assert_eq!(ledger.unacked.len(), UNACKED_MAX);
    }
}
