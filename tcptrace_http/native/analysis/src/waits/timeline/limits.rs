//! What limits a sender that stopped: what it had outstanding, and the ACKs that it had heard.

use super::super::acks::{Acks, Released};
use super::{Data, Route, Timeline};
use crate::used_window::Limit;
use trace_model::rows::Cause;

impl Timeline {
    /// What limits the sender that has waited until it sent `data`, whatever `released` that.
    pub(super) fn limit_at(
        &mut self,
        (data, released): (Data, Released),
        route: Route,
        acks: &Acks,
    ) -> Limit {
        self.stop_at(data, route, acks);
        self.limit_now((data, released), route, acks)
    }

    /// The sender had stopped before `data`.
    pub(super) fn stop_at(&mut self, data: Data, route: Route, acks: &Acks) {
        // What lies between it and this data left no sooner than that.
        let end = self.sent_until;
        if let Some((before, _)) = self.sent {
            let left_ns = self.newest_left_ns(before);
            let known_ns = Acks::known_by(left_ns, route.to_sender_ns);
            self.window_hears(acks, known_ns.min(acks.heard_before_ns()));
        }
        let buffer = self.buffer_of_others(data, route, acks);
        self.window.has_buffer_of(buffer);
        self.window.has_sockets_of(data.sharing.sockets);
        self.window.stops(end, data.full_bytes);
        self.window
            .begins_as_others(data.sharing.initial_window_bytes > 0);
        if data.is_full() && self.has_more && !self.window.is_recovering() {
            self.window.had_no_room_lowered();
        }
        let is_request = self.words.burst == Cause::RequestSend;
        if !self.has_more && !is_request && !self.ends_with_window(data, route, acks) {
            // A client has each request in one piece: there is nothing more however its window stands.
            self.is_emptied(route, acks);
        }
        let slow_start = self.window.grew_by_half(end);
        if let Some(outstanding) = slow_start.filter(|_| !data.sharing.is_shared) {
            self.had_been_in_slow_start(outstanding);
        }
        let is_refuted = self.window.exceeds_twice_told() && !data.sharing.is_shared;
        if let Some((before, _)) = self.sent.filter(|_| is_refuted) {
            self.phases.had_no_buffer(before.time_ns);
        }
    }

    /// What limits it then, when it has heard all but what let `data` go.
    pub(super) fn limit_now(
        &mut self,
        (data, released): (Data, Released),
        route: Route,
        acks: &Acks,
    ) -> Limit {
        let end = self.sent_until;
        let bytes = data.bytes.min(data.full_bytes);
        self.hear_packets(data, route, acks);
        if self.was_spread_with_room(data) && released == Released::ByAck {
            return Limit::None;
        }
        let limit = match self.limit_shown(data, bytes, route, acks) {
            Limit::SendBuffer if self.is_of_own_time(data) => Limit::None,
            limit => limit,
        };
        // What others in flight leave of a window that may be shared is no window of its own; and what is missing
        // ahead of the data may have left before it, or with it. Nor is it known how large a window is that is paced: the
        // first ACK leaves of it what its pacer had let go (Eggert 1999, section 3.1).
        let may_share = released == Released::ByAck && data.sharing.are_others_in_flight;
        let may_be_shared = data.sharing.is_shared || may_share;
        let outgrew = limit == Limit::CongestionAvoidance
            && !may_be_shared
            && !data.sharing.begin_paced
            && !data.opens_hole
            && (self.window.outgrew(end) || self.outgrew_alone(end));
        if outgrew && (self.window.had_no_room_for(end, bytes) || self.has_packets_of_window(data))
        {
            // Nagle's algorithm held it later, when an ACK had made room.
            return limit;
        }
        let is_emptied = self.has_emptied_its_buffer();
        let is_of_buffer = limit == Limit::SendBuffer && released == Released::ByAck;
        if is_of_buffer && !is_emptied && !may_be_shared && !data.opens_hole {
            if let Some(lowered) = self.window.lowered_limit(end, bytes) {
                return lowered;
            }
        }
        let acked = acks.acked_by(Acks::known_by(data.at.time_ns, route.to_sender_ns));
        let is_short = !data.is_full() && !data.nagle_is_off;
        let may_be_held = is_short && acked >= end;
        let is_above = (outgrew || limit == Limit::SendBuffer) && !is_emptied;
        if may_be_held && (is_above || self.window.had_room_in_kept(end)) {
            // What is short and waited until all was acknowledged was held by Nagle's algorithm.
            return Limit::None;
        }
        if outgrew && self.window.fills_half() {
            self.had_not_grown(end);
            return Limit::SendBuffer;
        }
        let is_window = matches!(limit, Limit::SlowStart | Limit::CongestionAvoidance);
        if is_window && is_emptied && !may_be_shared && released == Released::ByAck && acked < end {
            return Limit::SendBuffer;
        }
        limit
    }

    /// What limits a sender that seems to have stopped at `limit`: with less than the smallest buffer holds it was a window,
    /// for one that others use as well looks like one of its own that does not grow.
    pub(super) fn of_small(&self, limit: Limit, data: Data) -> Limit {
        match limit {
            Limit::SendBuffer if !self.window.may_fill_buffer(data.bytes) => Limit::SlowStart,
            limit => limit,
        }
    }

    /// ... as what was outstanding shows, if the window is its own.
    fn limit_shown(&mut self, data: Data, bytes: u32, route: Route, acks: &Acks) -> Limit {
        let end = self.sent_until;
        let until_ns = self.known_before_release(data, route, acks);
        // What the server's connections have learnt of losses says nothing of how the client's begin.
        let is_request = self.words.burst == Cause::RequestSend;
        self.window
            .inherits(data.sharing.threshold.filter(|_| !is_request));
        let had_loss = data.sharing.had_loss && !is_request;
        let phase = self.phase_before_all(end, (bytes, had_loss), until_ns, acks);
        self.window_hears(acks, until_ns);
        // What is missing before it was outstanding as well, and may have left no room.
        let outstanding_until = if data.opens_hole { data.start() } else { end };
        match self.window.limit(outstanding_until, bytes, had_loss) {
            limit @ (Limit::SlowStart | Limit::CongestionAvoidance) => phase.unwrap_or(limit),
            Limit::SendBuffer if self.may_have_left_slow_start(data, route, acks) => {
                Limit::CongestionAvoidance
            }
            limit => limit,
        }
    }

    /// What lay in the buffer with nothing on its way left when the ACK of all before it came, however long the link
    /// took for it: the phase of the window until then, if that ACK seems to have come before and ends no recovery.
    fn phase_before_all(
        &mut self,
        end: i64,
        (bytes, had_loss): (u32, bool),
        until_ns: i64,
        acks: &Acks,
    ) -> Option<Limit> {
        let all_ns = acks.time_of(end).filter(|all_ns| *all_ns <= until_ns)?;
        if !self.has_more {
            return None;
        }
        self.window_hears(acks, all_ns.saturating_sub(1));
        if self.window.is_recovering() {
            return None;
        }
        let limit = self.window.limit(end, bytes, had_loss);
        let is_phase = match limit {
            Limit::SlowStart => !self.window.is_halved(),
            limit => limit == Limit::CongestionAvoidance,
        };
        is_phase.then_some(limit)
    }

    /// The least that the window was when the newest segment was let go.
    pub(in crate::waits) fn least_window_bytes(&self) -> u64 {
        self.window.least_bytes()
    }

    /// How large the window was when its sender had stopped with all sent up to `end`, if a loss had lowered it.
    pub(in crate::waits) fn lowered_window_bytes(&self, end: i64) -> Option<u64> {
        self.window
            .lowered_bytes(end)
            .and_then(|it| u64::try_from(it).ok())
    }

    fn window_hears(&mut self, acks: &Acks, until_ns: i64) {
        for ack in acks.between(self.window.heard_until_ns(), until_ns) {
            self.window.hears(ack.time_ns, ack.acked);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::partition::Moment;
    use super::super::Words;
    use super::*;
    use crate::shared_windows::Sharing;

    const MS: i64 = 1_000_000;

    /// The phase of a window in which a segment comes, half a round trip later than the ACK of all makes it.
    fn limit_long_after_all(had_more: bool, by_timer: bool) -> Limit {
        let route = Route::at_receiver(100);
        let start = (1 << 32) - 1000;
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        timeline.window.stops(start, 1000);
        timeline.window.had_loss(start - 6000, start, by_timer);
        timeline.window.hears(MS, start);
        timeline.sent_until = start + 2000;
        timeline.has_more = had_more;
        let mut acks = Acks::default();
        acks.push(MS, start, 60_000, 100 * MS);
        acks.push(10 * MS, start + 2000, 60_000, 100 * MS);
        let at = Moment::at_ms(160);
        let data = Data::plain(at, start + 3000);
        timeline.limit_at((data, Released::ByNone), route, &acks)
    }

    #[test]
    fn what_lay_in_the_buffer_waited_for_the_window_as_it_was_before_the_ack_of_all() {
        assert_eq!(limit_long_after_all(true, true), Limit::SlowStart);
        assert_eq!(
            limit_long_after_all(false, true),
            Limit::CongestionAvoidance
        );
    }

    #[test]
    fn a_window_that_was_halved_is_in_no_slow_start_though_all_was_acknowledged() {
        assert_eq!(
            limit_long_after_all(true, false),
            Limit::CongestionAvoidance
        );
    }

    /// What limits a sender that had a segment outstanding, and two before, when it has another to send, where data of
    /// another of the server's connections had been lost.
    fn limit_after_a_loss_of_others(words: Words) -> Limit {
        let start = (1 << 32) - 1000;
        let mut timeline = Timeline::new(words, None);
        let mut acks = Acks::default();
        acks.push(0, start, 60_000, 100 * MS);
        timeline.window.hears(0, start);
        timeline.window.stops(start + 2000, 1000);
        acks.push(0, start + 1000, 60_000, 100 * MS);
        timeline.sent_until = start + 2000;
        let at = Moment::at_ms(200);
        let sharing = Sharing {
            had_loss: true,
            threshold: Some(1000),
            ..Sharing::default()
        };
        let data = Data {
            sharing,
            ..Data::plain(at, start + 3000)
        };
        timeline.limit_at((data, Released::ByAck), Route::default(), &acks)
    }

    #[test]
    fn what_the_server_learnt_of_losses_is_no_threshold_of_its_client() {
        let response = limit_after_a_loss_of_others(Words::OF_RESPONSES);
        assert_eq!(response, Limit::CongestionAvoidance);
        let request = limit_after_a_loss_of_others(Words::OF_REQUESTS);
        assert_ne!(request, Limit::CongestionAvoidance);
    }

    /// What limits a sender whose window was halved, that had pushed all it had each time, with so much outstanding when
    /// the ACK of 1,000 bytes let it go on, and has a buffer of so much.
    fn limit_behind_pushes(stops: &[i64], buffer: Option<i64>) -> Limit {
        let route = Route::at_receiver(100);
        let mut acked = (1 << 32) - 3000;
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        timeline.has_more = false;
        timeline.window.stops(acked, 1000);
        timeline.window.had_loss(acked - 6000, acked, false);
        let mut acks = Acks::default();
        acks.push(0, acked, 60_000, 100 * MS);
        let mut limit = Limit::None;
        for (round, outstanding) in (1..).zip(stops) {
            timeline.sent_until = acked + outstanding;
            acked += 1000;
            acks.push(200 * MS * round, acked, 60_000, 100 * MS);
            let at = Moment {
                time_ns: 200 * MS * round + 100 * MS,
                frame: 1,
            };
            let sharing = Sharing {
                buffer,
                ..Sharing::default()
            };
            let data = Data {
                sharing,
                ..Data::plain(at, timeline.sent_until + 1000)
            };
            limit = timeline.limit_at((data, Released::ByAck), route, &acks);
            timeline.sent = Some((at, true));
        }
        limit
    }

    /// What limits a sender whose buffer is full, and whose window a loss has lowered to three segments, with so much
    /// outstanding.
    fn limit_of_full_buffer(outstanding: i64) -> Limit {
        let route = Route::at_receiver(100);
        let acked = (1 << 32) - 3000;
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        timeline.window.has_buffer_of(Some(3000));
        timeline.window.stops(acked, 1000);
        timeline.window.had_loss(acked - 6000, acked, false);
        timeline.sent_until = acked + outstanding;
        let mut acks = Acks::default();
        acks.push(0, acked, 60_000, 100 * MS);
        acks.push(200 * MS, acked + 1000, 60_000, 100 * MS);
        let at = Moment::at_ms(300);
        let data = Data::plain(at, timeline.sent_until + 1000);
        timeline.limit_at((data, Released::ByAck), route, &acks)
    }

    #[test]
    fn a_full_buffer_limits_no_sender_whose_window_has_no_room_since_a_loss() {
        assert_eq!(limit_of_full_buffer(3000), Limit::CongestionAvoidance);
    }

    #[test]
    fn a_buffer_that_was_emptied_each_time_that_it_was_full_limits_its_sender_though_a_loss_has_lowered_its_window(
    ) {
        let once = limit_behind_pushes(&[2900], Some(2900));
        assert_eq!(once, Limit::CongestionAvoidance);
        let each_time = limit_behind_pushes(&[2900, 2900, 2900], Some(2900));
        assert_eq!(each_time, Limit::SendBuffer);
    }

    /// What limits a sender in slow start that stopped with a segment outstanding when two more had been acknowledged
    /// one by one, and of which `missing` bytes are missing before its next segment.
    fn limit_before_a_hole(missing: i64) -> Limit {
        let route = Route::at_receiver(100);
        let start = (1 << 32) - 3000;
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        timeline.window.hears(0, start - 1000);
        for end in [start, start + 1000] {
            timeline.window.stops(end, 1000);
            timeline.window.hears(0, end);
        }
        timeline.sent_until = start + 2000;
        timeline.sent = Some((Moment::default(), true));
        let at = Moment::at_ms(200);
        let data = Data {
            opens_hole: missing > 0,
            ..Data::plain(at, start + 3000 + missing)
        };
        timeline.limit_at((data, Released::ByAck), route, &Acks::default())
    }

    #[test]
    fn what_is_missing_was_outstanding_as_well_and_may_have_filled_the_window() {
        assert_eq!(limit_before_a_hole(0), Limit::SendBuffer);
        assert_eq!(limit_before_a_hole(3000), Limit::SlowStart);
    }

    /// What limits a sender without a loss that had pushed all it had each time, with so much outstanding when the ACK of
    /// all let a short segment go.
    fn limit_of_short_behind_pushes(stops: &[i64]) -> Limit {
        let route = Route::at_receiver(100);
        let mut acked = (1 << 32) - 3000;
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        timeline.has_more = false;
        timeline.window.hears(0, acked);
        let mut acks = Acks::default();
        acks.push(0, acked, 60_000, 100 * MS);
        let mut limit = Limit::None;
        for (round, outstanding) in (1..).zip(stops) {
            acked += outstanding;
            timeline.sent_until = acked;
            acks.push(200 * MS * round, acked, 60_000, 100 * MS);
            let at = Moment {
                time_ns: 200 * MS * round + 100 * MS,
                frame: 1,
            };
            let data = Data {
                bytes: 500,
                ..Data::plain(at, acked + 500)
            };
            limit = timeline.limit_at((data, Released::ByAck), route, &acks);
            timeline.sent = Some((at, true));
        }
        limit
    }

    #[test]
    fn a_short_segment_was_not_held_of_who_has_pushed_as_much_each_time_to_the_byte() {
        assert_eq!(
            limit_of_short_behind_pushes(&[2500, 2500, 2500, 2500, 2600]),
            Limit::None
        );
        assert_eq!(limit_of_short_behind_pushes(&[2500; 5]), Limit::SendBuffer);
    }

    #[test]
    fn who_has_pushed_as_much_each_time_to_the_byte_waits_for_room_in_its_buffer() {
        let once = limit_behind_pushes(&[2500], None);
        assert_eq!(once, Limit::CongestionAvoidance);
        let each_time = limit_behind_pushes(&[2500, 2500, 2500], None);
        assert_eq!(each_time, Limit::SendBuffer);
    }
}
