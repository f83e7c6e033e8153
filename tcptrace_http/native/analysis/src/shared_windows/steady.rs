//! How long behind their questions answers begin, which tells those that no window held.
//!
//! Theory of operation. A server that works equally long before each answer begins it when it has it. That may be when an
//! ACK of another connection lets data go, and is so again and again where it works for about as long as packets travel. What
//! a window held comes when an ACK does, at another time behind each question. So of two answers, neither of which can have
//! left with the other, that are equally long behind their questions, none was held: what they had seemed to show of a
//! shared window is taken back.

use std::collections::VecDeque;

use super::host_pair::HostPair;
use crate::jitter::CLOSE_NS;

/// Answers that are remembered.
const ANSWERS_MAX: usize = 16;

/// What the beginning of an answer had been taken to show, in eighths of a bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Opening {
    pub(super) evidence: i64,
    pub(super) is_sure: bool,
}

#[derive(Clone, Copy, Debug)]
struct Answer {
    time_ns: i64,
    elapsed_ns: i64,
    /// Unless it shows nothing.
    opening: Option<Opening>,
}

/// The newest answers.
#[derive(Clone, Debug, Default)]
pub(super) struct Steady {
    answers: VecDeque<Answer>,
}

impl Steady {
    /// An answer begins so long behind its question: what others had been taken to show that are as long behind theirs,
    /// if there are any, but for those within so much time.
    fn begins(
        &mut self,
        (time_ns, elapsed_ns): (i64, i64),
        together_ns: i64,
    ) -> Option<Vec<Opening>> {
        let is_equal = |answer: &Answer| {
            let differs_ns = answer.elapsed_ns.saturating_sub(elapsed_ns);
            let apart_ns = time_ns.saturating_sub(answer.time_ns);
            differs_ns.saturating_abs() <= CLOSE_NS && apart_ns > together_ns
        };
        let equal = self.answers.iter_mut().filter(|it| is_equal(it));
        let equal: Vec<_> = equal.map(|answer| answer.opening.take()).collect();
        if self.answers.len() >= ANSWERS_MAX {
            self.answers.pop_front();
        }
        self.answers.push_back(Answer {
            time_ns,
            elapsed_ns,
            opening: None,
        });
        (!equal.is_empty()).then(|| equal.into_iter().flatten().collect())
    }

    /// The newest of them shows this.
    pub(super) fn shows(&mut self, opening: Opening) {
        if let Some(newest) = self.answers.back_mut() {
            newest.opening = Some(opening);
        }
    }
}

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
    use super::*;

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
