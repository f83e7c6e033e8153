//! How long the server works before it answers, as answers show that stood in no queue.
//!
//! Theory of operation. What answers a question at once comes as long after it as the path and the slowest link take for
//! both, and for what stood before the question. An answer that comes later, though it stood behind nothing itself, shows
//! that its server worked. Of another one that stands in the queue of the link nobody sees when it had come there: its
//! server is taken to have worked for as long as before, where that leaves room.

use super::bare::Question;
use super::pace::{OnLink, Pace};
use super::uplink::Standing;
use crate::jitter::{CLOSE_NS, RELEASE_MAX_NS};

/// Headers by which the way of a question and its answer is known no better: of the handshake's last packet, and of an
/// option or two.
const HEADERS_VARY: i64 = 2;

/// The answers that stood behind nothing, and how long the server had worked for all of them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Working {
    answers: i64,
    worked_ns: i64,
}

impl Working {
    /// An answer of so many bytes came so much later than the path's least round trip behind its question, and may have
    /// stood before the link for so long.
    pub(super) fn answered(
        &mut self,
        (late_ns, stood_ns): (i64, i64),
        bytes: u32,
        question: Question,
        pace: &Pace,
    ) {
        let taken = taken_ns(bytes, question, pace).filter(|_| stood_ns <= CLOSE_NS);
        let Some((taken_ns, varies_ns)) = taken else {
            return;
        };
        self.answers = self.answers.saturating_add(1);
        let worked_ns = late_ns.saturating_sub(taken_ns);
        if worked_ns > RELEASE_MAX_NS.max(varies_ns) {
            self.worked_ns = self.worked_ns.saturating_add(worked_ns);
        }
    }

    /// How long the server works before an answer in the mean; 0 as long as nothing is known.
    pub(super) fn mean_ns(self) -> i64 {
        self.worked_ns.checked_div(self.answers).unwrap_or(0)
    }
}

/// What the link takes for an answer of so many bytes and its question longer than for packets without payload, and by
/// how much that may vary; it is taken to be as slow in both directions.
fn taken_ns(bytes: u32, question: Question, pace: &Pace) -> Option<(i64, i64)> {
    let answer = pace.on_link(bytes)?;
    let longer_ns = |bytes| pace.on_link(bytes).map_or(0, OnLink::longer_ns);
    let standing_ns = |ahead: Standing| {
        let headers_ns = answer.bare_ns.saturating_mul(ahead.packets.into());
        let together_ns = headers_ns.saturating_add(longer_ns(ahead.bytes));
        together_ns.max(ahead.queued_ns)
    };
    let taken_ns = [
        answer.longer_ns(),
        longer_ns(question.bytes),
        standing_ns(question.ahead.own),
        standing_ns(question.ahead.others),
    ];
    let varies_ns = answer.bare_ns.saturating_mul(HEADERS_VARY);
    Some((taken_ns.into_iter().fold(0, i64::saturating_add), varies_ns))
}

#[cfg(test)]
mod tests {
    use super::super::tests::segment;
    use super::super::uplink::Ahead;
    use super::*;
    use trace_model::flags;

    const MS: i64 = 1_000_000;

    /// How long a server works in the mean, of which answers to this question came so late, on a link on which a full
    /// segment takes 8 ms, and a question of 210 bytes 1 ms longer than one of none. The newest may have stood so long.
    fn mean_ns(late_ms: &[i64], ask: Question, stood_ms: i64) -> i64 {
        let mut pace = Pace::default();
        pace.follows(8 * MS, 1460);
        let mut working = Working::default();
        for late_ms in late_ms {
            working.answered((late_ms * MS, stood_ms * MS), 1460, ask, &pace);
        }
        working.mean_ns()
    }

    fn question(bytes: u32, ahead: Ahead) -> Question {
        let asks = segment(flags::ACK, u32::MAX - 50, 0, bytes);
        let mut question = Question::default().asked(0, &asks);
        question.ahead = ahead;
        question
    }

    #[test]
    fn a_server_works_for_what_neither_path_nor_link_took() {
        let ask = question(210, Ahead::default());
        assert_eq!(mean_ns(&[8], ask, 0), 0);
        let mean_ns = mean_ns(&[8, 48], ask, 0);
        assert!((19 * MS..=20 * MS).contains(&mean_ns), "{mean_ns}");
    }

    #[test]
    fn what_stood_before_a_question_was_no_work() {
        let others = Standing {
            bytes: 3000,
            packets: 4,
            queued_ns: 0,
        };
        let ahead = Ahead {
            others,
            ..Ahead::default()
        };
        assert_eq!(mean_ns(&[26], question(210, ahead), 0), 0);
    }

    #[test]
    fn what_may_have_stood_before_the_link_tells_nothing() {
        let ask = question(210, Ahead::default());
        assert_eq!(mean_ns(&[48], ask, 8), 0);
    }
}
