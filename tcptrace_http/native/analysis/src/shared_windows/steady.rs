//! How long behind their questions answers begin, which tells those that no window held.
//!
//! Theory of operation. A server that works equally long before each answer begins it when it has it. That may be when an
//! ACK of another connection lets data go, and is so again and again where it works for about as long as packets travel. What
//! a window held comes when an ACK does, at another time behind each question. So of two answers, neither of which can have
//! left with the other, that are equally long behind their questions, none was held: what they had seemed to show of a
//! shared window is taken back.

use std::collections::VecDeque;

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
    pub(super) fn begins(
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
