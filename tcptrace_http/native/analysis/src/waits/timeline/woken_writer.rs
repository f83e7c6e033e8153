//! A writer that sleeps until there is room enough in the buffer that he has filled.
//!
//! Theory of operation. What a buffer takes of a write that had been empty is just as much as it holds, and leaves as
//! the windows have room. A writer who waits for more room than the first ACK of it made is woken by the next one: all
//! that he had got in is sent, its end pushed, and what comes next came with an ACK. So may come what is written in
//! pieces of one size, before a window that is full as well. But who fills a buffer of a size that the beginning of an
//! answer has shown, and goes on sooner than he ever began a piece that no ACK let go, had not written all of it.

use super::super::acks::Acks;
use super::{Data, Route, Timeline};
use crate::jitter::RELEASE_MAX_NS;

/// A writer sleeps until there is room for so much (4.4BSD's so_snd.sb_lowat, which is a cluster of buffers).
const WAKES_BYTES: i64 = 2048;

/// What a buffer has taken that had been empty.
#[derive(Debug, Default)]
pub(super) struct Fill {
    /// Where it begins, if that is known.
    begins: Option<i64>,
    begun_ns: i64,
    /// An answer begins there.
    is_answer: bool,
    /// How much the buffer holds, as the beginning of an answer has shown.
    shown: Option<i64>,
    /// How long after the one before it one began at least that no ACK let go.
    apart_ns: Option<i64>,
}

impl Fill {
    /// An answer begins.
    pub(super) fn begins_answer(&mut self, data: Data) {
        self.begins = (!data.opens_hole).then_some(data.start());
        self.begun_ns = data.at.time_ns;
        self.is_answer = true;
    }

    /// Data leaves before which its sender had nothing.
    fn begins_anew(&mut self, data: Data, is_by_ack: bool) {
        let apart_ns = data.at.time_ns.saturating_sub(self.begun_ns);
        if !is_by_ack {
            self.apart_ns = Some(self.apart_ns.map_or(apart_ns, |least| least.min(apart_ns)));
        }
        self.begins = Some(data.start());
        self.begun_ns = data.at.time_ns;
        self.is_answer = false;
    }

    /// Whether a buffer that holds so much was full, as what comes at `time_ns` tells.
    fn is_of(&mut self, holds: i64, time_ns: i64) -> bool {
        if self.is_answer {
            self.shown = Some(holds);
            return true;
        }
        let after_ns = time_ns.saturating_sub(self.begun_ns);
        self.shown == Some(holds) && self.apart_ns.is_some_and(|apart_ns| after_ns < apart_ns)
    }
}

impl Timeline {
    /// Notes where what leaves begins, if nothing was outstanding or left in the buffer.
    pub(super) fn note_fill(&mut self, data: Data, route: Route, acks: &Acks) {
        let start = data.start();
        let heard_ns = Acks::known_by(data.at.time_ns, route.to_sender_ns);
        let is_empty = !self.has_more && !data.opens_hole && acks.acked_by(heard_ns) >= start;
        if is_empty && self.fill.begins != Some(start) {
            let since_ns = self.let_go_since_ns(data, heard_ns);
            let newest = acks.newest_by(heard_ns);
            let is_by_ack = newest.is_some_and(|ack| ack.time_ns >= since_ns);
            self.fill.begins_anew(data, is_by_ack);
        }
    }

    /// When the ACK went by that let `data` go at once behind all that a buffer had taken which had been empty, if what
    /// had been acknowledged of that woke no writer: who writes piece by piece, and waits for no room, had written the
    /// next one by then.
    pub(super) fn woke_writer_ns(
        &mut self,
        data: Data,
        (heard_ns, until_ns): (i64, i64),
        acks: &Acks,
    ) -> Option<i64> {
        let begins = self.fill.begins?;
        let holds = self.sent_until.saturating_sub(begins);
        let room = acks.acked_by(heard_ns).saturating_sub(begins);
        if room <= 0 || room >= WAKES_BYTES || !self.may_hold(holds) {
            return None;
        }
        let since_ns = self.let_go_since_ns(data, until_ns);
        let newest = acks.between(heard_ns, until_ns).last()?;
        let is_at_once = newest.time_ns >= since_ns;
        (is_at_once && self.fill.is_of(holds, data.at.time_ns)).then_some(newest.time_ns)
    }

    /// When the ACK went by that let `data` go at once behind a full buffer of which all had been sent, if those before it
    /// had made too little room to wake its writer, be it enough for `data`: Nagle's algorithm holds no full segment.
    pub(super) fn woke_full_segment_ns(
        &self,
        (data, holds): (Data, i64),
        (heard_ns, until_ns): (i64, i64),
        acks: &Acks,
    ) -> Option<i64> {
        let newest = acks.between(heard_ns, until_ns).last()?;
        let acked = acks.acked_by(newest.time_ns.saturating_sub(1));
        let room = acked.saturating_sub(self.sent_until.saturating_sub(holds));
        let since_ns = self.let_go_since_ns(data, until_ns);
        let is_at_once = newest.time_ns >= since_ns;
        (data.is_full() && room < WAKES_BYTES && is_at_once).then_some(newest.time_ns)
    }

    /// Since when an ACK has let `data` go at once that had been heard by `until_ns`.
    fn let_go_since_ns(&self, data: Data, until_ns: i64) -> i64 {
        let takes_ns = self.takes(data.bytes, data.segments, data.full_bytes);
        let behind_ns = takes_ns.saturating_add(data.sharing.queued_ns);
        until_ns
            .saturating_sub(behind_ns)
            .saturating_sub(RELEASE_MAX_NS)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::partition::{Moment, INFERRED};
    use super::super::Words;
    use super::*;
    use crate::shared_windows::Sharing;
    use trace_model::rows::Cause;

    const MS: i64 = 1_000_000;
    const START: i64 = (1 << 32) - 1000;

    /// A sender that had everything acknowledged, and has sent so many bytes since 110 ms in two flights, which were all
    /// that was there: of the first of them so many were acknowledged when the second left, the rest after 400 ms.
    fn filled(bytes: i64, acked: i64) -> (Timeline, Acks) {
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        let mut acks = Acks::default();
        for (ms, acked) in [(0, 0), (100, acked), (400, bytes)] {
            acks.push(ms * MS, START + acked, 60_000, 100 * MS);
        }
        timeline.sent = Some((Moment::at_ms(210), true));
        timeline.sent_bytes = 1000;
        timeline.full_bytes = 1000;
        timeline.sent_until = START + bytes;
        timeline.has_more = false;
        timeline.pushes.note(START + bytes);
        timeline.fill.begins_answer(Data::at_ms(110, START + 1000));
        (timeline, acks)
    }

    /// When the ACK went by that let a segment of so many bytes go behind a full buffer of 4,096 bytes, of which so many
    /// were free by then.
    fn woke_ms(bytes: u32, room: i64) -> Option<i64> {
        let (timeline, _) = filled(4096, 1000);
        let mut acks = Acks::default();
        for (ms, acked) in [(0, 0), (300, room), (400, 4096)] {
            acks.push(ms * MS, START + acked, 60_000, 100 * MS);
        }
        let data = Data {
            bytes,
            ..Data::at_ms(500, START + 4096 + i64::from(bytes))
        };
        let heard = (210 * MS, 400 * MS);
        let woke_ns = timeline.woke_full_segment_ns((data, 4096), heard, &acks);
        woke_ns.map(|ns| ns / MS)
    }

    #[test]
    fn a_full_segment_waited_for_room_until_there_was_enough_to_wake_its_writer() {
        assert_eq!(woke_ms(1000, 1000), Some(400));
        assert_eq!(woke_ms(1000, 2048), None, "he was awake by then");
        assert_eq!(woke_ms(500, 1000), None, "Nagle's algorithm may hold it");
    }

    /// When the ACK went by that let go what came then.
    fn woken_by_ms((timeline, acks): &mut (Timeline, Acks), came_ms: i64) -> Option<i64> {
        woken_behind_others_by_ms((timeline, acks), came_ms, 0)
    }

    /// ... behind others that the link had to send first for so long.
    fn woken_behind_others_by_ms(
        (timeline, acks): (&mut Timeline, &mut Acks),
        came_ms: i64,
        queued_ms: i64,
    ) -> Option<i64> {
        let sharing = Sharing {
            queued_ns: queued_ms * MS,
            ..Sharing::default()
        };
        let data = Data {
            sharing,
            ..Data::at_ms(came_ms, timeline.sent_until + 1000)
        };
        let route = Route::at_receiver(100);
        let made_ns = timeline.buffer_room_made_ns((data, false), route, acks);
        made_ns.map(|ns| ns / MS)
    }

    #[test]
    fn a_writer_that_too_little_room_did_not_wake_goes_on_with_the_next_ack() {
        assert_eq!(woken_by_ms(&mut filled(4096, 1000), 500), Some(400));
        let woken_before = woken_by_ms(&mut filled(4096, 2100), 500);
        assert_eq!(woken_before, None, "it had been woken");
        let not_acked = woken_by_ms(&mut filled(4096, 0), 500);
        assert_eq!(not_acked, None, "a write may end there");
        let later = woken_by_ms(&mut filled(4096, 1000), 700);
        assert_eq!(later, None, "written later");
    }

    #[test]
    fn what_he_writes_then_may_stand_behind_what_others_were_sent() {
        let (mut timeline, mut acks) = filled(4096, 1000);
        let woken = woken_behind_others_by_ms((&mut timeline, &mut acks), 560, 60);
        assert_eq!(woken, Some(400));
    }

    /// How long after a second fill of so many bytes began, which no ACK let go, that ACK came which let go what came
    /// 400 ms later than that; it began so much later than the first one.
    fn woken_behind_second_ms(bytes: i64, apart_ms: i64) -> Option<i64> {
        let mut sent = filled(4096, 1000);
        woken_by_ms(&mut sent, 500);
        let (timeline, acks) = &mut sent;
        let begun_ms = 110 + apart_ms;
        let start = START + 4096;
        let second = Data::at_ms(begun_ms, start + 1000);
        timeline.note_fill(second, Route::at_receiver(100), acks);
        timeline.sent_until = start + bytes;
        timeline.sent = Some((Moment::at_ms(begun_ms + 110), true));
        for (later_ms, acked) in [(0, 1000), (300, bytes)] {
            acks.push((begun_ms + later_ms) * MS, start + acked, 60_000, 100 * MS);
        }
        let woken_ms = woken_by_ms(&mut sent, begun_ms + 400)?;
        Some(woken_ms - begun_ms)
    }

    #[test]
    fn a_buffer_that_the_beginning_of_an_answer_has_shown_is_filled_later_too() {
        assert_eq!(woken_behind_second_ms(4096, 500), Some(300));
        let other = woken_behind_second_ms(5120, 500);
        assert_eq!(other, None, "it holds less");
    }

    #[test]
    fn what_goes_on_no_sooner_than_pieces_were_written_may_be_one() {
        assert_eq!(woken_behind_second_ms(4096, 400), None);
    }

    #[test]
    fn who_sleeps_waits_for_room_although_his_window_was_thrown_away() {
        let (mut timeline, acks) = filled(4096, 1000);
        let route = Route::at_receiver(100);
        let data = Data::at_ms(500, timeline.sent_until + 1000);
        timeline.made_buffer_room_ns = timeline.buffer_room_made_ns((data, false), route, &acks);
        let restarted = Some((Cause::StallSlowStartRestart, INFERRED));
        let told = timeline.of_full_buffer(restarted, data, route, &acks);
        assert_eq!(
            told.map(|(cause, _)| cause),
            Some(Cause::SendLimitedSendBuffer)
        );
    }
}
