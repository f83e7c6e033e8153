//! What a send buffer has to do with the window.

use super::*;

#[test]
fn a_buffer_that_shows_a_part_of_a_segment_more_is_the_same() {
    let (mut window, _) = after(&[(4, 0), (8, 4), (12, 8)]);
    window.is_of_buffer();
    window.was_idle();
    hear(&mut window, 12);
    window.stops(16_300, FULL);
    assert_eq!(window.limit(16_300, FULL, false), Limit::SendBuffer);
    window.stops(17_400, FULL);
    assert_eq!(window.buffer(), None);
}

#[test]
fn what_is_less_than_the_smallest_buffer_holds_fills_none_unless_one_is_known() {
    let (mut window, _) = after(&[(1, 0)]);
    assert!(window.may_fill_buffer(1100));
    assert!(!window.may_fill_buffer(1000));
    window.has_buffer_of(Some(1000));
    assert!(window.may_fill_buffer(1000));
}

#[test]
fn a_full_buffer_that_left_room_in_the_receivers_window_twice_is_no_larger_than_that() {
    let (mut window, _) = after(&[(4, 0), (8, 4), (12, 8)]);
    window.is_of_buffer();
    window.leaves_room();
    assert!(!window.is_full_buffer(), "once may be a chance");
    window.leaves_room();
    assert!(window.is_full_buffer());
    hear(&mut window, 10);
    window.stops(12_001, FULL);
    assert!(!window.is_full_buffer(), "it has room for two segments");
}

#[test]
fn once_is_enough_if_another_connections_buffer_has_left_room_that_is_as_large() {
    for (other, is_known) in [(Some(4300), true), (Some(5000), false), (None, false)] {
        let (mut window, _) = after(&[(4, 0), (8, 4), (12, 8)]);
        window.is_of_buffer();
        window.has_sockets_of(Sockets {
            left_room: other,
            ..Sockets::default()
        });
        assert!(!window.is_full_buffer(), "it has left none itself");
        window.leaves_room();
        assert_eq!(window.is_full_buffer(), is_known);
        assert_eq!(
            window.sockets(),
            Sockets::default(),
            "nor often enough for others"
        );
    }
}

#[test]
fn a_window_that_has_just_grown_as_large_as_the_buffer_stops_its_sender_first() {
    let mut window = UsedWindow::default();
    window.has_buffer_of(Some(4000));
    let mut limits = Vec::new();
    for (acked, sent) in [(0, 2), (2, 6), (6, 10)] {
        hear(&mut window, acked);
        let end = 1 + sent * 1000;
        window.stops(end, FULL);
        limits.push(window.limit(end, FULL, false));
    }
    let grown = [Limit::SlowStart, Limit::SlowStart, Limit::SendBuffer];
    assert_eq!(limits, grown);
}
