//! Tests of probes behind holes.

use tcptrace_tcp::Class;
use trace_model::rows::{RecoveryKind, SpuriousEvidence};

use super::known::{KnownState, SentSegment};
use super::tracker::Tracker;

const MS: i64 = 1_000_000;

fn known(next: i64, duplicate_acks: u32) -> KnownState {
    KnownState {
        original: None,
        next,
        acked: 1,
        last_data: None,
        peer_data_ns: Some(0),
        peer_new_data_ns: Some(0),
        since_received_ns: 400 * MS,
        duplicate_acks,
        rtt_ns: Some(50 * MS),
        sender_path_ns: Some(50 * MS),
        segment_bytes: 1000,
        has_no_probes: false,
    }
}

/// Return the kind of a loss before the first data, which came long after the request.
///
/// The retransmission follows a duplicate ACK directly.
fn kind_behind_hole(has_no_probes: bool) -> Option<RecoveryKind> {
    let mut tracker = Tracker::default();
    let behind = SentSegment {
        time_ns: 500 * MS,
        start: 1001,
        end: 2001,
        payload_bytes: 1000,
        class: Class {
            is_new: true,
            gap_before_bytes: 1000,
            ..Class::default()
        },
        ..SentSegment::default()
    };
    let before = KnownState {
        has_no_probes,
        ..known(1, 0)
    };
    assert_eq!(tracker.sent(&behind, &before), None);
    let again = SentSegment {
        time_ns: 900 * MS,
        start: 1,
        end: 1001,
        class: Class {
            is_retransmission: true,
            ..Class::default()
        },
        ..behind
    };
    let known_after = KnownState {
        since_received_ns: 0,
        ..known(2001, 1)
    };
    tracker.sent(&again, &known_after)
}

#[test]
fn new_data_after_a_silence_may_be_a_probe() {
    assert_eq!(kind_behind_hole(false), Some(RecoveryKind::TailLossProbe));
}

#[test]
fn sender_without_sack_sends_no_probe() {
    assert_eq!(kind_behind_hole(true), Some(RecoveryKind::FastRecovery));
}

#[test]
fn timeout_after_an_arrived_probe_was_reported_by_the_probe() {
    for (has_duplicate, kind) in [
        (true, RecoveryKind::Timeout),
        (false, RecoveryKind::TailLoss),
    ] {
        let mut tracker = Tracker::default();
        let known = KnownState {
            original: Some((1, 0)),
            ..known(3001, u32::from(has_duplicate))
        };
        let again = |start: i64, time_ns: i64| SentSegment {
            time_ns,
            start,
            end: start + 1000,
            payload_bytes: 1000,
            class: Class {
                is_retransmission: true,
                ..Class::default()
            },
            ..SentSegment::default()
        };
        let before = KnownState {
            duplicate_acks: 0,
            since_received_ns: 150 * MS,
            ..known
        };
        let probed = tracker.sent(&again(2001, 150 * MS), &before);
        assert_eq!(probed, Some(RecoveryKind::TailLossProbe));
        assert_eq!(tracker.sent(&again(1, 600 * MS), &known), Some(kind));
    }
}

/// Return new data behind `missing` missing segments; the first missing segment starts at 2001.
fn behind_missing(missing: u32, skipped_identifications: u32) -> SentSegment {
    let gap_before_bytes = missing * 1000;
    let start = 2001 + i64::from(gap_before_bytes);
    SentSegment {
        time_ns: 500 * MS,
        start,
        end: start + 1000,
        payload_bytes: 1000,
        class: Class {
            is_new: true,
            gap_before_bytes,
            ..Class::default()
        },
        skipped_identifications,
        is_gap_own: true,
        ..SentSegment::default()
    }
}

#[test]
fn lost_probe_is_necessary_despite_a_later_copy() {
    let mut tracker = Tracker::default();
    tracker.sent(&behind_missing(2, 3), &known(2001, 0));
    let mut probed = tracker.taken(true, 500 * MS).pop().unwrap();
    probed.on_dsack((4001, 5001));
    assert_eq!(probed.into_row(None).spurious_by, SpuriousEvidence::None);
}

#[test]
fn probe_was_lost_if_numbers_skip_one_more_than_the_missing_packets() {
    for (missing, skipped, is_gap_own, is_copy) in [
        (2, 3, true, true),
        (2, 2, true, false),
        (2, 4, true, false),
        (2, 3, false, false),
        (1, 2, true, false),
    ] {
        let probe = SentSegment {
            is_gap_own,
            ..behind_missing(missing, skipped)
        };
        let kind = Tracker::default().sent(&probe, &known(2001, 0));
        assert_eq!(kind == Some(RecoveryKind::TailLossProbe), is_copy);
    }
}
