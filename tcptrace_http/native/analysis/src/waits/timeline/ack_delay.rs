//! Full segments that were alone, and whose ACK their receiver delayed: a window of one waits for that.

use tcptrace_tcp::{DELAYED_ACK_MAX_NS, DELAYED_ACK_MIN_NS};
use trace_model::rows::Cause;

use super::super::acks::Acks;
use super::{Data, Route, Timeline};
use crate::jitter::EARLY_MAX_NS;

/// So many segments may have been lost of a flight of which the rest shows that they had their time on the link.
const MISSING_MAX: i64 = 3;

/// How long the ACK was delayed that data may have waited for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckDelay {
    pub(super) ns: i64,
    /// It let the data go, as far as that is known now, and if connections turn out to share a window.
    pub(super) is_told: bool,
    pub(super) is_if_shared: bool,
}

impl AckDelay {
    /// Whether data that is told to have waited for `cause` may have waited for the delayed ACK instead: for a window, or
    /// what looks like a buffer where `window_is_like_buffer`.
    pub(super) fn may_be_of(self, cause: Cause, window_is_like_buffer: bool) -> bool {
        let is_like_window = window_is_like_buffer && cause == Cause::SendLimitedSendBuffer;
        self.ns > 0 && (is_window(cause) || is_like_window)
    }

    /// The connections turn out to share their window.
    pub(super) fn is_of_shared_window(&mut self) {
        self.is_told = self.is_if_shared;
    }

    /// What data waited for that time that waited for a window else, and what it did if connections share that.
    pub(super) fn causes(self, cause: Cause, if_shared: Option<Cause>) -> (Cause, Option<Cause>) {
        let delay = Cause::StallDelayedAckFirstSegment;
        match (self.is_told, self.is_if_shared) {
            (true, true) => (delay, None),
            (true, false) => (delay, if_shared),
            (false, true) => (cause, if_shared.map(|_| delay)),
            (false, false) => (cause, if_shared),
        }
    }
}

/// Whether the congestion window is what data waited for.
pub(super) fn is_window(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::SendLimitedSlowStart | Cause::SendLimitedCwnd | Cause::StallSlowStartRestart
    )
}

impl Timeline {
    /// How long the ACK of the segment before was delayed, if that was a full one and alone.
    pub(super) fn ack_delay(&self, data: Data, route: Route, acks: &Acks) -> AckDelay {
        let by_other = if data.sharing.is_shared {
            data.sharing.is_let_go_by_other
        } else {
            data.sharing.by_other && !self.was_flight(route, acks)
        };
        AckDelay {
            ns: self.ack_delay_ns(data, route, acks),
            is_told: !by_other,
            is_if_shared: !data.sharing.would_be_by_other,
        }
    }

    /// Whether the segment before was not on its way with those before it already: it came no sooner than the ACK of them
    /// all lets it go. The ACK of what was alone is its own, be that of other connections nearer by chance.
    fn was_flight(&self, route: Route, acks: &Acks) -> bool {
        let Some(((before, _), (ack, _))) = self.sent.zip(acks.of_all_before(self.sent_start))
        else {
            return true;
        };
        let after_ns = route
            .to_sender_ns
            .saturating_add(self.takes_ns(self.sent_bytes));
        let soonest_ns = ack.time_ns.saturating_add(after_ns);
        before.time_ns.saturating_add(EARLY_MAX_NS) >= soonest_ns
    }

    fn ack_delay_ns(&self, data: Data, route: Route, acks: &Acks) -> i64 {
        let alone = self.sent.filter(|_| self.was_full(data.full_bytes));
        let Some((before, _)) = alone.filter(|_| !route.is_at_sender) else {
            return 0;
        };
        // The ACK went between the two.
        if data.at.time_ns.saturating_sub(before.time_ns) < DELAYED_ACK_MIN_NS {
            return 0;
        }
        let start = data.start();
        let left_with_missing = data.opens_hole && self.left_with_missing(data, route, acks);
        let end = if left_with_missing {
            start.min(self.sent_until)
        } else {
            start
        };
        // What was missed had left long before it came.
        let missed = data.sharing.missed.map(|it| it.would_come_ns);
        let came_ns = missed.map_or(data.at.time_ns, |ns| ns.min(data.at.time_ns));
        let next = (came_ns, route.to_sender_ns);
        let delay = acks.delay_of((before.time_ns, self.sent_start, end), next);
        delay
            .filter(|delay| (DELAYED_ACK_MIN_NS..=DELAYED_ACK_MAX_NS).contains(delay))
            .unwrap_or(0)
    }

    /// Whether data came when an ACK let it go together with what is missing before it, which may have had its time on
    /// the slowest link or not.
    fn left_with_missing(&self, data: Data, route: Route, acks: &Acks) -> bool {
        let missing = data.start().saturating_sub(self.sent_until);
        let full = i64::from(data.full_bytes.max(1));
        let missing = missing
            .saturating_add(full)
            .saturating_sub(1)
            .checked_div(full)
            .unwrap_or(0);
        let after_ns = route.to_sender_ns.saturating_add(self.takes_ns(data.bytes));
        let full_ns = self.takes_ns(data.full_bytes);
        // ... and behind what others have sent.
        let queued_ns = data.sharing.queued_ns.max(0);
        let is_close = |lost: i64| {
            let lost_ns = full_ns.saturating_mul(lost);
            let after_ns = after_ns.saturating_add(lost_ns);
            acks.let_go_closely(data.at.time_ns, after_ns)
                || acks.let_go_closely(data.at.time_ns, after_ns.saturating_add(queued_ns))
        };
        // A link that is not known may take any time.
        full_ns == 0 || (0..=missing.min(MISSING_MAX)).any(is_close)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Words;
    use super::*;
    use crate::arrivals::Arrivals;
    use crate::shared_windows::Sharing;

    const MS: i64 = 1_000_000;
    const START: i64 = (1 << 32) - 1000;

    #[test]
    fn a_window_of_one_waits_for_a_delayed_ack_and_a_buffer_only_where_it_may_be_a_shared_window() {
        let delay = AckDelay {
            ns: 200 * MS,
            is_told: true,
            is_if_shared: true,
        };
        let may_be_of = |cause| [false, true].map(|it| delay.may_be_of(cause, it));
        assert_eq!(may_be_of(Cause::SendLimitedCwnd), [true, true]);
        assert_eq!(may_be_of(Cause::SendLimitedSendBuffer), [false, true]);
        assert_eq!(may_be_of(Cause::ServerDataUnavailable), [false, false]);
        assert!(!AckDelay::default().may_be_of(Cause::SendLimitedCwnd, true));
    }

    fn full(time_ms: i64, end: i64) -> Data {
        Data {
            bytes: 1000,
            full_bytes: 1000,
            ..Data::at_ms(time_ms, end)
        }
    }

    /// How long the ACK of a full segment, which went so long after that, was delayed, by what comes so long after the
    /// ACK, of which so much before it is missing, on a path of 20 ms.
    fn delay_ms(ack_ms: i64, after_ms: i64, missing: i64) -> i64 {
        let route = Route::at_receiver(20);
        let mut acks = Acks::default();
        acks.push(0, START, 60_000, 20 * MS);
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        timeline.new_data(full(100, START + 1000), None, route, &acks);
        acks.push((100 + ack_ms) * MS, START + 1000, 60_000, 20 * MS);
        let next = Data {
            opens_hole: missing > 0,
            ..full(100 + ack_ms + after_ms, START + 2000 + missing)
        };
        timeline.ack_delay(next, route, &acks).ns / MS
    }

    #[test]
    fn what_a_delayed_ack_let_go_waited_for_it_though_the_first_of_it_was_lost() {
        assert_eq!(delay_ms(200, 20, 0), 200);
        assert_eq!(delay_ms(200, 20, 1000), 200);
    }

    /// Whether what comes so long after a delayed ACK, a link that takes 4 ms for a segment being known and so much of
    /// others standing before it there, had left with one that is missing.
    fn is_with_missing(after_ms: i64, queued_ms: i64) -> bool {
        let route = Route::at_receiver(20);
        let mut link = Arrivals::default();
        for _ in 0..3 {
            link.came_after(4 * MS, 1000, 1, 20 * MS);
        }
        let mut acks = Acks::default();
        acks.push(0, START, 60_000, 20 * MS);
        acks.push(300 * MS, START + 1000, 60_000, 20 * MS);
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        let sharing = Sharing {
            link,
            queued_ns: queued_ms * MS,
            ..Sharing::default()
        };
        let first = Data {
            sharing,
            ..full(100, START + 1000)
        };
        timeline.new_data(first, None, route, &acks);
        let next = Data {
            sharing,
            opens_hole: true,
            ..full(300 + after_ms, START + 3000)
        };
        timeline.ack_delay(next, route, &acks).ns > 0
    }

    #[test]
    fn what_left_with_a_missing_segment_may_have_stood_behind_what_others_have_sent() {
        assert!(is_with_missing(24, 0) && is_with_missing(26, 2));
        assert!(!is_with_missing(26, 0) && !is_with_missing(26, 1));
    }

    #[test]
    fn no_receiver_delays_an_ack_for_half_a_second() {
        assert_eq!(delay_ms(499, 20, 0), 499);
        assert_eq!(delay_ms(560, 20, 0), 0);
    }

    /// Whether the delayed ACK of what came so long after the ACK of all before it let the next data go, when that of
    /// another connection, with which it shares no window as far as is known, went as well.
    fn is_told_beside_others(after_ms: i64) -> bool {
        let route = Route::at_receiver(20);
        let mut acks = Acks::default();
        acks.push(0, START, 60_000, 20 * MS);
        acks.push(80 * MS, START + 2000, 60_000, 20 * MS);
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        for (time_ms, end) in [(79, 1000), (80, 2000), (80 + after_ms, 3000)] {
            timeline.new_data(full(time_ms, START + end), None, route, &acks);
        }
        let acked_ms = 80 + after_ms + 200;
        acks.push(acked_ms * MS, START + 3000, 60_000, 20 * MS);
        let mut next = full(acked_ms + 25, START + 4000);
        next.sharing.by_other = true;
        let delay = timeline.ack_delay(next, route, &acks);
        delay.ns == 200 * MS && delay.is_told
    }

    #[test]
    fn of_acks_that_go_together_the_own_one_is_that_of_what_was_a_flight_by_itself() {
        assert!(is_told_beside_others(21));
        assert!(!is_told_beside_others(4));
    }

    #[test]
    fn who_turns_out_to_share_a_window_waited_for_a_delayed_ack_if_that_was_his_own() {
        let (window, delay) = (Cause::SendLimitedCwnd, Cause::StallDelayedAckFirstSegment);
        let causes = |is_told, is_if_shared| {
            let delayed = AckDelay {
                ns: MS,
                is_told,
                is_if_shared,
            };
            delayed.causes(window, Some(window))
        };
        assert_eq!(causes(true, true), (delay, None));
        assert_eq!(causes(true, false), (delay, Some(window)));
        assert_eq!(causes(false, true), (window, Some(delay)));
        assert_eq!(causes(false, false), (window, Some(window)));
    }
}
