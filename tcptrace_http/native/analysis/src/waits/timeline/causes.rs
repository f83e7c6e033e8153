//! Why data came when it did, and not before.

use super::super::acks::{Acks, Released};
use super::super::partition::{ASSUMED, INFERRED, SEEN};
use super::heard_before::by_lost_acks;
use super::repairs::repair;
use super::shared::{is_in_turn, left_with_no_ack, limit_of, window_of};
use super::stamped::STAMPS_VARY_NS;
use super::{Data, Route, Timeline, OPTIONS_BYTES};
use crate::used_window::Limit;
use trace_model::rows::Cause;

impl Timeline {
    /// What the data waited for since the segment before; None if it followed at once.
    pub(super) fn wait_before(
        &mut self,
        (data, is_answer): (Data, bool),
        route: Route,
        acks: &Acks,
    ) -> Option<(Cause, f64)> {
        let (sent, _) = self.sent?;
        if !self.has_more {
            self.window.is_written_behind(self.sent_until);
        }
        let was_full = self.was_full(data.full_bytes);
        let left = self.as_left(data);
        if left.is_some_and(|(_, gap)| gap <= STAMPS_VARY_NS) && !is_answer {
            return None;
        }
        let gap = data.at.time_ns.saturating_sub(sent.time_ns);
        let (data, gap) = left.unwrap_or((data, gap));
        let rtt = route.rtt_ns();
        let are_full = was_full && data.is_full() && !data.opens_hole;
        let is_in_flight = self.is_in_burst(gap, data, route, acks);
        let is_let_go = data.sharing.is_let_go && !route.is_at_sender;
        // What comes as close as a burst does tells the link's pace.
        let opens_paced = data.sharing.left_before_acks && !is_in_flight;
        // Who paces lets data go by a clock, in no other pace than a link would.
        let is_by_clock = (data.sharing.is_paced && self.has_more) || data.sharing.is_of_pacer;
        let is_paced = (is_by_clock || opens_paced) && !route.is_at_sender;
        let is_by_no_ack = left_with_no_ack(self.has_more, data, route);
        let is_on_its_way = is_in_flight && !is_let_go || is_by_no_ack;
        let takes_turn = is_on_its_way && !route.is_at_sender && is_in_turn(gap, data);
        let waited_for_own =
            (takes_turn || data.sharing.by_other) && self.waited_for_own_room(data, route, acks);
        if takes_turn && !is_paced && !waited_for_own {
            return Some((window_of(data.sharing), INFERRED));
        }
        if data.sharing.is_of_pacer && route.is_at_sender && data.recovery.is_none() {
            return Some((self.words.burst, INFERRED));
        }
        if (is_on_its_way && !(takes_turn && waited_for_own)) || is_paced {
            // A sender's burst leaves at once; in which pace it comes the ACKs tell.
            if is_paced {
                self.was_paced(gap, route);
            } else if are_full && !route.is_at_sender && !is_by_no_ack {
                self.pace.learn(gap, data.segments);
            }
            return None;
        }
        if data.recovery.is_some() {
            // It was lost itself before: what its sender waited for then is not what it waited for now.
            self.limit_at((data, Released::ByNone), route, acks);
            if data.sharing.by_other && data.sharing.missed.is_none() {
                // Its host has missed a packet, but of which connection is not known.
                self.if_shared = Some(window_of(data.sharing));
            }
            return Some((repair(data.recovery), INFERRED));
        }
        if data.held_by_pacer_ns(route).is_some() {
            return Some((self.words.burst, INFERRED));
        }
        let pace = self.takes(data.bytes, data.segments, data.full_bytes);
        let (left_ns, is_opened) = (data.at.time_ns, data.sharing.to_server_ns.is_some());
        let on_link_ns = self.let_go_after_ns(data, route, acks).unwrap_or(0);
        let path_ns = route.to_sender_ns.saturating_add(on_link_ns);
        let is_in_order = !self.window.is_recovering();
        let if_steady_ns = self.link_varies_ns(data);
        let released_in = |pace_ns: i64| {
            let pace_ns = pace_ns.saturating_sub(on_link_ns);
            let at = (left_ns, data.end);
            match acks.released_in_order(at, (path_ns, pace_ns), (is_in_order, if_steady_ns)) {
                // Of a connection that was seen to open all ACKs are known.
                Released::Unknown if is_opened => Released::ByNone,
                released => released,
            }
        };
        let mut released = released_in(pace);
        let is_of_own = data.sharing.is_shared && !data.sharing.by_other;
        if released == Released::ByNone && (is_of_own || waited_for_own) {
            // Behind other connections' data it stood in the queue of the slowest link when it had left.
            let behind_ns = pace.saturating_add(data.sharing.queued_ns);
            released = released_in(behind_ns);
        }
        let had_nothing = !self.has_more;
        let stood_ns = self.stood_ns((gap, had_nothing), data, route, acks);
        if let Some(stood_ns) = stood_ns.filter(|_| released == Released::ByNone) {
            released = released_in(pace.saturating_add(stood_ns));
        }
        if released == Released::ByNone && data.sharing.is_let_go_by_end {
            // Its own window grew by what another connection left (RFC 2140, section 4).
            released = Released::ByAck;
        }
        if released == Released::ByNone && self.fills_window(data, route, acks) {
            return Some((Cause::SendLimitedReceiveWindow, INFERRED));
        }
        let by_other = (data.sharing.by_other || is_let_go) && released == Released::ByNone;
        if !by_other && released == Released::ByNone && self.is_of_clock(gap, data, route, acks) {
            return Some((self.words.burst, INFERRED));
        }
        if by_other && data.sharing.is_shared {
            return Some((window_of(data.sharing), INFERRED));
        }
        if by_other && is_in_flight {
            // Of a sender that paces its data, unless its connections turn out to share their window.
            self.if_shared = Some(window_of(data.sharing));
            return Some((self.words.burst, INFERRED));
        }
        let may_be_slow = data.is_full()
            && was_full
            && self.has_more
            && data.segments == 1
            && !data.opens_hole
            && released == Released::ByNone
            && !by_other;
        if may_be_slow && self.pace.is_steady_with(gap, rtt, data.full_bytes) {
            self.pace.begins_with(gap);
            self.was_pace(gap);
            return None;
        }
        let may_begin = are_full && released == Released::ByNone && !is_let_go;
        if may_begin && self.pace.may_begin_with(gap) {
            self.pace.learn(gap, data.segments);
            return None;
        }
        self.stop_at(data, route, acks);
        if is_answer {
            self.window.had_sent_all();
        }
        if released == Released::ByAck {
            self.uses_up_window(was_full, data, route, acks);
        }
        let limit = self.limit_now((data, released), route, acks);
        if self.is_of_offered_window((released, limit), data, route, acks) {
            released = Released::ByWindow;
        }
        // Between writes of one response Nagle's algorithm stops its sender as well.
        self.was_idle((gap, is_answer), data, route, acks);
        // As much as Nagle's algorithm would the window holds what is short, which the detectors tell where they can.
        let fills_shown =
            limit == Limit::SlowStart && self.window.fills_shown(self.sent_until, data.bytes);
        let is_of_window = was_full || fills_shown || self.had_no_room(data, route, acks);
        let told = self.cause_of(released, self.of_small(limit, data), (data, is_of_window));
        let told = self.of_emptied_into_window(told, released, route, acks);
        let told = by_lost_acks(told, released, data, acks);
        let told = self.of_recovery(told, (data, is_answer), released, (route, acks));
        let told = self.in_buffer(told, (released, limit), (data, route), acks);
        // A buffer that holds as much as the link carries in between looks full, too.
        let is_unsure = told.0 == self.words.idle || told.0 == Cause::SendLimitedSendBuffer;
        if is_unsure && !by_other && self.is_behind_lost(gap, data, route) {
            return None;
        }
        let told = self.after_restart(told, (was_full, released), (data, route), acks);
        if told.0 == self.words.idle || told.0 == Cause::Unexplained {
            self.if_on_link = self.if_on_link(limit, data, route, acks);
        }
        if !by_other && released != Released::ByAck {
            let would_be_paced = data.sharing.would_be_of_pacer && told.0 == self.words.idle;
            self.if_shared = would_be_paced.then_some(self.words.burst);
            return Some(told);
        }
        let shared_limit = limit_of(data.sharing);
        // Nagle's algorithm holds no full segment, nor does it wait for what comes on other connections.
        let is_of_window = was_full || by_other || data.is_above_nagle();
        let shared = self.cause_of(Released::ByAck, shared_limit, (data, is_of_window));
        let is_of_own = !by_other && self.has_emptied_its_buffer();
        let shared = if is_of_own {
            (Cause::SendLimitedSendBuffer, INFERRED)
        } else {
            shared
        };
        if data.sharing.is_shared {
            return Some(shared);
        }
        self.if_shared = Some(shared.0);
        let had_room = || !self.found_no_room(data, route, acks);
        if told.0 == Cause::SendLimitedSendBuffer && data.is_full() && !is_answer && had_room() {
            self.leaves_room();
        }
        if is_in_flight && told.0 == Cause::Unexplained {
            // An ACK came at its time by chance: a host takes as long to send what is there.
            return Some((self.words.burst, ASSUMED));
        }
        Some(told)
    }

    /// Whether the segment before was a full one. Where no MSS was offered a much larger one shows that it was not,
    /// though it had been the largest until then.
    pub(super) fn was_full(&self, full_bytes: u32) -> bool {
        let is_as_large = self.sent_bytes.saturating_add(OPTIONS_BYTES) >= full_bytes;
        self.sent.is_some_and(|(_, was_full)| was_full) && is_as_large
    }

    /// Whether an ACK let a segment go which no algorithm of Nagle holds: the window had no room for it behind
    /// a short one (RFC 9293, 3.8.6.2.1). How closely it follows that ACK shows only where it is known how long the
    /// segment takes.
    fn had_no_room(&self, data: Data, route: Route, acks: &Acks) -> bool {
        let on_link = self.takes_ns(data.bytes);
        let after_ns = route.to_sender_ns.saturating_add(on_link);
        let is_close =
            on_link == 0 && !route.is_at_sender || acks.let_go_closely(data.at.time_ns, after_ns);
        data.is_above_nagle() && !data.opens_hole && is_close || self.has_packets_of_window(data)
    }

    pub(super) fn cause_of(
        &self,
        released: Released,
        limit: Limit,
        (data, was_full): (Data, bool),
    ) -> (Cause, f64) {
        match (released, limit) {
            (Released::ByOpenedWindow, _) => (Cause::SendLimitedZeroWindow, SEEN),
            (Released::ByReading, _) => (Cause::ClientNotReading, INFERRED),
            // A full buffer has let the window not be filled before: one that is no smaller costs nothing more.
            (Released::ByWindow, Limit::SendBuffer) if self.window.is_full_buffer() => {
                (Cause::SendLimitedSendBuffer, INFERRED)
            }
            // Nor is one a window as large as its sender's buffer.
            (Released::ByWindow, _) if self.fills_buffer_as_offered(data) => {
                (Cause::SendLimitedSendBuffer, INFERRED)
            }
            (Released::ByWindow, _) => (Cause::SendLimitedReceiveWindow, INFERRED),
            (Released::ByAck, Limit::SendBuffer) => (Cause::SendLimitedSendBuffer, INFERRED),
            // A window that is used up ends with a full segment (RFC 9293, 3.8.6.2.1).
            (Released::ByAck, Limit::SlowStart) if was_full => {
                (Cause::SendLimitedSlowStart, INFERRED)
            }
            // Data that lay in the buffer, and of which a full segment waited, waited for the window; as did what is
            // short behind more full ones than ever before, for a window is a whole number of them.
            (Released::ByAck, Limit::None)
                if was_full
                    && self.has_more
                    && !self.settles_by_ack
                    && (data.is_above_nagle()
                        || self.window.fills_shown(self.sent_until, data.bytes)) =>
            {
                (Cause::SendLimitedSlowStart, INFERRED)
            }
            (Released::ByAck, Limit::CongestionAvoidance) if was_full => {
                (Cause::SendLimitedCwnd, INFERRED)
            }
            (Released::Unknown, _) => (Cause::Unobserved, ASSUMED),
            // What lay in the buffer, with nothing of its connection on its way, waited for a window that others fill.
            (Released::ByNone, _) if self.is_held_for_others(data) => {
                (Cause::SendLimitedSlowStart, INFERRED)
            }
            // A client has its request in one piece, and what was not pushed lay in the buffer.
            (Released::ByNone, _) if self.has_more && self.words.burst == Cause::RequestSend => {
                (self.words.burst, INFERRED)
            }
            (Released::ByNone, _) => (self.words.idle, INFERRED),
            // An ACK let it go, but neither window was used up: maybe Nagle's algorithm, maybe chance.
            (Released::ByAck, _) => (Cause::Unexplained, ASSUMED),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::partition::Moment;
    use super::super::Words;
    use super::*;
    use crate::shared_windows::Sharing;

    #[test]
    fn what_is_short_found_no_room_behind_more_full_segments_than_ever_before() {
        let start = (1 << 32) - 2000;
        for (before, cause) in [(4, Cause::Unexplained), (0, Cause::SendLimitedSlowStart)] {
            let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
            timeline.window.hears(1, start);
            let acked = start + before * 1000;
            timeline.window.stops(acked, 1000);
            timeline.window.hears(2, acked);
            (timeline.sent_until, timeline.has_more) = (acked + 2000, true);
            let short = Data {
                bytes: 700,
                full_bytes: 1000,
                ..Data::plain(Moment::default(), acked + 2700)
            };
            let told = timeline.cause_of(Released::ByAck, Limit::None, (short, true));
            assert_eq!(told.0, cause);
        }
    }

    #[test]
    fn what_is_short_found_no_room_next_to_its_sender_as_anywhere() {
        const MS: i64 = 1_000_000;
        let start = (1 << 32) - 1000;
        let told_at = |route: Route| {
            let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
            timeline.window.hears(0, start);
            timeline.sent_until = start + 2000;
            (timeline.sent, timeline.sent_bytes) = (Some((Moment::at_ms(0), false)), 1000);
            timeline.has_more = true;
            let mut acks = Acks::default();
            acks.push(0, start, 60_000, 100 * MS);
            acks.push(
                100 * MS - route.to_sender_ns,
                start + 2000,
                60_000,
                100 * MS,
            );
            let short = Data {
                bytes: 700,
                ..Data::at_ms(100, start + 2700)
            };
            timeline.wait_before((short, false), route, &acks)
        };
        for route in [Route::at_receiver(100), Route::at_sender(100)] {
            let told = told_at(route).map(|(cause, _)| cause);
            assert_eq!(told, Some(Cause::SendLimitedSlowStart));
        }
    }

    /// What a full segment waited for that its ACK let go while one was outstanding, after two ACKs of one such each.
    fn told_with_one_outstanding(full_bytes: u32) -> Option<Cause> {
        const MS: i64 = 1_000_000;
        let start = (1 << 32) - 3000;
        let end_of = |segments: i64| start + segments * i64::from(full_bytes);
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        timeline.window.hears(0, end_of(-1));
        for end in [start, end_of(1)] {
            timeline.window.stops(end, full_bytes);
            timeline.window.hears(0, end);
        }
        timeline.sent_until = end_of(2);
        (timeline.sent, timeline.sent_bytes) = (Some((Moment::at_ms(100), true)), full_bytes);
        timeline.has_more = true;
        let mut acks = Acks::default();
        acks.push(100 * MS, end_of(2), 60_000, 100 * MS);
        let data = Data {
            bytes: full_bytes,
            full_bytes,
            ..Data::at_ms(200, end_of(3))
        };
        let told = timeline.wait_before((data, false), Route::at_receiver(100), &acks);
        told.map(|(cause, _)| cause)
    }

    #[test]
    fn what_is_less_than_any_buffer_holds_was_stopped_by_a_window() {
        for (full_bytes, cause) in [
            (500, Cause::SendLimitedSlowStart),
            (1460, Cause::SendLimitedSendBuffer),
        ] {
            assert_eq!(told_with_one_outstanding(full_bytes), Some(cause));
        }
    }

    #[test]
    fn next_to_its_sender_what_a_clock_let_go_on_whichever_connection_waited_for_that() {
        let route = Route::at_sender(100);
        for (is_of_pacer, cause) in [
            (true, Cause::SendLimitedBottleneck),
            (false, Cause::SendLimitedSlowStart),
        ] {
            let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
            timeline.sent = Some((Moment::at_ms(1000), true));
            let sharing = Sharing {
                is_shared: true,
                by_other: true,
                is_of_pacer,
                to_server_ns: Some(0),
                ..Sharing::default()
            };
            let data = Data {
                sharing,
                ..Data::at_ms(1060, 2001)
            };
            let told = timeline.wait_before((data, false), route, &Acks::default());
            assert_eq!(told.map(|(cause, _)| cause), Some(cause));
        }
    }
}
