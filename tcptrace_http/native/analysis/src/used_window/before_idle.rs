//! The window from before its sender was idle: it may be thrown away then (RFC 5681, section 4.1).
//!
//! That it was shows when a sender with more to send stops with less outstanding than it had at once before, though
//! that window had room for a segment. All that it would have let go at once waits for the restart from then on.

use super::UsedWindow;

/// Segments that a window begins with today (RFC 6928). Stacks from before that let it grow with each ACK, be it used
/// up or not (RFC 2861, section 1).
pub(crate) const WINDOW_NOW_SEGMENTS: i64 = 10;

/// Segments that a window of one is when it begins, where the ACK of the SYN-ACK has opened it: the stacks that let that do
/// so are older than initial windows of more than one (RFC 2414, section 1).
const OPENED_AT_FIRST: i64 = 2;

/// No window begins with more than this since, but for those of today (RFC 3390, section 1), unless it is another's.
const INITIAL_MAX_BYTES: i64 = 4380;

/// The segment behind which a sender stopped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastSent {
    pub(crate) is_full: bool,
    /// It followed the one before it in the pace of the path: no clock of its sender let it go.
    pub(crate) left_at_once: bool,
}

#[cfg(test)]
impl LastSent {
    pub(crate) const FULL: Self = LastSent {
        is_full: true,
        left_at_once: true,
    };
    pub(crate) const SHORT: Self = LastSent {
        is_full: false,
        ..Self::FULL
    };
}

/// A window from before an idle period.
#[derive(Clone, Copy, Debug)]
pub(super) struct BeforeIdle {
    /// So much had been outstanding.
    used: i64,
    /// The least that it was, and where what it would have let go at once begins.
    window: i64,
    pub(super) start: i64,
    /// The idle period was longer than a retransmission timeout, for its sender had answered all.
    is_sure: bool,
    /// Each ACK had opened it in slow start, be it used up or not.
    is_opened: bool,
    /// A smaller one was used up since.
    pub(super) is_smaller: bool,
    /// Its sender had more to send behind all that it has sent since.
    is_one_write: bool,
    /// ... and let it go by a clock until the first ACK.
    is_paced: bool,
    /// Its sender had sent nothing for so long, and may have thrown it away when it had not for so long.
    pub(super) idle_ns: i64,
    longest_ns: i64,
}

impl BeforeIdle {
    /// So much had been used before all up to `start` was acknowledged, and a smaller window since.
    pub(super) fn thrown_away(start: i64, (used, window): (i64, i64), idle_ns: i64) -> Self {
        BeforeIdle {
            used,
            window,
            start,
            is_sure: false,
            is_opened: false,
            is_smaller: true,
            is_one_write: true,
            is_paced: false,
            idle_ns,
            longest_ns: idle_ns,
        }
    }
}

/// Whether so much is all of the full segments that a window has room for which was halved once or more (RFC 2861,
/// section 3.1).
fn is_halved_to(bytes: i64, window: i64, full_bytes: i64) -> bool {
    let next = |of: &i64| Some(of / 2).filter(|half| *half >= bytes);
    let mut halves = std::iter::successors(next(&window), next);
    halves.any(|half| half < bytes.saturating_add(full_bytes))
}

impl UsedWindow {
    /// All up to `end` had been acknowledged when the sender went on after what may have been longer than its
    /// retransmission timeout; it was if `is_sure`. Else a restart before it goes on as well.
    pub(crate) fn was_idle_behind(&mut self, end: i64, is_sure: bool, idle_ns: i64) {
        let window = self.least_before_idle();
        let opened = self.opened_by_acks();
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
        let longest_ns = earlier
            .filter(|it| !self.was_kept_behind(it.start))
            .map_or(0, |it| it.longest_ns);
        self.sooner = None;
        self.before_idle = Some(BeforeIdle {
            used: earlier.map_or(0, |it| it.used).max(self.largest),
            window: earlier.map_or(0, |it| it.window).max(window),
            start: end,
            is_sure,
            is_opened: opened.is_some(),
            is_smaller: false,
            is_one_write: true,
            is_paced: false,
            idle_ns,
            longest_ns: longest_ns.max(idle_ns),
        });
    }

    /// The least that it is now.
    pub(super) fn least_before_idle(&self) -> i64 {
        let opened = self.opened_by_acks();
        let shown = self.threshold.map_or(self.least, |_| self.avoiding);
        match (opened, self.threshold) {
            (Some(opened), None) => opened,
            (opened, _) => shown.max(opened.unwrap_or(0)),
        }
    }

    /// How far ACKs have opened it at the least, of a stack that lets each do so, be it used up or not: since a loss up to
    /// the threshold.
    fn opened_by_acks(&self) -> Option<i64> {
        let opened = match self.threshold {
            // Where nothing has been sent since, the copies may have been needless: no ACK is of them.
            Some(_) if self.largest == 0 => return None,
            Some(threshold) => self.regrown.max(self.restarted)?.min(threshold),
            None => self.opened,
        };
        self.is_old().then_some(opened)
    }

    /// All up to `end` had been written when the sender went on with what it had not.
    pub(crate) fn is_written_behind(&mut self, end: i64) {
        for before in [&mut self.before_idle, &mut self.goes_on]
            .into_iter()
            .flatten()
        {
            before.is_one_write &= end <= before.start;
        }
        self.ends_write_of_run(end);
    }

    /// Whether all that was sent since the last idle period seems to have been written at once.
    pub(crate) fn is_one_write(&self) -> bool {
        self.before_idle.is_some_and(|it| it.is_one_write)
    }

    /// The sender had used up its window when it stopped last behind `last`, for the first time since it was idle, with so
    /// much more to send: a smaller one than before, if more than that had been outstanding or ACKs had opened it further,
    /// and there would have been room for more.
    pub(crate) fn is_used_up(&mut self, end: i64, last: LastSent, bytes: u32) {
        let is_open = |it: &BeforeIdle| !it.is_smaller && it.start < end;
        let Some(before) = self.before_idle.filter(is_open) else {
            return;
        };
        // What is free of a buffer that is full differs with what its writer does, which goes on when half of it is.
        let is_half_full = self.buffer.is_some_and(|it| self.outstanding >= it / 2);
        // Behind a short segment Nagle's algorithm stops it as well.
        if is_half_full || !(last.is_full || before.is_sure) {
            return;
        }
        self.before_idle = if self.stops_in_kept(before, end, i64::from(bytes)) {
            None
        } else {
            self.smaller_than(before, last, i64::from(bytes))
        };
        if self.before_idle.is_some() {
            if i64::from(bytes) >= self.full_bytes {
                self.begins_with_less |= self.initial.is_some_and(|it| self.fits_in(it));
                self.shows_thrown_away(before.longest_ns);
            }
            self.begins_anew();
        }
    }

    /// The window is no larger than what is outstanding, and grows from there.
    pub(super) fn begins_anew(&mut self) {
        self.largest = self.outstanding;
        self.least = self.outstanding;
        self.by_acks.begins_anew(self.outstanding);
        self.avoiding = self.outstanding;
        self.opened = self.outstanding;
        self.regrown = None;
    }

    /// The window from `before` it was idle, if what its sender has used up since is smaller.
    fn smaller_than(&self, before: BeforeIdle, last: LastSent, bytes: i64) -> Option<BeforeIdle> {
        // It begins again with no more than at first; a full buffer holds what it held.
        let is_as_at_first = self.outstanding <= self.initial.unwrap_or(0).max(self.full_bytes);
        let least_less = match before.is_sure {
            true => self.full_bytes / 2,
            // The end of a write that went out as a whole before had room then.
            false if before.is_one_write => self.full_bytes.min(bytes),
            false => self.full_bytes,
        };
        // What leaves at once before an ACK of it shows how much is left: a half, or more than a window begins with, which
        // had been halved (RFC 2861, section 3.1).
        let is_first = last.left_at_once && self.acked <= before.start;
        // A buffer that is full behind as much has more than the short end of a write when an ACK has made room.
        let is_end = bytes < self.full_bytes;
        let is_half =
            is_first && is_end && is_halved_to(self.outstanding, before.window, self.full_bytes);
        let is_halved = is_first && !is_as_at_first && self.threshold.is_some();
        let is_less = self.outstanding.saturating_add(least_less) <= before.used
            || before.is_opened && (is_as_at_first || is_half);
        // A restart leaves no less than the initial window (RFC 5681, section 4.1), but for a segment by which the ACK of
        // the SYN-ACK had opened that.
        let stopped = self.outstanding.saturating_add(self.full_bytes);
        let has_initial = self
            .initial
            .is_none_or(|initial| stopped.saturating_add(self.full_bytes) > initial);
        // All of a write was there, and would have gone with its short end.
        let with_end = self.outstanding.saturating_add(self.full_bytes.min(bytes));
        let has_initial = has_initial && (!is_end || with_end > self.least_restarted());
        let fits = if is_halved { with_end } else { stopped } <= before.window;
        (is_less && has_initial && fits).then_some(BeforeIdle {
            is_smaller: true,
            ..before
        })
    }

    /// Whether the connections of its host begin with one window, as far as they show.
    pub(crate) fn begins_as_others(&mut self, are_alike: bool) {
        self.begins_unlike = !are_alike;
    }

    /// Whether a window of so much would have had room for a segment when it stopped.
    fn fits_in(&self, window: i64) -> bool {
        self.outstanding.saturating_add(self.full_bytes) <= window
    }

    /// The least that a restart leaves of it: what it began with, unless that was one segment, which the ACK of the SYN-ACK
    /// made two (4.4BSD), or what other connections had learnt, or a loss has lowered it since.
    pub(super) fn least_restarted(&self) -> i64 {
        let opened = self.full_bytes.saturating_mul(OPENED_AT_FIRST);
        let is_known = |it: &i64| *it > opened && *it <= INITIAL_MAX_BYTES;
        let initial = self.initial.filter(|_| self.threshold.is_none());
        initial
            .filter(|_| !self.begins_with_less && !self.begins_unlike)
            .filter(is_known)
            .unwrap_or(0)
    }

    /// Behind what its sender went on when it may have thrown its window away last, if no smaller one has shown since.
    pub(crate) fn went_on_behind(&self) -> Option<i64> {
        let before = self.before_idle.filter(|it| !it.is_smaller);
        before.map(|it| it.start)
    }

    /// A clock of its sender let data go after that, before any ACK: it keeps its window until then.
    pub(crate) fn paces_restart(&mut self) {
        if let Some(before) = &mut self.before_idle {
            before.is_paced = true;
        }
    }

    /// Whether that has shown.
    pub(crate) fn has_paced_restart(&self) -> bool {
        self.before_idle.is_some_and(|it| it.is_paced)
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
        if self.outstanding < before.used {
            return;
        }
        let is_unacknowledged = self.acked <= before.start;
        if is_unacknowledged {
            self.keeps_for_ns = self.keeps_for_ns.max(before.idle_ns);
        }
        // ACKs may have opened it anew.
        let is_known = !before.is_opened || before.is_sure && is_unacknowledged;
        if is_known && self.threshold.is_some() {
            self.avoiding = self.avoiding.max(before.window);
        } else if is_known {
            self.least = self.least.max(before.window);
        }
    }

    /// Whether its stack is from before windows begin with ten segments (RFC 6928).
    pub(crate) fn is_old(&self) -> bool {
        let now = self.full_bytes.saturating_mul(WINDOW_NOW_SEGMENTS);
        // Where that went by unnoticed, what it had outstanding later is no less.
        let shown = Some(self.ever).filter(|ever| *ever > 0);
        self.initial.or(shown).is_some_and(|most| most < now)
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
impl UsedWindow {
    /// So much was used behind all up to `start`, and acknowledged, when its sender went on after an idle period.
    pub(crate) fn was_used_before_idle(&mut self, start: i64, used: i64, is_sure: bool) {
        self.hears(1, start);
        self.stops(start + used, 1000);
        self.hears(2, start + used);
        self.was_idle_behind(start + used, is_sure, 0);
        self.was_idle();
    }
}

#[cfg(test)]
mod tests;
