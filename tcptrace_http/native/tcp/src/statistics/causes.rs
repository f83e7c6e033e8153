//! Causes of retransmissions, from the information that the sender had.
//!
//! The classes are those of Tstat, plus tail-loss probes (RFC 8985). The RTO is that of RFC 6298 with the
//! smallest value of Linux and Windows. The round trips start at the capture point, so an RTO far from the
//! sender is never assumed too early. Source: Mellia, Meo, Muscariello and Rossi, "Passive analysis of TCP
//! anomalies" (Computer Networks 52, 2008).

use super::selective_acks::Block;
use crate::duplicate_acks::DUPLICATE_ACKS;
use crate::timeouts::TIMEOUT_MIN_NS;

/// RTO before the first RTT sample (RFC 6298, section 2.1).
const TIMEOUT_INITIAL_NS: i64 = 1_000_000_000;
/// Retransmissions that a later D-SACK may mark as unnecessary; the D-SACK comes within a round trip.
const REMEMBERED: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    Timeout,
    Fast,
    TailLossProbe,
    WindowProbe,
    Unknown,
}

/// Retransmission, with the sender's information at its time.
#[derive(Clone, Copy, Debug)]
pub struct Retransmission {
    pub start: i64,
    pub end: i64,
    pub time_ns: i64,
    /// Time since the data was last sent, if captured.
    pub since_last_ns: Option<i64>,
    /// Offset after the last number sent.
    pub next: i64,
    pub peer_window_is_zero: bool,
}

#[derive(Debug, Default)]
pub struct Causes {
    pub timeout: u64,
    pub fast: u64,
    pub tail_loss_probe: u64,
    pub window_probe: u64,
    pub unknown: u64,
    pub unnecessary: u64,
    smoothed_ns: Option<i64>,
    variation_ns: i64,
    acked: i64,
    advanced_ns: Option<i64>,
    duplicate_acks: u32,
    /// Highest number in a SACK block.
    sacked: i64,
    /// Current recovery and its end; retransmissions below the end have the same cause.
    recovery: Option<(Cause, i64)>,
    recent: std::collections::VecDeque<Block>,
}

impl Causes {
    /// Take an RTT sample of this direction and smooth it (RFC 6298, section 2).
    pub fn round_trip(&mut self, rtt_ns: i64) {
        match self.smoothed_ns {
            None => {
                self.smoothed_ns = Some(rtt_ns);
                self.variation_ns = rtt_ns / 2;
            }
            Some(smoothed) => {
                let off = rtt_ns.saturating_sub(smoothed);
                self.variation_ns = self
                    .variation_ns
                    .saturating_add(off.saturating_abs().saturating_sub(self.variation_ns) / 4);
                self.smoothed_ns = Some(smoothed.saturating_add(off / 8));
            }
        }
    }

    /// Take the peer's ACK up to `ack`, the `duplicates`th in a row.
    pub fn acknowledged(&mut self, ack: i64, duplicates: u32, time_ns: i64) {
        if ack > self.acked {
            self.acked = ack;
            self.advanced_ns = Some(time_ns);
            self.duplicate_acks = 0;
        }
        self.duplicate_acks = self.duplicate_acks.max(duplicates);
        if self.recovery.is_some_and(|(_, until)| ack >= until) {
            self.recovery = None;
        }
    }

    /// Take a SACK block: the peer has this block.
    pub fn sacked(&mut self, block: Block) {
        self.sacked = self.sacked.max(block.1);
    }

    /// Take a D-SACK block: the peer received these numbers twice.
    pub fn received_twice(&mut self, block: Block) {
        let before = self.recent.len();
        self.recent
            .retain(|sent| !(block.0 <= sent.0 && sent.1 <= block.1));
        let after = self.recent.len();
        self.unnecessary = self
            .unnecessary
            .saturating_add(u64::try_from(before.saturating_sub(after)).unwrap_or(0));
    }

    /// Count a retransmission by its cause.
    pub fn resent(&mut self, resent: &Retransmission) {
        let cause = self.cause(resent);
        if matches!(cause, Cause::Timeout | Cause::Fast) {
            self.recovery = Some((cause, resent.next.max(resent.end)));
        }
        let count = match cause {
            Cause::Timeout => &mut self.timeout,
            Cause::Fast => &mut self.fast,
            Cause::TailLossProbe => &mut self.tail_loss_probe,
            Cause::WindowProbe => &mut self.window_probe,
            Cause::Unknown => &mut self.unknown,
        };
        *count = count.saturating_add(1);
        if resent.end <= self.acked {
            self.unnecessary = self.unnecessary.saturating_add(1);
            return;
        }
        if self.recent.len() >= REMEMBERED {
            self.recent.pop_front();
        }
        self.recent.push_back((resent.start, resent.end));
    }

    fn cause(&self, resent: &Retransmission) -> Cause {
        if resent.peer_window_is_zero {
            return Cause::WindowProbe;
        }
        // Every ACK of new data restarts the timer (RFC 6298, section 5.3).
        let since_ack = self
            .advanced_ns
            .map(|advanced| resent.time_ns.saturating_sub(advanced));
        let waited = [resent.since_last_ns, since_ack]
            .into_iter()
            .flatten()
            .min();
        if waited.is_some_and(|waited| waited >= self.timeout_ns()) {
            return Cause::Timeout;
        }
        if let Some((cause, until)) = self.recovery {
            if resent.start < until {
                return cause;
            }
        }
        if self.duplicate_acks >= DUPLICATE_ACKS || self.sacked > resent.start {
            return Cause::Fast;
        }
        // A tail-loss probe follows two round trips without an ACK (RFC 8985, section 7.2).
        let is_tail = resent.end >= resent.next;
        let probe_after = self.smoothed_ns.map(|rtt| rtt.saturating_mul(2));
        if is_tail
            && probe_after
                .zip(waited)
                .is_some_and(|(after, waited)| waited >= after)
        {
            return Cause::TailLossProbe;
        }
        Cause::Unknown
    }

    fn timeout_ns(&self) -> i64 {
        self.smoothed_ns.map_or(TIMEOUT_INITIAL_NS, |smoothed| {
            smoothed
                .saturating_add(self.variation_ns.saturating_mul(4))
                .max(TIMEOUT_MIN_NS)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: i64 = 1_000_000;

    fn established() -> Causes {
        let mut causes = Causes::default();
        causes.round_trip(20 * MILLISECOND);
        causes.acknowledged(1001, 0, 0);
        causes
    }

    fn resent(start: i64, after_ms: i64) -> Retransmission {
        Retransmission {
            start,
            end: start + 1000,
            time_ns: after_ms * MILLISECOND,
            since_last_ns: Some(after_ms * MILLISECOND),
            next: 5001,
            peer_window_is_zero: false,
        }
    }

    #[test]
    fn three_duplicate_acks_make_the_whole_recovery_fast() {
        let mut causes = established();
        causes.acknowledged(1001, 3, 0);
        causes.resent(&resent(1001, 25));
        causes.acknowledged(2001, 0, 50 * MILLISECOND);
        causes.resent(&resent(2001, 51));
        assert_eq!((causes.fast, causes.unknown), (2, 0));
    }

    #[test]
    fn long_silence_is_a_timeout_and_a_shorter_one_at_the_tail_a_probe() {
        let mut causes = established();
        causes.resent(&resent(4001, 45));
        assert_eq!(causes.tail_loss_probe, 1);
        causes.resent(&resent(1001, 250));
        assert_eq!(causes.timeout, 1);
    }

    #[test]
    fn retransmission_of_received_data_is_unnecessary() {
        let mut causes = established();
        causes.resent(&resent(1, 250));
        causes.resent(&resent(1001, 250));
        assert_eq!(causes.unnecessary, 1);
        causes.received_twice((1001, 2001));
        causes.received_twice((1001, 2001));
        assert_eq!(causes.unnecessary, 2);
    }

    #[test]
    fn closed_window_is_probed_and_other_causes_stay_unknown() {
        let mut causes = established();
        let probe = Retransmission {
            peer_window_is_zero: true,
            ..resent(1001, 300)
        };
        causes.resent(&probe);
        causes.resent(&resent(1001, 5));
        assert_eq!((causes.window_probe, causes.unknown), (1, 1));
    }
}
