//! The tail-loss probe (RFC 8985, section 7): after two round trips without an ACK, the sender sends one
//! segment to trigger an ACK.

use crate::stack::Nanoseconds;

/// Maximum delay of a single segment's ACK: Linux adds its minimum RTO (RFC 8985, section 7.2,
/// `TLP.max_ack_delay`).
const MAX_ACK_DELAY: Nanoseconds = 200_000_000;
/// Margin otherwise: Linux adds the shortest timer of its clock, two ticks of 4 ms.
const MIN_TIMER: Nanoseconds = 8_000_000;

/// Return the delay of a probe (section 7.2). `rto` is the time left until the retransmission timeout.
#[must_use]
pub fn timeout(
    smoothed_rtt: Option<Nanoseconds>,
    segments_out: usize,
    rto: Nanoseconds,
) -> Nanoseconds {
    let margin = if segments_out == 1 {
        MAX_ACK_DELAY
    } else {
        MIN_TIMER
    };
    smoothed_rtt.map_or(rto, |smoothed| (2 * smoothed + margin).min(rto))
}

/// An outstanding probe (section 7.4: at most one).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Episode {
    /// First unsent offset when the probe was sent (`TLP.end_seq`).
    pub end: u64,
    /// True if the probe was old data. Its ACK then shows a loss, unless the peer reports a duplicate.
    pub is_retransmission: bool,
}

/// The verdict of an ACK on an outstanding probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Open,
    /// No data was lost.
    Unneeded,
    /// The probe repaired a loss, and the window is reduced (section 7.4.2).
    Repaired,
}

impl Episode {
    /// Judge the probe by an ACK. `is_duplicate`: the ACK acknowledges no new data and has no SACK blocks.
    /// `has_dsack`: the peer reports a duplicate.
    #[must_use]
    pub fn judge(self, ack: u64, has_dsack: bool, is_duplicate: bool) -> Verdict {
        if ack < self.end {
            let is_extra_ack = self.is_retransmission && (has_dsack || is_duplicate);
            return if is_extra_ack {
                Verdict::Unneeded
            } else {
                Verdict::Open
            };
        }
        if self.is_retransmission && !has_dsack {
            Verdict::Repaired
        } else {
            Verdict::Unneeded
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanoseconds = 1_000_000;

    #[test]
    fn a_single_segment_allows_for_a_delayed_ack() {
        assert_eq!(timeout(Some(20 * MS), 1, 1000 * MS), 240 * MS);
        assert_eq!(timeout(Some(20 * MS), 2, 1000 * MS), 48 * MS);
    }

    #[test]
    fn a_probe_never_follows_the_retransmission_timeout() {
        assert_eq!(timeout(Some(100 * MS), 1, 300 * MS), 300 * MS);
        assert_eq!(timeout(None, 2, 1000 * MS), 1000 * MS);
    }

    #[test]
    fn an_ack_of_a_retransmitted_tail_shows_a_loss_unless_the_peer_reports_a_duplicate() {
        let probe = Episode {
            end: 5000,
            is_retransmission: true,
        };
        assert_eq!(probe.judge(4000, false, false), Verdict::Open);
        assert_eq!(probe.judge(5000, false, false), Verdict::Repaired);
        assert_eq!(probe.judge(5000, true, false), Verdict::Unneeded);
        let new_data = Episode {
            end: 5000,
            is_retransmission: false,
        };
        assert_eq!(new_data.judge(5000, false, false), Verdict::Unneeded);
    }
}
