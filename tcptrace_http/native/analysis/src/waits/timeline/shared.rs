//! Waits for what connections share: their window, and the slowest link.

use super::settling::service_ns;
use super::{Data, Route, Timeline};
use crate::jitter::CLOSE_NS;
use crate::shared_windows::{Sharing, WrittenAt};
use crate::used_window::Limit;
use trace_model::rows::Cause;

/// Whether the slowest link carried data of other connections, and that all the time, since the segment before.
/// That had left before nearly always, for what leaves at once stands side by side: each ACK lets one or two
/// segments go, so what waits for its turn on the link waits for a window. Where turns take less than times of a
/// capture tell they are the link's.
pub(super) fn is_in_turn(gap: i64, data: Data) -> bool {
    let service_ns = service_ns(data);
    let is_longer = gap > service_ns.saturating_add(CLOSE_NS.max(service_ns / 2));
    let is_of_window = !data.sharing.is_by_no_ack && !data.opens_hole && data.recovery.is_none();
    data.sharing.is_behind_others && is_longer && is_of_window
}

/// The window that connections share, if an ACK of another of them made the room for data in it.
pub(super) fn shared_window(sharing: Sharing) -> Option<Cause> {
    (sharing.is_shared && sharing.by_other).then(|| window_of(sharing))
}

/// Whether data that lay in the buffer stood before the slowest link, which carried others' all the time, though no ACK
/// had come that may have let it go of the window that all share: it left with the first of them, at once or by a clock.
pub(super) fn left_with_no_ack(has_more: bool, data: Data, route: Route) -> bool {
    let sharing = data.sharing;
    let stood = sharing.is_shared && sharing.is_behind_others && sharing.is_by_no_ack;
    stood && has_more && !data.opens_hole && data.recovery.is_none() && !route.is_at_sender
}

/// What of the window that connections share data waited for.
pub(super) fn window_of(sharing: Sharing) -> Cause {
    match limit_of(sharing) {
        Limit::SendBuffer => Cause::SendLimitedSendBuffer,
        Limit::CongestionAvoidance => Cause::SendLimitedCwnd,
        Limit::SlowStart | Limit::None => Cause::SendLimitedSlowStart,
    }
}

/// The phase of a window that may be shared.
pub(super) fn phase_of(sharing: Sharing) -> Cause {
    if sharing.had_loss {
        Cause::SendLimitedCwnd
    } else {
        Cause::SendLimitedSlowStart
    }
}

/// What limits the connections that share a window. One that is used up to the same size again and again after a
/// loss stands at the largest that the stack has for all of them (Eggert 1999, section 4): it does not grow.
pub(super) fn limit_of(sharing: Sharing) -> Limit {
    match sharing.limit {
        Limit::SendBuffer => Limit::SendBuffer,
        _ if sharing.had_loss => Limit::CongestionAvoidance,
        _ => Limit::SlowStart,
    }
}

impl Timeline {
    /// Notes what all connections tell of the path and its slowest link.
    pub(super) fn note_shared_path(&mut self, sharing: Sharing, route: Route) {
        self.shared_arrivals = sharing.link;
        self.arrivals = self.arrivals.with_headers_of(sharing.link);
        self.shared_way_ns = sharing.to_client_ns;
        self.syn_way = (sharing.to_server_ns, sharing.syn_longer_bytes);
        if let Some(bound_ps) = sharing.asked_byte_ps.filter(|_| route.is_at_sender) {
            self.link.asked_bound(bound_ps);
        }
    }

    /// The route of a packet without payload, as all are that let data go, near the receiver.
    pub(super) fn bare_route(&self, route: Route) -> Route {
        if route.is_at_sender {
            return route;
        }
        Route {
            to_sender_ns: self.bare_way_ns(route),
            ..route
        }
    }

    /// What data waited for that seemed to wait for `cause`: its application, if that writes in a rhythm and this came in
    /// it.
    pub(super) fn of_rhythm(
        &self,
        cause: Option<(Cause, f64)>,
        sharing: Sharing,
    ) -> Option<(Cause, f64)> {
        let is_on_time = sharing.written == Some(WrittenAt::OnTime);
        cause.map(|(cause, certainty)| {
            let cause = if is_on_time { self.words.idle } else { cause };
            (cause, certainty)
        })
    }

    /// Whether an ACK of another connection let a request go on, of which nothing was on its way.
    pub(super) fn is_held_for_others(&self, data: Data) -> bool {
        let is_request = self.words.burst == Cause::RequestSend;
        let start = data.start();
        let has_nothing_in_flight = self.acked >= start;
        is_request
            && self.has_more
            && has_nothing_in_flight
            && data.sharing.is_after_answer_to_other
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::acks::{Acks, Released};
    use super::super::super::partition::Moment;
    use super::super::Words;
    use super::*;
    use crate::arrivals::Arrivals;

    const MS: i64 = 1_000_000;

    fn behind_others(is_behind_others: bool) -> Data {
        Data {
            sharing: Sharing {
                is_behind_others,
                service_ns: Some(4 * MS),
                ..Sharing::default()
            },
            ..Data::plain(Moment::default(), 1001)
        }
    }

    #[test]
    fn a_packet_without_payload_takes_less_of_the_route_than_a_handshake_by_the_options_of_that() {
        let mut link = Arrivals::default();
        for _ in 0..2 {
            link.came_after(100 * MS, 946, 1, 50 * MS);
        }
        let sharing = Sharing {
            link,
            to_server_ns: Some(50 * MS),
            syn_longer_bytes: 40,
            ..Sharing::default()
        };
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        timeline.note_shared_path(sharing, Route::at_receiver(50));
        let way_ns = |route| timeline.bare_route(route).to_sender_ns;
        assert_eq!(way_ns(Route::at_receiver(50)), 46 * MS);
        assert_eq!(way_ns(Route::at_receiver(45)), 45 * MS);
        let at_sender = Route::at_sender(50);
        assert_eq!(way_ns(at_sender), at_sender.to_sender_ns);
    }

    #[test]
    fn a_largest_window_limits_after_a_loss_as_well() {
        let after_loss = |limit| Sharing {
            had_loss: true,
            limit,
            ..Sharing::default()
        };
        let buffer = limit_of(after_loss(Limit::SendBuffer));
        assert_eq!(buffer, Limit::SendBuffer);
        let window = limit_of(after_loss(Limit::SlowStart));
        assert_eq!(window, Limit::CongestionAvoidance);
    }

    /// What limits a connection of which the window had room for more, as far as it is its own: a lowered one that was
    /// full of four segments for three round trips.
    fn limit_of_outgrown(sharing: Sharing, released: Released) -> Limit {
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        let mut end = (1 << 32) - 1000;
        timeline.window.had_loss(end - 8000, end, false);
        for _ in 0..4 {
            for missing in [3000, 2000, 1000, 0] {
                timeline.window.hears(0, end - missing);
            }
            end += 4000;
            timeline.window.stops(end, 1000);
        }
        timeline.sent_until = end;
        let data = Data {
            bytes: 1000,
            full_bytes: 1000,
            sharing,
            ..Data::plain(Moment::default(), end + 1000)
        };
        timeline.limit_at((data, released), Route::default(), &Acks::default())
    }

    #[test]
    fn who_has_others_data_in_flight_may_share_the_window_that_an_ack_opened() {
        let alone = limit_of_outgrown(Sharing::default(), Released::ByAck);
        assert_eq!(alone, Limit::SendBuffer);
        let beside_others = Sharing {
            are_others_in_flight: true,
            ..Sharing::default()
        };
        let together = limit_of_outgrown(beside_others, Released::ByAck);
        assert_eq!(together, Limit::CongestionAvoidance);
        let by_none = limit_of_outgrown(beside_others, Released::ByNone);
        assert_eq!(by_none, Limit::SendBuffer);
    }

    #[test]
    fn a_window_that_is_paced_from_the_beginning_is_never_known_to_have_room() {
        let paced = Sharing {
            begin_paced: true,
            ..Sharing::default()
        };
        let limit = limit_of_outgrown(paced, Released::ByAck);
        assert_eq!(limit, Limit::CongestionAvoidance);
    }

    #[test]
    fn a_request_that_goes_on_with_another_connections_ack_waited_for_the_clients_window() {
        for (is_after_answer_to_other, cause) in [
            (true, Cause::SendLimitedSlowStart),
            (false, Cause::RequestSend),
        ] {
            let words = Words::OF_REQUESTS;
            let start = (1 << 32) - 500;
            let mut acks = Acks::default();
            acks.push(600 * MS, start + 500, 60_000, 100 * MS);
            let mut timeline = Timeline::new(words, None);
            timeline.acknowledged(Moment::default(), start + 500, Route::default());
            let sharing = Sharing {
                is_after_answer_to_other,
                ..Sharing::default()
            };
            for (time_ms, end) in [(500, start + 500), (900, start + 600)] {
                let data = Data {
                    bytes: if time_ms == 500 { 500 } else { 100 },
                    sharing,
                    ..Data::at_ms(time_ms, end)
                };
                timeline.new_data(data, None, Route::default(), &acks);
            }
            let told = timeline.between(600 * MS, 900 * MS).last();
            assert_eq!(told.map(|piece| piece.cause), Some(cause));
        }
    }

    #[test]
    fn what_the_end_of_another_connection_lets_go_waited_for_its_own_window() {
        for (is_let_go_by_end, cause) in [
            (true, Cause::SendLimitedSlowStart),
            (false, Cause::ServerDataUnavailable),
        ] {
            let mut acks = Acks::default();
            acks.push(0, 1, 60_000, 100 * MS);
            acks.push(210 * MS, 1001, 60_000, 100 * MS);
            let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
            let sharing = Sharing {
                is_let_go_by_end,
                to_server_ns: Some(100 * MS),
                ..Sharing::default()
            };
            for (time_ms, end) in [(200, 1001), (202, 2001), (500, 3001)] {
                let data = Data {
                    bytes: 1000,
                    full_bytes: 1000,
                    sharing,
                    ..Data::at_ms(time_ms, end)
                };
                timeline.new_data(data, None, Route::at_receiver(100), &acks);
            }
            let told = timeline.between(202 * MS, 500 * MS).last();
            assert_eq!(told.map(|piece| piece.cause), Some(cause));
        }
    }

    #[test]
    fn what_comes_behind_others_later_than_the_link_takes_for_it_waited_for_its_turn() {
        assert!(is_in_turn(12 * MS, behind_others(true)));
        assert!(!is_in_turn(4 * MS, behind_others(true)));
        assert!(!is_in_turn(12 * MS, behind_others(false)));
    }

    #[test]
    fn what_stood_behind_others_since_before_any_ack_came_waited_for_the_link_and_no_turn() {
        let by_no_ack = |is_shared: bool| Data {
            sharing: Sharing {
                is_shared,
                is_by_no_ack: true,
                ..behind_others(true).sharing
            },
            ..behind_others(true)
        };
        assert!(!is_in_turn(12 * MS, by_no_ack(true)));
        let route = Route::at_receiver(100);
        assert!(left_with_no_ack(true, by_no_ack(true), route));
        assert!(!left_with_no_ack(false, by_no_ack(true), route));
        assert!(!left_with_no_ack(true, by_no_ack(false), route));
        assert!(!left_with_no_ack(true, behind_others(true), route));
    }

    #[test]
    fn what_a_host_that_paces_lets_go_by_its_clock_waited_for_no_application() {
        for (is_of_pacer, cause) in [
            (true, Cause::SendLimitedBottleneck),
            (false, Cause::ServerDataUnavailable),
        ] {
            let sharing = Sharing {
                is_of_pacer,
                to_server_ns: Some(100 * MS),
                ..Sharing::default()
            };
            assert_eq!(cause_behind_pushed(100, 50, sharing), Some(cause));
        }
    }

    #[test]
    fn what_a_pacer_held_at_last_had_waited_for_the_window_that_all_share() {
        let sharing = Sharing {
            is_shared: true,
            had_loss: true,
            paced_ns: Some(50 * MS),
            to_server_ns: Some(100 * MS),
            ..Sharing::default()
        };
        let timeline = behind_pushed(100, 450, sharing);
        let told = timeline.between(200 * MS, 650 * MS);
        let told: Vec<_> = told.map(|it| (it.cause, it.end.time_ns / MS)).collect();
        let held = [
            (Cause::SendLimitedCwnd, 600),
            (Cause::SendLimitedBottleneck, 650),
        ];
        assert_eq!(told, held);
    }

    #[test]
    fn what_a_shared_pacer_would_have_let_go_waited_for_that_once_windows_turn_out_to_be_shared() {
        let sharing = Sharing {
            would_be_of_pacer: true,
            to_server_ns: Some(100 * MS),
            ..Sharing::default()
        };
        let mut timeline = behind_pushed(100, 50, sharing);
        let cause = |timeline: &Timeline| {
            let told = timeline.between(200 * MS, 250 * MS).last();
            told.map(|piece| piece.cause)
        };
        assert_eq!(cause(&timeline), Some(Cause::ServerDataUnavailable));
        timeline.windows_are_shared();
        assert_eq!(cause(&timeline), Some(Cause::SendLimitedBottleneck));
    }

    #[test]
    fn what_comes_later_behind_pushed_data_than_a_link_takes_that_others_have_shown_was_written_then(
    ) {
        let mut link = Arrivals::default();
        for _ in 0..3 {
            link.came_after(MS, 1000, 1, 500 * MS);
        }
        for (link, cause) in [
            (Arrivals::default(), Cause::SendLimitedBottleneck),
            (link, Cause::ServerDataUnavailable),
        ] {
            let sharing = Sharing {
                link,
                to_server_ns: Some(500 * MS),
                ..Sharing::default()
            };
            assert_eq!(cause_behind_pushed(500, 40, sharing), Some(cause));
        }
    }

    /// What a segment waited for that comes so long after a pushed one, on a path of that length.
    fn cause_behind_pushed(round_trip_ms: i64, gap_ms: i64, sharing: Sharing) -> Option<Cause> {
        let timeline = behind_pushed(round_trip_ms, gap_ms, sharing);
        let begun_ns = 2 * round_trip_ms * MS;
        let told = timeline.between(begun_ns, begun_ns + gap_ms * MS).last();
        told.map(|piece| piece.cause)
    }

    /// ... and all that is known then.
    fn behind_pushed(round_trip_ms: i64, gap_ms: i64, sharing: Sharing) -> Timeline {
        let words = Words::OF_RESPONSES;
        let mut acks = Acks::default();
        acks.push(0, 1, 60_000, round_trip_ms * MS);
        let mut timeline = Timeline::new(words, None);
        let route = Route::at_receiver(round_trip_ms);
        let begun_ns = 2 * round_trip_ms * MS;
        let until_ns = begun_ns + gap_ms * MS;
        for (time_ns, end, sharing) in [
            (begun_ns, 1001, Sharing::default()),
            (until_ns, 2001, sharing),
        ] {
            let at = Moment { time_ns, frame: 1 };
            let data = Data {
                at,
                end,
                is_pushed: true,
                sharing,
                ..behind_others(false)
            };
            timeline.new_data(data, None, route, &acks);
        }
        timeline
    }
}
