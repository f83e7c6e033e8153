use super::*;
use crate::classify::Class;

const MS: i64 = 1_000_000;

/// Data that came 96 ms after the one before, on a path of 20 ms, behind a packet that never came by.
fn after_a_missing_packet(tracker: &mut Tracker) -> Option<RecoveryKind> {
    let known = known(4381);
    tracker.sent(
        &Sent {
            time_ns: 136 * MS,
            start: 4381,
            end: 5841,
            skipped_identifications: 1,
            ..new_data(0)
        },
        &known,
    )
}

fn new_data(gap_before_bytes: u32) -> Sent {
    Sent {
        payload_bytes: 1460,
        class: Class {
            is_new: true,
            gap_before_bytes,
            ..Class::default()
        },
        ..Sent::default()
    }
}

fn known(next: i64) -> Known {
    Known {
        original: None,
        next,
        acked: 1461,
        last_data: Some((1, 40 * MS)),
        asked_ns: None,
        asked_before_copies_ns: None,
        heard_before_ns: 96 * MS,
        duplicate_acks: 0,
        rtt_ns: Some(20 * MS),
        sender_path_ns: Some(20 * MS),
        segment_bytes: 1460,
    }
}

#[test]
fn what_follows_data_behind_a_hole_no_timer_has_sent_again_for_that_fills_the_hole() {
    let mut tracker = Tracker::default();
    let lost = after_a_missing_packet(&mut tracker);
    assert_eq!(lost, Some(RecoveryKind::TailLossProbe));
    let mut tracker = Tracker::default();
    let behind = Sent {
        time_ns: 40 * MS,
        start: 2921,
        end: 4381,
        ..new_data(1460)
    };
    assert_eq!(tracker.sent(&behind, &known(1461)), None);
    assert_eq!(after_a_missing_packet(&mut tracker), None);
}
