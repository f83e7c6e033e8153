//! Whether full segments come one by one as a slow link carries them: such a distance is no pause of an application.
//!
//! Theory of operation. Who writes more than a segment has the next one ready, so what is full behind a full one comes as
//! soon as the link lets it. On a slow link that is as long as a pause is elsewhere, and the first segment behind a short
//! write takes it, too.

/// Distances on a link differ by no more than such a share of the longer one: others' packets stand between.
const EVEN_SHARE: i64 = 4;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EvenGaps {
    /// How soon a full segment came behind a full one at the least.
    least_ns: Option<i64>,
}

impl EvenGaps {
    /// Data of so many bytes came so long after that of so many before.
    pub(super) fn came(&mut self, gap_ns: i64, (before, bytes): (u32, u32), full_bytes: u32) {
        if before == full_bytes && bytes == full_bytes {
            self.least_ns = Some(self.least_ns.map_or(gap_ns, |least| least.min(gap_ns)));
        }
    }

    /// Whether a full segment behind whatever is so late because the link takes as long for each.
    pub(super) fn explain(self, gap_ns: i64) -> bool {
        let most_off_ns = gap_ns / EVEN_SHARE;
        self.least_ns
            .is_some_and(|least| least >= gap_ns.saturating_sub(most_off_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn a_full_segment_that_is_no_later_than_full_ones_behind_each_other_stood_on_the_link() {
        let mut gaps = EvenGaps::default();
        assert!(!gaps.explain(12 * MS), "there was no other");
        gaps.came(12 * MS, (80, 1460), 1460);
        gaps.came(2 * MS, (1460, 240), 1460);
        assert!(!gaps.explain(12 * MS), "none was full behind a full one");
        gaps.came(11 * MS, (1460, 1460), 1460);
        assert!(gaps.explain(12 * MS));
        assert!(!gaps.explain(30 * MS));
        gaps.came(MS, (1460, 1460), 1460);
        assert!(!gaps.explain(12 * MS), "the link is faster than that");
    }
}
