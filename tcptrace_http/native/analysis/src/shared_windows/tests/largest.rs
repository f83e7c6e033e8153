//! The largest window that a stack has for all connections.

use super::*;

const SYN_ACK: u16 = flags::SYN | flags::ACK;
/// The server's numbers begin shortly before they wrap around.
const FIRST: u32 = u32::MAX - 6000;

/// Two connections that have more to send than comes.
struct Busy {
    talk: Talk,
    sent: [u32; 2],
    sharing: Sharing,
}

impl Busy {
    fn new() -> Busy {
        let mut busy = Busy {
            talk: Talk::default(),
            sent: [0; 2],
            sharing: Sharing::default(),
        };
        for port in [1, 2] {
            busy.talk
                .packet(0, true, port, segment(flags::SYN, 0, 0, 0));
            let answer = segment(SYN_ACK, FIRST, 1, 0);
            busy.talk.packet(100, false, port, answer);
            let asks = segment(flags::ACK, 1, FIRST.wrapping_add(1), 100);
            busy.talk.packet(100, true, port, asks);
        }
        // Two segments at once tell what the link takes.
        busy.data(200, 1);
        busy.data(201, 1);
        busy
    }

    /// A segment of 1000 bytes comes and is acknowledged.
    fn data(&mut self, time_ms: i64, port: u16) {
        let sent = &mut self.sent[usize::from(port) - 1];
        let seq = FIRST.wrapping_add(1 + *sent * 1000);
        *sent += 1;
        let what = segment(flags::ACK, seq, 101, 1000);
        self.sharing = self.talk.packet(time_ms, false, port, what);
        let ack = segment(flags::ACK, 101, seq.wrapping_add(1000), 0);
        self.talk.packet(time_ms, true, port, ack);
    }

    /// A connection is opened at `time_ms`, and its SYN answered behind so many segments, the last of which are of the
    /// second of the other connections.
    fn flight(&mut self, time_ms: i64, segments: i64, of_second: i64) {
        self.flight_of(time_ms, (segments, of_second), 1);
    }

    /// ... so many connections at once.
    fn flight_of(&mut self, time_ms: i64, (segments, of_second): (i64, i64), opened: u16) {
        let first = 3 + u16::try_from(time_ms / 10).unwrap();
        for port in first..first + opened {
            self.talk
                .packet(time_ms, true, port, segment(flags::SYN, 0, 0, 0));
        }
        for number in 1..=segments {
            let is_first = number <= segments - of_second;
            self.data(time_ms + 10 + 4 * number, if is_first { 1 } else { 2 });
        }
        for port in first..first + opened {
            let answer = segment(SYN_ACK, FIRST, 1, 0);
            self.talk.packet(time_ms + 95, false, port, answer);
        }
    }

    /// Since when the window is the largest.
    fn largest_ms(&mut self) -> Option<i64> {
        self.data(2000, 1);
        let newest = self.sharing.phases.largest().last();
        newest.map(|it| it.start_ns / MS)
    }
}

#[test]
fn flights_of_all_that_stay_as_large_though_acks_come_show_the_largest_window() {
    let mut busy = Busy::new();
    for (time_ms, of_second) in [(300, 4), (400, 4), (500, 0)] {
        busy.flight(time_ms, 8, of_second);
    }
    let since_ms = busy.largest_ms();
    assert!(
        since_ms.is_some_and(|it| (300..=395).contains(&it)),
        "{since_ms:?}"
    );
}

#[test]
fn a_window_that_grows_is_not_the_largest() {
    let mut busy = Busy::new();
    for (time_ms, segments) in [(300, 8), (400, 12), (500, 16), (600, 20)] {
        busy.flight(time_ms, segments, segments / 2);
    }
    assert_eq!(busy.largest_ms(), None);
}

#[test]
fn windows_of_each_connection_may_be_full_side_by_side() {
    let mut busy = Busy::new();
    for time_ms in [300, 400, 500, 600] {
        busy.flight(time_ms, 8, 4);
    }
    assert_eq!(busy.largest_ms(), None);
}

#[test]
fn a_larger_flight_shows_that_what_was_taken_for_the_largest_window_was_not() {
    let mut busy = Busy::new();
    for (time_ms, segments, of_second) in [(300, 8, 4), (400, 8, 4), (500, 8, 0), (600, 12, 4)] {
        busy.flight(time_ms, segments, of_second);
    }
    busy.data(2000, 1);
    let mut largest = busy.sharing.phases.largest();
    assert!(largest.all(|it| it.start_ns == it.end_ns));
}

#[test]
fn once_it_is_known_a_single_flight_shows_the_largest_window_again() {
    let mut busy = Busy::new();
    for (time_ms, of_second) in [(300, 4), (400, 4), (500, 0)] {
        busy.flight(time_ms, 8, of_second);
    }
    // All was acknowledged, and nothing in flight.
    busy.data(1500, 1);
    busy.flight(1600, 8, 4);
    let since_ms = busy.largest_ms();
    assert!(since_ms.is_some_and(|it| it > 1500), "{since_ms:?}");
}

#[test]
fn syns_that_leave_together_tell_of_one_flight() {
    for (opened, is_largest) in [(1, false), (3, false)] {
        let mut busy = Busy::new();
        busy.flight(300, 8, 4);
        busy.flight_of(400, (8, 0), opened);
        assert_eq!(busy.largest_ms().is_some(), is_largest, "{opened}");
    }
}

#[test]
fn as_much_as_before_of_not_as_many_that_would_have_grown_to_more_is_the_largest_window() {
    for (first_of_second, acked, segments, of_second, is_largest) in [
        (4, (1, 0), 8, 0, false),
        (4, (1, 1), 8, 0, true),
        (4, (1, 4), 9, 0, false),
        (0, (2, 4), 8, 4, false),
        (0, (2, 5), 8, 4, true),
        (4, (2, 5), 8, 4, false),
    ] {
        let mut busy = Busy::new();
        busy.flight(290, 8, first_of_second);
        let (port, acks) = acked;
        for number in 0..acks {
            // As soon as the ACKs of these have made room for them.
            busy.data(404 + 4 * number, port);
        }
        busy.flight(484, segments, of_second);
        let is_told = busy.largest_ms().is_some();
        assert_eq!(
            is_told, is_largest,
            "{first_of_second} {acked:?} {segments}"
        );
    }
}
