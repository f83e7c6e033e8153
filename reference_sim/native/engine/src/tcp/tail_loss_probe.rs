//! The tail-loss probe (RFC 8985, section 7): when nothing comes back for two round trips, one
//! segment goes out so that something will.

use crate::stack::Nanoseconds;

/// A receiver may hold the ACK of a single segment for so long: Linux adds its least
/// retransmission timeout (RFC 8985, section 7.2, `TLP.max_ack_delay`).
const MAX_ACK_DELAY: Nanoseconds = 200_000_000;
/// Linux adds the shortest timer of its clock otherwise: two ticks of 4 ms.
const MIN_TIMER: Nanoseconds = 8_000_000;

/// After how long a probe goes out (section 7.2). `rto` is how far the retransmission timeout is.
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

/// A probe that is out (section 7.4: at most one).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Episode {
    /// The first offset that had not been sent when it went out (`TLP.end_seq`).
    pub end: u64,
    /// It was old data: its ACK shows a loss unless the peer says it had it already.
    pub is_retransmission: bool,
}

/// What an ACK says about an outstanding probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Open,
    /// Nothing was lost.
    Unneeded,
    /// The probe repaired a loss, for which the window pays (section 7.4.2).
    Repaired,
}

impl Episode {
    /// `is_duplicate`: an ACK of nothing new without SACK blocks. `has_dsack`: the peer says that
    /// it received something twice.
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
    fn a_single_segment_is_given_the_time_of_a_delayed_ack() {
        assert_eq!(timeout(Some(20 * MS), 1, 1000 * MS), 240 * MS);
        assert_eq!(timeout(Some(20 * MS), 2, 1000 * MS), 48 * MS);
    }

    #[test]
    fn a_probe_does_not_come_after_the_retransmission_timeout() {
        assert_eq!(timeout(Some(100 * MS), 1, 300 * MS), 300 * MS);
        assert_eq!(timeout(None, 2, 1000 * MS), 1000 * MS);
    }

    #[test]
    fn an_ack_of_a_repeated_tail_shows_a_loss_unless_the_peer_had_it() {
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
