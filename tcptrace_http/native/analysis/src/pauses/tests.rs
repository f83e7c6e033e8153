//! What a sender had in flight, as its receiver sees it.

use super::*;

const MS: i64 = 1_000_000;
const FULL: u32 = 1460;

/// A path of 4 ms to the sender and back, behind a link that takes so long for a full segment.
fn path(takes_ns: i64) -> Path {
    Path {
        segment_bytes: FULL,
        sender_rtt_ns: Some(4 * MS),
        receiver_rtt_ns: Some(0),
        receive_window: 65_535,
        in_loss_recovery: false,
        takes_ns,
        service_ns: 0,
        queued_ns: 0,
        sender_permits_sack: false,
    }
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

#[test]
fn what_comes_sooner_behind_an_ack_than_path_and_link_take_was_in_flight_with_what_that_acknowledges(
) {
    assert_eq!(flight_of_second(8 * MS, &path(8 * MS)), u64::from(2 * FULL));
    assert_eq!(flight_of_second(12 * MS, &path(8 * MS)), u64::from(FULL));
}

#[test]
fn on_a_link_that_is_not_known_an_ack_may_have_let_go_whatever_follows_it() {
    assert_eq!(flight_of_second(8 * MS, &path(0)), u64::from(FULL));
}
