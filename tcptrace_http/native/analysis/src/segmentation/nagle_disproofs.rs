//! Short segments that Nagle's algorithm would have held: proof that it was off.

use tcptrace_path::tolerance_ns;

/// The acknowledgment must pass this much too late to have released a segment, or the path's jitter. Packets of one host are captured out of
/// their true order by less.
const MARGIN_NS: i64 = 500_000;

/// Short segments that were sent while the one that ends at `end` seemed unacknowledged.
#[derive(Clone, Copy, Debug)]
struct Suspicion {
    end: u64,
    /// By when its acknowledgment would have had to pass to release the first of them, at the latest.
    by_ns: i64,
    count: u32,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NagleDisproofs {
    acked: u64,
    last_end: u64,
    /// When the last short one was acknowledged.
    last_acked_ns: i64,
    suspicion: Option<Suspicion>,
    count: u32,
}

impl NagleDisproofs {
    /// Short segments that were sent while a short one was unacknowledged.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// A short segment is sent; `sender_rtt_ns` is the path to its sender and back.
    pub(super) fn sent_short(&mut self, end: u64, time_ns: i64, sender_rtt_ns: i64) {
        let slack_ns = MARGIN_NS.max(tolerance_ns(sender_rtt_ns));
        let by_ns = time_ns
            .saturating_sub(sender_rtt_ns)
            .saturating_add(slack_ns);
        if self.last_end > self.acked {
            let suspicion = self.suspicion.get_or_insert(Suspicion {
                end: self.last_end,
                by_ns,
                count: 0,
            });
            suspicion.count = suspicion.count.saturating_add(1);
        } else if self.last_end > 0 {
            // The acknowledgment went by before, and cannot have come to the sender yet.
            let is_too_late = self.last_acked_ns > by_ns;
            self.count = self.count.saturating_add(u32::from(is_too_late));
        }
        self.last_end = end;
    }

    /// All up to `acked` is acknowledged.
    pub(super) fn acknowledged(&mut self, acked: u64, time_ns: i64) {
        if self.acked < self.last_end && self.last_end <= acked {
            self.last_acked_ns = time_ns;
        }
        self.acked = acked;
        if let Some(found) = self.suspicion.take_if(|it| it.end <= acked) {
            if time_ns > found.by_ns {
                self.count = self.count.saturating_add(found.count);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn a_short_segment_behind_an_unacknowledged_one_was_not_held() {
        let mut nagle = NagleDisproofs::default();
        nagle.sent_short(100, 0, 0);
        nagle.sent_short(200, MS, 0);
        assert_eq!(nagle.count(), 0, "the acknowledgment may be captured late");
        nagle.acknowledged(100, 40 * MS);
        assert_eq!(nagle.count(), 1);
    }

    #[test]
    fn one_that_its_acknowledgment_released_may_be_captured_before_that() {
        let mut nagle = NagleDisproofs::default();
        nagle.sent_short(100, 0, 0);
        nagle.sent_short(200, 40 * MS, 0);
        nagle.acknowledged(100, 40 * MS + MARGIN_NS);
        nagle.acknowledged(200, 80 * MS);
        nagle.sent_short(300, 80 * MS, 0);
        assert_eq!(nagle.count(), 0);
    }

    #[test]
    fn near_the_receiver_what_comes_sooner_than_its_acknowledgment_can_let_it_was_not_held() {
        let mut nagle = NagleDisproofs::default();
        nagle.sent_short(100, 0, 20 * MS);
        nagle.acknowledged(100, 0);
        nagle.sent_short(200, 19 * MS, 20 * MS);
        assert_eq!(nagle.count(), 1);
        nagle.acknowledged(200, 19 * MS);
        nagle.sent_short(300, 39 * MS, 20 * MS);
        assert_eq!(nagle.count(), 1);
    }
}
