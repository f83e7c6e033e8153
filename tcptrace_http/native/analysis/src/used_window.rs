//! The window that a sender uses: what is outstanding when it stops, and what it must be if it grew.
//!
//! What a sender was told by ACKs when it sent is known at either end: an ACK reaches it a way later than it goes by,
//! and data comes a way later than it left. In slow start a window grows by a segment with each ACK (RFC 5681,
//! section 3.1), however many flights of however many segments that makes; so from what was in flight once, and the
//! ACKs since, follows the least that it is. A sender that stops with room for a segment left in it was not stopped
//! by it: where nothing was lost, its own buffer was full of what is not acknowledged.

mod before_idle;
mod buffer;
mod emptied;
mod first_slow_start;
mod grown_by_half;
mod grows_unused;
mod in_recovery;
mod kept;
mod losses;
mod lowered;
mod sooner;
mod spread;

use before_idle::BeforeIdle;
pub(crate) use before_idle::{LastSent, WINDOW_NOW_SEGMENTS};
pub use buffer::{Ends, Sockets};
use emptied::Emptied;
use grown_by_half::Stopped;
use grows_unused::ByAcks;
use kept::Kept;
use lowered::Lowered;
pub(crate) use sooner::NotHeld;
use sooner::Sooner;
use spread::Spread;

/// A window that is not used up does not grow beyond twice of what was used (Linux, tcp_is_cwnd_limited).
const GROWTH_MAX: i64 = 2;

/// Each ACK adds no less than this share of what RFC 5681 has it add to a window that avoids congestion (equation 3):
/// CUBIC's, where its curve is flat (RFC 9438, section 4.3: 3 (1 - 0.7) / (1 + 0.7)).
const AVOIDING_SHARE: (i64, i64) = (9, 17);

/// Once a window grows into the full buffer; what grows again is a window, slower than in slow start.
const GROWTHS_MIN: u32 = 2;

/// Segments that a threshold has at the least (RFC 5681, equation 4).
const THRESHOLD_MIN: i64 = 2;

/// What limits a sender that waits for ACKs although the receiver's window has room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Limit {
    /// It had sent more at once before: its congestion window is not what it waits for.
    #[default]
    None,
    SlowStart,
    CongestionAvoidance,
    SendBuffer,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct UsedWindow {
    /// Up to where the sender knows that all has come, and up to when its ACKs are counted.
    acked: i64,
    heard_until_ns: i64,
    /// What was outstanding when the sender stopped last, and the most since the window may have been reset.
    outstanding: i64,
    largest: i64,
    /// ... and the most ever: no buffer is smaller.
    ever: i64,
    /// The least that the window is if it is in slow start.
    least: i64,
    /// ... and that it was when its sender had been idle last.
    restarts_with: i64,
    /// More was outstanding than before when the sender stopped last, and no more than that.
    is_as_grown: bool,
    /// ... and no less.
    is_just_as_grown: bool,
    full_bytes: i64,
    /// So many times in a row more was outstanding than ever before when the sender stopped, and less than in slow
    /// start.
    growths: u32,
    /// The most that was outstanding was all that its sender had: no window need have stopped it there.
    was_all: bool,
    /// Slow start ends there (RFC 5681, equation 4), since the last loss; and what was sent until then.
    threshold: Option<i64>,
    recovers_until: i64,
    /// The window since a timer ran out, if one did: a segment (RFC 5681, section 3.1), and one more with each ACK.
    regrown: Option<i64>,
    /// The least that it is since its sender was idle, if something had been lost before: the same.
    restarted: Option<i64>,
    /// Since it was lowered last no timer ran out, nor was it idle.
    is_halved: bool,
    /// A timer sent again all that was in flight, a segment: what comes then waits for a window of that one.
    is_all_again: bool,
    /// What was lost before it was seen.
    unseen: (i64, i64),
    /// A send buffer is this large.
    buffer: Option<i64>,
    /// The most that was outstanding when a full buffer was told.
    told: Option<i64>,
    /// A clock of the sender has let data go since it was idle.
    is_paced: bool,
    /// The least that the window is if it avoids congestion, since it may have been reset.
    avoiding: i64,
    /// The window that may have been thrown away when its sender was idle last.
    before_idle: Option<BeforeIdle>,
    /// ... and the one before, which was, if its sender may not have been idle since for as long.
    goes_on: Option<BeforeIdle>,
    /// ... and the one from before a shorter time, of which that is not known.
    sooner: Option<Sooner>,
    /// What was sent after the longest idle period that threw none away.
    kept: Option<Kept>,
    /// The longest idle period behind which as much as ever before left at once.
    keeps_for_ns: i64,
    /// The shortest idle period that threw one away which full segments waited for.
    shown_ns: Option<i64>,
    /// What was sent before the first ACK, and that a restart left less of it, as full segments showed.
    initial: Option<i64>,
    begins_with_less: bool,
    /// ... and whether other connections of its host began with another window.
    begins_unlike: bool,
    /// How often its full buffer has left room in the receiver's window.
    left_room: u32,
    /// `least` of a stack that lets its window grow with each ACK, be it used up or not.
    opened: i64,
    by_acks: ByAcks,
    emptied: Emptied,
    /// What another connection of its host tells of its buffer.
    other: Sockets,
    stopped: Stopped,
    lowered: Lowered,
    spread: Spread,
}

impl UsedWindow {
    /// ACKs until `heard_until_ns` are counted.
    pub(crate) fn heard_until_ns(&self) -> i64 {
        self.heard_until_ns
    }

    /// The sender heard at `time_ns` that all up to `acked` has come.
    pub(crate) fn hears(&mut self, time_ns: i64, acked: i64) {
        self.heard_until_ns = self.heard_until_ns.max(time_ns);
        let newly = acked.saturating_sub(self.acked.max(1));
        if newly <= 0 {
            return;
        }
        self.acked = acked;
        let most = self.largest.saturating_mul(GROWTH_MAX);
        let segment = newly.min(self.full_bytes);
        self.least = self.least.max(self.least.saturating_add(segment).min(most));
        if self.opened > 0 {
            self.opened = self.opened.saturating_add(self.full_bytes);
        }
        self.by_acks.grows(segment);
        self.is_as_acks_made_it();
        self.regrown = self.regrown.map(|regrown| regrown.saturating_add(segment));
        self.restarted = self
            .restarted
            .map(|restarted| restarted.saturating_add(segment));
        self.grows_again();
        if self.fills(self.avoiding) && !self.is_recovering() {
            // Only of a window that was used up, else it need not grow.
            let grown = self.full_bytes.saturating_mul(self.full_bytes);
            let (share, of) = AVOIDING_SHARE;
            let grown = grown
                .saturating_mul(share)
                .checked_div(self.avoiding.saturating_mul(of));
            let grown = grown.unwrap_or(0);
            let grown = self.avoiding.saturating_add(grown).min(most);
            self.avoiding = self.avoiding.max(grown);
        }
    }

    /// The sender stopped with all sent up to `end`, when it had heard what it has by now.
    pub(crate) fn stops(&mut self, end: i64, full_bytes: u32) {
        self.full_bytes = i64::from(full_bytes);
        self.outstanding = self.outstanding_behind(end);
        // How large a segment is may have shown since.
        let least = self.full_bytes.saturating_mul(THRESHOLD_MIN);
        self.threshold = self.threshold.map(|it| it.max(least));
        self.stops_lowered(end);
        if self.is_recovering() {
            // What was lost is not in flight.
            return;
        }
        // Not as a buffer does, which leaves room for less than a segment now and then; nor as in slow start, into
        // whatever buffer.
        let grown = self.outstanding.saturating_sub(self.largest);
        let had_room = self.outstanding.saturating_add(self.full_bytes) <= self.least;
        self.growths = if grown >= self.full_bytes / 2 && had_room && !self.was_all {
            self.growths.saturating_add(1)
        } else {
            0
        };
        self.was_all &= grown <= 0;
        self.may_show_growth_unused();
        self.is_as_acks_made_it();
        self.is_as_grown = self.least >= self.outstanding && grown > 0;
        // A window that was used up is a whole number of segments.
        let was_whole = self.largest > 0 && self.largest.checked_rem(self.full_bytes) == Some(0);
        self.is_just_as_grown = self.least == self.outstanding && grown > 0 && was_whole;
        self.largest = self.largest.max(self.outstanding);
        self.ever = self.ever.max(self.outstanding);
        self.least = self.least.max(self.outstanding);
        self.avoiding = self.avoiding.max(self.outstanding);
        self.opened = self.opened.max(self.outstanding).max(self.full_bytes);
        self.keeps_its_window(end);
        if self.acked <= 1 {
            self.initial = Some(self.outstanding);
        }
        // One that is full may show less than it holds, by what does not fill a segment.
        self.buffer = self
            .buffer
            .filter(|buffer| self.outstanding < buffer.saturating_add(self.full_bytes))
            .map(|buffer| buffer.max(self.outstanding));
    }

    /// What the sender waits for that has sent all up to `end` and a segment of `bytes` to send, when it has heard
    /// all but what lets that go.
    /// `may_avoid` is whether it may have begun with a threshold that others had learnt (RFC 2140).
    pub(crate) fn limit(&self, end: i64, bytes: u32, may_avoid: bool) -> Limit {
        if self.is_recovering() && !self.is_all_again {
            return Limit::CongestionAvoidance;
        }
        let outstanding = self.outstanding_behind(end);
        let needed = outstanding.saturating_add(i64::from(bytes));
        if self.is_paced && needed > self.least {
            return Limit::SlowStart;
        }
        // A window that slow start has just made as large as the buffer, and no larger, stops its sender as well; and
        // it is what shows, for a buffer is no whole number of segments: it has a rest then that waits.
        let has_grown = self.is_as_grown && needed > self.least && self.threshold.is_none();
        if !has_grown && self.buffer.is_some_and(|buffer| self.fills(buffer)) {
            return Limit::SendBuffer;
        }
        // What is missing ahead of it was outstanding as well; since a timer the window is known by its ACKs.
        let counted = self.regrown.map_or(outstanding, |_| 0);
        if self.is_at_threshold(counted.max(self.outstanding)) {
            return Limit::CongestionAvoidance;
        }
        if needed > self.least {
            // What it was before it was used again tells of no buffer.
            let has_room = needed <= self.restarts_with && !may_avoid && self.threshold.is_none();
            return if has_room {
                Limit::None
            } else {
                Limit::SlowStart
            };
        }
        if may_avoid || self.threshold.is_some() {
            Limit::CongestionAvoidance
        } else if self.fills_half() && self.growths < GROWTHS_MIN {
            Limit::SendBuffer
        } else {
            Limit::None
        }
    }

    /// How much is outstanding when all up to `end` was sent.
    fn outstanding_behind(&self, end: i64) -> i64 {
        end.saturating_sub(self.acked.max(1))
    }

    /// Something was lost of which ACKs told, and the window has been halved since, not begun anew.
    pub(crate) fn is_halved(&self) -> bool {
        self.is_halved
    }

    /// Whether it stopped with just as much outstanding as slow start had made of the most before: that was its window.
    pub(crate) fn fills_as_grown(&self) -> bool {
        self.is_just_as_grown && self.threshold.is_none()
    }

    /// Whether slow start after the last loss was over when it stopped.
    pub(crate) fn is_beyond_slow_start(&self) -> bool {
        self.is_at_threshold(self.outstanding)
    }

    /// Whether slow start after the last loss is over, with so much outstanding at the most.
    fn is_at_threshold(&self, outstanding: i64) -> bool {
        // One without room for a full segment is at a threshold that is no larger than what it would fill then.
        let below = outstanding
            .saturating_add(self.full_bytes)
            .saturating_sub(1);
        let window = self.regrown.max(self.restarted).unwrap_or(0).max(below);
        self.threshold.is_some_and(|threshold| window >= threshold)
    }

    /// Whether a window that has avoided congestion since it was lowered has room for a segment behind all up to `end`,
    /// by the ACKs that came while it was used up: something else held that. For a full segment, however short the one
    /// is that was held: Linux counts its window in packets (tcp_cwnd_test).
    pub(crate) fn outgrew(&self, end: i64) -> bool {
        let outstanding = self.outstanding_behind(end);
        let has_room = outstanding.saturating_add(self.full_bytes) <= self.avoiding;
        has_room && !self.is_recovering() && self.is_at_threshold(self.outstanding)
    }

    /// Whether a window of which nothing was lost has room for a segment behind all up to `end`, though it may avoid
    /// congestion for what its host had learnt of others: it grows no slower than one that was lowered.
    pub(crate) fn outgrew_unlowered(&self, end: i64) -> bool {
        let outstanding = self.outstanding_behind(end);
        let has_room = outstanding.saturating_add(self.full_bytes) <= self.avoiding;
        has_room && self.threshold.is_none() && !self.is_recovering()
    }

    /// Whether a segment of `bytes` behind all up to `end` does not fit into the largest window shown, of whole segments.
    pub(crate) fn fills_shown(&self, end: i64, bytes: u32) -> bool {
        let outstanding = self.outstanding_behind(end);
        let shown = outstanding
            .saturating_add(self.full_bytes)
            .saturating_sub(1)
            .checked_div(self.full_bytes)
            .unwrap_or(0)
            .saturating_mul(self.full_bytes);
        let is_largest = self.largest <= outstanding && !self.had_room_in_kept(end);
        is_largest
            && outstanding.saturating_add(i64::from(bytes)) > shown
            && !self.spread.had_room()
    }

    /// Whether no full segment is left of so much.
    fn fills(&self, most: i64) -> bool {
        self.outstanding.saturating_add(self.full_bytes) > most
    }

    /// A full buffer was told when it stopped.
    pub(crate) fn is_told_full(&mut self) {
        self.told = Some(self.told.unwrap_or(0).max(self.outstanding));
    }

    /// Whether it stopped with a segment more outstanding than when a full buffer was told: no buffer was full then.
    pub(crate) fn exceeds_told(&mut self) -> bool {
        let most = self.outstanding.saturating_sub(self.full_bytes);
        self.told.take_if(|told| *told <= most).is_some()
    }

    /// Whether it stopped with more outstanding than a buffer holds that showed half of it when it was told to be full.
    pub(crate) fn exceeds_twice_told(&mut self) -> bool {
        let most = self.outstanding;
        self.told
            .take_if(|told| told.saturating_mul(2) < most)
            .is_some()
    }

    /// Whether it stopped with as much as a full buffer may show: its writer goes on before all of it is free, and
    /// what does not fill a segment stays behind.
    pub(crate) fn fills_half(&self) -> bool {
        self.outstanding >= self.ever.max(self.buffer.unwrap_or(0)) / 2
    }

    /// Whether it stopped with no less than before, but for a part of a segment.
    pub(crate) fn is_full(&self) -> bool {
        self.fills(self.largest.max(self.buffer.unwrap_or(0)))
    }

    /// What it had sent when it stopped was all of an answer.
    pub(crate) fn had_sent_all(&mut self) {
        self.was_all |= self.outstanding >= self.largest;
        self.sooner = None;
    }

    /// Whether it never had a segment more outstanding than when it stopped.
    pub(crate) fn is_fullest(&self) -> bool {
        self.fills(self.ever)
    }

    /// Whether it stopped with so many full segments outstanding at the least.
    pub(crate) fn has_segments(&self, least: i64) -> bool {
        self.outstanding >= self.full_bytes.saturating_mul(least)
    }

    /// The most that was outstanding since the window may have been reset.
    pub(crate) fn largest(&self) -> i64 {
        self.largest
    }

    /// What was outstanding when it stopped last.
    pub(crate) fn outstanding(&self) -> i64 {
        self.outstanding
    }

    /// A clock of the sender lets data go. Who paces a window that is known from before has it until the first ACK,
    /// which leaves of it what the pacer had let go: it grows from that again, however large it had been
    /// (Visweswaraiah and Heidemann 1997; Eggert 1999, section 3.1).
    pub(crate) fn is_paced(&mut self) {
        self.is_paced = true;
    }

    /// Up to where all must have come for the newest loss to be over.
    pub(crate) fn recovers_until(&self) -> i64 {
        self.recovers_until
    }

    /// Not all has come yet that had been sent when something was sent again.
    pub(crate) fn is_recovering(&self) -> bool {
        self.acked < self.recovers_until
    }
}

#[cfg(test)]
mod tests;
