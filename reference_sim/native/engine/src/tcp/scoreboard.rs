//! The sender's record of sent segments and their state: sacked, lost or in flight (RFC 6675; the "segments"
//! of RFC 8985, section 5.2).

use std::collections::VecDeque;

use crate::stack::Nanoseconds;
use crate::tcp::delivery_rate::Snapshot;

/// A range of the stream sent as one segment. A FIN counts as one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    pub start: u64,
    pub end: u64,
    /// Time of the last transmission.
    pub sent: Nanoseconds,
    /// Number of that transmission on the connection. Two transmissions can share one clock time.
    pub order: u64,
    pub transmissions: u32,
    pub fate: Fate,
    /// State of delivery at the last transmission.
    pub snapshot: Snapshot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    InFlight,
    Sacked,
    /// Marked lost, and not retransmitted yet.
    Lost,
}

impl Sent {
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.end - self.start
    }

    #[must_use]
    pub fn is_retransmitted(&self) -> bool {
        self.transmissions > 1
    }
}

/// The new information of an ACK.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delivered {
    /// Bytes that the cumulative acknowledgment covered, sacked before or not.
    pub acked: u64,
    /// Weight of the data newly known to be delivered, by either kind of acknowledgment (`DeliveredData` of
    /// RFC 6937).
    pub weight: u64,
    /// The newly delivered segments, in stream order.
    pub segments: Vec<Sent>,
}

/// The segments from the first unacknowledged byte to the last sent one. Sums are weights: bytes, or the
/// segment size for each segment of any size (Linux counts its window in segments).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scoreboard {
    /// Weight per segment. None: its bytes.
    unit: Option<u64>,
    sent: VecDeque<Sent>,
    in_flight: u64,
    sacked_segments: u32,
    lost: u64,
    /// Number of outstanding segments that were sent more than once.
    retransmitted: u32,
    transmissions: u64,
}

impl Scoreboard {
    #[must_use]
    pub fn new(unit: Option<u64>) -> Self {
        Scoreboard {
            unit,
            ..Scoreboard::default()
        }
    }

    /// Record new data.
    pub fn send(&mut self, start: u64, end: u64, snapshot: Snapshot, now: Nanoseconds) {
        self.in_flight += self.weight(start, end);
        self.transmissions += 1;
        self.sent.push_back(Sent {
            start,
            end,
            sent: now,
            order: self.transmissions,
            transmissions: 1,
            fate: Fate::InFlight,
            snapshot,
        });
    }

    /// Record a retransmission of the segment that begins at `start`.
    pub fn resend(&mut self, start: u64, snapshot: Snapshot, now: Nanoseconds) {
        let Ok(at) = self
            .sent
            .binary_search_by_key(&start, |segment| segment.start)
        else {
            return;
        };
        self.set_fate(at, Fate::InFlight);
        self.transmissions += 1;
        let order = self.transmissions;
        if let Some(segment) = self.sent.get_mut(at) {
            self.retransmitted += u32::from(segment.transmissions == 1);
            segment.transmissions += 1;
            segment.sent = now;
            segment.order = order;
            segment.snapshot = snapshot;
        }
    }

    /// Apply an acknowledgment with its SACK blocks.
    pub fn receive(&mut self, ack: u64, blocks: impl Iterator<Item = (u64, u64)>) -> Delivered {
        let mut delivered = Delivered::default();
        self.acknowledge(ack, &mut delivered);
        for (left, right) in blocks {
            if right > ack {
                self.sack(left, right, &mut delivered);
            }
        }
        delivered
    }

    fn acknowledge(&mut self, ack: u64, delivered: &mut Delivered) {
        while let Some(first) = self.sent.front().copied() {
            if first.start >= ack {
                break;
            }
            let covered = first.end.min(ack) - first.start;
            let rest = self.rest_weight(first, ack);
            let weight = self.weight(first.start, first.end) - rest;
            self.uncount(first.fate, weight);
            delivered.acked += covered;
            if first.fate != Fate::Sacked {
                delivered.weight += weight;
            }
            if first.end > ack {
                // The peer took a part of the segment. The rest keeps its state.
                if let Some(segment) = self.sent.front_mut() {
                    segment.start = ack;
                }
                break;
            }
            self.sent.pop_front();
            self.sacked_segments -= u32::from(first.fate == Fate::Sacked);
            self.retransmitted -= u32::from(first.is_retransmitted());
            if first.fate != Fate::Sacked {
                delivered.segments.push(first);
            }
        }
    }

    fn sack(&mut self, left: u64, right: u64, delivered: &mut Delivered) {
        let from = self.sent.partition_point(|segment| segment.start < left);
        for at in from..self.sent.len() {
            let Some(segment) = self.sent.get(at).copied() else {
                break;
            };
            if segment.end > right {
                break;
            }
            if segment.fate != Fate::Sacked {
                self.set_fate(at, Fate::Sacked);
                self.sacked_segments += 1;
                delivered.weight += self.weight(segment.start, segment.end);
                delivered.segments.push(segment);
            }
        }
    }

    /// Mark losses by `IsLost` of RFC 6675, section 4, and return their weight. The condition is `threshold`
    /// sacked segments above, or more than `threshold` minus one segments in sacked bytes. Retransmitted
    /// segments are skipped.
    pub fn lose_by_count(&mut self, threshold: u32, mss: u64) -> u64 {
        let bytes_needed = u64::from(threshold.saturating_sub(1)) * mss;
        let (mut above, mut bytes_above, mut lost) = (0, 0, 0);
        if self.sacked_segments == 0 {
            return 0;
        }
        for at in (0..self.sent.len()).rev() {
            let Some(segment) = self.sent.get(at).copied() else {
                break;
            };
            match segment.fate {
                Fate::Sacked => {
                    above += 1;
                    bytes_above += segment.bytes();
                }
                Fate::InFlight if !segment.is_retransmitted() => {
                    if above >= threshold || bytes_above > bytes_needed {
                        self.set_fate(at, Fate::Lost);
                        lost += self.weight(segment.start, segment.end);
                    }
                }
                Fate::InFlight | Fate::Lost => {}
            }
        }
        lost
    }

    /// Mark in-flight segments lost if `is_lost` returns true, and return their weight.
    pub fn lose(&mut self, mut is_lost: impl FnMut(&Sent) -> bool) -> u64 {
        let mut lost = 0;
        for at in 0..self.sent.len() {
            let Some(segment) = self.sent.get(at).copied() else {
                break;
            };
            if segment.fate == Fate::InFlight && is_lost(&segment) {
                self.set_fate(at, Fate::Lost);
                lost += self.weight(segment.start, segment.end);
            }
        }
        lost
    }

    /// Return the first segment marked lost (`NextSeg`, rule 1 of RFC 6675, section 4).
    #[must_use]
    pub fn next_lost(&self) -> Option<Sent> {
        if self.lost == 0 {
            return None;
        }
        self.sent
            .iter()
            .find(|segment| segment.fate == Fate::Lost)
            .copied()
    }

    #[must_use]
    pub fn first(&self) -> Option<Sent> {
        self.sent.front().copied()
    }

    #[must_use]
    pub fn last(&self) -> Option<Sent> {
        self.sent.back().copied()
    }

    /// Return the estimated data in flight (`pipe` of RFC 6675, section 4).
    #[must_use]
    pub fn pipe(&self) -> u64 {
        self.in_flight
    }

    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    #[must_use]
    pub fn sacked_segments(&self) -> u32 {
        self.sacked_segments
    }

    /// Return the number of sent and unacknowledged segments (`packets_out` of Linux).
    #[must_use]
    pub fn segments(&self) -> usize {
        self.sent.len()
    }

    /// Return true if an outstanding segment can have been sent before a delivered one.
    #[must_use]
    pub fn is_disordered(&self) -> bool {
        self.sacked_segments > 0 || self.lost > 0 || self.retransmitted > 0
    }

    fn set_fate(&mut self, at: usize, fate: Fate) {
        let Some(segment) = self.sent.get_mut(at) else {
            return;
        };
        let (before, start, end) = (segment.fate, segment.start, segment.end);
        segment.fate = fate;
        let weight = self.weight(start, end);
        self.uncount(before, weight);
        match fate {
            Fate::InFlight => self.in_flight += weight,
            Fate::Sacked => {}
            Fate::Lost => self.lost += weight,
        }
    }

    fn uncount(&mut self, fate: Fate, weight: u64) {
        match fate {
            Fate::InFlight => self.in_flight -= weight,
            Fate::Sacked => {}
            Fate::Lost => self.lost -= weight,
        }
    }

    fn weight(&self, start: u64, end: u64) -> u64 {
        self.unit.unwrap_or(end - start)
    }

    /// Return the remaining weight of a segment once data up to `ack` is acknowledged.
    fn rest_weight(&self, segment: Sent, ack: u64) -> u64 {
        if ack >= segment.end {
            0
        } else {
            self.weight(ack, segment.end)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    /// Return this number of segments, sent a nanosecond apart.
    fn sent(count: u64) -> Scoreboard {
        let mut board = Scoreboard::default();
        for index in 0..count {
            board.send(
                1 + index * MSS,
                1 + (index + 1) * MSS,
                Snapshot::default(),
                index,
            );
        }
        board
    }

    #[test]
    fn a_cumulative_ack_takes_segments_out_of_the_pipe() {
        let mut board = sent(4);
        let delivered = board.receive(1 + 2 * MSS, std::iter::empty());
        assert_eq!((delivered.acked, delivered.weight), (2 * MSS, 2 * MSS));
        assert_eq!((board.pipe(), board.segments()), (2 * MSS, 2));
    }

    #[test]
    fn a_sacked_segment_is_delivered_once() {
        let mut board = sent(4);
        let block = (1 + 2 * MSS, 1 + 3 * MSS);
        assert_eq!(board.receive(1, [block].into_iter()).weight, MSS);
        assert_eq!(board.receive(1, [block].into_iter()).weight, 0);
        let all = board.receive(1 + 4 * MSS, std::iter::empty());
        assert_eq!((all.acked, all.weight), (4 * MSS, 3 * MSS));
        assert_eq!((board.pipe(), board.segments()), (0, 0));
    }

    #[test]
    fn three_segments_sacked_above_make_a_segment_lost() {
        let mut board = sent(6);
        board.receive(1, [(1 + MSS, 1 + 3 * MSS)].into_iter());
        assert_eq!(
            board.lose_by_count(3, MSS),
            0,
            "two are not enough (RFC 6675, section 4)"
        );
        board.receive(1, [(1 + MSS, 1 + 4 * MSS)].into_iter());
        assert_eq!(board.lose_by_count(3, MSS), MSS);
        assert_eq!(board.next_lost().map(|segment| segment.start), Some(1));
        assert_eq!(board.pipe(), 2 * MSS);
    }

    #[test]
    fn a_retransmission_is_in_flight_and_not_lost_by_count() {
        let mut board = sent(6);
        board.receive(1, [(1 + MSS, 1 + 4 * MSS)].into_iter());
        board.lose_by_count(3, MSS);
        board.resend(1, Snapshot::default(), 100);
        assert_eq!((board.pipe(), board.lost()), (3 * MSS, 0));
        assert_eq!(board.lose_by_count(3, MSS), 0);
        assert_eq!(board.next_lost(), None);
    }

    #[test]
    fn short_segments_weigh_as_much_as_full_ones_when_segments_are_counted() {
        let mut board = Scoreboard::new(Some(MSS));
        board.send(1, 227, Snapshot::default(), 0);
        board.send(227, 227 + MSS, Snapshot::default(), 0);
        assert_eq!(board.pipe(), 2 * MSS);
        let delivered = board.receive(227, std::iter::empty());
        assert_eq!((delivered.acked, delivered.weight), (226, MSS));
        assert_eq!(board.pipe(), MSS);
    }

    #[test]
    fn a_half_acknowledged_segment_leaves_its_rest() {
        let mut board = sent(2);
        let delivered = board.receive(1 + MSS / 2, std::iter::empty());
        assert_eq!(delivered.acked, MSS / 2);
        assert!(delivered.segments.is_empty());
        assert_eq!(
            board.first().map(|segment| segment.start),
            Some(1 + MSS / 2)
        );
        assert_eq!(board.pipe(), 3 * MSS / 2);
    }
}
