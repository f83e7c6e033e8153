use tcptrace_tcp::Acknowledged;

use super::super::test_path;
use super::super::AckSeen;
use super::*;

const MS: i64 = 1_000_000;
const FULL: u32 = 1460;

/// A path of 4 ms to the sender and back, behind a link that takes so long for a full segment.
fn path(takes_ns: i64) -> Path {
    test_path::path(FULL, 4 * MS, takes_ns)
}

/// The second of two full segments, so long after the ACK of the first one.
fn flight_of_second(after_ack_ns: i64, path: &Path) -> u64 {
    let mut tracker = PauseTracker::default();
    let ack = AckSeen {
        frame: 1,
        time_ns: 100 * MS,
        acknowledged: Acknowledged {
            before: 1,
            after: 1 + i64::from(FULL),
        },
        covered_ns: 100 * MS,
        outstanding_segments: 1,
        outstanding_bytes: u64::from(FULL),
        offered_until: i64::MAX,
        bytes: 0,
        opens_connection: false,
    };
    tracker.acknowledged(ack, path);
    let second = SentData {
        frame: 2,
        time_ns: 100 * MS + after_ack_ns,
        start: u64::from(FULL),
        end: u64::from(2 * FULL),
        bytes: FULL,
        has_fin: false,
    };
    tracker.flight_at_sender(second, path)
}

/// The short segment that is known of two, the second of which is full and shows that the first may not have been.
fn short_before_full(first_bytes: u32) -> Option<u32> {
    let mut tracker = PauseTracker::default();
    let segment = |frame, start: u64, bytes: u32| SentData {
        frame,
        time_ns: i64::try_from(frame).unwrap_or(0) * 100 * MS,
        start,
        end: start + u64::from(bytes),
        bytes,
        has_fin: false,
    };
    let known = |segment_bytes| Path {
        segment_bytes,
        ..path(0)
    };
    let bytes = u64::from(first_bytes);
    tracker.sent(segment(1, 0, first_bytes), &known(first_bytes), bytes);
    assert!(tracker.shorts.is_empty());
    tracker.sent(segment(2, bytes, FULL), &known(FULL), u64::from(FULL));
    tracker.shorts.back().map(|short| short.bytes)
}

#[test]
fn the_largest_segment_so_far_is_short_once_a_larger_one_comes() {
    assert_eq!(short_before_full(1024), Some(1024));
    assert_eq!(short_before_full(FULL - 4), None, "it had more options");
}

#[test]
fn what_comes_sooner_behind_an_ack_than_path_and_link_take_was_in_flight_with_what_that_acknowledges(
) {
    assert_eq!(flight_of_second(8 * MS, &path(8 * MS)), u64::from(2 * FULL));
    assert_eq!(flight_of_second(12 * MS, &path(8 * MS)), u64::from(FULL));
}

/// When a window had room for the short end that follows two flights, of one segment and of so many, of the
/// second of which the first half is acknowledged.
fn room_behind_flight_of(segments: u32, path: &Path) -> Option<i64> {
    let mut tracker = PauseTracker::default();
    let segment = |time_ns, start: u32, bytes: u32| SentData {
        frame: 1,
        time_ns,
        start: u64::from(start),
        end: u64::from(start + bytes),
        bytes,
        has_fin: false,
    };
    let acked = |time_ns, before: u32, after: u32| AckSeen {
        frame: 1,
        time_ns,
        acknowledged: Acknowledged {
            before: 1 + i64::from(before),
            after: 1 + i64::from(after),
        },
        covered_ns: time_ns,
        outstanding_segments: 1,
        outstanding_bytes: u64::from(after - before),
        offered_until: i64::MAX,
        bytes: 0,
        opens_connection: false,
    };
    tracker.sent(segment(0, 0, FULL), path, 0);
    tracker.acknowledged(acked(MS, 0, FULL), path);
    let mut last = segment(0, 0, FULL);
    for number in 1..=segments {
        last = segment(100 * MS, number * FULL, FULL);
        tracker.sent(last, path, 0);
    }
    let half = FULL * (1 + segments / 2);
    tracker.acknowledged(acked(101 * MS, FULL, half), path);
    let end = segment(205 * MS, FULL * (1 + segments), 300);
    tracker.made_room_ns(last, end, path)
}

#[test]
fn a_window_that_is_used_up_has_room_for_a_short_end_once_a_part_of_it_is_acknowledged() {
    assert_eq!(room_behind_flight_of(4, &path(MS)), Some(101 * MS));
}

#[test]
fn a_window_that_acks_have_opened_beyond_what_is_in_flight_had_room_before() {
    assert_eq!(room_behind_flight_of(1, &path(MS)), None);
}

#[test]
fn a_window_that_a_loss_lowered_is_as_large_as_it_grew_since_whatever_is_in_flight() {
    let full = u64::from(FULL);
    for (segments, lowered_bytes, room_ms) in [
        (4, 4 * full + 300, None),
        (4, 4 * full + 299, Some(101)),
        (1, full + 299, None),
    ] {
        let path = Path {
            lowered_bytes: Some(lowered_bytes),
            ..path(MS)
        };
        let room_ns = room_behind_flight_of(segments, &path);
        assert_eq!(room_ns, room_ms.map(|ms: i64| ms * MS), "{lowered_bytes}");
        let counts_packets = Path {
            sender_permits_sack: true,
            ..path
        };
        let as_shown = Path {
            lowered_bytes: None,
            ..path
        };
        assert_eq!(
            room_behind_flight_of(segments, &counts_packets),
            room_behind_flight_of(segments, &as_shown)
        );
    }
}

#[test]
fn what_a_connection_has_in_flight_does_not_show_how_large_a_window_is_that_it_shares() {
    let path = Path {
        may_share_window: true,
        ..path(MS)
    };
    assert_eq!(room_behind_flight_of(4, &path), None);
}

/// An ACK of all up to `after`.
fn acked(time_ns: i64, before: u64, after: u64) -> AckSeen {
    let stream = |offset: u64| i64::try_from(offset).unwrap_or(0) + 1;
    AckSeen {
        frame: 1,
        time_ns,
        acknowledged: Acknowledged {
            before: stream(before),
            after: stream(after),
        },
        covered_ns: time_ns,
        outstanding_segments: 1,
        outstanding_bytes: after - before,
        offered_until: i64::MAX,
        bytes: 0,
        opens_connection: false,
    }
}

#[test]
fn a_segment_that_an_ack_let_go_and_the_link_took_long_for_ends_no_idle_period() {
    let start = (1 << 32) - u64::from(FULL);
    let was_idle_on = |takes_ns| {
        let mut tracker = PauseTracker::default();
        let path = path(takes_ns);
        let first = test_path::segment(0, start, FULL);
        tracker.sent(first, &path, 0);
        tracker.acknowledged(acked(300 * MS, start, first.end), &path);
        tracker.was_idle(first, test_path::segment(334 * MS, first.end, FULL), &path)
    };
    assert!(was_idle_on(MS));
    assert!(!was_idle_on(30 * MS));
}

/// The window that is shown by a full segment that follows one which was sent again from `resent` on, so long after
/// the ACK of both.
fn shown_segments_after(resent: u64, after_ms: i64) -> u64 {
    let full = u64::from(FULL);
    let start = (1 << 32) - full;
    let mut tracker = PauseTracker::default();
    let path = path(MS);
    let first = test_path::segment(0, start, FULL);
    tracker.acknowledged(acked(0, start - 1, start), &path);
    tracker.sent(first, &path, full);
    tracker.acknowledged(acked(900 * MS, start, first.end), &path);
    tracker.sent_again(test_path::segment(901 * MS, resent, 0), &path);
    let next = test_path::segment((900 + after_ms) * MS, first.end, FULL);
    tracker.sent(next, &path, full);
    tracker.shown_window_bytes / full
}

#[test]
fn what_was_acknowledged_before_it_is_seen_again_left_before_that_ack_came_which_opens_the_window()
{
    let start = (1 << 32) - u64::from(FULL);
    assert_eq!(shown_segments_after(start, 8), 2);
    let end = 1 << 32;
    assert_eq!(shown_segments_after(end, 8), 1, "that ACK had come");
}

#[test]
fn a_connection_begins_with_the_window_of_others_whatever_it_has_to_send() {
    let full = u64::from(FULL);
    let start = (1 << 32) - full;
    for (initial, shown) in [(0, 1), (full + 1, 2)] {
        let path = Path {
            initial_window_bytes: initial,
            ..path(MS)
        };
        let mut tracker = PauseTracker::default();
        tracker.sent(test_path::segment(0, start, 500), &path, 500);
        assert_eq!(tracker.shown_window_bytes / full, shown);
        tracker.acknowledged(acked(100 * MS, start, start + 500), &path);
        let next = test_path::segment(200 * MS, start + 500, 500);
        tracker.sent(next, &path, 500);
        assert_eq!(tracker.shown_window_bytes / full, shown + 1);
    }
}

#[test]
fn who_sends_again_is_not_idle_meanwhile() {
    let start = (1 << 32) - u64::from(FULL);
    assert_eq!(shown_segments_after(start, 150), 2);
    assert_eq!(shown_segments_after(start, 300), 1);
}

#[test]
fn what_is_sent_before_a_recovery_ends_shows_no_window_and_acks_open_it_after() {
    let full = u64::from(FULL);
    let start = (1 << 32) - 2 * full;
    let mut tracker = PauseTracker::default();
    let path = path(MS);
    let sends = |tracker: &mut PauseTracker, time_ms: i64, number: u64| {
        let segment = test_path::segment(time_ms * MS, start + number * full, FULL);
        tracker.sent(segment, &path, full);
    };
    tracker.acknowledged(acked(0, start - 1, start), &path);
    for number in 0..4 {
        sends(&mut tracker, 50, number);
    }
    tracker.sent_again(test_path::segment(55 * MS, start, FULL), &path);
    sends(&mut tracker, 60, 4);
    assert_eq!(tracker.shown_window_bytes, 0);
    tracker.acknowledged(acked(70 * MS, start, start + 5 * full), &path);
    sends(&mut tracker, 90, 5);
    sends(&mut tracker, 91, 6);
    assert_eq!(tracker.shown_window_bytes, 2 * full);
    for number in 5..9 {
        let before = start + number * full;
        tracker.acknowledged(acked(100 * MS, before, before + full), &path);
    }
    sends(&mut tracker, 120, 9);
    assert_eq!(tracker.shown_window_bytes, 3 * full);
}

#[test]
fn on_a_link_that_is_not_known_an_ack_may_have_let_go_whatever_follows_it() {
    assert_eq!(flight_of_second(8 * MS, &path(0)), u64::from(FULL));
}

/// The window that is known behind two segments of which the first had been lost before it was seen, where four had been
/// in flight before, and the second had been, too, if it `is_lost`.
fn shown_segments_behind_unseen(is_lost: bool) -> u64 {
    let full = u64::from(FULL);
    let start = (1 << 32) - 5 * full;
    let mut tracker = PauseTracker::default();
    let path = path(MS);
    tracker.acknowledged(acked(0, start - 1, start), &path);
    tracker.sent(test_path::segment(10 * MS, start, FULL), &path, 4 * full);
    tracker.sent(
        test_path::segment(11 * MS, start + full, 3 * FULL),
        &path,
        4 * full,
    );
    tracker.acknowledged(acked(12 * MS, start, start + 4 * full), &path);
    for (time_ms, begins) in [(1000, start + 4 * full), (1100, start + 5 * full)] {
        tracker.sent(test_path::segment(time_ms * MS, begins, FULL), &path, full);
        if time_ms == 1000 || is_lost {
            tracker.was_lost_unseen();
        }
        tracker.acknowledged(acked((time_ms + 1) * MS, begins, begins + full), &path);
    }
    let last = test_path::segment(1200 * MS, start + 6 * full, FULL);
    tracker.sent(last, &path, full);
    tracker.last_window_bytes / full
}

#[test]
fn what_was_lost_before_it_was_seen_has_lowered_the_window_however_much_of_it_is_sent_again() {
    assert_eq!(shown_segments_behind_unseen(false), 2);
    assert_eq!(shown_segments_behind_unseen(true), 2);
}
