//! What stood in the queue of a link behind what that carried for other connections.

use super::pause::{Ending, Pause, ACK_DELAY_MIN_NS};

/// A host that sends what several connections have at once puts so many segments of others between two of one.
const TOGETHER_MAX: i64 = 4;

impl Pause {
    /// How long the data may have stood in a queue, if that had not begun before the pause: else it may have left
    /// with the segment before.
    pub(super) fn queued_ns(&self) -> i64 {
        let queued_ns = self.path.queued_ns.max(0);
        let begun_ns = self.data.time_ns.saturating_sub(queued_ns);
        if begun_ns > self.previous.time_ns {
            queued_ns
        } else {
            0
        }
    }

    /// How long data may have stood there that an ACK let go which a timer had kept back, while the link had others' data
    /// to carry since before the pause.
    ///
    /// A queue is served in order: had it left with the short segment before it, no more than a few of others' would
    /// have come between the two.
    pub(super) fn behind_others_ns(&self, ending: &Ending) -> i64 {
        let gap_ns = self.data.time_ns.saturating_sub(self.previous.time_ns);
        let was_kept = ending.ack.time_ns.saturating_sub(ending.ack.covered_ns) >= ACK_DELAY_MIN_NS
            && ending.short.is_some()
            && ending.ack.after >= self.previous.end;
        let service_ns = self.path.service_ns;
        let together_ns = service_ns.saturating_mul(TOGETHER_MAX);
        let is_behind = service_ns > 0 && self.path.queued_ns >= gap_ns && gap_ns > together_ns;
        if was_kept && is_behind {
            gap_ns
        } else {
            0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::pause::tests::{acknowledged, pause_between};
    use super::super::pause::ShortSegment;
    use super::super::test_path::{path, segment};
    use crate::pauses::Path;

    const MS: i64 = 1_000_000;
    const START: u64 = (1 << 32) - 500;

    /// How much later data came than the ACK of a short segment let it go, which had been kept so long: 50 ms after that,
    /// on a path of 10 ms whose link takes 8 ms for a segment and had others' to carry for so long.
    fn since_ms(kept_ms: i64, queued_ms: i64) -> i64 {
        let on = Path {
            queued_ns: queued_ms * MS,
            service_ns: 8 * MS,
            ..path(1000, 10 * MS, 8 * MS)
        };
        let previous = segment(0, START, 300);
        let data = segment((kept_ms + 68) * MS, START + 300, 1000);
        let mut ending = acknowledged(kept_ms * MS, 0);
        ending.short = Some(ShortSegment {
            frame: 1,
            start: START,
            end: START + 300,
            bytes: 300,
        });
        pause_between(previous, data, on).since(&ending, 8 * MS) / MS
    }

    #[test]
    fn what_a_kept_ack_let_go_stood_behind_others_that_the_link_carried_all_the_while() {
        assert_eq!(since_ms(40, 200), 0);
        assert_eq!(
            since_ms(40, 0),
            50,
            "the link was idle: it left so much later"
        );
        assert_eq!(since_ms(0, 200), 50, "no timer kept the ACK");
    }
}
