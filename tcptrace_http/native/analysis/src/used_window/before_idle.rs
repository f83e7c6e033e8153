//! The window from before its sender was idle: it may be thrown away then (RFC 5681, section 4.1).
//!
//! That it was shows when a sender with more to send stops with less outstanding than it had at once before, though
//! that window had room for a segment. All that it would have let go at once waits for the restart from then on.

use super::UsedWindow;

/// Segments that a window begins with today (RFC 6928). Stacks from before that let it grow with each ACK, be it used
/// up or not (RFC 2861, section 1).
pub(crate) const WINDOW_NOW_SEGMENTS: i64 = 10;

/// A window from before an idle period.
#[derive(Clone, Copy, Debug)]
pub(super) struct BeforeIdle {
    /// So much had been outstanding.
    used: i64,
    /// The least that it was, and where what it would have let go at once begins.
    window: i64,
    start: i64,
    /// The idle period was longer than a retransmission timeout, for its sender had answered all.
    is_sure: bool,
    /// Each ACK had opened it in slow start, be it used up or not.
    is_opened: bool,
    /// A smaller one was used up since.
    is_smaller: bool,
    /// ... which began with more than a window does: it was halved (RFC 2861, section 3.1), and is in slow start until
    /// it has most of what it had, whatever a loss before has left.
    is_halved: bool,
    /// Its sender had more to send behind all that it has sent since.
    is_one_write: bool,
}

impl UsedWindow {
    /// All up to `end` had been acknowledged when the sender went on after what may have been longer than its
    /// retransmission timeout; it was if `is_sure`. Else a restart before it goes on as well.
    pub(crate) fn was_idle_behind(&mut self, end: i64, is_sure: bool) {
        let window = if self.threshold.is_some() {
            self.avoiding
        } else if self.is_old() {
            self.opened
        } else {
            self.least
        };
        if is_sure {
            self.goes_on = None;
        } else if self.was_thrown_away(end) {
            self.goes_on = self.before_idle.filter(|it| it.is_smaller).or(self.goes_on);
        }
        if is_sure {
            self.opened = 0;
        }
        // A shorter time before in which it was idle may have thrown nothing away.
        let earlier = self.before_idle.filter(|it| !it.is_smaller);
        self.before_idle = Some(BeforeIdle {
            used: earlier.map_or(0, |it| it.used).max(self.largest),
            window: earlier.map_or(0, |it| it.window).max(window),
            start: end,
            is_sure,
            is_opened: self.threshold.is_none() && self.is_old(),
            is_smaller: false,
            is_halved: false,
            is_one_write: true,
        });
    }

    /// All up to `end` had been written when the sender went on with what it had not.
    pub(crate) fn is_written_behind(&mut self, end: i64) {
        for before in [&mut self.before_idle, &mut self.goes_on]
            .into_iter()
            .flatten()
        {
            before.is_one_write &= end <= before.start;
        }
    }

    /// Whether all that was sent since the last idle period seems to have been written at once.
    pub(crate) fn is_one_write(&self) -> bool {
        self.before_idle.is_some_and(|it| it.is_one_write)
    }

    /// The sender had used up its window when it stopped last, for the first time since it was idle: a smaller one than
    /// before, if more than that had been outstanding or ACKs had opened it further, and there would have been room for a
    /// segment. `was_full` is whether it had stopped behind a full segment: behind a short one Nagle's algorithm stops
    /// it as well.
    pub(crate) fn is_used_up(&mut self, end: i64, was_full: bool, bytes: u32) {
        let stopped = self.outstanding.saturating_add(self.full_bytes);
        let is_open = |it: &&mut BeforeIdle| !it.is_smaller && it.start < end;
        let Some(before) = self.before_idle.as_mut().filter(is_open) else {
            return;
        };
        // What is free of a buffer that is full differs with what its writer does, which goes on when half of it is.
        let is_half_full = self.buffer.is_some_and(|it| self.outstanding >= it / 2);
        if is_half_full || !(was_full || before.is_sure) {
            return;
        }
        // It begins again with no more than at first; a full buffer holds what it held.
        let is_as_at_first = self.outstanding <= self.initial.unwrap_or(0).max(self.full_bytes);
        let least_less = match before.is_sure {
            true => self.full_bytes / 2,
            // The end of a write that went out as a whole before had room then.
            false if before.is_one_write => self.full_bytes.min(i64::from(bytes)),
            false => self.full_bytes,
        };
        let is_less = self.outstanding.saturating_add(least_less) <= before.used
            || before.is_opened && is_as_at_first;
        // A restart leaves no less than the initial window (RFC 5681, section 4.1), but for a segment by which the ACK of
        // the SYN-ACK had opened that.
        let has_initial = self
            .initial
            .is_none_or(|initial| stopped.saturating_add(self.full_bytes) > initial);
        let is_first = self.acked <= before.start && !is_as_at_first;
        let is_halved = is_first && self.threshold.is_some();
        // All of a write was there, and would have gone with its short end.
        let rest = self.full_bytes.min(i64::from(bytes));
        let needed = self.outstanding.saturating_add(rest);
        let fits = if is_halved { needed } else { stopped } <= before.window;
        before.is_smaller = is_less && has_initial && fits;
        before.is_halved = before.is_smaller && is_halved;
        if !before.is_smaller {
            self.before_idle = None;
            return;
        }
        self.largest = self.outstanding;
        self.least = self.outstanding;
        self.avoiding = self.outstanding;
        self.opened = self.outstanding;
        self.regrown = None;
    }

    /// The sender has stopped with all sent up to `end`. With as much outstanding as ever before it was idle, and more
    /// than a window begins with, it had kept its window: a restart leaves no more than that (RFC 5681, section 4.1), or
    /// half of what was used (RFC 2861, section 3.1).
    pub(super) fn keeps_its_window(&mut self, end: i64) {
        let initial = self.initial.unwrap_or(i64::MAX).max(self.full_bytes);
        let is_kept = |it: &&BeforeIdle| !it.is_smaller && it.start < end;
        let is_shown = self.outstanding > initial.saturating_add(self.full_bytes / 2);
        let Some(before) = self
            .before_idle
            .as_ref()
            .filter(is_kept)
            .filter(|_| is_shown)
        else {
            return;
        };
        if self.outstanding >= before.used && !before.is_opened {
            if self.threshold.is_some() {
                self.avoiding = self.avoiding.max(before.window);
            } else {
                self.least = self.least.max(before.window);
            }
        }
    }

    /// Whether its stack is from before windows begin with ten segments (RFC 6928).
    pub(crate) fn is_old(&self) -> bool {
        let now = self.full_bytes.saturating_mul(WINDOW_NOW_SEGMENTS);
        // Where that went by unnoticed, what it had outstanding later is no less.
        let shown = Some(self.ever).filter(|ever| *ever > 0);
        self.initial.or(shown).is_some_and(|most| most < now)
    }

    /// What was used of it since it was idle did not leave at once: a clock of its sender let that go, not its size.
    pub(crate) fn may_be_paced(&mut self) {
        if let Some(before) = &mut self.before_idle {
            before.is_halved = false;
        }
    }

    /// Whether it was halved while its sender was idle (RFC 2861, section 3.1).
    pub(crate) fn is_halved_by_idleness(&self) -> bool {
        self.before_idle.is_some_and(|it| it.is_halved)
    }

    /// Whether the window from before the last idle period, of which more had been used, would have let data up to
    /// `end` go at once: it was thrown away (RFC 5681, section 4.1).
    pub(crate) fn was_thrown_away(&self, end: i64) -> bool {
        [self.before_idle, self.goes_on]
            .into_iter()
            .flatten()
            .any(|before| before.is_smaller && end <= before.start.saturating_add(before.window))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a window was thrown away of which the sender uses two segments after it was idle, and had used eight
    /// before, if its buffer holds so much.
    fn is_thrown_away(buffer: Option<i64>) -> bool {
        let start = (1 << 32) - 8000;
        let mut window = UsedWindow::default();
        window.hears(1, start);
        window.stops(start + 8000, 1000);
        window.hears(2, start + 8000);
        window.was_idle_behind(start + 8000, true);
        window.was_idle();
        window.has_buffer_of(buffer);
        window.stops(start + 10_000, 1000);
        window.is_used_up(start + 10_000, true, 1000);
        window.was_thrown_away(start + 11_000)
    }

    #[test]
    fn a_window_that_begins_anew_with_far_less_than_its_buffer_holds_was_thrown_away() {
        assert!(is_thrown_away(None));
        assert!(is_thrown_away(Some(8000)));
        assert!(!is_thrown_away(Some(4000)), "half of it may be free");
    }

    const START: i64 = (1 << 32) - 8000;

    /// Four segments had been used, and two are used up since the sender was idle.
    fn thrown_away() -> UsedWindow {
        let mut window = UsedWindow::default();
        window.hears(1, START);
        window.stops(START + 4000, 1000);
        window.hears(2, START + 4000);
        window.was_idle_behind(START + 4000, false);
        window.was_idle();
        window.stops(START + 6000, 1000);
        window.is_used_up(START + 6000, true, 1000);
        window
    }

    #[test]
    fn a_restart_goes_on_where_its_sender_was_idle_again_until_a_window_shows_that_was_thrown_away_anew(
    ) {
        let mut window = thrown_away();
        window.hears(3, START + 6000);
        window.stops(START + 7000, 1000);
        window.hears(4, START + 7000);
        window.was_idle_behind(START + 7000, false);
        window.was_idle();
        assert!(window.was_thrown_away(START + 8000), "as before");
        assert!(!window.was_thrown_away(START + 11_000), "may be kept");
        window.stops(START + 8000, 1000);
        window.is_used_up(START + 8000, true, 1000);
        assert!(window.was_thrown_away(START + 11_000));
    }

    #[test]
    fn what_the_sender_stopped_with_before_it_was_idle_shows_no_smaller_window() {
        let mut window = thrown_away();
        window.hears(3, START + 6000);
        window.was_idle_behind(START + 6000, true);
        window.was_idle();
        window.is_used_up(START + 6000, true, 1000);
        assert!(!window.was_thrown_away(START + 7000));
    }

    #[test]
    fn a_stack_is_old_that_never_had_as_much_outstanding_as_windows_begin_with_today() {
        for (outstanding, is_old) in [(9000, true), (10_000, false)] {
            let mut window = UsedWindow::default();
            window.hears(1, START);
            window.stops(START + outstanding, 1000);
            assert_eq!(window.is_old(), is_old);
        }
    }

    #[test]
    fn of_an_idle_period_that_is_in_doubt_less_than_a_segment_less_shows_no_restart_but_of_a_write_as_before(
    ) {
        let start = (1 << 32) - 8000;
        for (is_sure, bytes, is_shown) in
            [(true, 1000, true), (false, 1000, false), (false, 600, true)]
        {
            let mut window = UsedWindow::default();
            window.hears(1, start);
            window.stops(start + 8000, 1000);
            window.hears(2, start + 8000);
            window.was_idle_behind(start + 8000, is_sure);
            window.was_idle();
            window.stops(start + 15_400, 1000);
            window.is_used_up(start + 15_400, true, bytes);
            assert_eq!(window.was_thrown_away(start + 16_000), is_shown);
        }
    }

    /// Whether a window was halved that a loss has lowered, with four segments and a short one in use before its sender was
    /// idle and such a flight first since, behind `acked` more segments; and whether it was thrown away.
    fn is_halved_of(first: i64, acked: i64) -> (bool, bool) {
        let mut window = UsedWindow::default();
        window.stops(1001, 1000);
        window.hears(1, START);
        window.had_loss(START - 4000, START, true);
        window.stops(START + 4500, 1000);
        window.hears(2, START + 4500);
        window.was_idle_behind(START + 4500, true);
        window.was_idle();
        window.hears(3, START + 4500 + 1000 * acked);
        let end = START + 4500 + 1000 * acked + first;
        window.stops(end, 1000);
        window.is_used_up(end, true, 500);
        (
            window.is_halved_by_idleness(),
            window.was_thrown_away(end + 500),
        )
    }

    #[test]
    fn a_window_is_halved_that_begins_with_more_than_one_does_at_first_after_its_sender_was_idle() {
        assert_eq!(is_halved_of(2000, 0), (true, true));
        assert_eq!(is_halved_of(1000, 0), (false, true), "it begins anew");
        assert_eq!(is_halved_of(2000, 1), (false, true), "an ACK has opened it");
        assert_eq!(is_halved_of(4500, 0), (false, false), "as large as before");
    }

    #[test]
    fn a_restart_may_leave_a_segment_less_than_the_flow_began_with_but_no_less() {
        for (initial, is_shown) in [(2000, true), (3000, false)] {
            let mut window = UsedWindow::default();
            window.stops(1 + initial, 1000);
            window.hears(1, START);
            window.stops(START + 6000, 1000);
            window.hears(2, START + 6000);
            window.was_idle_behind(START + 6000, true);
            window.was_idle();
            window.stops(START + 7000, 1000);
            window.is_used_up(START + 7000, true, 1000);
            assert_eq!(window.was_thrown_away(START + 8000), is_shown);
        }
    }

    #[test]
    fn a_window_that_acks_had_opened_stays_open_in_what_may_have_been_no_idle_period() {
        for (is_sure, opened) in [(true, false), (false, true)] {
            let mut window = UsedWindow::default();
            window.hears(1, START);
            for sent in 1..=4 {
                window.stops(START + sent * 1000, 1000);
                window.hears(1 + sent, START + sent * 1000);
            }
            let end = START + 4000;
            window.was_idle_behind(end, is_sure);
            window.was_idle();
            window.before_idle = None;
            window.was_idle_behind(end, true);
            window.was_idle();
            window.stops(end + 1000, 1000);
            window.is_used_up(end + 1000, true, 1000);
            assert_eq!(window.was_thrown_away(end + 3000), opened);
        }
    }

    /// Whether a window that avoids congestion has outgrown four segments, which were used six times before an idle
    /// period and four times behind a flight of `first` since.
    fn outgrew_behind(first: i64) -> bool {
        let mut window = UsedWindow::default();
        window.stops(1001, 1000);
        window.hears(1, START);
        window.stops(START + 4000, 1000);
        window.had_loss(START, START + 4000, false);
        let mut end = START + 4000;
        for (round, flight) in [4000; 6]
            .into_iter()
            .chain([first])
            .chain([4000; 4])
            .enumerate()
        {
            if round == 6 {
                window.was_idle_behind(end, true);
                window.was_idle();
            }
            window.hears(2, end);
            end += flight;
            window.stops(end, 1000);
        }
        window.outgrew(end)
    }

    #[test]
    fn a_window_that_lets_as_much_go_after_an_idle_period_as_ever_before_was_kept_and_goes_on_growing(
    ) {
        assert!(outgrew_behind(4000));
        assert!(!outgrew_behind(2000), "begun anew");
    }
}
