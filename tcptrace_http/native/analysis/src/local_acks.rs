//! Whether the ACKs of a client's data come from a middlebox near it (a NAT, a performance-enhancing proxy, RFC 3135)
//! and not from the server.
//!
//! The handshake takes a round trip of the whole path, and so does every answer. ACKs that come in a small part of that
//! are of something nearer. A handshake alone may be slow by itself (address resolution, a radio that wakes up): then
//! answers come sooner than it took.

/// The handshake takes so many times as long as the quickest ACK, and so much longer, at the least.
const TIMES_MIN: i64 = 8;
const LONGER_MIN_NS: i64 = 20_000_000;
/// ACKs and answers that show it.
const ACKS_MIN: u32 = 3;
const ANSWERS_MIN: u32 = 3;
/// Jitter makes one round trip shorter than another by less than this share.
const JITTER_SHARE: i64 = 8;

#[derive(Clone, Copy, Debug, Default)]
pub struct LocalAcks {
    /// The end of the client's newest data, and when it was sent, until an ACK or an answer comes.
    unacked: Option<(i64, i64)>,
    unanswered_ns: Option<i64>,
    least_ack_ns: Option<i64>,
    least_answer_ns: Option<i64>,
    quick_acks: u32,
    slow_acks: u32,
    answers: u32,
}

impl LocalAcks {
    /// The client sent data that ends at `end`.
    pub fn asked(&mut self, end: i64, time_ns: i64) {
        self.unacked = Some((end, time_ns));
        self.unanswered_ns = Some(time_ns);
    }

    /// The server acknowledged without data; `handshake_ns` is what its answer to the SYN took.
    pub fn acknowledged(&mut self, ack: i64, time_ns: i64, handshake_ns: Option<i64>) {
        let Some((_, sent_ns)) = self.unacked.filter(|(end, _)| *end == ack) else {
            return;
        };
        self.unacked = None;
        let Some(handshake_ns) = handshake_ns else {
            return;
        };
        let elapsed_ns = time_ns.saturating_sub(sent_ns);
        self.least_ack_ns = Some(least(self.least_ack_ns, elapsed_ns));
        let count = if elapsed_ns <= handshake_ns / 2 {
            &mut self.quick_acks
        } else {
            &mut self.slow_acks
        };
        *count = count.saturating_add(1);
    }

    /// The server sent data.
    pub fn answered(&mut self, time_ns: i64) {
        self.unacked = None;
        if let Some(asked_ns) = self.unanswered_ns.take() {
            let elapsed_ns = time_ns.saturating_sub(asked_ns);
            self.least_answer_ns = Some(least(self.least_answer_ns, elapsed_ns));
            self.answers = self.answers.saturating_add(1);
        }
    }

    /// The round trip to the server, if the ACKs are of something nearer.
    #[must_use]
    pub fn round_trip_ns(&self, handshake_ns: i64) -> Option<i64> {
        let ack_ns = self.least_ack_ns?;
        let is_far = ack_ns.saturating_mul(TIMES_MIN) <= handshake_ns
            && handshake_ns.saturating_sub(ack_ns) >= LONGER_MIN_NS;
        let jitter_ns = handshake_ns / JITTER_SHARE;
        let answers_are_far = self.answers >= ANSWERS_MIN
            && self.least_answer_ns? >= handshake_ns.saturating_sub(jitter_ns);
        let are_quick = self.quick_acks >= ACKS_MIN && self.slow_acks <= self.quick_acks / 2;
        (is_far && answers_are_far && are_quick).then_some(handshake_ns)
    }
}

fn least(before: Option<i64>, now: i64) -> i64 {
    before.map_or(now, |before| before.min(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// A handshake, and exchanges of which each has an ACK and an answer so late.
    fn exchanges(handshake_ms: i64, count: i64, ack_ms: i64, answer_ms: i64) -> Option<i64> {
        let mut acks = LocalAcks::default();
        let handshake_ns = handshake_ms * MS;
        for at in 1..=count {
            let time_ns = at * 10_000 * MS;
            acks.asked(at * 100, time_ns);
            acks.acknowledged(at * 100, time_ns + ack_ms * MS, Some(handshake_ns));
            acks.answered(time_ns + answer_ms * MS);
        }
        acks.round_trip_ns(handshake_ns)
    }

    #[test]
    fn acks_that_come_far_sooner_than_any_answer_are_not_the_servers() {
        assert_eq!(exchanges(200, 3, 1, 250), Some(200 * MS));
        assert_eq!(
            exchanges(200, 3, 1, 180),
            Some(200 * MS),
            "less than its jitter"
        );
        assert_eq!(exchanges(200, 2, 1, 250), None, "twice may be by chance");
    }

    #[test]
    fn a_handshake_that_took_longer_than_an_answer_was_slow_by_itself() {
        assert_eq!(exchanges(200, 9, 1, 50), None);
        assert_eq!(exchanges(200, 9, 100, 250), None);
        assert_eq!(exchanges(15, 9, 1, 250), None);
    }
}
