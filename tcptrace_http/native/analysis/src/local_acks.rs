//! Detection of ACKs from a middlebox near the client (a NAT, a performance-enhancing proxy, RFC 3135).
//!
//! The handshake and every answer take a round trip of the whole path. ACKs within a small part of that time
//! come from a nearer device. A slow handshake alone has other causes (address resolution, radio wake-up):
//! answers are then faster than the handshake.

/// Minimum ratio of the handshake time to the fastest ACK, and minimum difference.
const TIMES_MIN: i64 = 8;
const LONGER_MIN_NS: i64 = 20_000_000;
/// Minimum number of ACKs and of answers as evidence.
const ACKS_MIN: u32 = 3;
const ANSWERS_MIN: u32 = 3;
/// Jitter of round trips, as a divisor.
const JITTER_SHARE: i64 = 8;

#[derive(Clone, Copy, Debug, Default)]
pub struct LocalAcks {
    /// End and send time of the client's newest data, until an ACK or an answer comes.
    unacked: Option<(i64, i64)>,
    unanswered_ns: Option<i64>,
    least_ack_ns: Option<i64>,
    least_answer_ns: Option<i64>,
    quick_acks: u32,
    slow_acks: u32,
    answers: u32,
}

impl LocalAcks {
    /// Take client data that ends at `end`.
    pub fn on_request(&mut self, end: i64, time_ns: i64) {
        self.unacked = Some((end, time_ns));
        self.unanswered_ns = Some(time_ns);
    }

    /// Take a pure ACK of the server; `handshake_ns` is the time from SYN to SYN-ACK.
    pub fn on_ack(&mut self, ack: i64, time_ns: i64, handshake_ns: Option<i64>) {
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

    /// Take server data.
    pub fn on_answer(&mut self, time_ns: i64) {
        self.unacked = None;
        if let Some(requested_ns) = self.unanswered_ns.take() {
            let elapsed_ns = time_ns.saturating_sub(requested_ns);
            self.least_answer_ns = Some(least(self.least_answer_ns, elapsed_ns));
            self.answers = self.answers.saturating_add(1);
        }
    }

    /// Return the round trip to the server, if the ACKs come from a nearer device.
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

    /// Return the round trip for a handshake and exchanges with an ACK and an answer each.
    fn exchanges(handshake_ms: i64, count: i64, ack_ms: i64, answer_ms: i64) -> Option<i64> {
        let mut acks = LocalAcks::default();
        let handshake_ns = handshake_ms * MS;
        for at in 1..=count {
            let time_ns = at * 10_000 * MS;
            acks.on_request(at * 100, time_ns);
            acks.on_ack(at * 100, time_ns + ack_ms * MS, Some(handshake_ns));
            acks.on_answer(time_ns + answer_ms * MS);
        }
        acks.round_trip_ns(handshake_ns)
    }

    #[test]
    fn acks_far_earlier_than_answers_are_not_the_servers() {
        assert_eq!(exchanges(200, 3, 1, 250), Some(200 * MS));
        assert_eq!(
            exchanges(200, 3, 1, 180),
            Some(200 * MS),
            "the difference is below the jitter"
        );
        assert_eq!(
            exchanges(200, 2, 1, 250),
            None,
            "two exchanges may be chance"
        );
    }

    #[test]
    fn handshake_slower_than_an_answer_is_no_evidence() {
        assert_eq!(exchanges(200, 9, 1, 50), None);
        assert_eq!(exchanges(200, 9, 100, 250), None);
        assert_eq!(exchanges(15, 9, 1, 250), None);
    }
}
