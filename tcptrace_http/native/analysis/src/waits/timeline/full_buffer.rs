//! Room in a buffer that had been emptied into the window when it was full.
//!
//! Who pushes has no more to send (RFC 9293, section 3.9.1.2). Where what it has sent then, from an ACK on that it had
//! heard, is just as much as its buffer holds, its writer waited for room: what comes next was not there before the
//! next ACK, and no algorithm of Nagle's held it until then.

use std::collections::VecDeque;

use super::super::acks::Acks;
use super::super::partition::INFERRED;
use super::{Data, Route, Timeline};
use crate::jitter::RELEASE_MAX_NS;
use trace_model::rows::Cause;

/// Buffers are set in units of so many bytes, and hold no less than two of them: 4.3BSD's had 2,048, later ones have
/// 4, 8 or 16 KB and more. That the end of a write is as far from an ACK by chance is as rare as that.
pub(super) const UNIT_BYTES: i64 = 1024;
pub(super) const UNITS: std::ops::RangeInclusive<i64> = 2..=64;

/// A sender has room for so many segments at least, or each waits for the delayed ACK of the one before.
const SEGMENTS_MIN: i64 = 2;

/// Ends of writes that are remembered: of a few round trips.
const PUSHES_MAX: usize = 16;

/// Where data ended that was pushed.
#[derive(Debug, Default)]
pub(super) struct Pushes {
    ends: VecDeque<i64>,
    /// How much was outstanding when all of a full buffer had been sent, as an ACK amid a write has shown.
    holds: Option<i64>,
}

impl Pushes {
    /// Data up to `end` was pushed.
    pub(super) fn note(&mut self, end: i64) {
        if self.ends.len() >= PUSHES_MAX {
            self.ends.pop_front();
        }
        self.ends.push_back(end);
    }

    /// An answer begins: what is before it was another write.
    pub(super) fn begins_with(&mut self, data: Data) {
        let start = data.start();
        if !data.opens_hole && self.ends.back() != Some(&start) {
            self.note(start);
        }
    }

    /// Whether a write ended between these offsets.
    pub(super) fn end_between(&self, start: i64, until: i64) -> bool {
        self.ends.iter().any(|end| start < *end && *end < until)
    }

    /// Whether none of what is remembered ended at `offset`, but some before and behind it.
    fn is_within(&self, offset: i64) -> bool {
        self.ends.front().is_some_and(|first| *first < offset) && !self.ends.contains(&offset)
    }
}

impl Timeline {
    /// When the ACK went by that made room for `data` in its sender's buffer, if that was full and all of it had been
    /// sent: what had waited with as much outstanding had waited for room, too.
    pub(super) fn buffer_room_made_ns(
        &mut self,
        (data, is_answer): (Data, bool),
        route: Route,
        acks: &Acks,
    ) -> Option<i64> {
        let (sent, _) = self.sent?;
        if self.has_more || is_answer || data.opens_hole || self.is_of_own_time(data) {
            return None;
        }
        let takes_ns = self.takes(self.sent_bytes, 1, data.full_bytes);
        let way_ns = route.to_sender_ns.saturating_add(takes_ns);
        let heard_ns = Acks::known_by(sent.time_ns, way_ns);
        let until_ns = Acks::known_by(data.at.time_ns, route.to_sender_ns);
        let Some((holds, is_only)) = self.emptied_holding(heard_ns, acks) else {
            return self.woke_writer_ns(data, (heard_ns, until_ns), acks);
        };
        if is_only {
            self.had_emptied(holds, self.may_empty_into_window(holds, route, acks));
            self.pushes.holds = Some(holds);
        }
        let woke_ns = self.woke_full_segment_ns((data, holds), (heard_ns, until_ns), acks);
        if woke_ns.is_some() {
            return woke_ns;
        }
        let needed = data.end.saturating_sub(holds);
        let made_ns = acks.time_of(needed)?;
        (heard_ns < made_ns && made_ns <= until_ns).then_some(made_ns)
    }

    /// What `data` waited for that seems to have waited for `told`: for room in the buffer, if the ACK that made it
    /// let the data go.
    pub(super) fn of_full_buffer(
        &mut self,
        told: Option<(Cause, f64)>,
        data: Data,
        route: Route,
        acks: &Acks,
    ) -> Option<(Cause, f64)> {
        let is_window = told.is_some_and(|(cause, _)| cause == Cause::SendLimitedReceiveWindow);
        let holds = self.window.outstanding();
        let is_emptied = self.has_emptied_its_buffer();
        if is_window && is_emptied && !self.may_empty_into_window(holds, route, acks) {
            // That was full before the buffer was.
            self.made_buffer_room_ns = None;
        }
        let may_be_full = told.is_some_and(|(cause, _)| cause != Cause::SendLimitedCwnd);
        if may_be_full && self.refills.waited_ns.is_some() {
            return Some((Cause::SendLimitedSendBuffer, INFERRED));
        }
        let is_unexplained = told.is_some_and(|(cause, _)| cause == Cause::Unexplained);
        if is_unexplained && self.is_echo(data, route, acks) {
            return Some((Cause::SendLimitedSendBuffer, INFERRED));
        }
        let waited = told.filter(|(cause, _)| is_of_ack(*cause));
        let until_ns = self.behind_room_ns(data, route);
        // What stood before the link behind others' data came later by that.
        let came = self.as_left(data).map_or(data.at, |(left, _)| left.at);
        let of_room = waited
            .zip(until_ns)
            .is_some_and(|(_, until_ns)| came.time_ns.saturating_sub(until_ns) <= RELEASE_MAX_NS);
        if of_room {
            return Some((Cause::SendLimitedSendBuffer, INFERRED));
        }
        told
    }

    /// Until when data waited for room in the buffer first that was held for longer.
    pub(super) fn had_full_buffer_until(
        &self,
        cause: Option<(Cause, f64)>,
        data: Data,
        route: Route,
    ) -> Option<(Cause, i64)> {
        let is_held = cause.is_some_and(|(cause, _)| is_of_ack(cause));
        let until_ns = self.behind_room_ns(data, route).filter(|_| is_held)?;
        Some((Cause::SendLimitedSendBuffer, until_ns))
    }

    /// When data would have come that the ACK let go which made room for it.
    fn behind_room_ns(&self, data: Data, route: Route) -> Option<i64> {
        let takes_ns = self.takes(data.bytes, data.segments, data.full_bytes);
        let way_ns = route.to_sender_ns.saturating_add(takes_ns);
        let made_ns = self.made_buffer_room_ns.filter(|_| !route.is_at_sender)?;
        Some(made_ns.saturating_add(way_ns))
    }

    /// ... as the pauses have it.
    pub(in crate::waits) fn made_buffer_room_ns(&self) -> Option<i64> {
        self.made_buffer_room_ns
    }

    /// How much the buffer holds that had been full when all of it was sent, by what had been heard by `heard_ns`; and
    /// whether nothing else fits, for which ACK had been heard is not sure where data comes behind other data.
    fn emptied_holding(&self, heard_ns: i64, acks: &Acks) -> Option<(i64, bool)> {
        let known = self.window.emptied_as_before();
        let heard = acks.between(i64::MIN, heard_ns);
        let mut holding = heard.filter_map(|ack| {
            let holds = self.sent_until.saturating_sub(ack.acked.max(1));
            // Answers of one size begin alike: only what was acknowledged amid a write is no chance, as long as that
            // has not shown how much it is.
            let is_full = self.may_hold(holds) || known == Some(holds);
            let is_shown = self.pushes.holds == Some(holds);
            (is_full && (is_shown || self.pushes.is_within(ack.acked))).then_some(holds)
        });
        // Who writes pieces that fill no segment has them sent one by one.
        let least = i64::from(self.full_bytes).saturating_mul(SEGMENTS_MIN);
        let first = holding.next()?;
        let newest = holding.last();
        let holds = newest.unwrap_or(first);
        (holds >= least).then_some((holds, newest.is_none()))
    }

    /// Whether a buffer may be as large as that, and no window.
    pub(super) fn may_hold(&self, holds: i64) -> bool {
        let is_unit = holds.checked_rem(UNIT_BYTES) == Some(0);
        let is_buffer = is_unit && UNITS.contains(&(holds / UNIT_BYTES));
        // A window is a whole number of segments: of 512 bytes, whole kilobytes as well.
        let is_no_window = holds.checked_rem(i64::from(self.full_bytes)) != Some(0);
        is_buffer && is_no_window && self.window.never_had_more_than(holds)
    }
}

/// Whether what waited for `cause` was let go by an ACK.
fn is_of_ack(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::Unexplained
            | Cause::SendLimitedSlowStart
            | Cause::SendLimitedCwnd
            | Cause::SendLimitedReceiveWindow
            | Cause::StallSlowStartRestart
    )
}

#[cfg(test)]
mod tests {
    use super::super::super::partition::Moment;
    use super::super::{Piece, Waited, Words};
    use super::*;

    const MS: i64 = 1_000_000;
    const START: i64 = (1 << 32) - 1000;

    /// A sender that has sent so many bytes, which were all that was there, and of which the first 2,000 were
    /// acknowledged when the others left; an earlier write ended at `pushed`.
    fn sent_all(sent: i64, pushed: i64, full_bytes: u32) -> (Timeline, Acks) {
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        let mut acks = Acks::default();
        for (ms, acked) in [(0, 0), (100, 2000), (200, 4000), (400, sent)] {
            acks.push(ms * MS, START + acked, 60_000, 100 * MS);
        }
        timeline.sent = Some((Moment::at_ms(210), true));
        timeline.sent_bytes = 1000;
        timeline.full_bytes = full_bytes;
        timeline.sent_until = START + sent;
        timeline.has_more = false;
        for end in [pushed, sent] {
            timeline.pushes.note(START + end);
        }
        (timeline, acks)
    }

    /// When an ACK made room for a short segment behind that.
    fn made_room_ms((timeline, acks): &mut (Timeline, Acks)) -> Option<i64> {
        let route = Route::at_receiver(100);
        let data = Data {
            bytes: 500,
            ..Data::at_ms(500, timeline.sent_until + 500)
        };
        let made_ns = timeline.buffer_room_made_ns((data, false), route, acks);
        made_ns.map(|ns| ns / MS)
    }

    fn had_room_ms(sent: i64, pushed: i64, full_bytes: u32) -> Option<i64> {
        made_room_ms(&mut sent_all(sent, pushed, full_bytes))
    }

    #[test]
    fn what_fills_whole_segments_is_a_window() {
        assert_eq!(had_room_ms(2000 + 4096, 0, 512), None);
    }

    #[test]
    fn an_answer_begins_behind_the_end_of_a_write() {
        let mut sent = sent_all(2000 + 4096, 2000 + 4096, 1000);
        assert_eq!(made_room_ms(&mut sent), None);
        sent.0.pushes = Pushes::default();
        let first = Data {
            bytes: 1000,
            ..Data::at_ms(0, START + 1000)
        };
        sent.0.begins_answer(first, false);
        sent.0.pushes.note(START + 2000 + 4096);
        assert_eq!(made_room_ms(&mut sent), Some(200));
    }

    /// What a wait before that is told as, with so much outstanding, if so much had been acknowledged when the last left.
    fn had_waited_for(outstanding: i64, acked: &[i64]) -> Option<Cause> {
        let (mut timeline, _) = sent_all(2000 + 4096, 0, 1000);
        let mut acks = Acks::default();
        for acked in acked {
            acks.push(100 * MS, START + acked, 60_000, 100 * MS);
        }
        timeline.pieces.push_back(Piece {
            start: Moment::at_ms(100),
            end: Moment::at_ms(200),
            cause: Cause::SendLimitedSlowStart,
            confidence: INFERRED,
            if_shared: None,
            waited: Some(Waited {
                since_ns: 100 * MS,
                until_ns: 200 * MS,
                bytes: 1000,
                segments: 1,
                if_on_link: None,
                stopped_with: Some(outstanding),
                is_told_by_host: false,
            }),
            later_ns: 0,
        });
        let mut sent = (timeline, acks);
        made_room_ms(&mut sent);
        sent.0.pieces.back().map(|piece| piece.cause)
    }

    #[test]
    fn who_turns_out_to_have_emptied_a_buffer_had_waited_for_that_with_as_much_outstanding() {
        let buffer = Some(Cause::SendLimitedSendBuffer);
        let window = Some(Cause::SendLimitedSlowStart);
        assert_eq!(had_waited_for(4096, &[2000]), buffer);
        assert_eq!(had_waited_for(4000, &[2000]), window);
        let another = &[2000, 2000 + 2048];
        assert_eq!(had_waited_for(4096, another), window, "it may hold less");
    }

    #[test]
    fn who_has_emptied_a_buffer_of_whole_kilobytes_had_room_with_the_next_ack() {
        assert_eq!(had_room_ms(2000 + 4096, 0, 1000), Some(200));
        assert_eq!(had_room_ms(2000 + 4000, 0, 1000), None);
    }

    #[test]
    fn who_has_emptied_a_buffer_waits_for_room_in_that_while_what_was_lost_is_repaired() {
        let mut sent = sent_all(2000 + 4096, 0, 1000);
        let window = &mut sent.0.window;
        window.had_loss(START + 2000, START + 2000 + 4096, false);
        assert_eq!(made_room_ms(&mut sent), Some(200));
    }

    #[test]
    fn what_ends_whole_kilobytes_behind_the_end_of_a_write_may_be_the_next_one() {
        assert_eq!(had_room_ms(2000 + 4096, 2000, 1000), None);
    }

    #[test]
    fn pieces_that_fill_no_segments_are_written_one_by_one() {
        assert_eq!(had_room_ms(2000 + 4096, 0, 3000), None);
    }
}
