//! Which of two ACKs let data go that came by closely one after the other.
//!
//! The path is the least that there was, and data takes longer than a packet without: what comes no later than the path
//! makes it was let go by an ACK before. In a recovery ACKs of nothing new let data go as well (RFC 5681, section 3.2).

use super::{Ack, Acks, Released};
use crate::jitter::CLOSE_NS;

impl Acks {
    /// What data up to `end`, seen at `time_ns`, waited for.
    pub(in crate::waits) fn released(
        &self,
        time_ns: i64,
        end: i64,
        path_ns: i64,
        pace_ns: i64,
    ) -> Released {
        self.released_in_order((time_ns, end), (path_ns, pace_ns), (false, None))
    }

    /// The ACK that let data go which the path brings by if it goes by at `sent_ns`: the `nearest`, or the one before it
    /// if the data would have been early, and takes no longer than `pace_ns` behind that one.
    pub(super) fn in_order<'a>(
        &'a self,
        nearest: (usize, &'a Ack),
        (sent_ns, pace_ns): (i64, i64),
    ) -> (usize, &'a Ack) {
        let before = nearest.0.checked_sub(1);
        let before = before.and_then(|at| Some((at, self.ring.get(at)?)));
        let most_ns = pace_ns.saturating_add(CLOSE_NS);
        let fits = |(_, ack): &(usize, &Ack)| sent_ns.saturating_sub(ack.time_ns) <= most_ns;
        let is_early = nearest.1.time_ns > sent_ns;
        before.filter(|it| is_early && fits(it)).unwrap_or(nearest)
    }

    /// The first ACK, if it went more than half a round trip before: the path was measured by a SYN-ACK with
    /// data (RFC 1644, RFC 7413) then, and seemed longer by the time that took.
    pub(super) fn first_of_an_accelerated_open(&self, time_ns: i64, path_ns: i64) -> Option<usize> {
        let first = self.ring.front()?;
        (time_ns.saturating_sub(first.time_ns) > path_ns / 2).then_some(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: i64 = 1000;

    #[test]
    fn what_would_come_too_soon_for_an_ack_was_let_go_by_the_one_before() {
        let start = 1 << 32;
        let mut acks = Acks::default();
        for place in 0..3 {
            let acked = start + 1000 * place;
            acks.push(1200 * US * place, acked, 4000, 100_000 * US);
        }
        // 100 us before the path brings what the last lets go, and in the time of a segment behind the second.
        let at = (102_300 * US, start + 4500);
        for (is_in_order, pace_ns, released) in [
            (true, 1200 * US, Released::ByWindow),
            (true, 100 * US, Released::ByAck),
            (false, 1200 * US, Released::ByAck),
        ] {
            let path = (100_000 * US, pace_ns);
            assert_eq!(
                acks.released_in_order(at, path, (is_in_order, None)),
                released
            );
        }
    }
}
