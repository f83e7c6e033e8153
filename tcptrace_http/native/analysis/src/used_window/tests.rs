use super::*;

mod buffer;

const FULL: u32 = 1000;

/// A sender stops again and again, each time with so many full segments sent, when it has heard of so many by
/// ACKs of one each; then it waits for an ACK to send another.
fn after(stops: &[(i64, i64)]) -> (UsedWindow, Limit) {
    let mut window = UsedWindow::default();
    let mut limit = Limit::None;
    for (sent, acked) in stops {
        hear(&mut window, *acked);
        window.stops(1 + sent * 1000, FULL);
        limit = window.limit(1 + sent * 1000, FULL, false);
    }
    (window, limit)
}

fn hear(window: &mut UsedWindow, acked: i64) {
    for segment in 1..=acked {
        window.hears(segment, 1 + segment * 1000);
    }
}

#[test]
fn two_segments_for_each_ack_of_one_are_slow_start() {
    let (_, limit) = after(&[(2, 0), (4, 1), (6, 2), (8, 3), (10, 4)]);
    assert_eq!(limit, Limit::SlowStart);
}

#[test]
fn flights_that_do_not_grow_while_acks_come_are_those_of_a_send_buffer() {
    assert_eq!(after(&[(4, 0)]).1, Limit::SlowStart);
    let (mut window, limit) = after(&[(4, 0), (8, 4), (12, 8)]);
    assert_eq!(limit, Limit::SendBuffer);
    window.is_of_buffer();
    window.was_idle();
    hear(&mut window, 12);
    window.stops(16_001, FULL);
    let limit = window.limit(16_001, FULL, false);
    assert_eq!(limit, Limit::SendBuffer, "it is still that large");
}

#[test]
fn what_is_more_than_all_that_was_there_to_be_sent_before_shows_no_window_that_grows() {
    for (was_all, limit) in [(false, Limit::None), (true, Limit::SendBuffer)] {
        let mut window = UsedWindow::default();
        let (mut sent, mut acked) = (0, 0);
        for flight in [4, 5, 6] {
            hear(&mut window, acked);
            sent += flight;
            window.stops(1 + sent * 1000, FULL);
            if was_all && flight < 6 {
                window.had_sent_all();
            }
            acked = sent;
        }
        assert_eq!(window.limit(1 + sent * 1000, FULL, false), limit);
    }
}

#[test]
fn a_segment_more_than_in_a_buffer_that_was_told_to_be_full_shows_that_none_was() {
    for (sent, is_more, is_twice) in [(16, false, false), (17, true, false), (21, true, true)] {
        let (mut window, _) = after(&[(4, 0), (8, 4), (12, 8)]);
        window.is_told_full();
        hear(&mut window, 12);
        window.stops(1 + sent * 1000, FULL);
        let mut half_shown = window;
        assert_eq!(window.exceeds_told(), is_more, "{sent} segments");
        assert!(!window.exceeds_told(), "that is told once");
        assert_eq!(half_shown.exceeds_twice_told(), is_twice, "{sent} segments");
    }
}

#[test]
fn a_window_that_a_clock_spread_grows_from_what_that_let_go() {
    let limit_after = |is_paced: bool| {
        let mut window = UsedWindow::default();
        window.has_buffer_of(Some(4000));
        if is_paced {
            window.is_paced();
        }
        window.stops(4001, FULL);
        window.limit(4001, FULL, false)
    };
    assert_eq!(limit_after(true), Limit::SlowStart);
    assert_eq!(limit_after(false), Limit::SendBuffer);
}

#[test]
fn a_window_that_was_larger_before_limits_nothing() {
    assert_eq!(after(&[(8, 0), (9, 8)]).1, Limit::None);
    let (mut window, _) = after(&[(8, 0)]);
    window.was_idle();
    hear(&mut window, 8);
    window.stops(9001, FULL);
    assert_eq!(window.limit(9001, FULL, false), Limit::SlowStart);
}

#[test]
fn after_a_loss_slow_start_ends_at_half_of_what_was_in_flight() {
    let (mut window, _) = after(&[(8, 0)]);
    window.had_loss(1, 8001, false);
    assert_eq!(window.limit(8001, FULL, false), Limit::CongestionAvoidance);
    hear(&mut window, 8);
    window.stops(10_001, FULL);
    assert_eq!(window.limit(10_001, FULL, false), Limit::SlowStart);
    window.stops(12_001, FULL);
    assert_eq!(
        window.limit(12_001, FULL, false),
        Limit::CongestionAvoidance
    );
}

/// After a loss of eight segments the window has stayed as large, of four, for so many round trips.
fn lowered_and_full_for(round_trips: i64) -> (UsedWindow, i64) {
    let (mut window, _) = after(&[(8, 0)]);
    window.had_loss(1, 8001, false);
    let mut sent = 8;
    for _ in 0..=round_trips {
        hear(&mut window, sent);
        sent += 4;
        window.stops(1 + sent * 1000, FULL);
    }
    (window, 1 + sent * 1000)
}

#[test]
fn a_window_that_avoids_congestion_grows_as_cubic_has_it_at_the_least_unless_a_buffer_holds_it() {
    // Half a segment in a round trip, and less as it grows: in none of them CUBIC's has room for a fifth one.
    for round_trips in 0..=2 {
        let (window, end) = lowered_and_full_for(round_trips);
        assert!(!window.outgrew(end), "{round_trips}");
    }
    let (window, end) = lowered_and_full_for(3);
    assert!(window.outgrew(end));
    assert!(!after(&[(4, 0), (8, 4), (12, 8)]).0.outgrew(12_001));
}

#[test]
fn a_buffer_held_nothing_that_had_taken_more_than_twice_as_much_before_an_idle_time() {
    for (most, limit) in [(8, Limit::SendBuffer), (9, Limit::None)] {
        let (mut window, _) = after(&[(most, 0)]);
        window.was_idle();
        let flight = (1..=3).map(|round_trip| most + 4 * round_trip);
        for sent in flight {
            hear(&mut window, sent - 4);
            window.stops(1 + sent * 1000, FULL);
        }
        let end = 1 + (most + 12) * 1000;
        assert_eq!(window.limit(end, FULL, false), limit, "{most}");
    }
}

#[test]
fn what_was_larger_before_an_idle_time_is_not_the_fullest_though_it_is_as_full_as_since() {
    let (mut window, _) = after(&[(8, 0)]);
    assert!(window.is_full() && window.is_fullest());
    window.was_idle();
    hear(&mut window, 8);
    window.stops(15_001, FULL);
    assert!(window.is_full() && !window.is_fullest());
    window.stops(15_002, FULL);
    assert!(window.is_fullest());
}

#[test]
fn a_short_segment_needs_as_much_room_as_a_full_one() {
    let (mut window, end) = lowered_and_full_for(1);
    assert!(window.avoiding > 4400, "there is room for its bytes");
    window.stops(end, FULL);
    assert!(!window.outgrew(end));
}

#[test]
fn what_grew_in_slow_start_and_then_by_less_has_filled_a_send_buffer() {
    let (_, limit) = after(&[(1, 0), (3, 1), (7, 3), (15, 7), (25, 15)]);
    assert_eq!(limit, Limit::SendBuffer);
}

#[test]
fn a_window_that_begins_anew_with_a_segment_reaches_the_least_threshold_with_the_next_ack() {
    for is_seen in [true, false] {
        let mut window = UsedWindow::default();
        window.stops(1001, FULL);
        if is_seen {
            window.had_loss(1, 1001, true);
        } else {
            window.had_lost_unseen(1, 1001, FULL);
            assert_eq!(window.limit(1001, FULL, false), Limit::SlowStart);
        }
        hear(&mut window, 1);
        window.stops(2501, FULL);
        let limit = window.limit(2501, FULL, false);
        assert_eq!(limit, Limit::CongestionAvoidance, "{is_seen}");
    }
}

#[test]
fn of_a_flight_that_was_lost_unseen_all_that_is_sent_again_counts() {
    let mut window = UsedWindow::default();
    for segment in 0..6 {
        window.had_lost_unseen(1 + segment * 1000, 1001 + segment * 1000, FULL);
    }
    hear(&mut window, 6);
    window.regrown = Some(2000);
    window.stops(8001, FULL);
    assert_eq!(window.limit(8001, FULL, false), Limit::SlowStart);
}

#[test]
fn a_window_that_the_threshold_fits_into_is_at_it_though_full_segments_do_not_fill_it() {
    let (mut window, _) = after(&[(8, 0)]);
    window.had_loss(1, 8001, false);
    hear(&mut window, 8);
    window.stops(11_501, FULL);
    let limit = window.limit(11_501, FULL, false);
    assert_eq!(limit, Limit::CongestionAvoidance);
}

#[test]
fn a_window_that_grows_by_less_than_in_slow_start_is_no_send_buffer() {
    let (_, limit) = after(&[(4, 0), (8, 4), (13, 8), (19, 13), (26, 19)]);
    assert_eq!(limit, Limit::None);
}

#[test]
fn the_least_that_a_window_is_grows_by_a_segment_with_each_ack_and_is_not_known_after_a_loss() {
    let (mut window, _) = after(&[(2, 0), (3, 2)]);
    assert_eq!(window.least_bytes(), 4000);
    window.had_loss(2001, 3001, false);
    assert_eq!(window.least_bytes(), 0);
}

#[test]
fn a_window_that_begins_with_the_threshold_of_others_avoids_congestion() {
    let (window, _) = after(&[(4, 0), (8, 4), (12, 8)]);
    assert_eq!(window.limit(12_001, FULL, true), Limit::CongestionAvoidance);
}

#[test]
fn what_does_not_fit_into_the_segments_of_a_window_that_has_shown_no_more_waits_for_that() {
    let mut window = UsedWindow::default();
    window.stops(1201, FULL);
    assert!(window.fills_shown(1201, 900));
    assert!(!window.fills_shown(1201, 800), "it has room for that");
    window.stops(3001, FULL);
    hear(&mut window, 3);
    window.stops(4201, FULL);
    assert!(!window.fills_shown(4201, 900), "it had been larger");
}

/// Eight segments were outstanding near 2^32 before the sender was idle, and all of them were acknowledged.
fn idle_after_eight(is_sure: bool) -> UsedWindow {
    let mut window = UsedWindow::default();
    let start = (1 << 32) - 4000;
    window.hears(1, start);
    window.stops(start + 8000, FULL);
    window.hears(2, start + 8000);
    window.was_idle_behind(start + 8000, is_sure, 0);
    if is_sure {
        window.was_idle();
    }
    window
}

/// Where the data begins that is sent after the idle period.
const ANEW: i64 = (1 << 32) + 4000;

#[test]
fn a_window_is_thrown_away_where_less_than_before_is_used_up_after_an_idle_period() {
    for is_sure in [true, false] {
        let mut window = idle_after_eight(is_sure);
        window.stops(ANEW + 2000, FULL);
        assert!(!window.was_thrown_away(ANEW + 3000), "it may have no more");
        window.is_used_up(ANEW + 2000, LastSent::FULL, 1000);
        assert!(window.was_thrown_away(ANEW + 3000));
        assert!(
            !window.was_thrown_away(ANEW + 20_000),
            "nor was it so large"
        );
        let limit = window.limit(ANEW + 2000, FULL, false);
        assert_eq!(limit, Limit::SlowStart);
    }
}

#[test]
fn of_an_old_stack_the_window_that_acks_had_opened_is_thrown_away_though_no_more_than_now_had_been_used(
) {
    for (acks, is_shown) in [(1, true), (0, false)] {
        let mut window = UsedWindow::default();
        window.stops(201, FULL);
        for _ in 0..acks {
            window.hears(1, 201);
        }
        window.was_idle_behind(201, true, 0);
        window.was_idle();
        window.stops(1201, FULL);
        window.is_used_up(1201, LastSent::FULL, 1000);
        assert_eq!(window.was_thrown_away(2201), is_shown);
    }
}

#[test]
fn what_stops_after_an_idle_period_where_it_did_before_may_be_a_buffer_that_is_larger_than_a_window_at_first(
) {
    let mut window = UsedWindow::default();
    window.stops(1001, FULL);
    for end in [1001, 3001, 5001, 7001] {
        window.hears(1, end);
        window.stops(end + 2000, FULL);
    }
    window.hears(1, 9001);
    window.was_idle_behind(9001, true, 0);
    window.was_idle();
    window.stops(11_001, FULL);
    window.is_used_up(11_001, LastSent::FULL, 1000);
    assert!(!window.was_thrown_away(12_001));
}

#[test]
fn a_window_that_is_used_up_as_large_as_before_was_kept() {
    let mut window = idle_after_eight(false);
    window.stops(ANEW + 8000, FULL);
    window.is_used_up(ANEW + 8000, LastSent::FULL, 1000);
    window.hears(3, ANEW + 8000);
    window.stops(ANEW + 9000, FULL);
    window.is_used_up(ANEW + 9000, LastSent::FULL, 1000);
    assert!(!window.was_thrown_away(ANEW + 10_000));
}

#[test]
fn behind_a_short_segment_a_pause_of_a_round_trip_shows_no_window() {
    for (is_sure, is_shown) in [(true, true), (false, false)] {
        let mut window = idle_after_eight(is_sure);
        window.stops(ANEW + 500, FULL);
        window.is_used_up(ANEW + 500, LastSent::SHORT, 1000);
        assert_eq!(window.was_thrown_away(ANEW + 1500), is_shown, "{is_sure}");
    }
}

#[test]
fn a_loss_lowers_the_window_that_an_idle_period_left() {
    let mut window = idle_after_eight(true);
    window.stops(ANEW + 2000, FULL);
    window.is_used_up(ANEW + 2000, LastSent::FULL, 1000);
    window.had_loss(ANEW, ANEW + 2000, false);
    assert!(!window.was_thrown_away(ANEW + 3000));
}

#[test]
fn a_window_that_begins_at_a_threshold_that_others_had_learnt_avoids_congestion() {
    for (threshold, limit) in [
        (None, Limit::SlowStart),
        (Some(2000), Limit::CongestionAvoidance),
        (Some(4000), Limit::SlowStart),
    ] {
        let mut window = UsedWindow::default();
        window.inherits(threshold);
        window.stops(1701, FULL);
        assert_eq!(window.limit(1701, FULL, false), limit);
    }
}

#[test]
fn a_window_that_no_shorter_idle_period_threw_away_is_what_a_longer_one_does() {
    let start = (1 << 32) - 8000;
    let mut window = UsedWindow::default();
    window.hears(1, start);
    window.stops(start + 8000, FULL);
    window.hears(2, start + 8000);
    let mut end = start + 8000;
    for sent in [1000, 2000] {
        window.was_idle_behind(end, true, 0);
        window.was_idle();
        end += sent;
        window.stops(end, FULL);
        window.hears(3, end - 1000);
    }
    window.is_used_up(end, LastSent::FULL, 1000);
    assert!(window.was_thrown_away(start + 9000 + 8000));
    assert!(!window.was_thrown_away(start + 9000 + 10_000));
}

#[test]
fn what_comes_behind_all_that_a_timer_sent_again_waits_for_a_window_of_that_segment() {
    for (in_flight, limit) in [(1000, Limit::SlowStart), (4000, Limit::CongestionAvoidance)] {
        let start = (1 << 32) - 1000;
        let mut window = UsedWindow::default();
        window.hears(1, start);
        window.stops(start + in_flight, 1000);
        window.had_loss(start, start + in_flight, true);
        window.stops(start + in_flight, 1000);
        assert_eq!(window.limit(start + in_flight, 1000, false), limit);
    }
}
