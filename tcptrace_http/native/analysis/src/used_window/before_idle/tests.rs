use super::super::Limit;
use super::*;

/// Whether a window was thrown away of which the sender uses two segments after it was idle, and had used eight
/// before, if its buffer holds so much.
fn is_thrown_away(buffer: Option<i64>) -> bool {
    let start = (1 << 32) - 8000;
    let mut window = UsedWindow::default();
    window.was_used_before_idle(start, 8000, true);
    window.has_buffer_of(buffer);
    window.stops(start + 10_000, 1000);
    window.is_used_up(start + 10_000, LastSent::FULL, 1000);
    window.was_thrown_away(start + 11_000)
}

#[test]
fn a_window_that_begins_anew_with_far_less_than_its_buffer_holds_was_thrown_away() {
    assert!(is_thrown_away(None));
    assert!(is_thrown_away(Some(8000)));
    assert!(!is_thrown_away(Some(4000)), "half of it may be free");
}

const START: i64 = (1 << 32) - 8000;

/// Four segments had been used, and two are used up since the sender was idle.
fn thrown_away() -> UsedWindow {
    let mut window = UsedWindow::default();
    window.was_used_before_idle(START, 4000, false);
    window.stops(START + 6000, 1000);
    window.is_used_up(START + 6000, LastSent::FULL, 1000);
    window
}

#[test]
fn a_restart_goes_on_where_its_sender_was_idle_again_until_a_window_shows_that_was_thrown_away_anew(
) {
    let mut window = thrown_away();
    window.hears(3, START + 6000);
    window.stops(START + 7000, 1000);
    window.hears(4, START + 7000);
    window.was_idle_behind(START + 7000, false, 0);
    window.was_idle();
    assert!(window.was_thrown_away(START + 8000), "as before");
    assert!(!window.was_thrown_away(START + 11_000), "may be kept");
    window.stops(START + 8000, 1000);
    window.is_used_up(START + 8000, LastSent::FULL, 1000);
    assert!(window.was_thrown_away(START + 11_000));
}

#[test]
fn what_the_sender_stopped_with_before_it_was_idle_shows_no_smaller_window() {
    let mut window = thrown_away();
    window.hears(3, START + 6000);
    window.was_idle_behind(START + 6000, true, 0);
    window.was_idle();
    window.is_used_up(START + 6000, LastSent::FULL, 1000);
    assert!(!window.was_thrown_away(START + 7000));
}

#[test]
fn a_stack_is_old_that_never_had_as_much_outstanding_as_windows_begin_with_today() {
    for (outstanding, is_old) in [(9000, true), (10_000, false)] {
        let mut window = UsedWindow::default();
        window.hears(1, START);
        window.stops(START + outstanding, 1000);
        assert_eq!(window.is_old(), is_old);
    }
}

#[test]
fn of_an_idle_period_that_is_in_doubt_less_than_a_segment_less_shows_no_restart_but_of_a_write_as_before(
) {
    let start = (1 << 32) - 8000;
    for (is_sure, bytes, is_shown) in [(true, 1000, true), (false, 1000, false), (false, 600, true)]
    {
        let mut window = UsedWindow::default();
        window.was_used_before_idle(start, 8000, is_sure);
        window.stops(start + 15_400, 1000);
        window.is_used_up(start + 15_400, LastSent::FULL, bytes);
        assert_eq!(window.was_thrown_away(start + 16_000), is_shown);
    }
}

/// Whether a window was thrown away that a loss has lowered, with four segments and a short one in use before its sender
/// was idle and such a flight first since, behind `acked` more segments.
fn is_lowered_to(first: i64, acked: i64) -> bool {
    let mut window = UsedWindow::default();
    window.stops(1001, 1000);
    window.hears(1, START);
    window.had_loss(START - 4000, START, true);
    window.was_used_before_idle(START, 4500, true);
    window.hears(3, START + 4500 + 1000 * acked);
    let end = START + 4500 + 1000 * acked + first;
    window.stops(end, 1000);
    window.is_used_up(end, LastSent::FULL, 500);
    window.was_thrown_away(end + 500)
}

#[test]
fn the_short_end_of_a_write_did_not_fit_into_a_window_that_was_halved_while_its_sender_was_idle() {
    assert!(is_lowered_to(1000, 0), "it begins anew");
    assert!(is_lowered_to(4000, 0));
    assert!(!is_lowered_to(4000, 1), "an ACK has opened it");
    assert!(!is_lowered_to(4500, 0), "as large as before");
}

#[test]
fn a_window_that_acks_had_opened_is_halved_to_what_leaves_at_once_after_its_sender_was_idle() {
    for (acks, left_at_once, bytes, is_shown) in [
        (3, true, 500, true),
        (3, true, 1000, false),
        (3, false, 500, false),
        (5, true, 500, false),
    ] {
        let mut window = UsedWindow::default();
        window.stops(1001, 1000);
        let mut end = 1001;
        for _ in 0..acks {
            window.hears(1, end);
            end += 2000;
            window.stops(end, 1000);
        }
        window.hears(1, end);
        window.was_idle_behind(end, true, 0);
        window.was_idle();
        window.stops(end + 2000, 1000);
        let last = LastSent {
            left_at_once,
            ..LastSent::FULL
        };
        window.is_used_up(end + 2000, last, bytes);
        assert_eq!(
            window.was_thrown_away(end + 2500),
            is_shown,
            "{acks} ACKs, {bytes} bytes"
        );
    }
}

#[test]
fn since_a_loss_acks_had_opened_a_window_up_to_its_threshold_though_no_more_than_now_had_been_used()
{
    for (acks, by_timer, sends, is_shown) in [
        (1, true, true, true),
        (0, true, true, false),
        (1, false, true, false),
        (1, true, false, false),
    ] {
        let mut window = UsedWindow::default();
        window.stops(1001, 1000);
        window.hears(1, START);
        window.had_loss(START - 1000, START, by_timer);
        let mut end = START;
        for _ in 0..acks {
            if sends {
                window.stops(end + 1000, 1000);
            }
            end += 1000;
            window.hears(2, end);
        }
        window.was_idle_behind(end, true, 0);
        window.was_idle();
        window.stops(end + 1000, 1000);
        window.is_used_up(end + 1000, LastSent::FULL, 1000);
        assert_eq!(window.was_thrown_away(end + 2000), is_shown);
    }
}

#[test]
fn a_restart_may_leave_a_segment_less_than_the_flow_began_with_but_no_less() {
    for (initial, is_shown) in [(2000, true), (3000, false)] {
        let mut window = UsedWindow::default();
        window.stops(1 + initial, 1000);
        window.was_used_before_idle(START, 6000, true);
        window.stops(START + 7000, 1000);
        window.is_used_up(START + 7000, LastSent::FULL, 1000);
        assert_eq!(window.was_thrown_away(START + 8000), is_shown);
    }
}

#[test]
fn a_window_that_acks_had_opened_stays_open_in_what_may_have_been_no_idle_period() {
    for (is_sure, opened) in [(true, false), (false, true)] {
        let mut window = UsedWindow::default();
        window.hears(1, START);
        for sent in 1..=4 {
            window.stops(START + sent * 1000, 1000);
            window.hears(1 + sent, START + sent * 1000);
        }
        let end = START + 4000;
        window.was_idle_behind(end, is_sure, 0);
        window.was_idle();
        window.before_idle = None;
        window.was_idle_behind(end, true, 0);
        window.was_idle();
        window.stops(end + 1000, 1000);
        window.is_used_up(end + 1000, LastSent::FULL, 1000);
        assert_eq!(window.was_thrown_away(end + 3000), opened);
    }
}

/// Whether a window that avoids congestion has outgrown four segments, which were used six times before an idle
/// period and four times behind a flight of `first` since.
fn outgrew_behind(first: i64) -> bool {
    let mut window = UsedWindow::default();
    window.stops(1001, 1000);
    window.hears(1, START);
    window.stops(START + 4000, 1000);
    window.had_loss(START, START + 4000, false);
    let mut end = START + 4000;
    for (round, flight) in [4000; 6]
        .into_iter()
        .chain([first])
        .chain([4000; 4])
        .enumerate()
    {
        if round == 6 {
            window.was_idle_behind(end, true, 0);
            window.was_idle();
        }
        window.hears(2, end);
        end += flight;
        window.stops(end, 1000);
    }
    window.outgrew(end)
}

#[test]
fn a_window_that_lets_as_much_go_after_an_idle_period_as_ever_before_was_kept_and_goes_on_growing()
{
    assert!(outgrew_behind(4000));
    assert!(!outgrew_behind(2000), "begun anew");
}

#[test]
fn who_kept_its_window_in_a_longer_idle_period_has_no_restart_that_only_a_short_end_would_show() {
    for (idle_ns, is_full, bytes, is_shown) in [
        (2, false, 500, false),
        (3, false, 500, true),
        (2, false, 1000, true),
        // Who let nothing short go behind a full segment then may hold what is short.
        (3, true, 500, false),
        (4, true, 500, true),
    ] {
        let mut window = UsedWindow::default();
        window.was_used_before_idle(START, 4000, true);
        let end = START + 4000;
        window.hears(3, end);
        window.was_idle_behind(end, true, 3);
        window.leaves_unacknowledged(end + 4000, is_full);
        window.stops(end + 4000, 1000);
        window.hears(4, end + 4000);
        window.was_idle_behind(end + 4000, true, idle_ns);
        window.was_idle();
        window.stops(end + 5000, 1000);
        window.is_used_up(end + 5000, LastSent::FULL, bytes);
        assert_eq!(window.was_thrown_away(end + 5500), is_shown, "{idle_ns}");
    }
}

#[test]
fn a_window_that_an_idle_period_threw_away_once_was_kept_in_no_longer_one() {
    for (shown_ns, is_shown) in [(3, true), (4, false)] {
        let mut window = UsedWindow::default();
        window.was_used_before_idle(START, 4000, true);
        let end = START + 4000;
        window.hears(3, end);
        window.was_idle_behind(end, true, 3);
        window.leaves_unacknowledged(end + 4000, true);
        window.shows_thrown_away(shown_ns);
        window.stops(end + 4000, 1000);
        window.hears(4, end + 4000);
        window.was_idle_behind(end + 4000, true, 3);
        window.was_idle();
        window.stops(end + 5000, 1000);
        window.is_used_up(end + 5000, LastSent::FULL, 500);
        assert_eq!(window.was_thrown_away(end + 5500), is_shown, "{shown_ns}");
    }
}

/// Whether a window was thrown away that began with so much, and is two segments when what is left of a write waits.
fn is_thrown_away_of(initial: i64, bytes: u32) -> bool {
    let mut window = UsedWindow::default();
    window.stops(1 + initial, 1000);
    window.hears(1, START);
    window.was_used_before_idle(START, 8000, true);
    window.stops(START + 10_000, 1000);
    window.is_used_up(START + 10_000, LastSent::FULL, bytes);
    window.was_thrown_away(START + 10_000 + i64::from(bytes))
}

#[test]
fn a_restart_leaves_no_less_than_a_window_of_more_than_two_segments_began_with() {
    assert!(is_thrown_away_of(1000, 500));
    assert!(is_thrown_away_of(2500, 600), "there was no room");
    assert!(!is_thrown_away_of(2500, 500));
    assert!(is_thrown_away_of(2500, 1000), "what others had learnt");
    let mut window = UsedWindow::default();
    window.stops(3001, 1000);
    assert_eq!(window.least_restarted(), 3000);
    window.begins_as_others(false);
    assert_eq!(window.least_restarted(), 0);
}

#[test]
fn a_window_that_a_longer_idle_period_may_have_thrown_away_shows_nothing_of_a_shorter_one() {
    let mut window = UsedWindow::default();
    window.was_used_before_idle(START, 8000, true);
    window.was_idle_behind(START, true, 1200);
    window.was_idle_behind(START + 8000, true, 300);
    window.stops(START + 10_000, 1000);
    window.is_used_up(START + 10_000, LastSent::FULL, 1000);
    assert_eq!(window.shown_ns, Some(1200));
}

#[test]
fn what_a_restart_leaves_has_room_and_tells_of_no_full_buffer() {
    for (flight, limit) in [(2000, Limit::None), (3000, Limit::SlowStart)] {
        let mut window = UsedWindow::default();
        window.stops(3001, 1000);
        window.hears(1, 3001);
        window.was_idle();
        window.stops(3001 + flight, 1000);
        assert_eq!(window.limit(3001 + flight, 1000, false), limit, "{flight}");
    }
}
