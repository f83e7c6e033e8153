//! RACK (RFC 8985, section 6): a segment is lost if a later-sent segment was delivered and its own delivery
//! is overdue.
//!
//! As in Linux, the reordering window is zero in recovery, or once `threshold` segments are sacked, unless
//! reordering was seen. The window does not grow with D-SACKs (section 6.2, step 4).

use super::scoreboard::{Scoreboard, Sent};
use crate::stack::Nanoseconds;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rack {
    /// The most recently sent delivered segment (`RACK.xmit_ts`, `.end_seq`, `.rtt`).
    newest: Option<Newest>,
    /// Highest delivered offset (`RACK.fack`).
    highest: u64,
    has_reordering: bool,
    min_rtt: Option<Nanoseconds>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Newest {
    order: u64,
    rtt: Nanoseconds,
}

/// The inputs of the reordering window.
#[derive(Clone, Copy, Debug)]
pub struct Circumstances {
    pub is_recovering: bool,
    pub duplicate_ack_threshold: u32,
    pub smoothed_rtt: Nanoseconds,
}

/// Granularity of timestamps.
const ECHO_NS: Nanoseconds = 1_000_000;

impl Rack {
    /// Return the round trip of the most recently sent delivered segment.
    #[must_use]
    pub fn rtt(&self) -> Nanoseconds {
        self.newest.map_or(0, |newest| newest.rtt)
    }

    /// Apply steps 1 to 3 of section 6.2 to the segments that an ACK delivered. `echo` is the sending time of
    /// the answered segment, at the timestamp's granularity.
    pub fn delivered(&mut self, segments: &[Sent], now: Nanoseconds, echo: Option<Nanoseconds>) {
        for segment in segments {
            let rtt = now.saturating_sub(segment.sent);
            if !segment.is_retransmitted() {
                self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
                self.has_reordering |= segment.end < self.highest;
            }
            self.highest = self.highest.max(segment.end);
            if segment.is_retransmitted() && self.is_ack_of_original(segment, rtt, echo) {
                continue;
            }
            let is_newer = self
                .newest
                .is_none_or(|newest| segment.order > newest.order);
            if is_newer {
                self.newest = Some(Newest {
                    order: segment.order,
                    rtt,
                });
            }
        }
    }

    /// Return true if the ACK answers an earlier transmission, which is no evidence about the last one (step
    /// 2).
    fn is_ack_of_original(
        &self,
        segment: &Sent,
        rtt: Nanoseconds,
        echo: Option<Nanoseconds>,
    ) -> bool {
        let is_older = echo.is_some_and(|echo| echo + ECHO_NS <= segment.sent);
        is_older || self.min_rtt.is_some_and(|least| rtt < least)
    }

    /// Mark lost segments (step 5). Return the lost bytes, and the time of the next check.
    pub fn detect(
        &self,
        board: &mut Scoreboard,
        now: Nanoseconds,
        circumstances: Circumstances,
    ) -> (u64, Option<Nanoseconds>) {
        let Some(newest) = self.newest else {
            return (0, None);
        };
        if !board.is_disordered() {
            return (0, None);
        }
        let wait = newest.rtt + self.window(board.sacked_segments(), circumstances);
        let mut again = None;
        let lost = board.lose(|segment| {
            let due = segment.sent + wait;
            let is_before = segment.order < newest.order;
            if is_before && due > now {
                again = again.max(Some(due));
            }
            is_before && due <= now
        });
        (lost, again)
    }

    /// Return the reordering window: a quarter of the minimum round trip, at most the smoothed one (step 4).
    fn window(&self, sacked: u32, circumstances: Circumstances) -> Nanoseconds {
        let is_certain =
            circumstances.is_recovering || sacked >= circumstances.duplicate_ack_threshold;
        if is_certain && !self.has_reordering {
            return 0;
        }
        let least = self.min_rtt.unwrap_or(0);
        (least / 4).min(circumstances.smoothed_rtt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::delivery_rate::Snapshot;

    const MSS: u64 = 1000;
    const MS: Nanoseconds = 1_000_000;
    const OPEN: Circumstances = Circumstances {
        is_recovering: false,
        duplicate_ack_threshold: 3,
        smoothed_rtt: 100 * MS,
    };

    /// Return five segments sent a millisecond apart. The given ones are sacked after 100 ms.
    fn sacked(indices: &[u64]) -> (Scoreboard, Rack) {
        let mut board = Scoreboard::default();
        for index in 0..5 {
            board.send(
                1 + index * MSS,
                1 + (index + 1) * MSS,
                Snapshot::default(),
                index * MS,
            );
        }
        let mut rack = Rack::default();
        for index in indices {
            let block = (1 + index * MSS, 1 + (index + 1) * MSS);
            let delivered = board.receive(1, [block].into_iter());
            rack.delivered(&delivered.segments, (100 + index) * MS, None);
        }
        (board, rack)
    }

    #[test]
    fn one_sacked_segment_delays_the_loss_mark_a_quarter_of_a_round_trip() {
        let (mut board, rack) = sacked(&[1]);
        assert_eq!(rack.detect(&mut board, 101 * MS, OPEN), (0, Some(125 * MS)));
        assert_eq!(rack.detect(&mut board, 125 * MS, OPEN), (MSS, None));
    }

    #[test]
    fn three_sacked_segments_mark_the_loss_at_once() {
        let (mut board, rack) = sacked(&[1, 2, 3]);
        assert_eq!(rack.detect(&mut board, 103 * MS, OPEN), (MSS, None));
        assert_eq!(board.next_lost().map(|segment| segment.start), Some(1));
    }

    #[test]
    fn seen_reordering_keeps_the_window() {
        let (mut board, rack) = sacked(&[2, 1, 3, 4]);
        assert_eq!(rack.detect(&mut board, 104 * MS, OPEN).0, 0);
    }

    #[test]
    fn a_lost_retransmission_is_detected_by_a_later_transmission() {
        let (mut board, mut rack) = sacked(&[1, 2, 3]);
        rack.detect(&mut board, 103 * MS, OPEN);
        board.resend(1, Snapshot::default(), 103 * MS);
        board.send(1 + 5 * MSS, 1 + 6 * MSS, Snapshot::default(), 104 * MS);
        let delivered = board.receive(1, [(1 + 5 * MSS, 1 + 6 * MSS)].into_iter());
        rack.delivered(&delivered.segments, 204 * MS, None);
        let recovering = Circumstances {
            is_recovering: true,
            ..OPEN
        };
        let (lost, _) = rack.detect(&mut board, 204 * MS, recovering);
        assert_eq!(lost, 2 * MSS, "the retransmission, and the fifth segment");
    }

    #[test]
    fn an_ack_of_the_original_is_no_evidence_about_the_retransmission() {
        let (mut board, mut rack) = sacked(&[]);
        board.resend(1, Snapshot::default(), 99 * MS);
        let delivered = board.receive(1 + MSS, std::iter::empty());
        rack.delivered(&delivered.segments, 100 * MS, Some(0));
        assert_eq!(rack.newest, None);
    }
}
