//! What answers were late by, as a distance of data may agree with it.
//!
//! Theory of operation. An answer comes later than the path's least round trip by what the slowest link takes for it and
//! for its question, and by its server's work. What acknowledges a question without an answer waits for no work. The
//! distance of a segment of data to the one before is what that link takes for it, or a wait. Neither a server nor a
//! timer waits as exactly in proportion to the bytes of both, so what agrees is the link.

use super::bare::Question;
use super::host_pair::HostPair;
use super::uplink::Ahead;
use crate::byte_time::per_byte;

/// Answers that are remembered until a distance agrees with them.
const ANSWERS: usize = 4;
/// Both take as long for a byte to this share of it: what is known to the byte varies with clocks alone.
const EXACT_SHARE: i64 = 200;
/// Of fewer bytes clocks are too large a part.
const BYTES_MIN: i64 = 64;
/// What the slowest link adds to headers of IP and TCP: nothing on a serial line, or a frame of Ethernet.
const FRAME_BYTES: [i64; 2] = [0, 14];

/// What came late: by how much, of how many bytes besides headers, and with those of how many packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Late {
    pub(super) late_ns: i64,
    pub(super) bytes: i64,
    pub(super) packets: u32,
}

/// A segment of data came so long behind another one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Distance {
    pub(super) gap_ns: i64,
    pub(super) bytes: u32,
    /// Its headers of IP and TCP.
    pub(super) header_bytes: u32,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LateAnswers([Option<Late>; ANSWERS]);

impl LateAnswers {
    pub(super) fn came(&mut self, late: Late) {
        if late.bytes < BYTES_MIN || late.late_ns <= 0 {
            return;
        }
        self.0.rotate_right(1);
        if let Some(newest) = self.0.first_mut() {
            *newest = Some(late);
        }
    }

    /// Whether one of the newest took as long for a byte.
    pub(super) fn agree_with(self, distance: Distance) -> bool {
        let Distance {
            gap_ns,
            bytes,
            header_bytes,
        } = distance;
        self.0.into_iter().flatten().any(|late| {
            FRAME_BYTES.into_iter().any(|frame| {
                let header = i64::from(header_bytes).saturating_add(frame);
                let of_distance = per_byte(gap_ns, header.saturating_add(bytes.into()));
                let headers = header.saturating_mul(late.packets.into());
                let of_answer = per_byte(late.late_ns, late.bytes.saturating_add(headers));
                let apart = of_distance.saturating_sub(of_answer).saturating_abs();
                apart <= of_answer / EXACT_SHARE
            })
        })
    }
}

impl HostPair {
    /// The server acknowledges a question without an answer.
    pub(super) fn question_was_heard(&mut self, time_ns: i64, question: Question) {
        let Some(to_server_ns) = self.to_server_ns.filter(|_| !self.is_at_server()) else {
            return;
        };
        let elapsed_ns = time_ns.saturating_sub(question.time_ns);
        let late_ns = elapsed_ns.saturating_sub(to_server_ns);
        self.answer_was_late(late_ns, question.bytes.into(), question);
    }

    /// What answers `question` came so late, and so many bytes of both.
    pub(super) fn answer_was_late(&mut self, late_ns: i64, bytes: i64, question: Question) {
        let Ahead { others, own, .. } = question.ahead;
        let ahead = i64::from(others.bytes).saturating_add(own.bytes.into());
        // The way was measured with a handshake's packets, which are longer.
        let longer = i64::from(self.headers.syn_longer_bytes());
        self.late_answers.came(Late {
            late_ns,
            bytes: bytes.saturating_add(ahead).saturating_sub(longer),
            packets: others.packets.saturating_add(own.packets),
        });
        self.late_answers_agree();
    }

    /// Whether a segment of data came as long behind another one as an answer was late, in proportion to their bytes.
    pub(super) fn is_as_late(&self, (gap_ns, bytes): (i64, u32)) -> bool {
        let header_bytes = self.headers.of_data(self.client.is_v6);
        header_bytes.is_some_and(|header_bytes| {
            self.late_answers.agree_with(Distance {
                gap_ns,
                bytes,
                header_bytes,
            })
        })
    }

    /// The only distance that is known may agree with answers.
    pub(super) fn late_answers_agree(&mut self) {
        let distance = self.link.single_distance();
        if distance.is_some_and(|distance| self.is_as_late(distance)) {
            self.link.is_agreed();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::segment;
    use super::*;
    use trace_model::{flags, Segment};

    const MS: i64 = 1_000_000;

    /// Whether a segment of 960 bytes that came so long behind another one, in microseconds, took as long for a byte as
    /// what came late.
    fn agrees(late: Late, gap_us: i64) -> bool {
        let mut answers = LateAnswers::default();
        answers.came(late);
        answers.agree_with(Distance {
            gap_ns: gap_us * 1000,
            bytes: 960,
            header_bytes: 40,
        })
    }

    #[test]
    fn an_answer_as_late_as_its_bytes_have_it_agrees_with_a_distance() {
        // 0.1 ms a byte, behind a packet without payload; on a serial line, and on Ethernet.
        for (late_us, gap_us) in [(54_000, 100_000), (55_400, 101_400)] {
            let late = |later_us: i64| Late {
                late_ns: (late_us + later_us) * 1000,
                bytes: 500,
                packets: 1,
            };
            assert!(agrees(late(0), gap_us));
            assert!(!agrees(late(1000), gap_us), "its server had worked");
            assert!(!agrees(late(0), gap_us + 2000), "it had waited");
        }
    }

    #[test]
    fn of_few_bytes_an_answer_tells_nothing() {
        let late = |bytes: i64| Late {
            late_ns: bytes * MS / 10,
            bytes,
            packets: 0,
        };
        assert!(agrees(late(64), 100_000));
        assert!(!agrees(late(40), 100_000));
    }

    /// A pair whose client has asked with 300 bytes, and has heard 130 ms later that all of that had come, over a path
    /// of 100 ms; and what the link takes for a full segment that comes so long behind another one.
    fn takes_after_question_heard(gap_ms: i64) -> Option<i64> {
        let mut pair = HostPair::with_path(100 * MS);
        let data = Segment {
            header_bytes: 20,
            ..segment(flags::ACK, 0, 0, 960)
        };
        pair.has_headers(false, &data);
        let asks = segment(flags::ACK, u32::MAX - 100, 0, 300);
        pair.question_was_heard(130 * MS, Question::default().asked(0, &asks));
        pair.arrives(gap_ms * MS, 960, true);
        pair.link.takes_ns(960, 1)
    }

    #[test]
    fn a_single_distance_agrees_with_a_question_that_was_heard_of_late_though_an_ack_may_have_let_it_go(
    ) {
        assert_eq!(takes_after_question_heard(100), Some(100 * MS));
        assert_eq!(takes_after_question_heard(120), None);
    }
}
