//! Data that was sent again more than once.
//!
//! Who sends again what it had sent again already heard of no copy: near the sender it is taken that the newest one brought
//! it, unless an ACK comes sooner than that one's can.

use std::collections::VecDeque;

use tcptrace_tcp::{DELAYED_ACK_SEGMENTS, FULL_SEGMENT_BYTES};
use trace_model::rows::Cause;

use super::super::partition::Moment;
use super::copies::{CameBehind, EARLY_DENOMINATOR, EARLY_NUMERATOR};
use super::opening::Copied;
use super::{Pending, Resent, Stall, Timeline};

/// Copies that were lost as well, or came late: a window of them.
const EARLIER_MAX: usize = 1 << 10;

/// A copy that another one followed.
#[derive(Clone, Copy, Debug)]
struct Earlier {
    /// The offset after the segment.
    end: i64,
    copy: Stall,
    /// Up to when an ACK is one of this copy: that of the next one comes no sooner.
    until_ns: i64,
}

/// Round trips vary by less than this share: an ACK that is sooner by so much than that of the newest copy is of the one
/// before.
const EARLY_SHARE: i64 = 10;

/// What its sender has sent again.
#[derive(Debug, Default)]
pub(super) struct Copies {
    /// When the ACK comes of the last packet sent since something was sent again.
    pub(super) answered_ns: Option<i64>,
    /// Near the sender: when its timer ran out.
    pub(super) timer: Option<Moment>,
    /// ... and what had been sent by then.
    timer_until: i64,
    /// It ran out too soon: all up to here was on its way.
    needless_until: i64,
    /// Copies known as needless of which no duplicate ACK has told yet.
    needless: usize,
    /// Up to where all was acknowledged again, and how often, beside those.
    again: (i64, usize),
    pub(super) behind: CameBehind,
    /// The offset at which that begins which is sent again right now.
    pub(super) resends: Option<i64>,
    /// Near the receiver: the first one since the newest answer began behind a hole.
    pub(super) of_opening: Option<Copied>,
    /// All copies but the newest of each segment that waits to be settled, by the offset after it.
    earlier: VecDeque<Earlier>,
}

impl Stall {
    /// When the ACK of this copy comes, if nothing delays it; None if the path is not known.
    pub(super) fn due_ns(self) -> Option<i64> {
        let least_ns = self.answered_ns.checked_sub(self.sent_ns)?;
        let elapsed_ns = least_ns.saturating_mul(EARLY_DENOMINATOR) / EARLY_NUMERATOR;
        (least_ns >= 0).then(|| self.sent_ns.saturating_add(elapsed_ns))
    }

    /// ... where its sender was silent until a timer ran out: what ACKs have told of stands behind what was sent since.
    pub(super) fn expected_ns(self) -> Option<i64> {
        self.due_ns()
            .filter(|_| self.cause != Cause::StallFastRecovery)
    }

    /// ... and where nothing is behind it, on a link that is known.
    pub(super) fn alone_ns(self) -> Option<i64> {
        Some(self.behind_all_ns?.max(self.due_ns()?))
    }

    /// Whether what was sent behind the segment left after this copy, or comes to its receiver, sent again behind it,
    /// when that has sent the ACK which comes at `acked_ns`: on a slow link a timer is sooner.
    pub(super) fn is_alone(self, next: Option<&Pending>, acked_ns: i64) -> bool {
        let is_behind = |copy: Stall| copy.due_ns().is_some_and(|due_ns| due_ns > acked_ns);
        next.is_none_or(|next| next.at.time_ns > self.sent_ns || next.stall.is_some_and(is_behind))
    }
}

impl Copies {
    /// The timer of its sender ran out, which had sent all up to `sent_until`.
    pub(super) fn times_out(&mut self, at: Moment, sent_until: i64) {
        self.timer = Some(at);
        self.timer_until = sent_until;
        self.needless_until = 0;
    }

    /// An ACK came too soon for the first that a timer sent again: of what its sender goes on to send again, as ACKs
    /// come, all is on its way (RFC 5682).
    pub(super) fn timer_was_needless(&mut self, copy: Stall) {
        if self.is_of_timer(copy) {
            self.needless_until = self.timer_until;
        }
    }

    /// Something of the flight was lost all the same.
    pub(super) fn had_lost(&mut self) {
        self.needless_until = 0;
        self.behind.had_lost();
    }

    /// How many of them there are of a segment.
    pub(super) fn of(&self, end: i64) -> usize {
        self.earlier.iter().filter(|it| it.end == end).count()
    }

    /// One of them that came, or comes, was not needed: its duplicate ACK tells nothing.
    pub(super) fn one_was_needless(&mut self) {
        self.needless = self.needless.saturating_add(1);
    }

    /// A duplicate ACK came of all up to `acked`: whether no copy is known that caused it.
    pub(super) fn is_acked_again(&mut self, acked: i64) -> bool {
        if let Some(left) = self.needless.checked_sub(1) {
            self.needless = left;
            return false;
        }
        let times = self.take_acks_again(acked);
        self.again = (acked, times.saturating_add(1));
        true
    }

    /// How often all up to there, and no more, was acknowledged again.
    pub(super) fn take_acks_again(&mut self, acked: i64) -> usize {
        let times = self.acks_again(acked);
        self.again = (0, 0);
        times
    }

    pub(super) fn acks_again(&self, acked: i64) -> usize {
        let (until, times) = self.again;
        if until == acked {
            times
        } else {
            0
        }
    }

    /// Whether the repair of what ACKs told of goes on with `next` right now, when this copy is acknowledged: that was
    /// missing as well, and not behind it on its way.
    pub(super) fn goes_on_with(&self, copy: Stall, next: Option<&Pending>) -> bool {
        let is_next = next.is_some_and(|next| self.resends == Some(next.start()));
        is_next && copy.cause == Cause::StallFastRecovery
    }

    fn is_of_timer(&self, copy: Stall) -> bool {
        let by_timer = matches!(
            copy.cause,
            Cause::StallTailLoss | Cause::StallRetransmissionTimeout
        );
        by_timer && !copy.is_probed && self.timer.is_some_and(|at| at.frame <= copy.frame)
    }

    pub(super) fn are_needless(&self, end: i64, copy: Stall) -> bool {
        end <= self.needless_until && self.is_of_timer(copy)
    }

    fn note(&mut self, earlier: Earlier) {
        if self.earlier.len() >= EARLIER_MAX {
            self.earlier.pop_front();
        }
        self.earlier.push_back(earlier);
    }

    /// Of the copies of a segment before the newest one, that whose ACK of all up to `acked` came at `time_ns`, if that is too
    /// soon for what followed it.
    pub(super) fn in_time(&self, end: i64, (acked, time_ns): (i64, i64)) -> Option<Stall> {
        let mut copies = self.earlier.iter().rev().filter(|it| it.end == end);
        let found = copies.find(|it| {
            let in_time = it.copy.answered_ns..it.until_ns;
            in_time.contains(&time_ns) && !it.copy.ends_behind(acked)
        });
        found.map(|it| it.copy)
    }

    /// All up to `acked` came.
    pub(super) fn forget_until(&mut self, acked: i64) {
        if !self.earlier.is_empty() {
            self.earlier.retain(|it| it.end > acked);
        }
    }

    /// Memory that it takes.
    pub(super) fn held_bytes(&self) -> usize {
        size_of::<Earlier>().saturating_mul(self.earlier.capacity())
    }
}

impl Timeline {
    /// When an ACK comes of what is sent again once more, behind all that may be on its way with the copy before it: as long
    /// as ACKs come, be they duplicate ones, the slowest link carries what was sent and is not known to have come.
    fn behind_all_ns(&self, data: Resent) -> i64 {
        let link = self.link;
        let two = self.full_bytes.saturating_mul(DELAYED_ACK_SEGMENTS);
        let two_ns = link.of(two, DELAYED_ACK_SEGMENTS);
        let since_ns = data.heard.time_ns;
        if data.at.time_ns.saturating_sub(since_ns) > two_ns {
            return i64::MIN;
        }
        // Each duplicate ACK tells of one that came, behind the one that had not.
        let came = usize::try_from(data.heard.duplicate_acks).unwrap_or(usize::MAX);
        let left = self.pending.iter().skip(came.saturating_add(1));
        let takes_ns = left.map(|sent| link.of(sent.bytes, sent.segments));
        takes_ns.fold(since_ns.saturating_add(two_ns), i64::saturating_add)
    }

    /// What the slowest link carries of data that is sent again, and in how many segments: a timer sends in one what had
    /// been several (RFC 9293, section 3.8.1).
    pub(super) fn size_of_copy(&self, data: Resent) -> (u32, u32) {
        let original = self.pending.partition_point(|sent| sent.end <= data.start);
        let (bytes, segments) = self
            .pending
            .get(original)
            .map_or((self.full_bytes, 1), |sent| (sent.bytes, sent.segments));
        let copied = u32::try_from(data.end.saturating_sub(data.start)).unwrap_or(0);
        if copied <= bytes {
            return (bytes, segments);
        }
        (copied, copied.div_ceil(FULL_SEGMENT_BYTES))
    }

    /// Near the sender: a copy goes by of what waits at that place to be settled, and of all behind it up to its end: a
    /// timer sends in one segment again what had been several (RFC 9293, section 3.8.1).
    pub(super) fn is_copied(&mut self, place: usize, (data, copy): (Resent, Stall)) {
        let alone_ns = copy.due_ns().unwrap_or(copy.answered_ns);
        let due_ns = alone_ns.max(self.behind_all_ns(data));
        let elapsed_ns = due_ns.saturating_sub(data.at.time_ns);
        let early_ns = elapsed_ns / EARLY_SHARE;
        let until_ns = due_ns.saturating_sub(early_ns);
        let mut is_first = true;
        for lost in self.pending.range_mut(place..) {
            if lost.end > data.end && !is_first {
                return;
            }
            is_first = false;
            if let Some(before) = lost.stall.replace(copy) {
                self.copies.note(Earlier {
                    end: lost.end,
                    copy: before,
                    until_ns,
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::acks::Acks;
    use super::super::{Data, Route, Words};
    use super::*;
    use crate::byte_time::ByteTime;
    use tcptrace_tcp::LastHeard;
    use trace_model::rows::RecoveryKind;

    const WAY_MS: i64 = 20;
    const OPENING: i64 = (1 << 32) - 1000;

    /// Until when data waited for a timer that sent all again after three seconds, in segments of so many bytes; the first
    /// two of these were acknowledged then. Three full segments had left, and the link takes so long for a byte.
    fn waited_until_ms(byte_us: i64, copied: i64, acks_ms: [i64; 2]) -> Option<i64> {
        let route = Route {
            byte_time: Some(ByteTime::with_frames(byte_us * 1_000_000)),
            ..Route::at_sender(WAY_MS)
        };
        let mut timeline = Timeline::new(Words::OF_RESPONSES, Some(Moment::at_ms(0)));
        timeline.shook_hands(WAY_MS * 1_000_000, 0, route);
        for segment in 1..=3 {
            let data = Data::at_ms(0, OPENING + 1000 * segment);
            timeline.new_data(data, None, route, &Acks::default());
        }
        for copy in 0..2 {
            let resent = Resent {
                at: Moment::at_ms(3000),
                start: OPENING + copied * copy,
                end: OPENING + copied * (copy + 1),
                recovery: Some(RecoveryKind::TailLoss),
                heard: LastHeard::default(),
                has_sack: false,
                is_for_others: false,
                due_ns: None,
            };
            timeline.resent(resent, None, route);
        }
        for (copies, acked_ms) in (1..).zip(acks_ms) {
            let acked = OPENING + copied * copies;
            timeline.acknowledged(Moment::at_ms(acked_ms), acked, route);
        }
        timeline.settle_waiting(route);
        let pieces = timeline.between(0, i64::MAX);
        let stalls = pieces.filter(|it| it.cause == Cause::StallTailLoss);
        stalls.map(|it| it.end.time_ns / 1_000_000).max()
    }

    #[test]
    fn what_is_sent_again_in_larger_segments_takes_the_link_as_long_as_these() {
        // A copy of 1,400 bytes and its headers takes 145.4 ms, what it brings first alone 105.4.
        assert_eq!(waited_until_ms(100, 1400, [3160, 3305]), Some(3160));
        assert_eq!(waited_until_ms(100, 1400, [3160, 3405]), Some(3405));
    }

    #[test]
    fn a_copy_is_acknowledged_by_a_timer_that_is_sooner_than_the_next_one_on_a_slow_link() {
        let came_ms = 3000 + WAY_MS + 210;
        let next_ms = came_ms + 221;
        let waited = waited_until_ms(210, 1000, [came_ms + 200, next_ms]);
        assert_eq!(waited, Some(came_ms));
    }
}
