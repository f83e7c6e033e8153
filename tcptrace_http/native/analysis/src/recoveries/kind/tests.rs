use super::*;

const MS: i64 = 1_000_000;

/// What is sent again at the receiver's end of a path of 20 ms, behind which one segment has come.
fn behind_a_hole(told: Told) -> RecoveryKind {
    let known = Known {
        original: None,
        next: 3000,
        acked: 1,
        last_data: None,
        asked_ns: None,
        asked_before_copies_ns: None,
        heard_before_ns: told.waited_ns,
        duplicate_acks: told.duplicate_acks,
        rtt_ns: Some(20 * MS),
        sender_path_ns: Some(20 * MS),
        segment_bytes: 1460,
        has_no_probes: false,
    };
    kind(&Sent::default(), &known, &told)
}

fn for_ms(unheard_ms: i64) -> Option<Unheard> {
    let (least_ns, most_ns) = (unheard_ms * MS, unheard_ms * MS);
    Some(Unheard {
        least_ns,
        most_ns,
        later_acks: 0,
    })
}

#[test]
fn what_is_sent_again_too_soon_for_a_timer_no_probe_was_where_there_are_no_sacks() {
    let untold = Told {
        duplicate_acks: 0,
        has_hole: false,
        had_hole: false,
        waited_ns: 100 * MS,
        ..ONE_DUPLICATE
    };
    let kind_of = |has_no_probes| {
        let known = Known {
            rtt_ns: Some(20 * MS),
            has_no_probes,
            ..Known::default()
        };
        kind(&Sent::default(), &known, &untold)
    };
    assert_eq!(kind_of(false), RecoveryKind::TailLossProbe);
    assert_eq!(kind_of(true), RecoveryKind::Unknown);
}

const ONE_DUPLICATE: Told = Told {
    waited_ns: 150 * MS,
    duplicate_acks: 1,
    has_hole: true,
    had_hole: true,
    was_told: false,
    has_sack: false,
    reordered_ns: 0,
    is_after_other: false,
    passed_over: 0,
    unheard: None,
    service_ns: 0,
};

#[test]
fn one_duplicate_ack_and_a_silence_leave_the_timer_only() {
    assert_eq!(behind_a_hole(ONE_DUPLICATE), RecoveryKind::Timeout);
}

#[test]
fn enough_duplicate_acks_sacks_or_the_ack_of_another_connection_may_tell_of_a_loss() {
    for told in [
        Told {
            duplicate_acks: 3,
            ..ONE_DUPLICATE
        },
        Told {
            has_sack: true,
            ..ONE_DUPLICATE
        },
        Told {
            is_after_other: true,
            ..ONE_DUPLICATE
        },
        Told {
            waited_ns: 5 * MS,
            ..ONE_DUPLICATE
        },
    ] {
        assert_eq!(behind_a_hole(told), RecoveryKind::FastRecovery, "{told:?}");
    }
}

#[test]
fn who_had_heard_nothing_when_it_sent_again_was_told_by_its_timer() {
    let soon = Told {
        waited_ns: 5 * MS,
        ..ONE_DUPLICATE
    };
    let unheard = |ms: i64| Told {
        unheard: for_ms(ms),
        ..soon
    };
    assert_eq!(behind_a_hole(unheard(1)), RecoveryKind::FastRecovery);
    assert_eq!(behind_a_hole(unheard(40)), RecoveryKind::Timeout);
}

#[test]
fn the_ack_of_another_connection_that_is_the_third_to_pass_over_it_is_no_timer() {
    let told = |duplicate_acks: u32, passed_over: u32| Told {
        waited_ns: 1000 * MS,
        duplicate_acks,
        passed_over,
        has_hole: false,
        had_hole: false,
        ..ONE_DUPLICATE
    };
    assert_eq!(behind_a_hole(told(0, 3)), RecoveryKind::FastRecovery);
    assert_eq!(behind_a_hole(told(2, 1)), RecoveryKind::FastRecovery);
    assert_eq!(behind_a_hole(told(0, 4)), RecoveryKind::TailLoss);
    assert_eq!(behind_a_hole(told(3, 0)), RecoveryKind::Timeout);
}

#[test]
fn what_comes_as_soon_as_an_ack_of_a_part_can_have_let_it_go_no_timer_has_sent_again() {
    let after_a_part = |waited_ms: i64| Told {
        waited_ns: waited_ms * MS,
        duplicate_acks: 0,
        unheard: for_ms(200),
        service_ns: 80 * MS,
        ..ONE_DUPLICATE
    };
    assert_eq!(behind_a_hole(after_a_part(-4)), RecoveryKind::FastRecovery);
    assert_eq!(behind_a_hole(after_a_part(-20)), RecoveryKind::Timeout);
}

#[test]
fn what_the_ack_of_another_connection_lets_go_no_timer_has_sent_again() {
    let after_other = |unheard_ms: i64| Told {
        waited_ns: 600 * MS,
        is_after_other: true,
        unheard: for_ms(unheard_ms),
        ..ONE_DUPLICATE
    };
    assert_eq!(behind_a_hole(after_other(0)), RecoveryKind::FastRecovery);
    assert_eq!(behind_a_hole(after_other(1)), RecoveryKind::Timeout);
}

#[test]
fn within_a_quarter_of_the_round_trip_after_a_sack_the_timer_of_rack_sends_again() {
    let known = Known {
        rtt_ns: Some(20 * MS),
        sender_path_ns: Some(0),
        ..Known::default()
    };
    let told = |waited_ms: i64| Told {
        waited_ns: waited_ms * MS,
        has_sack: true,
        reordered_ns: 40 * MS,
        unheard: for_ms(waited_ms),
        ..ONE_DUPLICATE
    };
    let kind_of = |waited_ms: i64| kind(&Sent::default(), &known, &told(waited_ms));
    assert_eq!(kind_of(30), RecoveryKind::FastRecovery);
    assert_eq!(kind_of(50), RecoveryKind::Timeout);
}

#[test]
fn who_heard_nothing_for_longer_than_acks_are_apart_was_told_by_none_of_those_that_came_since() {
    let since = Told {
        waited_ns: -100 * MS,
        duplicate_acks: 4,
        unheard: for_ms(90),
        service_ns: 40 * MS,
        ..ONE_DUPLICATE
    };
    let third = Told {
        duplicate_acks: 3,
        service_ns: 50 * MS,
        ..since
    };
    assert_eq!(behind_a_hole(since), RecoveryKind::Timeout);
    for told in [
        third,
        Told {
            unheard: for_ms(30),
            service_ns: 10 * MS,
            has_sack: true,
            ..since
        },
        Told {
            waited_ns: -3 * MS,
            ..since
        },
    ] {
        assert_eq!(behind_a_hole(told), RecoveryKind::FastRecovery, "{told:?}");
    }
}

#[test]
fn no_ack_behind_the_third_duplicate_one_lets_what_is_missing_go() {
    let told = |duplicate_acks: u32| Told {
        waited_ns: -100 * MS,
        duplicate_acks,
        unheard: for_ms(90),
        service_ns: 50 * MS,
        ..ONE_DUPLICATE
    };
    assert_eq!(behind_a_hole(told(3)), RecoveryKind::FastRecovery);
    assert_eq!(behind_a_hole(told(4)), RecoveryKind::Timeout);
}

#[test]
fn acks_that_came_too_late_told_nothing_and_those_before_were_too_few() {
    let in_time = Told {
        waited_ns: -50 * MS,
        unheard: Some(Unheard {
            least_ns: -300 * MS,
            most_ns: 100 * MS,
            later_acks: 2,
        }),
        ..ONE_DUPLICATE
    };
    assert_eq!(behind_a_hole(in_time), RecoveryKind::Timeout);
    for told in [
        Told {
            duplicate_acks: 3,
            ..in_time
        },
        Told {
            has_sack: true,
            ..in_time
        },
        Told {
            unheard: for_ms(5),
            ..in_time
        },
    ] {
        assert_eq!(behind_a_hole(told), RecoveryKind::FastRecovery, "{told:?}");
    }
}

#[test]
fn what_comes_behind_a_loss_when_its_timer_has_run_out_told_nobody_of_it() {
    let too_late = Told {
        waited_ns: 400 * MS,
        duplicate_acks: 0,
        had_hole: false,
        ..ONE_DUPLICATE
    };
    assert_eq!(behind_a_hole(too_late), RecoveryKind::TailLoss);
}

#[test]
fn a_third_duplicate_ack_that_may_have_come_just_when_data_was_sent_again_was_heard() {
    for (duplicate_acks, kind) in [(3, RecoveryKind::FastRecovery), (4, RecoveryKind::Timeout)] {
        let told = Told {
            waited_ns: -5 * MS,
            duplicate_acks,
            unheard: Some(Unheard {
                least_ns: 300 * MS,
                most_ns: -MS,
                later_acks: 1,
            }),
            ..ONE_DUPLICATE
        };
        assert_eq!(behind_a_hole(told), kind, "{duplicate_acks}");
    }
}
