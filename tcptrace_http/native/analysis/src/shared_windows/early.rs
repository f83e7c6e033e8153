//! What comes sooner than the slowest link lets it, for what came before was late.
//!
//! Theory of operation. A link is an exact clock, those who forward, receive and capture packets are not: one comes late,
//! and those behind it in the pace of the link so much sooner after it. Such a distance tells nothing of the link, while
//! each other one bounds what that takes.

use crate::jitter::AT_ONCE_MAX_NS;

/// The packets that are looked at: as many as wait for one that is late.
const TRAIN: usize = 8;
/// What came before was as late but for one part in so many of that.
const AS_LATE_SHARE: i64 = 4;

/// How long after one another the newest packets came, and how long each is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Train {
    gaps: [(i64, u32); TRAIN],
    newest: usize,
}

impl Train {
    /// A packet comes so long after the one before.
    pub(super) fn comes(&mut self, gap_ns: i64, bytes: u32) {
        self.newest = self.newest.wrapping_add(1) % TRAIN;
        if let Some(place) = self.gaps.get_mut(self.newest) {
            *place = (gap_ns, bytes);
        }
    }

    /// How early a packet comes now, if that is so because those before were late on a link that takes so long for each.
    pub(super) fn makes_early_ns(
        &self,
        (gap_ns, bytes): (i64, u32),
        takes_ns: impl Fn(u32) -> Option<i64>,
    ) -> Option<i64> {
        let early_ns = takes_ns(bytes)?.saturating_sub(gap_ns);
        if early_ns <= 0 {
            return None;
        }
        let as_late_ns = early_ns.saturating_sub(early_ns / AS_LATE_SHARE);
        let as_late = as_late_ns..=AT_ONCE_MAX_NS;
        let (older, newer) = self.gaps.split_at((self.newest + 1).min(TRAIN));
        let newest_first = older.iter().rev().chain(newer.iter().rev());
        let late_ns = newest_first.scan(0_i64, |late_ns, (gap_ns, bytes)| {
            *late_ns = late_ns.saturating_add(gap_ns.saturating_sub(takes_ns(*bytes)?));
            Some(*late_ns)
        });
        late_ns
            .take_while(|late_ns| *late_ns <= AT_ONCE_MAX_NS)
            .any(|late_ns| as_late.contains(&late_ns))
            .then_some(early_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// How early the last of some segments came, each so long after the one before, on a link that takes 12 ms.
    fn early_ms(gaps_ms: &[i64]) -> Option<i64> {
        let mut train = Train::default();
        let (last, before) = gaps_ms.split_last()?;
        for gap_ms in before {
            train.comes(gap_ms * MS, 1448);
        }
        let early_ns = train.makes_early_ns((last * MS, 1448), |_| Some(12 * MS));
        early_ns.map(|early_ns| early_ns / MS)
    }

    #[test]
    fn what_comes_as_much_too_soon_as_others_before_were_late_is_early() {
        assert_eq!(early_ms(&[12, 12, 15, 9]), Some(3));
        assert_eq!(early_ms(&[12, 15, 12, 9]), Some(3));
        assert_eq!(early_ms(&[12, 18, 9, 9]), Some(3));
    }

    #[test]
    fn what_comes_sooner_than_ever_behind_others_in_the_pace_of_the_link_tells_of_a_quicker_one() {
        assert_eq!(early_ms(&[12, 12, 12, 9]), None);
        assert_eq!(early_ms(&[12, 12, 13, 9]), None, "none was as late");
    }

    #[test]
    fn a_pause_of_the_link_makes_nothing_early() {
        assert_eq!(early_ms(&[12, 12, 80, 9]), None);
    }
}
