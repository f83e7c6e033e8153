//! Full segments that were alone, and whose ACK their receiver delayed: a window of one waits for that.

use super::super::acks::Acks;
use super::{Data, Route, Timeline, DELAYED_ACK_MIN_NS};

/// So many segments may have been lost of a flight of which the rest shows that they had their time on the link.
const MISSING_MAX: i64 = 3;

impl Timeline {
    /// How long the ACK of the segment before was delayed, if that was a full one and alone.
    pub(super) fn ack_delay(&self, data: Data, route: Route, acks: &Acks) -> i64 {
        let alone = self.sent.filter(|_| self.was_full(data.full_bytes));
        let by_other = if data.sharing.is_shared {
            data.sharing.is_let_go_by_other
        } else {
            data.sharing.by_other
        };
        let alone = alone.filter(|_| !by_other);
        let Some((before, _)) = alone.filter(|_| !route.is_at_sender) else {
            return 0;
        };
        // The ACK went between the two.
        if data.at.time_ns.saturating_sub(before.time_ns) < DELAYED_ACK_MIN_NS {
            return 0;
        }
        let start = data.end.saturating_sub(i64::from(data.bytes));
        let left_with_missing = data.opens_hole && self.left_with_missing(data, route, acks);
        let end = if left_with_missing {
            start.min(self.sent_until)
        } else {
            start
        };
        let next = (data.at.time_ns, route.to_sender_ns);
        let delay = acks.delay_of((before.time_ns, self.sent_start, end), next);
        delay
            .filter(|delay| *delay >= DELAYED_ACK_MIN_NS)
            .unwrap_or(0)
    }

    /// Whether data came when an ACK let it go together with what is missing before it, which may have had its time on
    /// the slowest link or not.
    fn left_with_missing(&self, data: Data, route: Route, acks: &Acks) -> bool {
        let missing = data
            .end
            .saturating_sub(i64::from(data.bytes))
            .saturating_sub(self.sent_until);
        let full = i64::from(data.full_bytes.max(1));
        let missing = missing
            .saturating_add(full)
            .saturating_sub(1)
            .checked_div(full)
            .unwrap_or(0);
        let after_ns = route.to_sender_ns.saturating_add(self.takes_ns(data.bytes));
        let full_ns = self.takes_ns(data.full_bytes);
        let is_close = |lost: i64| {
            acks.let_go_closely(
                data.at.time_ns,
                after_ns.saturating_add(full_ns.saturating_mul(lost)),
            )
        };
        // A link that is not known may take any time.
        full_ns == 0 || (0..=missing.min(MISSING_MAX)).any(is_close)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::partition::Moment;
    use super::super::Words;
    use super::*;
    use trace_model::rows::Cause;

    const MS: i64 = 1_000_000;
    const START: i64 = (1 << 32) - 1000;

    /// How long the ACK of a full segment was delayed, by what comes so long after that ACK, of which so much before it
    /// is missing, on a path of 20 ms.
    fn delay_ms(after_ms: i64, missing: i64) -> i64 {
        let words = Words {
            burst: Cause::SendLimitedBottleneck,
            idle: Cause::ServerDataUnavailable,
        };
        let route = Route {
            to_sender_ns: 20 * MS,
            ..Route::default()
        };
        let mut acks = Acks::default();
        acks.push(0, START, 60_000, 20 * MS);
        let mut timeline = Timeline::new(words, None);
        let data = |time_ms: i64, end: i64, opens_hole: bool| Data {
            bytes: 1000,
            full_bytes: 1000,
            opens_hole,
            ..Data::plain(
                Moment {
                    time_ns: time_ms * MS,
                    frame: 1,
                },
                end,
            )
        };
        timeline.new_data(data(100, START + 1000, false), None, route, &acks);
        acks.push(300 * MS, START + 1000, 60_000, 20 * MS);
        let next = data(300 + after_ms, START + 2000 + missing, missing > 0);
        timeline.ack_delay(next, route, &acks) / MS
    }

    #[test]
    fn what_a_delayed_ack_let_go_waited_for_it_though_the_first_of_it_was_lost() {
        assert_eq!(delay_ms(20, 0), 200);
        assert_eq!(delay_ms(20, 1000), 200);
    }
}
