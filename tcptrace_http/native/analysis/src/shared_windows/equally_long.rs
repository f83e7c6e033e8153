//! An answer that is as long behind its question as others takes back what they had been taken to show ([`Steady`]).
//!
//! [`Steady`]: super::steady::Steady

use super::host_pair::HostPair;

impl HostPair {
    /// An answer begins so long behind its question; whether others were as long behind theirs.
    pub(super) fn is_steady(&mut self, time_ns: i64, elapsed_ns: i64) -> bool {
        let together_ns = self.round_trip_ns();
        let Some(refuted) = self.steady.begins((time_ns, elapsed_ns), together_ns) else {
            return false;
        };
        for opening in refuted {
            self.openings_by_others = self.openings_by_others.saturating_sub(1);
            self.sure_openings = self.sure_openings.saturating_sub(opening.is_sure.into());
            self.evidence = self.evidence.saturating_sub(opening.evidence);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::steady::Opening;
    use super::*;
    use crate::jitter::CLOSE_NS;

    const MS: i64 = 1_000_000;
    const SHOWN: Opening = Opening {
        evidence: 34,
        is_sure: true,
    };

    /// A pair of hosts on a path of 65 ms, of which an answer that began at 200 ms, 130 ms behind its question, and another
    /// one at 300 ms, after 140 ms, have shown a shared window.
    fn shown() -> HostPair {
        let mut pair = HostPair::with_path(65 * MS);
        for (time_ms, elapsed_ms) in [(200, 130), (300, 140)] {
            assert!(!pair.is_steady(time_ms * MS, elapsed_ms * MS));
            pair.steady.shows(SHOWN);
        }
        (pair.openings_by_others, pair.sure_openings) = (2, 2);
        pair.evidence = 68;
        pair
    }

    fn left(pair: &HostPair) -> (i64, i64, i64) {
        (pair.openings_by_others, pair.sure_openings, pair.evidence)
    }

    #[test]
    fn an_answer_that_is_as_long_behind_its_question_takes_back_what_another_had_shown() {
        let mut pair = shown();
        assert!(pair.is_steady(400 * MS, 130 * MS + CLOSE_NS));
        assert_eq!(left(&pair), (1, 1, 34));
        assert!(pair.is_steady(500 * MS, 130 * MS), "once only");
        assert_eq!(left(&pair), (1, 1, 34));
    }

    #[test]
    fn an_answer_that_is_longer_or_left_within_a_round_trip_takes_nothing_back() {
        let mut pair = shown();
        assert!(!pair.is_steady(400 * MS, 131 * MS));
        assert!(!pair.is_steady(265 * MS, 130 * MS));
        assert_eq!(left(&pair), (2, 2, 68));
    }

    #[test]
    fn the_oldest_answers_are_forgotten() {
        let mut pair = shown();
        for number in 1..=16 {
            assert!(!pair.is_steady((400 + number) * MS, (200 + number) * MS));
        }
        assert!(!pair.is_steady(900 * MS, 130 * MS));
        assert_eq!(left(&pair), (2, 2, 68));
    }
}
