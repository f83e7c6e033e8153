//! A window that an idle period threw away or did not, as a longer one tells.
//!
//! Theory of operation. A sender throws its window away when it was idle for longer than its retransmission timeout (RFC
//! 5681, section 4.1), or it never does. More than it begins with that leaves before any ACK of it shows a window that was
//! kept; and what kept it in a longer idle period kept it in a shorter one. So a short end that waits there with no more
//! outstanding than that waits for Nagle's algorithm. Clocks tick, and timers follow round trips: one that was as long may
//! have kept it by chance. But a sender that let a short end go there behind a full segment (4.4BSD's does, if nothing was
//! on its way) holds none but for its window; of one that did not, a hold is what is to be expected.

use super::before_idle::BeforeIdle;
use super::UsedWindow;

/// An idle period that is longer by this factor was longer than a retransmission timeout, too, if the shorter one was:
/// from tick to tick of a clock of 500 ms (4.4BSD) a timeout of a second becomes half as long again. Of a sender that
/// lets no short end go behind a full segment one that is as long tells enough.
const LONGER: (i64, i64) = (3, 2);

/// What was sent after the longest idle period that threw no window away, before any ACK of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Kept {
    idle_ns: i64,
    /// Where it begins, and how much it is.
    start: i64,
    bytes: i64,
    /// ... with a short segment that left behind a full one.
    has_short: bool,
    /// Where its sender stopped last with room in it.
    stopped_at: Option<i64>,
}

impl UsedWindow {
    /// Its sender was idle for so long that it may have thrown its window away, unless a longer idle period has shown that it
    /// does not: how far the window has grown since it was lowered counts further then.
    pub(crate) fn was_idle_for(&mut self, idle_ns: i64) {
        let (times, of) = LONGER;
        let is_longer = idle_ns.saturating_mul(times) <= self.keeps_for_ns.saturating_mul(of);
        let avoiding = Some(self.avoiding).filter(|_| is_longer && self.threshold.is_some());
        let kept = self.kept_for(idle_ns);
        self.was_idle();
        self.restarts_with = self.restarts_with.max(kept);
        self.avoiding = avoiding.unwrap_or(self.avoiding);
    }

    /// The least that the window is, as it grows in slow start with each ACK; 0 once something was lost, for then it
    /// need not.
    pub(crate) fn least_bytes(&self) -> u64 {
        let may_avoid = self.is_recovering() || self.threshold.is_some();
        let least = if may_avoid {
            0
        } else {
            self.least.max(self.restarts_with).max(self.spread_bytes())
        };
        u64::try_from(least).unwrap_or(0)
    }

    /// The least that an idle period leaves of it: as much as left at once after one that was no shorter.
    fn kept_for(&self, idle_ns: i64) -> i64 {
        let was_shown = self.shown_ns.is_some_and(|it| it <= idle_ns);
        let kept = self.kept.filter(|it| idle_ns <= it.idle_ns && !was_shown);
        kept.map_or(0, |it| it.bytes.min(self.least.max(self.restarts_with)))
    }

    /// Whether it was kept when its sender went on behind all up to `start`.
    pub(super) fn was_kept_behind(&self, start: i64) -> bool {
        self.kept.is_some_and(|it| it.start == start)
    }

    /// All up to `end` was sent since its sender was idle, before any ACK of it.
    pub(crate) fn leaves_unacknowledged(&mut self, end: i64, is_full: bool) {
        let Some(before) = self.before_idle.filter(|it| !it.is_smaller) else {
            return;
        };
        let bytes = end.saturating_sub(before.start);
        let is_longer = self.kept.is_none_or(|it| it.idle_ns <= before.idle_ns);
        if is_longer && bytes > self.initial.unwrap_or(0).max(self.full_bytes) {
            let earlier = self.kept.filter(|it| it.start == before.start);
            self.kept = Some(Kept {
                idle_ns: before.idle_ns,
                start: before.start,
                bytes,
                has_short: !is_full || earlier.is_some_and(|it| it.has_short),
                stopped_at: None,
            });
        }
    }

    /// Whether its sender stopped at `end` before a short segment that had room in the window from `before` it was idle,
    /// which was kept then.
    pub(super) fn stops_in_kept(&mut self, before: BeforeIdle, end: i64, bytes: i64) -> bool {
        let with_end = self.outstanding.saturating_add(bytes);
        let is_short = bytes < self.full_bytes;
        let Some(kept) = self.kept.as_mut().filter(|_| is_short) else {
            return false;
        };
        let (times, of) = if kept.has_short { LONGER } else { (1, 1) };
        let is_longer = before.idle_ns.saturating_mul(times) <= kept.idle_ns.saturating_mul(of);
        let was_shown = self.shown_ns.is_some_and(|it| it <= before.idle_ns);
        let has_room = is_longer && !was_shown && with_end <= kept.bytes;
        if has_room {
            kept.stopped_at = Some(end);
        }
        has_room
    }

    /// What was full waited for a window that this idle period had thrown away, or a shorter one.
    pub(super) fn shows_thrown_away(&mut self, idle_ns: i64) {
        self.shown_ns = Some(self.shown_ns.map_or(idle_ns, |it| it.min(idle_ns)));
    }

    /// Whether its sender stopped at `end` with room in a window that he had kept.
    pub(crate) fn had_room_in_kept(&self, end: i64) -> bool {
        self.kept.is_some_and(|it| it.stopped_at == Some(end))
    }
}
