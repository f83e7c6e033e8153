//! What was held until all of a flight had come of which a part was lost.
//!
//! Theory of operation. In a fast recovery each segment that comes behind the missing one opens the window by one, which
//! begins with the threshold (RFC 5681, section 3.2). So soon there is room behind all that was in flight, and full
//! segments leave. What is short and leaves with the ACK of all Nagle's algorithm has held since there was room (RFC 896).

use trace_model::rows::Cause;

use super::super::acks::{Acks, Released};
use super::super::partition::INFERRED;
use super::{Data, Resent, Route, Timeline};

impl Timeline {
    /// ACKs have told of a loss, and what was missing comes: near the receiver it is known when what tells of it came.
    pub(super) fn notes_duplicate_acks(&mut self, data: Resent) {
        let acks = self.window.makes_room_with(data.start);
        let Some(last) = acks.and_then(|acks| acks.checked_sub(1)) else {
            return;
        };
        let mut behind = self.pending.iter().filter(|sent| sent.end > data.end);
        let room_ns = behind.nth(last).map(|sent| sent.at.time_ns);
        self.window
            .has_room_in_recovery(room_ns.filter(|_| !self.settles_by_ack));
    }

    /// What data waited for that seems to have waited for `told`.
    pub(super) fn of_recovery(
        &self,
        told: (Cause, f64),
        (data, is_answer): (Data, bool),
        released: Released,
        (route, acks): (Route, &Acks),
    ) -> (Cause, f64) {
        let acked = acks.acked_by(Acks::known_by(data.at.time_ns, route.to_sender_ns));
        let is_held = released == Released::ByAck
            && told.0 == Cause::SendLimitedCwnd
            && (self.has_more || !is_answer)
            && !data.is_above_nagle()
            && !data.opens_hole
            && !data.sharing.is_shared
            && acked >= self.sent_until
            && self
                .window
                .had_room_in_recovery_ns(self.sent_until)
                .is_some();
        match is_held {
            true => (Cause::StallNagleHold, INFERRED),
            false => told,
        }
    }

    /// Until when what Nagle's algorithm held then had waited for room in the window before, if it did.
    pub(super) fn had_room_in_recovery(&self, data: Data, route: Route) -> Option<(Cause, i64)> {
        let start = data.start();
        let room_ns = self.window.had_room_in_recovery_ns(start)?;
        let way_ns = route.to_sender_ns.saturating_add(self.takes_ns(data.bytes));
        Some((Cause::SendLimitedCwnd, room_ns.saturating_add(way_ns)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::partition::Moment;
    use super::super::Words;
    use super::*;
    use tcptrace_tcp::LastHeard;
    use trace_model::rows::RecoveryKind;

    const MS: i64 = 1_000_000;
    const ROUTE: Route = Route::at_receiver(100);

    /// What a segment waited for that came with the ACK of five, of which the first had been lost; the last of them came
    /// then.
    fn told(last_ms: i64, bytes: u32, nagle_is_off: bool) -> Vec<(Cause, i64)> {
        let start = (1 << 32) - 2000;
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        let mut acks = Acks::default();
        acks.push(0, start, 60_000, 100 * MS);
        for (time_ms, segment) in [(200, 2), (201, 3), (202, 4), (last_ms, 5)] {
            let data = Data {
                opens_hole: segment == 2,
                ..Data::at_ms(time_ms, start + segment * 1000)
            };
            timeline.new_data(data, None, ROUTE, &acks);
        }
        let at = Moment::at_ms(303);
        let repair = Resent {
            at,
            start,
            end: start + 1000,
            recovery: Some(RecoveryKind::FastRecovery),
            heard: LastHeard {
                time_ns: 0,
                duplicate_acks: 1,
                ..LastHeard::default()
            },
            has_sack: false,
            is_for_others: false,
            due_ns: None,
        };
        timeline.resent(repair, None, ROUTE);
        acks.push(303 * MS, start + 5000, 60_000, 100 * MS);
        let short = Data {
            bytes,
            nagle_is_off,
            ..Data::at_ms(404, start + 5000 + i64::from(bytes))
        };
        timeline.new_data(short, None, ROUTE, &acks);
        let waited = timeline.between(303 * MS, 404 * MS);
        let of_wait = waited.filter(|it| it.cause != Cause::SendLimitedBottleneck);
        of_wait.map(|it| (it.cause, it.end.time_ns / MS)).collect()
    }

    #[test]
    fn what_is_short_waits_behind_a_recovery_for_the_ack_of_all_once_duplicate_acks_have_made_room()
    {
        assert_eq!(told(203, 400, false), [(Cause::StallNagleHold, 404)]);
        let late = [(Cause::SendLimitedCwnd, 350), (Cause::StallNagleHold, 404)];
        assert_eq!(told(250, 400, false), late);
        for (bytes, nagle_is_off) in [(1000, false), (400, true)] {
            let full = told(203, bytes, nagle_is_off);
            assert_eq!(full, [(Cause::SendLimitedCwnd, 404)]);
        }
    }
}
