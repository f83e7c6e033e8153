//! A window that the receiver offers, and a buffer that is as large as that, or nearly.

use super::super::acks::{Acks, Released};
use super::super::partition::INFERRED;
use super::full_buffer::UNIT_BYTES;
use super::{Data, Route, Timeline};
use trace_model::rows::Cause;

impl Timeline {
    /// Whether what was outstanding fills a buffer that is as large as the window that its sender offers itself.
    pub(super) fn fills_buffer_as_offered(&self, data: Data) -> bool {
        let full_bytes = i64::from(data.full_bytes);
        let needed = self.window.outstanding().saturating_add(full_bytes);
        data.buffer_as_offered.is_some_and(|holds| needed > holds)
    }

    /// What data waited for that seems to have waited for room in the receiver's window: a buffer that is emptied into
    /// that as often as it is full costs as much.
    pub(super) fn of_emptied_into_window(
        &self,
        told: (Cause, f64),
        released: Released,
        route: Route,
        acks: &Acks,
    ) -> (Cause, f64) {
        let is_window = released == Released::ByWindow && told.0 == Cause::SendLimitedReceiveWindow;
        let holds = self.window.outstanding();
        let is_emptied = self.has_emptied_its_buffer();
        let is_full = self.window.fills_as_offered()
            || is_emptied && self.may_empty_into_window(holds, route, acks);
        if is_window && is_full {
            (Cause::SendLimitedSendBuffer, INFERRED)
        } else {
            told
        }
    }

    /// A buffer was emptied that holds just as much as the window that it was emptied into: each is full whenever the other
    /// one is, be it that the end of what was written, which fills no segment, stays in the buffer.
    pub(super) fn may_be_as_offered(&mut self, route: Route, acks: &Acks) {
        // What writes in small pieces fills whatever window to the byte.
        let Some((sent, _)) = self.sent.filter(|(_, was_full)| *was_full) else {
            return;
        };
        let known_ns = Acks::known_by(sent.time_ns, route.to_sender_ns);
        let holds = self.window.outstanding();
        let is_offered = |window: u32| i64::from(window) == holds;
        let is_as_large = acks
            .newest_by(known_ns)
            .is_some_and(|ack| is_offered(ack.window) && ack.edge == self.sent_until);
        if is_as_large && holds.checked_rem(UNIT_BYTES) == Some(0) && self.window.is_as_offered() {
            let window = self.window;
            let cause = Cause::SendLimitedReceiveWindow;
            self.waited_for_buffer(cause, |outstanding| window.would_fill_emptied(outstanding));
        }
    }

    /// Whether a buffer may hold so much that is emptied into the receiver's window: that is filled by it to the byte, or
    /// it is as much as buffers hold. What was written may end anywhere before a window that has no room for a full
    /// segment.
    pub(super) fn may_empty_into_window(&self, holds: i64, route: Route, acks: &Acks) -> bool {
        let Some((sent, _)) = self.sent else {
            return false;
        };
        let known_ns = Acks::known_by(sent.time_ns, route.to_sender_ns);
        let is_filled = acks.edge_by(known_ns) == Some(self.sent_until);
        is_filled || holds.checked_rem(UNIT_BYTES) == Some(0)
    }

    /// How much any connection of the sender has in flight at most, as others have shown: of one that fills the window
    /// that the receiver offers it is that.
    pub(super) fn buffer_of_others(&self, data: Data, route: Route, acks: &Acks) -> Option<i64> {
        let known_ns = Acks::known_by(data.at.time_ns, route.to_sender_ns);
        let offered = acks.newest_by(known_ns).map(|ack| i64::from(ack.window));
        let is_smaller = |buffer: &i64| {
            let needed = buffer.saturating_add(i64::from(data.full_bytes));
            offered.is_none_or(|offered| needed <= offered)
        };
        data.sharing.buffer.filter(is_smaller)
    }

    /// Whether what was sent before `data` ends where a receiver's window did that tells nothing of a buffer, or so little
    /// before that no full segment fits in. That it was pushed does not show then that there was no more: Linux, which
    /// rounds windows so, pushes wherever it has written more than half of the largest window since its last push
    /// (`forced_push` in net/ipv4/tcp.c).
    pub(super) fn ends_with_window(&self, data: Data, route: Route, acks: &Acks) -> bool {
        let Some((before, was_full)) = self.sent.filter(|_| data.windows_are_rounded) else {
            return false;
        };
        let known_ns = Acks::known_by(before.time_ns, route.to_sender_ns);
        let room = acks
            .edge_by(known_ns)
            .map(|edge| edge.saturating_sub(self.sent_until));
        // Who avoids silly windows sends no less than a full segment into the rest (RFC 9293, section 3.8.6.2.1).
        let fits_none = room.is_some_and(|room| (0..i64::from(data.full_bytes)).contains(&room));
        room == Some(0) || was_full && fits_none
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::acks::Released;
    use super::super::super::partition::Moment;
    use super::super::Words;
    use super::*;
    use crate::used_window::Limit;
    use trace_model::rows::Cause;

    /// What waits for room in the receiver's window with so much outstanding.
    fn waited_for(outstanding: i64, buffer_as_offered: Option<i64>) -> Cause {
        let start = (1 << 32) - 2000;
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        timeline.window.hears(1, start);
        timeline.window.stops(start + outstanding, 1000);
        let data = Data {
            buffer_as_offered,
            ..Data::plain(Moment::default(), start + outstanding + 1000)
        };
        let limit = Limit::SlowStart;
        let (cause, _) = timeline.cause_of(Released::ByWindow, limit, (data, true));
        cause
    }

    #[test]
    fn a_window_as_large_as_its_senders_buffer_is_filled_when_that_is() {
        let window = Cause::SendLimitedReceiveWindow;
        assert_eq!(waited_for(4000, Some(4096)), Cause::SendLimitedSendBuffer);
        assert_eq!(waited_for(4000, None), window);
        assert_eq!(waited_for(2000, Some(4096)), window, "it had been lowered");
    }

    /// Whether so much, sent into a window of 65,536 bytes, ends with that.
    fn ends_with_window(sent: i64, windows_are_rounded: bool) -> bool {
        let start = (1 << 32) - 2000;
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        timeline.sent = Some((Moment::at_ms(210), true));
        timeline.sent_until = start + sent;
        let mut acks = Acks::default();
        acks.push(100_000_000, start, 65_536, 10_000_000);
        let data = Data {
            windows_are_rounded,
            full_bytes: 1000,
            ..Data::at_ms(300, start + sent + 1000)
        };
        timeline.ends_with_window(data, Route::at_receiver(10), &acks)
    }

    #[test]
    fn what_ends_where_a_rounded_window_does_shows_no_buffer() {
        assert!(ends_with_window(65_536, true));
        assert!(!ends_with_window(65_536, false));
        assert!(!ends_with_window(32_768, true));
        assert!(ends_with_window(65_000, true), "no full segment fits in");
        assert!(!ends_with_window(64_536, true), "one does");
    }
}
