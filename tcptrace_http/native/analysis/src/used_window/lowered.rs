//! The window since a loss has lowered it.
//!
//! A timer leaves a segment of it, which grows by one with each ACK up to the threshold; what ACKs told of leaves the
//! threshold once all is repaired. From there on a window grows by a segment for all of it that is acknowledged (RFC
//! 5681, section 3.1). So what it has room for is known to the byte, where its sender counts bytes and lets it grow
//! whether it is used or not, as stacks without selective ACKs do.

use super::{Limit, UsedWindow};

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lowered {
    bytes: Option<i64>,
    /// Where what was sent again first begins.
    pub(super) start: i64,
    /// ACKs of what came before, or of what the repair is of, leave it as it is.
    pub(super) until: i64,
    /// With all sent up to there its sender stopped when it had so much.
    stopped: (i64, Option<i64>),
    /// The threshold before a timer halved it again.
    before_timer: Option<i64>,
    /// When duplicate ACKs had gone that made room in it behind all that was in flight.
    pub(super) inflated_ns: Option<i64>,
    /// Selective ACKs tell its sender what has come, and it paces its data.
    pub(super) has_sack: bool,
    has_pacer: bool,
}

impl UsedWindow {
    /// So much fills a segment, as far as that has shown: of data that a hole holds up no sender was seen to stop.
    pub(crate) fn has_segments_of(&mut self, full_bytes: u32) {
        self.full_bytes = self.full_bytes.max(i64::from(full_bytes));
    }

    /// A timer has sent again what begins at `start`.
    pub(super) fn begins_with_a_segment(&mut self, start: i64) {
        self.lowered = Lowered {
            bytes: Some(self.full_bytes),
            start,
            until: start,
            before_timer: None,
            inflated_ns: None,
            ..self.lowered
        };
    }

    /// ACKs told of a loss; all up to `until` had been sent.
    pub(super) fn begins_with_the_threshold(&mut self, start: i64, until: i64) {
        self.lowered = Lowered {
            bytes: self.threshold,
            start,
            until,
            before_timer: None,
            inflated_ns: None,
            ..self.lowered
        };
    }

    /// Something more is sent again, maybe by a timer: go-back-N goes on with what is behind the first, and another
    /// timer sends that again.
    pub(super) fn loses_more(&mut self, start: i64, by_timer: bool) {
        let was_told = self.lowered.until > self.lowered.start;
        if by_timer && (was_told || start <= self.lowered.start) {
            self.begins_with_a_segment(start);
            if was_told {
                self.halves_again();
            }
        }
    }

    /// A timer runs out for what ACKs had told of, or for what is behind that: it halves what they have left (RFC 5681,
    /// equation 4). Who has selective ACKs (Linux, tcp_enter_loss), or shares a window as those do that pace it (Eggert
    /// 1999, section 3), does that once for all that is missing of a flight.
    fn halves_again(&mut self) {
        if self.lowered.has_sack || self.lowered.has_pacer {
            return;
        }
        self.lowered.before_timer = self.threshold;
        self.begins_anew_with(self.threshold.unwrap_or(0));
    }

    /// Whether selective ACKs tell its sender what has come.
    pub(crate) fn has_sack(&mut self, has_sack: bool) {
        self.lowered.has_sack = has_sack;
    }

    /// Its sender paces its data.
    pub(crate) fn has_pacer(&mut self) {
        self.lowered.has_pacer = true;
        self.threshold = self.lowered.before_timer.take().or(self.threshold);
    }

    /// It hears of something new.
    pub(super) fn grows_again(&mut self) {
        if self.acked <= self.lowered.until {
            return;
        }
        let (full, threshold) = (self.full_bytes, self.threshold.unwrap_or(i64::MAX));
        self.lowered.bytes = self.lowered.bytes.map(|bytes| {
            let grown = if bytes < threshold {
                full
            } else {
                full.saturating_mul(full).checked_div(bytes).unwrap_or(0)
            };
            bytes.saturating_add(grown)
        });
    }

    /// When it stopped a full segment lay in its buffer for which there was no room: who goes on with a single segment
    /// where ACKs told of a loss (4.3BSD-Tahoe) shows that then. Once the window has grown its buffer may have stopped it.
    pub(crate) fn had_no_room_lowered(&mut self) {
        let most = self
            .outstanding
            .saturating_add(self.full_bytes)
            .saturating_sub(1);
        let threshold = self.threshold;
        self.lowered.bytes = self.lowered.bytes.map(|bytes| {
            if bytes > most && Some(bytes) == threshold {
                self.outstanding
            } else {
                bytes
            }
        });
        self.lowered.stopped.1 = self.lowered.bytes;
    }

    /// It is not known any longer.
    pub(super) fn may_be_restarted(&mut self) {
        self.lowered.bytes = None;
    }

    /// Its sender stops with all sent up to `end`.
    pub(super) fn stops_lowered(&mut self, end: i64) {
        if !self.is_recovering() {
            // Who has more outstanding has a larger one, as ns-2's leave it behind a recovery, or none (Bhalekar 2003).
            let outstanding = self.outstanding;
            self.lowered.bytes.take_if(|bytes| *bytes < outstanding);
        }
        self.lowered.stopped = (end, self.lowered.bytes);
    }

    /// Whether a loss had lowered it to what had no room for so much behind all up to `end` when its sender stopped there.
    pub(crate) fn had_no_room_for(&self, end: i64, bytes: u32) -> bool {
        let needed = self.outstanding.saturating_add(i64::from(bytes));
        let is_short = i64::from(bytes) < self.full_bytes;
        is_short && self.lowered_bytes(end).is_some_and(|it| needed > it)
    }

    /// What limits a sender whose window a loss has lowered, if that has no room for so much behind all up to `end`: its
    /// window, however full its buffer is. Who has selective ACKs does not count all that is not acknowledged (RFC 6675).
    pub(crate) fn lowered_limit(&self, end: i64, bytes: u32) -> Option<Limit> {
        let outstanding = self.outstanding_behind(end);
        let needed = outstanding.saturating_add(i64::from(bytes));
        let is_known = !self.lowered.has_sack && !self.is_recovering();
        let has_no_room = self.lowered.bytes.is_some_and(|it| needed > it);
        (is_known && has_no_room).then(|| {
            if self.is_at_threshold(self.outstanding) {
                Limit::CongestionAvoidance
            } else {
                Limit::SlowStart
            }
        })
    }

    /// How large it was when its sender had stopped with all sent up to `end`, if a loss had lowered it.
    pub(crate) fn lowered_bytes(&self, end: i64) -> Option<i64> {
        let (stopped, bytes) = self.lowered.stopped;
        bytes.filter(|_| stopped == end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: i64 = (1 << 32) - 7000;
    const END: i64 = START + 6000;

    /// A window of which six segments were in flight when the first was lost.
    fn lost(by_timer: bool) -> UsedWindow {
        let mut window = UsedWindow::default();
        window.hears(1, START);
        window.stops(END, 1000);
        window.had_loss(START, END, by_timer);
        window
    }

    /// How large the window is when one segment after another has been acknowledged, behind what was in flight.
    fn after_acks(mut window: UsedWindow, acks: i64) -> Option<i64> {
        for ack in 0..acks {
            window.hears(2, END + 1000 * ack);
        }
        let end = END + 1000 * acks;
        window.stops(end, 1000);
        window.lowered_bytes(end)
    }

    #[test]
    fn what_acks_told_of_leaves_the_threshold_which_grows_by_a_segment_for_all_of_it() {
        let told = |acks| after_acks(lost(false), acks);
        assert_eq!([told(0), told(1), told(2)], [3000, 3000, 3333].map(Some));
    }

    #[test]
    fn a_timer_leaves_a_segment_which_grows_by_one_with_each_ack_up_to_the_threshold() {
        let timed = |acks| after_acks(lost(true), acks);
        assert_eq!([timed(0), timed(1)], [1000, 2000].map(Some));
        assert_eq!([timed(2), timed(3)], [3000, 3333].map(Some));
    }

    #[test]
    fn acks_of_what_came_before_the_loss_make_it_no_larger() {
        let mut window = UsedWindow::default();
        window.hears(1, START - 1000);
        window.stops(END, 1000);
        window.had_loss(START, END, true);
        window.hears(2, START);
        assert_eq!(after_acks(window, 0), Some(1000));
    }

    #[test]
    fn a_timer_behind_a_repair_or_another_one_leaves_a_segment_anew_and_go_back_n_does_not() {
        for (by_timer, start, bytes) in [
            (false, START + 2000, 1000),
            (true, START, 1000),
            (true, START + 1000, 2000),
        ] {
            let mut window = lost(by_timer);
            window.hears(2, START + 1000);
            window.had_loss(start, END, true);
            window.stops(END, 1000);
            assert_eq!(window.lowered_bytes(END), Some(bytes), "{start}");
        }
    }

    /// Where slow start ends after a timer behind a repair that ACKs had asked for.
    fn threshold_after_a_timer(has_sack: bool, has_pacer: bool) -> Option<i64> {
        let start = START - 6000;
        let mut window = UsedWindow::default();
        window.hears(1, start);
        window.stops(END, 1000);
        window.has_sack(has_sack);
        window.had_loss(start, END, false);
        window.hears(2, start + 1000);
        window.had_loss(start + 1000, END, true);
        if has_pacer {
            window.has_pacer();
        }
        window.threshold
    }

    #[test]
    fn a_timer_halves_again_what_a_repair_has_left_unless_all_of_a_flight_counts_as_one_loss() {
        assert_eq!(threshold_after_a_timer(false, false), Some(3000));
        assert_eq!(threshold_after_a_timer(true, false), Some(6000));
        assert_eq!(threshold_after_a_timer(false, true), Some(6000));
    }

    #[test]
    fn who_goes_on_with_one_segment_though_more_lay_in_its_buffer_had_no_larger_window() {
        let mut window = lost(false);
        window.hears(2, END);
        window.stops(END + 1000, 1000);
        window.had_no_room_lowered();
        assert_eq!(window.lowered_bytes(END + 1000), Some(1000));
        assert!(window.had_no_room_for(END + 1000, 100));
    }

    #[test]
    fn what_is_short_has_no_room_behind_what_leaves_less_than_that_of_the_window() {
        let mut window = lost(false);
        window.hears(2, END);
        window.hears(3, END + 1000);
        window.stops(END + 4000, 1000);
        for (bytes, has_room) in [(333, true), (334, false), (1000, true)] {
            assert_eq!(!window.had_no_room_for(END + 4000, bytes), has_room);
        }
    }

    /// What limits a sender whose window is three segments, as far as a loss has told, behind so much.
    fn limit_behind(outstanding: i64, has_sack: bool, by_timer: bool) -> Option<Limit> {
        let mut window = lost(by_timer);
        window.has_sack(has_sack);
        window.hears(2, END);
        let end = END + outstanding;
        window.stops(end, 1000);
        window.lowered_limit(end, 1000)
    }

    #[test]
    fn a_lowered_window_without_room_limits_its_sender_however_full_its_buffer_is() {
        let avoids = Some(Limit::CongestionAvoidance);
        assert_eq!(limit_behind(2500, false, false), avoids);
        assert_eq!(limit_behind(2000, false, false), None);
        assert_eq!(limit_behind(2500, true, false), None);
        assert_eq!(limit_behind(1500, false, true), Some(Limit::SlowStart));
    }

    #[test]
    fn what_is_missing_ahead_of_data_may_have_filled_a_window_up_to_the_threshold() {
        let mut window = lost(false);
        window.hears(2, END);
        window.stops(END + 1000, 1000);
        for (missing, limit) in [(0, Limit::SlowStart), (2000, Limit::CongestionAvoidance)] {
            assert_eq!(window.limit(END + 1000 + missing, 1000, false), limit);
        }
    }

    #[test]
    fn who_has_more_outstanding_has_no_window_that_a_loss_has_lowered_so_far() {
        for (outstanding, bytes) in [(3000, Some(3000)), (3001, None)] {
            let mut window = lost(false);
            window.hears(2, END);
            window.stops(END + outstanding, 1000);
            assert_eq!(window.lowered_bytes(END + outstanding), bytes);
        }
    }

    #[test]
    fn half_of_what_was_in_flight_is_left_though_its_sender_was_not_seen_to_stop_before() {
        let mut window = UsedWindow::default();
        window.has_segments_of(1000);
        window.had_loss(START, END, false);
        window.hears(1, END);
        assert_eq!(after_acks(window, 0), Some(3000));
    }

    #[test]
    fn an_idle_sender_may_have_thrown_it_away() {
        let mut window = lost(false);
        window.was_idle();
        window.stops(END, 1000);
        assert_eq!(window.lowered_bytes(END), None);
    }
}
