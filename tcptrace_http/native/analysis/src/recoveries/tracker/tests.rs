use tcptrace_tcp::Class;

use super::*;

const MS: i64 = 1_000_000;

/// Return the kind for data 96 ms after the previous data on a 20 ms path, behind a missing packet.
fn after_a_missing_packet(tracker: &mut Tracker) -> Option<RecoveryKind> {
    let known = known(4381);
    tracker.sent(
        &SentSegment {
            time_ns: 136 * MS,
            start: 4381,
            end: 5841,
            skipped_identifications: 1,
            ..new_data(0)
        },
        &known,
    )
}

fn new_data(gap_before_bytes: u32) -> SentSegment {
    SentSegment {
        payload_bytes: 1460,
        class: Class {
            is_new: true,
            gap_before_bytes,
            ..Class::default()
        },
        ..SentSegment::default()
    }
}

/// Return a segment behind a missing segment.
fn behind_a_hole() -> SentSegment {
    SentSegment {
        time_ns: 40 * MS,
        start: 2921,
        end: 4381,
        ..new_data(1460)
    }
}

/// Return the missing segment before it, or a copy of it.
fn retransmission(time_ns: i64) -> SentSegment {
    SentSegment {
        time_ns,
        start: 1461,
        end: 2921,
        class: Class {
            is_retransmission: true,
            ..Class::default()
        },
        ..new_data(0)
    }
}

fn known(next: i64) -> KnownState {
    KnownState {
        original: None,
        next,
        acked: 1461,
        last_data: Some((1, 40 * MS)),
        peer_data_ns: None,
        peer_new_data_ns: None,
        since_received_ns: 96 * MS,
        duplicate_acks: 0,
        rtt_ns: Some(20 * MS),
        sender_path_ns: Some(20 * MS),
        segment_bytes: 1460,
        has_no_probes: false,
    }
}

#[test]
fn data_after_a_hole_is_no_timeout_because_a_timeout_fills_the_hole() {
    let mut tracker = Tracker::default();
    let lost = after_a_missing_packet(&mut tracker);
    assert_eq!(lost, Some(RecoveryKind::TailLossProbe));
    let mut tracker = Tracker::default();
    assert_eq!(tracker.sent(&behind_a_hole(), &known(1461)), None);
    assert_eq!(after_a_missing_packet(&mut tracker), None);
}

#[test]
fn without_sack_a_short_silence_is_neither_probe_nor_loss() {
    let after = |silence_ms: i64| {
        let known = KnownState {
            has_no_probes: true,
            since_received_ns: silence_ms * MS,
            ..known(4381)
        };
        let sent = SentSegment {
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

#[test]
fn large_number_gap_belongs_to_other_connections() {
    let lost = |skipped_identifications: u32| {
        let known = KnownState {
            since_received_ns: 1000 * MS,
            ..known(4381)
        };
        let sent = SentSegment {
            time_ns: 1040 * MS,
            start: 4381,
            end: 5841,
            skipped_identifications,
            is_numbered_by_host: true,
            ..new_data(0)
        };
        Tracker::default().sent(&sent, &known)
    };
    assert_eq!(lost(64), Some(RecoveryKind::TailLoss));
    assert_eq!(lost(200), None);
}

#[test]
fn large_gap_is_a_loss_if_the_initial_rto_follows() {
    let after = |silence_ms: i64, payload_bytes: u32, is_gap_own: bool| {
        let known = KnownState {
            since_received_ns: silence_ms * MS,
            ..known(4381)
        };
        let sent = SentSegment {
            time_ns: (40 + silence_ms) * MS,
            start: 4381,
            end: 4381 + i64::from(payload_bytes),
            payload_bytes,
            skipped_identifications: 88,
            is_gap_own,
            is_numbered_by_host: true,
            ..new_data(0)
        };
        Tracker::default().sent(&sent, &known)
    };
    for silence_ms in [1000, 3010, 5990] {
        assert_eq!(
            after(silence_ms, 1460, true),
            Some(RecoveryKind::TailLoss),
            "{silence_ms}"
        );
    }
    assert_eq!(after(1100, 1460, true), None, "no timer waits this long");
    assert_eq!(
        after(1000, 300, true),
        None,
        "the next data is a full segment"
    );
    assert_eq!(
        after(1000, 1460, false),
        None,
        "the host served other connections"
    );
}

/// Return the kind of the second retransmission of data whose first one passed, with or without SACKs.
fn second_retransmission(sacked: i64) -> Option<RecoveryKind> {
    let mut tracker = Tracker {
        sacked,
        ..Tracker::default()
    };
    tracker.sent(&behind_a_hole(), &known(1461));
    let evidence = KnownState {
        duplicate_acks: 3,
        since_received_ns: 0,
        ..known(7301)
    };
    let first = tracker.sent(&retransmission(100 * MS), &evidence);
    assert_eq!(first, Some(RecoveryKind::FastRecovery));
    let acked = KnownState {
        acked: 5841,
        ..evidence
    };
    tracker.sent(&retransmission(150 * MS), &acked)
}

#[test]
fn second_retransmission_of_received_data_is_a_timeout() {
    assert_eq!(second_retransmission(4381), Some(RecoveryKind::Timeout));
    assert_eq!(second_retransmission(0), Some(RecoveryKind::FastRecovery));
}

#[test]
fn second_timeout_is_a_tail_loss_if_all_later_data_is_acknowledged() {
    let silent = |acked: i64| KnownState {
        acked,
        last_data: Some((1, 0)),
        since_received_ns: 1000 * MS,
        ..known(4381)
    };
    let filled = SentSegment {
        skipped_identifications: 3,
        is_gap_own: true,
        ..retransmission(1000 * MS)
    };
    let tail = SentSegment {
        start: 4381,
        end: 5841,
        class: new_data(0).class,
        ..filled
    };
    let mut tracker = Tracker::default();
    assert_eq!(tracker.sent(&behind_a_hole(), &known(1461)), None);
    let first = tracker.sent(&filled, &silent(1461));
    assert_eq!(first, Some(RecoveryKind::Timeout));
    let second = tracker.sent(&tail, &silent(4381));
    assert_eq!(second, Some(RecoveryKind::TailLoss));
    assert_eq!(tracker.taken(true, 2000 * MS).len(), 2);
}

/// Return true for each retransmission among segments sent one by one behind the repair of a hole.
///
/// All data before each segment was acknowledged, and the host's numbers skipped `skipped_identifications`
/// packets.
fn single_repairs(skipped_identifications: u32, is_alone: bool) -> Vec<bool> {
    let mut tracker = Tracker::default();
    assert_eq!(tracker.sent(&behind_a_hole(), &known(1461)), None);
    let filled = SentSegment {
        skipped_identifications,
        is_numbered_by_host: true,
        ..retransmission(65 * MS)
    };
    let evidence = KnownState {
        duplicate_acks: 3,
        since_received_ns: 0,
        ..known(4381)
    };
    assert_eq!(
        tracker.sent(&filled, &evidence),
        Some(RecoveryKind::FastRecovery)
    );
    tracker.close();
    let one_by_one = (0..4).map(|round| {
        let start = 4381 + 1460 * round;
        let sent = SentSegment {
            time_ns: (85 + 20 * round) * MS,
            start,
            end: start + 1460,
            ..new_data(0)
        };
        let known = KnownState {
            acked: if is_alone { start } else { start - 1460 },
            since_received_ns: 0,
            ..known(start)
        };
        tracker.sent(&sent, &known) == Some(RecoveryKind::FastRecovery)
    });
    one_by_one.collect()
}

#[test]
fn single_segments_behind_a_repair_were_lost_up_to_the_skipped_numbers() {
    assert_eq!(single_repairs(20, true), [false, true, true, true]);
    assert_eq!(single_repairs(3, true), [false, true, true, false]);
    assert_eq!(single_repairs(0, true), [false; 4]);
    assert_eq!(single_repairs(20, false), [false; 4]);
}

/// Return the kind of a retransmission at a duplicate ACK after a timeout and, later, at a partial ACK.
fn kind_after_timeout(before: u32, duplicate_acks: u32) -> Option<RecoveryKind> {
    let mut tracker = Tracker::default();
    let near = |duplicate_acks: u32, since_received_ns: i64| KnownState {
        original: Some((1, 0)),
        duplicate_acks,
        since_received_ns,
        sender_path_ns: Some(0),
        has_no_probes: true,
        ..known(7301)
    };
    let timer = tracker.sent(&retransmission(400 * MS), &near(before, 300 * MS));
    assert!(matches!(
        timer,
        Some(RecoveryKind::Timeout | RecoveryKind::TailLoss)
    ));
    tracker.sent(&retransmission(450 * MS), &near(duplicate_acks, 0));
    let part = KnownState {
        acked: 2921,
        ..near(0, 0)
    };
    let next = SentSegment {
        start: 2921,
        end: 4381,
        ..retransmission(470 * MS)
    };
    tracker.sent(&next, &part)
}

#[test]
fn third_duplicate_ack_after_a_timeout_starts_a_new_recovery_near_the_sender() {
    let recovered = Some(RecoveryKind::FastRecovery);
    assert_eq!(kind_after_timeout(0, 3), recovered);
    assert_eq!(kind_after_timeout(1, 4), recovered);
    assert_eq!(kind_after_timeout(1, 3), Some(RecoveryKind::Timeout));
}

#[test]
fn probe_without_a_sack_did_not_report_the_loss() {
    let evidence = |sacked: i64| {
        let mut tracker = Tracker::default();
        let probe = SentSegment {
            time_ns: 140 * MS,
            start: 4381,
            end: 5841,
            ..new_data(0)
        };
        tracker.sent(&probe, &known(4381));
        tracker.sacked = sacked;
        let known_after = KnownState {
            original: Some((1, 0)),
            duplicate_acks: 1,
            since_received_ns: 0,
            ..known(5841)
        };
        tracker.sent(&retransmission(160 * MS), &known_after)
    };
    assert_eq!(evidence(4381), Some(RecoveryKind::FastRecovery));
    assert_eq!(evidence(5841), Some(RecoveryKind::TailLossProbe));
}

#[test]
fn duplicate_acks_report_data_behind_a_partial_ack() {
    let evidence = |acked: i64| {
        let mut tracker = Tracker::default();
        let near = |acked: i64, duplicate_acks: u32, since_received_ns: i64| KnownState {
            original: Some((1, 0)),
            acked,
            duplicate_acks,
            since_received_ns,
            sender_path_ns: Some(0),
            has_no_probes: true,
            ..known(11681)
        };
        let evidence = tracker.sent(&retransmission(50 * MS), &near(1461, 3, 0));
        assert_eq!(evidence, Some(RecoveryKind::FastRecovery));
        let next = SentSegment {
            start: acked,
            end: acked + 1460,
            ..retransmission(1070 * MS)
        };
        tracker.sent(&next, &near(acked, 0, 1000 * MS))
    };
    assert_eq!(evidence(2921), Some(RecoveryKind::Timeout));
    let three_more = evidence(2921 + 3 * 1460);
    assert_eq!(three_more, Some(RecoveryKind::TailLoss));
}
