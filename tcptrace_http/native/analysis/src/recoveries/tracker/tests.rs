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
        has_no_probes: false,
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

#[test]
fn where_there_are_no_sacks_nobody_probes_for_a_tail_and_a_short_silence_tells_of_no_loss() {
    let after = |silence_ms: i64| {
        let known = Known {
            has_no_probes: true,
            heard_before_ns: silence_ms * MS,
            ..known(4381)
        };
        let sent = Sent {
            time_ns: (40 + silence_ms) * MS,
            start: 4381,
            end: 5841,
            skipped_identifications: 1,
            ..new_data(0)
        };
        Tracker::default().sent(&sent, &known)
    };
    assert_eq!(after(96), None);
    assert_eq!(after(240), Some(RecoveryKind::TailLoss));
}

/// What is sent again twice and came by the first time, if SACKs told of the loss or not.
fn sent_twice(sacked: i64) -> Option<RecoveryKind> {
    let mut tracker = Tracker {
        sacked,
        ..Tracker::default()
    };
    let behind = Sent {
        time_ns: 40 * MS,
        start: 2921,
        end: 4381,
        ..new_data(1460)
    };
    tracker.sent(&behind, &known(1461));
    let copy = |time_ms: i64| Sent {
        time_ns: time_ms * MS,
        start: 1461,
        end: 2921,
        class: Class {
            is_retransmission: true,
            ..Class::default()
        },
        ..new_data(0)
    };
    let told = Known {
        duplicate_acks: 3,
        heard_before_ns: 0,
        ..known(7301)
    };
    let first = tracker.sent(&copy(100), &told);
    assert_eq!(first, Some(RecoveryKind::FastRecovery));
    let acked = Known {
        acked: 5841,
        ..told
    };
    tracker.sent(&copy(150), &acked)
}

#[test]
fn what_sacks_had_told_of_and_came_the_timer_alone_has_sent_once_more() {
    assert_eq!(sent_twice(4381), Some(RecoveryKind::Timeout));
    assert_eq!(sent_twice(0), Some(RecoveryKind::FastRecovery));
}
