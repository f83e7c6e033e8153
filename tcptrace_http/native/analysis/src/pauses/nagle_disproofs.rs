//! Short segments that Nagle's algorithm would have held: proof that it was off.

use tcptrace_tcp::OPTIONS_BYTES;

use super::pause::ShortSegment;
use super::DISPROOF_MARGIN_NS;
use super::{Path, PauseTracker, SentData};

/// Short segments that are remembered. Nagle's algorithm lets one be outstanding; a sender without
/// it makes many, but then nothing waits for them.
const SHORT_SEGMENTS_MAX: usize = 16;

/// Once it may be a chance.
const DISPROOFS_MIN: u32 = 2;

/// What is as long may leave whatever Nagle's algorithm says: Linux pushes half of the largest window that was offered
/// (its `forced_push`), and what fills its buffer. Where a segment carries 64 kB, as on loopback, that is a short one.
/// (Measured: 65,483 and 24,629 bytes for each 90,112 that were written in pieces of 4,096.)
const PUSHED_BYTES_MIN: u32 = 16_384;

/// A short segment that was sent while the one that ends at `end` seemed unacknowledged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Suspicion {
    pub(super) end: u64,
    pub(super) time_ns: i64,
}

impl PauseTracker {
    /// Whether short segments have left behind full ones, which the algorithm as RFC 896 has it would have held, or
    /// behind short ones, which any of its variants would have.
    pub fn nagle_is_off(&self) -> bool {
        self.full_disproofs.max(self.nagle_disproofs) >= DISPROOFS_MIN
    }

    /// Whether it was off by the latter alone: a sender that lets what is short leave behind full segments may still hold
    /// what comes behind a short one (Minshall's variant, which Linux has).
    pub fn holds_no_short(&self) -> bool {
        self.nagle_disproofs >= DISPROOFS_MIN
    }

    pub(super) fn note_short(&mut self, data: SentData, path: &Path) {
        let sender_rtt_ns = path.sender_rtt_ns.unwrap_or(0);
        if self.left_unasked(data, path) {
            self.remember_short(data);
            return;
        }
        let last_end = self.shorts.back().map(|last| last.end);
        let acked = self.acks.back().map_or(0, |ack| ack.after);
        if let Some(end) = last_end.filter(|end| *end > acked) {
            if self.suspicions.len() < SHORT_SEGMENTS_MAX {
                self.suspicions.push_back(Suspicion {
                    end,
                    time_ns: data.time_ns,
                });
            }
        } else if let Some(end) = last_end {
            // The ACK went by before this segment, but could not have come to its sender yet.
            let acks = self.acks.iter().rev().take_while(|ack| ack.after >= end);
            if let Some(ack_ns) = acks.last().map(|ack| ack.time_ns) {
                self.judge(ack_ns, data.time_ns, sender_rtt_ns);
            }
        }
        self.remember_short(data);
    }

    /// Whether its sender would have let data go although Nagle's algorithm holds what is short.
    fn left_unasked(&self, data: SentData, path: &Path) -> bool {
        data.bytes >= PUSHED_BYTES_MIN || self.fills_window(data, path)
    }

    /// Whether data ends where the receiver's window did when it left: its sender cut it there with more behind it, which
    /// is no matter of Nagle's algorithm. As far as is known here, that may have been any window since.
    fn fills_window(&self, data: SentData, path: &Path) -> bool {
        let acked = self.acks.back().map_or(0, |ack| ack.after);
        let mut earlier = self.acks.iter().rev();
        acked.saturating_add(path.receive_window) == data.end
            || earlier.any(|ack| ack.offered_until == data.end)
    }

    pub(super) fn remember_short(&mut self, data: SentData) {
        if self.shorts.len() >= SHORT_SEGMENTS_MAX {
            self.shorts.pop_front();
        }
        self.shorts.push_back(ShortSegment {
            frame: data.frame,
            start: data.start,
            end: data.end,
            bytes: data.bytes,
        });
    }

    /// Where no MSS was offered the largest segment so far is a full one: what seemed full is short once a larger one
    /// comes, unless it had no more than other options, as behind a SYN-ACK of data (RFC 1644).
    pub(super) fn note_grown_segments(&mut self, segment_bytes: u32) {
        let was_full = |bytes: u32| {
            bytes == self.segment_bytes && bytes.saturating_add(OPTIONS_BYTES) < segment_bytes
        };
        if let Some(previous) = self.previous.filter(|it| was_full(it.bytes) && !it.has_fin) {
            self.remember_short(previous);
        }
    }

    /// Whether a short segment left while what its sender had sent before the newest ACK was unacknowledged. What
    /// is written at once to an idle connection goes out with its short end (BSD looks whether it is idle before).
    pub(super) fn note_outstanding(&mut self, data: SentData, is_short: bool, path: &Path) {
        let left_ns = data.time_ns.saturating_sub(path.sender_rtt_ns.unwrap_or(0));
        let latest_ns = left_ns.saturating_add(DISPROOF_MARGIN_NS);
        let had_come = self.acks.iter().rev().find(|ack| ack.time_ns <= latest_ns);
        let Some(acked) = had_come.map(|ack| ack.after) else {
            return;
        };
        let sent_since = match self.since_ack {
            Some((before, since)) if before == acked => since,
            // What is missing before it left first.
            _ => self
                .previous
                .map_or(data.start, |it| it.end.min(data.start)),
        };
        self.since_ack = Some((acked, sent_since));
        let was_idle = sent_since <= acked;
        if is_short && !data.has_fin && !was_idle && !self.left_unasked(data, path) {
            self.full_disproofs = self.full_disproofs.saturating_add(1);
        }
    }

    /// An ACK up to `acked` was seen at `ack_ns`. The sender got it after the rest of its way; a
    /// short segment that had left by then was not released by it.
    pub(super) fn judge_suspicions(&mut self, acked: u64, ack_ns: i64, sender_rtt_ns: i64) {
        while let Some(suspicion) = self.suspicions.front().copied() {
            if suspicion.end > acked {
                return;
            }
            self.suspicions.pop_front();
            self.judge(ack_ns, suspicion.time_ns, sender_rtt_ns);
        }
    }

    /// Whether a short segment seen at `sent_ns` had left before the ACK seen at `ack_ns` could release it.
    fn judge(&mut self, ack_ns: i64, sent_ns: i64, sender_rtt_ns: i64) {
        let too_late_by = ack_ns.saturating_sub(sent_ns).saturating_add(sender_rtt_ns);
        if too_late_by >= DISPROOF_MARGIN_NS.max(sender_rtt_ns / 2) {
            self.nagle_disproofs = self.nagle_disproofs.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn that_one_short_segment_was_not_held_may_be_a_chance() {
        for (full_disproofs, nagle_disproofs, is_off) in [(1, 1, false), (2, 0, true), (0, 2, true)]
        {
            let tracker = PauseTracker {
                full_disproofs,
                nagle_disproofs,
                ..PauseTracker::default()
            };
            assert_eq!(tracker.nagle_is_off(), is_off);
        }
    }
}
