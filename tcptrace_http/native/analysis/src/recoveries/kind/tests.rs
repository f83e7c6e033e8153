use super::*;

const MS: i64 = 1_000_000;

const ONE_DUPLICATE: LossEvidence = LossEvidence {
    waited_ns: 150 * MS,
    duplicate_acks: 1,
    has_hole: true,
    had_hole: true,
    was_reported: false,
    has_sack: false,
    reordered_ns: 0,
};

/// Return the kind of a retransmission near the receiver of a 20 ms path, after one segment behind the hole.
fn behind_a_hole(evidence: LossEvidence) -> RecoveryKind {
    let known = KnownState {
        next: 3000,
        acked: 1,
        since_received_ns: evidence.waited_ns,
        duplicate_acks: evidence.duplicate_acks,
        rtt_ns: Some(20 * MS),
        sender_path_ns: Some(20 * MS),
        segment_bytes: 1460,
        ..KnownState::default()
    };
    kind(&SentSegment::default(), &known, &evidence)
}

#[test]
fn early_retransmission_without_sack_is_no_probe() {
    let unreported = LossEvidence {
        duplicate_acks: 0,
        has_hole: false,
        had_hole: false,
        waited_ns: 100 * MS,
        ..ONE_DUPLICATE
    };
    let kind_of = |has_no_probes| {
        let known = KnownState {
            rtt_ns: Some(20 * MS),
            has_no_probes,
            ..KnownState::default()
        };
        kind(&SentSegment::default(), &known, &unreported)
    };
    assert_eq!(kind_of(false), RecoveryKind::TailLossProbe);
    assert_eq!(kind_of(true), RecoveryKind::Unknown);
}

#[test]
fn one_duplicate_ack_and_a_silence_leave_only_the_timer() {
    assert_eq!(behind_a_hole(ONE_DUPLICATE), RecoveryKind::Timeout);
}

#[test]
fn duplicate_acks_sacks_or_no_silence_show_fast_recovery() {
    for evidence in [
        LossEvidence {
            duplicate_acks: 3,
            ..ONE_DUPLICATE
        },
        LossEvidence {
            has_sack: true,
            ..ONE_DUPLICATE
        },
        LossEvidence {
            waited_ns: 5 * MS,
            ..ONE_DUPLICATE
        },
    ] {
        assert_eq!(
            behind_a_hole(evidence),
            RecoveryKind::FastRecovery,
            "{evidence:?}"
        );
    }
}

#[test]
fn racks_timer_retransmits_within_a_quarter_round_trip_after_a_sack() {
    let known = KnownState {
        rtt_ns: Some(20 * MS),
        sender_path_ns: Some(0),
        ..KnownState::default()
    };
    let evidence = |waited_ms: i64| LossEvidence {
        waited_ns: waited_ms * MS,
        has_sack: true,
        reordered_ns: 40 * MS,
        ..ONE_DUPLICATE
    };
    let kind_of = |waited_ms: i64| kind(&SentSegment::default(), &known, &evidence(waited_ms));
    assert_eq!(kind_of(30), RecoveryKind::FastRecovery);
    assert_eq!(kind_of(50), RecoveryKind::Timeout);
}

#[test]
fn data_behind_a_loss_after_its_timeout_did_not_report_it() {
    let too_late = LossEvidence {
        waited_ns: 400 * MS,
        duplicate_acks: 0,
        had_hole: false,
        ..ONE_DUPLICATE
    };
    assert_eq!(behind_a_hole(too_late), RecoveryKind::TailLoss);
}
