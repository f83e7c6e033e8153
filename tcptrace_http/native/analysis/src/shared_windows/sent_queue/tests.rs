//! Bounds and paces of a queue, and when what stands in it is due.

use super::*;

pub(super) const MS: i64 = 1_000_000;
pub(super) const WAY: Way = Way {
    elapsed_ns: 20 * MS,
    bytes: 0,
};
/// Payload of a segment that takes 110 ms where a byte takes 0.1 ms.
pub(super) const BYTES: u32 = 1046;
pub(super) const PORTS: (u16, u16) = (40_000, 80);

/// A request of 100 bytes and its headers, of which each took 0.1 ms.
const ASKED: Option<Closest> = Some(Closest {
    gap_ns: 15_400_000,
    bytes: 100,
});

pub(super) fn number(segments: u32) -> SeqNumber {
    SeqNumber(1 + segments * BYTES)
}

/// So many segments that leave at once, and ACKs of one more of them each at these times.
fn after(segments: u32, acks_ms: &[i64], asked: Option<Closest>) -> SentQueue {
    let mut queue = SentQueue::default();
    queue.opens(PORTS, number(0));
    for segment in 0..segments {
        queue.sends(0, PORTS, (number(segment), BYTES), WAY);
    }
    for (acked, time_ms) in (1..).zip(acks_ms) {
        queue.hears(time_ms * MS, PORTS, (number(acked), 0), WAY, asked);
    }
    queue
}

/// A link that takes 11 ms for a segment, as five have told.
pub(super) fn of_known_link() -> SentQueue {
    let queue = after(5, &[33, 44, 55, 66, 77], None);
    assert_eq!(queue.byte_ps(), Some(10_000_000));
    queue
}

#[test]
fn acks_that_are_all_delayed_come_in_the_pace_of_the_link() {
    assert_eq!(after(5, &[330, 440, 550], None).byte_ps(), None);
    let queue = after(5, &[330, 440, 550, 660], None);
    assert_eq!(queue.byte_ps(), Some(100_000_000));
}

#[test]
fn the_rhythm_of_a_heartbeat_is_no_links() {
    let queue = after(5, &[400, 600, 800, 1000, 1200], None);
    assert_ne!(queue.byte_ps(), Some(200_000_000));
}

#[test]
fn acks_later_than_the_slowest_link_makes_them_do_not_agree_on_it() {
    assert_eq!(
        after(5, &[500, 1_100, 1_950, 2_900, 3_800], None).byte_ps(),
        None
    );
}

#[test]
fn a_bound_and_how_close_the_client_asks_agree_on_the_link() {
    let queue = after(5, &[130, 245], ASKED);
    assert_eq!(queue.byte_ps(), Some(100_000_000));
    assert_eq!(after(5, &[130, 445], ASKED).byte_ps(), None);
}

#[test]
fn what_is_known_is_bound_by_each_ack() {
    let queue = after(3, &[130, 245], ASKED);
    let mut sooner = after(3, &[130, 245, 310], ASKED);
    assert!(sooner.byte_ps() < queue.byte_ps());
    // An empty link takes the segment alone, whose headers the path has.
    let due_ns = sooner.sends(1000 * MS, PORTS, (number(3), 0), WAY);
    assert_eq!(due_ns, Some(1020 * MS));
}

#[test]
fn a_request_that_the_least_round_trip_was_measured_with_took_its_time_on_the_link() {
    // Of 500 bytes, which take 50 ms: with a bare ACK it had been 20 ms.
    let way = Way {
        elapsed_ns: 70 * MS,
        bytes: 500,
    };
    let mut queue = SentQueue::default();
    queue.opens(PORTS, number(0));
    for segment in 0..4 {
        queue.sends(0, PORTS, (number(segment), BYTES), way);
    }
    for (acked, tenths_ms) in (1..).zip([1246, 2346, 3446, 4546]) {
        queue.hears(tenths_ms * MS / 10, PORTS, (number(acked), 0), way, None);
    }
    assert_eq!(queue.byte_ps(), Some(100_000_000));
    let due_ns = queue.sends(1000 * MS, PORTS, (number(4), BYTES), way);
    assert_eq!(due_ns, Some(1_124_600_000));
}

#[test]
fn a_segment_is_due_behind_what_other_connections_have_sent() {
    let mut queue = after(5, &[125, 235, 345, 455, 565], None);
    let other = (40_001, 80);
    queue.opens(other, number(0));
    assert_eq!(
        queue.sends(1000 * MS, PORTS, (number(5), BYTES), WAY),
        Some(1_124_600_000)
    );
    assert_eq!(
        queue.sends(1000 * MS, other, (number(0), BYTES), WAY),
        Some(1_234_600_000)
    );
}

#[test]
fn a_segment_is_due_behind_packets_without_payload_that_the_link_carries_before_it() {
    let mut queue = after(5, &[125, 235, 345, 455, 565], None);
    let mut due_us = |bare: u32, segment: u32, time_ms: i64| {
        for _ in 0..bare {
            queue.sends_bare(time_ms * MS, WAY);
        }
        let due_ns = queue.sends(time_ms * MS, PORTS, (number(segment), BYTES), WAY);
        due_ns.map(|ns| ns / 1000)
    };
    assert_eq!(due_us(0, 5, 1000), Some(1_124_600));
    // Each takes 5.4 ms.
    assert_eq!(due_us(2, 6, 1000), Some(1_124_600 + 2 * 5_400 + 110_000));
    // The way is that of one.
    assert_eq!(due_us(1, 7, 2000), Some(2_020_000 + 110_000));
}

#[test]
fn a_stretch_goes_on_while_data_is_on_its_way_though_its_sender_goes_on_with_each_ack() {
    let mut queue = after(2, &[], None);
    // Each ACK is delayed by 200 ms, and lets two segments go.
    for acked in 1..5_u32 {
        let time_ns = (225 + 110 * i64::from(acked)) * MS;
        queue.hears(time_ns, PORTS, (number(acked), 0), WAY, None);
        for segment in [2 * acked, 2 * acked + 1] {
            queue.sends(time_ns, PORTS, (number(segment), BYTES), WAY);
        }
    }
    assert_eq!(queue.byte_ps(), Some(100_000_000));
}

#[test]
fn what_left_while_the_link_was_not_known_stands_before_it_once_it_is() {
    let mut queue = after(9, &[125, 235, 345, 455], None);
    assert_eq!(queue.byte_ps(), Some(100_000_000));
    let due_ns = queue.sends(456 * MS, PORTS, (number(9), BYTES), WAY);
    // The tenth of them, behind what is acknowledged.
    let due_ms = due_ns.map(|ns| (ns + MS / 2) / MS);
    assert_eq!(due_ms, Some(20 + 10 * 110 - 5));
}
