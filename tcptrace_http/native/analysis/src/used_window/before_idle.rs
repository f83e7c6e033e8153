//! The window from before its sender was idle: it may be thrown away then (RFC 5681, section 4.1).
//!
//! That it was shows when a sender with more to send stops with less outstanding than it had at once before, though
//! that window had room for a segment. All that it would have let go at once waits for the restart from then on.

use super::UsedWindow;

/// Segments that a window begins with today (RFC 6928). Stacks from before that let it grow with each ACK, be it used
/// up or not (RFC 2861, section 1).
const WINDOW_NOW_SEGMENTS: i64 = 10;

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
}

impl UsedWindow {
    /// All up to `end` had been acknowledged when the sender went on after what may have been longer than its
    /// retransmission timeout; it was if `is_sure`. Else a restart that goes on tells more.
    pub(crate) fn was_idle_behind(&mut self, end: i64, is_sure: bool) {
        let window = if self.threshold.is_some() {
            self.avoiding
        } else if self.is_old() {
            self.opened
        } else {
            self.least
        };
        if is_sure || !self.was_thrown_away(end) {
            // A shorter time before in which it was idle may have thrown nothing away.
            let earlier = self.before_idle.filter(|it| !it.is_smaller);
            self.before_idle = Some(BeforeIdle {
                used: earlier.map_or(0, |it| it.used).max(self.largest),
                window: earlier.map_or(0, |it| it.window).max(window),
                start: end,
                is_sure,
                is_opened: self.threshold.is_none() && self.is_old(),
                is_smaller: false,
            });
        }
    }

    /// The sender had used up its window when it stopped last, for the first time since it was idle: a smaller one than
    /// before, if more than that had been outstanding or ACKs had opened it further, and there would have been room for a
    /// segment. `was_full` is whether it had stopped behind a full segment: behind a short one Nagle's algorithm stops
    /// it as well.
    pub(crate) fn is_used_up(&mut self, was_full: bool) {
        let stopped = self.outstanding.saturating_add(self.full_bytes);
        let Some(before) = self.before_idle.as_mut().filter(|it| !it.is_smaller) else {
            return;
        };
        // What is free of a buffer that is full differs with what its writer does, which goes on when half of it is.
        let is_half_full = self.buffer.is_some_and(|it| self.outstanding >= it / 2);
        if is_half_full || !(was_full || before.is_sure) {
            return;
        }
        // It begins again with no more than at first; a full buffer holds what it held.
        let is_as_at_first = self.outstanding <= self.initial.unwrap_or(0).max(self.full_bytes);
        let is_less = self.outstanding.saturating_add(self.full_bytes / 2) <= before.used
            || before.is_opened && is_as_at_first;
        // A restart leaves no less than the initial window (RFC 5681, section 4.1).
        let has_initial = self.initial.is_none_or(|initial| stopped > initial);
        before.is_smaller = is_less && has_initial && stopped <= before.window;
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

    /// Whether its stack is from before windows begin with ten segments (RFC 6928).
    pub(crate) fn is_old(&self) -> bool {
        let now = self.full_bytes.saturating_mul(WINDOW_NOW_SEGMENTS);
        self.initial.is_some_and(|initial| initial < now)
    }

    /// Whether the window from before the last idle period, of which more had been used, would have let data up to
    /// `end` go at once: it was thrown away (RFC 5681, section 4.1).
    pub(crate) fn was_thrown_away(&self, end: i64) -> bool {
        let before = self.before_idle;
        before.is_some_and(|before| {
            before.is_smaller && end <= before.start.saturating_add(before.window)
        })
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
        window.is_used_up(true);
        window.was_thrown_away(start + 11_000)
    }

    #[test]
    fn a_window_that_begins_anew_with_far_less_than_its_buffer_holds_was_thrown_away() {
        assert!(is_thrown_away(None));
        assert!(is_thrown_away(Some(8000)));
        assert!(!is_thrown_away(Some(4000)), "half of it may be free");
    }
}
