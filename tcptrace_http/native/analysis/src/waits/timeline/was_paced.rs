//! Data behind what was pushed that a clock of its sender let go, as shows when what follows keeps time with it.
//!
//! Theory of operation. A sender that paces lets the segments of a window that it knows from before go by a clock
//! (Visweswaraiah and Heidemann 1997; Eggert 1999, section 3.1). A head that it pushes is the first of them: what comes
//! a tick later need not have been written later. The next tick tells.

use super::{Data, Route, Timeline};
use crate::jitter::CLOSE_NS;

impl Timeline {
    /// A clock has let data go so long after the data before: that had come by the same clock, if it was as long behind
    /// what was before it, give or take what the slowest link takes for a short segment less than for a full one.
    pub(super) fn was_paced(&mut self, gap_ns: i64, route: Route) {
        self.window.has_pacer();
        self.window.is_spread(gap_ns, route.rtt_ns());
        let (idle, burst) = (self.words.idle, self.words.burst);
        let longer_ns = self.takes_ns(self.full_bytes).saturating_add(CLOSE_NS);
        let ticks = gap_ns.saturating_sub(CLOSE_NS)..=gap_ns.saturating_add(longer_ns);
        let Some((sent, _)) = self
            .sent
            .filter(|_| self.sent_gap_ns.is_some_and(|it| ticks.contains(&it)))
        else {
            return;
        };
        let newest = self.pieces.back_mut();
        if let Some(newest) = newest.filter(|it| it.cause == idle && it.end.time_ns == sent.time_ns)
        {
            newest.cause = burst;
        }
    }

    /// Whether a clock of the sender would have let go what is short, if Nagle's algorithm had not held it.
    pub(super) fn was_spread_with_room(&mut self, data: Data) -> bool {
        let sent_ns = self.sent.map_or(i64::MAX, |(sent, _)| sent.time_ns);
        let quiet_ns = data.at.time_ns.saturating_sub(sent_ns);
        let had_room = self
            .window
            .had_spread_room(self.sent_until, data.bytes, quiet_ns);
        had_room && !data.is_above_nagle() && !data.sharing.are_others_in_flight
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::acks::Acks;
    use super::super::{Data, Route, Words};
    use super::*;
    use crate::shared_windows::Sharing;
    use trace_model::rows::Cause;

    const MS: i64 = 1_000_000;

    /// What a body waited for that came so long behind its pushed head, where a clock let the rest of it go.
    fn told(behind_ms: i64) -> Option<Cause> {
        let route = Route::at_receiver(500);
        let mut acks = Acks::default();
        let start = (1 << 32) - 1200;
        acks.push(0, start, 60_000, 500 * MS);
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        let body_ms = 600 + behind_ms;
        for (time_ms, end, bytes, is_paced) in [
            (600, 200, 200, false),
            (body_ms, 1200, 1000, false),
            (body_ms + 70, 2200, 1000, true),
        ] {
            let data = Data {
                bytes,
                is_pushed: bytes < 1000,
                sharing: Sharing {
                    is_paced,
                    ..Sharing::default()
                },
                ..Data::at_ms(time_ms, start + end)
            };
            timeline.new_data(data, None, route, &acks);
        }
        let told = timeline.between(600 * MS, body_ms * MS).last();
        told.map(|piece| piece.cause)
    }

    #[test]
    fn what_a_clock_let_go_behind_a_pushed_head_shows_with_its_next_tick() {
        assert_eq!(told(70), Some(Cause::SendLimitedBottleneck));
        assert_eq!(told(90), Some(Cause::ServerDataUnavailable));
    }
}
