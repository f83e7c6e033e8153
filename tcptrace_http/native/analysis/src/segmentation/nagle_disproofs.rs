//! Short segments that Nagle's algorithm would have held: proof that it was off.

/// The acknowledgment must come this much too late to have released a segment. Packets of one host are captured out of
/// their true order by less.
const MARGIN_NS: i64 = 500_000;

/// Short segments that were sent while the one that ends at `end` seemed unacknowledged.
#[derive(Clone, Copy, Debug)]
struct Suspicion {
    end: u64,
    first_ns: i64,
    count: u32,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NagleDisproofs {
    acked: u64,
    last_end: u64,
    suspicion: Option<Suspicion>,
    count: u32,
}

impl NagleDisproofs {
    /// Short segments that were sent while a short one was unacknowledged.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// A short segment is sent.
    pub(super) fn sent_short(&mut self, end: u64, time_ns: i64) {
        if self.last_end > self.acked {
            let suspicion = self.suspicion.get_or_insert(Suspicion {
                end: self.last_end,
                first_ns: time_ns,
                count: 0,
            });
            suspicion.count = suspicion.count.saturating_add(1);
        }
        self.last_end = end;
    }

    /// All up to `acked` is acknowledged.
    pub(super) fn acknowledged(&mut self, acked: u64, time_ns: i64) {
        self.acked = acked;
        if let Some(found) = self.suspicion.take_if(|it| it.end <= acked) {
            if time_ns.saturating_sub(found.first_ns) > MARGIN_NS {
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
        nagle.sent_short(100, 0);
        nagle.sent_short(200, MS);
        assert_eq!(nagle.count(), 0, "the acknowledgment may be captured late");
        nagle.acknowledged(100, 40 * MS);
        assert_eq!(nagle.count(), 1);
    }

    #[test]
    fn one_that_its_acknowledgment_released_may_be_captured_before_that() {
        let mut nagle = NagleDisproofs::default();
        nagle.sent_short(100, 0);
        nagle.sent_short(200, 40 * MS);
        nagle.acknowledged(100, 40 * MS + MARGIN_NS);
        nagle.acknowledged(200, 80 * MS);
        nagle.sent_short(300, 80 * MS);
        assert_eq!(nagle.count(), 0);
    }
}
