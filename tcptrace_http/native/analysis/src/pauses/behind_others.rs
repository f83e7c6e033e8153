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
            && (ending.short.is_some() || self.is_short)
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
    use super::super::pause::{Pause, ShortSegment};
    use super::super::test_path::{path, segment};
    use crate::pauses::Path;

    const MS: i64 = 1_000_000;
    const START: u64 = (1 << 32) - 500;

    /// How much later the next `next_bytes` came than the ACK of a segment of so many bytes let them go, of which 1000 are
    /// a full one, and which had been kept so long: 50 ms after that, on a path of 10 ms whose link takes 8 ms for a
    /// segment and had others' to carry for so long.
    fn since_ms((bytes, next_bytes): (u32, u32), kept_ms: i64, queued_ms: i64) -> i64 {
        let on = Path {
            queued_ns: queued_ms * MS,
            service_ns: 8 * MS,
            ..path(1000, 10 * MS, 8 * MS)
        };
        let previous = segment(0, START, bytes);
        let end = previous.end;
        let data = segment((kept_ms + 68) * MS, end, next_bytes);
        let mut ending = acknowledged(kept_ms * MS, 0);
        ending.ack.after = end;
        ending.short = (bytes < 1000).then_some(ShortSegment {
            frame: 1,
            start: START,
            end,
            bytes,
        });
        let pause = Pause {
            is_short: next_bytes < 1000,
            ..pause_between(previous, data, on)
        };
        pause.since(&ending, 8 * MS) / MS
    }

    #[test]
    fn what_a_kept_ack_let_go_stood_behind_others_that_the_link_carried_all_the_while() {
        let behind_short = (300, 1000);
        assert_eq!(since_ms(behind_short, 40, 200), 0);
        assert_eq!(
            since_ms(behind_short, 40, 0),
            50,
            "the link was idle: it left so much later"
        );
        assert_eq!(since_ms(behind_short, 0, 200), 50, "no timer kept the ACK");
    }

    #[test]
    fn a_short_end_that_the_kept_ack_of_a_full_segment_let_go_stood_behind_others_as_well() {
        assert_eq!(since_ms((1000, 300), 40, 200), 0);
        assert_eq!(
            since_ms((1000, 1000), 40, 200),
            50,
            "a full one waits for no ACK but a window's"
        );
    }
}
