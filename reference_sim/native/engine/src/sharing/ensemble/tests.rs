use super::*;
use crate::sharing::Estimate;
use crate::tcp::pair_tests::stack;
use crate::truth::Side;

const MS: Nanoseconds = 1_000_000;
const MSS: u32 = 512;
const MSS64: u64 = 512;
/// Start offset of the streams in these tests, near the wrap of sequence numbers.
const BASE: u64 = u32::MAX as u64 - 1000;

fn member(connection: u32) -> End {
    End {
        connection,
        side: Side::Server,
    }
}

fn path(segments: u64) -> Path {
    Path {
        cwnd: segments * MSS64,
        ssthresh: 64 * MSS64,
        mss: MSS,
        round_trip: Some(Estimate {
            smoothed: 100 * MS,
            variation: 10 * MS,
        }),
    }
}

/// Return two members with a window, without pacing.
fn ensemble(segments: u64) -> Ensemble {
    let mut ensemble = Ensemble::open(Scheduler::Fair, None, &stack());
    ensemble.join(member(0), false);
    ensemble.take_back(member(0), path(segments), None);
    ensemble.join(member(1), false);
    ensemble
}

fn send(ensemble: &mut Ensemble, connection: u32, index: u64) {
    ensemble.sent(member(connection), BASE + index * MSS64, MSS, false, 0);
}

fn ack(ensemble: &mut Ensemble, connection: u32, packets: u64) -> Vec<End> {
    ensemble.on_ack(member(connection), BASE + packets * MSS64, false)
}

#[test]
fn one_members_flight_is_not_granted_to_another() {
    let mut ensemble = ensemble(4);
    send(&mut ensemble, 0, 0);
    send(&mut ensemble, 0, 1);
    send(&mut ensemble, 1, 0);
    assert_eq!(ensemble.grant(0).bytes, MSS64);
    ack(&mut ensemble, 0, 2);
    assert_eq!(ensemble.grant(0).bytes, 3 * MSS64);
}

#[test]
fn a_joining_connection_starts_with_the_shared_state() {
    let ensemble = ensemble(4);
    assert_eq!(ensemble.path(), Some(path(4)));
}

#[test]
fn an_ack_skips_the_older_packets_of_other_members_once() {
    let mut ensemble = ensemble(8);
    send(&mut ensemble, 0, 0);
    send(&mut ensemble, 0, 1);
    send(&mut ensemble, 1, 0);
    send(&mut ensemble, 0, 2);
    assert_eq!(ack(&mut ensemble, 1, 1), [member(0)]);
    assert_eq!(ack(&mut ensemble, 1, 1), [], "a duplicate ACK");
    assert_eq!(ack(&mut ensemble, 0, 3), []);
}

#[test]
fn in_order_acks_skip_nothing() {
    let mut ensemble = ensemble(8);
    for index in 0..3 {
        send(&mut ensemble, 0, index);
        send(&mut ensemble, 1, index);
    }
    for index in 1..=3 {
        assert_eq!(ack(&mut ensemble, 0, index), []);
        assert_eq!(ack(&mut ensemble, 1, index), []);
    }
}

#[test]
fn a_packet_that_may_wait_for_a_delayed_ack_is_skipped_for_nothing() {
    let mut ensemble = Ensemble {
        expects_delayed_acks: true,
        ..ensemble(8)
    };
    send(&mut ensemble, 0, 0);
    send(&mut ensemble, 1, 0);
    assert_eq!(ack(&mut ensemble, 1, 1), [], "one packet may wait");
    send(&mut ensemble, 0, 1);
    send(&mut ensemble, 1, 1);
    assert_eq!(ack(&mut ensemble, 1, 2), [member(0)], "two may not");
}

#[test]
fn a_packet_older_than_two_delays_waits_for_no_delayed_ack() {
    let mut ensemble = Ensemble {
        expects_delayed_acks: true,
        ..ensemble(8)
    };
    send(&mut ensemble, 0, 0);
    ensemble.sent(member(1), BASE, MSS, false, 401 * MS);
    assert_eq!(ack(&mut ensemble, 1, 1), [member(0)]);
}

#[test]
fn a_retransmission_is_the_newest_packet_and_takes_no_turn() {
    let mut ensemble = ensemble(8);
    send(&mut ensemble, 0, 0);
    send(&mut ensemble, 1, 0);
    let turn = ensemble.turns();
    ensemble.sent(member(0), BASE, MSS, true, 0);
    assert_eq!(ensemble.turns(), turn);
    assert_eq!(ensemble.flight(), 2 * MSS64);
    assert_eq!(ack(&mut ensemble, 0, 1), [member(1)]);
}

/// Return the window after Reno's third duplicate ACK, based on the member's own flight.
fn after_loss(own_flight: u64) -> Path {
    let ssthresh = half(own_flight * MSS64, MSS);
    Path {
        ssthresh,
        cwnd: ssthresh + 3 * MSS64,
        ..path(0)
    }
}

#[test]
fn a_loss_halves_the_flight_of_all_members() {
    let mut ensemble = ensemble(16);
    for index in 0..8 {
        send(&mut ensemble, 0, index);
        send(&mut ensemble, 1, index);
    }
    ensemble.take_back(member(0), after_loss(8), Some(Loss::DuplicateAcks));
    let path = ensemble.path().unwrap();
    assert_eq!(path.ssthresh, 8 * MSS64);
    assert_eq!(path.cwnd, 11 * MSS64);
}

#[test]
fn losses_of_one_flight_close_the_window_once() {
    let mut ensemble = ensemble(16);
    for index in 0..8 {
        send(&mut ensemble, 0, index);
        send(&mut ensemble, 1, index);
    }
    ensemble.take_back(member(0), after_loss(8), Some(Loss::DuplicateAcks));
    let once = ensemble.path();
    ensemble.take_back(member(1), after_loss(8), Some(Loss::DuplicateAcks));
    assert_eq!(ensemble.path().unwrap().ssthresh, once.unwrap().ssthresh);
    assert_eq!(ensemble.path().unwrap().cwnd, once.unwrap().cwnd);
    ack(&mut ensemble, 0, 8);
    ack(&mut ensemble, 1, 8);
    for index in 8..16 {
        send(&mut ensemble, 1, index);
    }
    ensemble.take_back(member(1), after_loss(8), Some(Loss::DuplicateAcks));
    assert_eq!(ensemble.path().unwrap().ssthresh, 4 * MSS64);
}

#[test]
fn a_timeout_empties_the_list_and_the_next_one_of_the_same_flight_halves_nothing() {
    let mut ensemble = ensemble(16);
    for index in 0..8 {
        send(&mut ensemble, 0, index);
        send(&mut ensemble, 1, index);
    }
    let timed_out = Path {
        ssthresh: 4 * MSS64,
        cwnd: MSS64,
        ..path(0)
    };
    ensemble.take_back(member(0), timed_out, Some(Loss::Timeout));
    assert_eq!(ensemble.flight(), 0);
    assert_eq!(ensemble.path().unwrap().ssthresh, 8 * MSS64);
    assert_eq!(ensemble.grant(0).bytes, MSS64);
    ensemble.take_back(member(1), timed_out, Some(Loss::Timeout));
    assert_eq!(ensemble.path().unwrap().ssthresh, 8 * MSS64);
    assert_eq!(ensemble.path().unwrap().cwnd, MSS64);
}

#[test]
fn a_cached_window_is_paced_until_the_first_ack_of_it() {
    let mut ensemble = Ensemble::open(Scheduler::Fair, Some(path(8)), &stack());
    ensemble.join(member(0), false);
    let mut now = 0;
    for index in 0..4 {
        let grant = ensemble.grant(now);
        assert_eq!(grant.bytes, MSS64, "packet {index} at {now}");
        assert_eq!(grant.paced_until, None);
        ensemble.sent(member(0), BASE + index * MSS64, MSS, false, now);
        assert_eq!(ensemble.grant(now).bytes, 0);
        now = ensemble.grant(now).paced_until.unwrap();
    }
    assert_eq!(now, 50 * MS, "an eighth of the round trip each");
    ensemble.on_ack(member(0), BASE + MSS64, true);
    assert_eq!(ensemble.grant(now).paced_until, None);
    assert_eq!(ensemble.path().unwrap().cwnd, 4 * MSS64, "what was paced");
    assert_eq!(ensemble.grant(now).bytes, MSS64);
}

#[test]
fn an_unneeded_window_is_kept() {
    let mut ensemble = Ensemble::open(Scheduler::Fair, Some(path(8)), &stack());
    ensemble.join(member(0), false);
    send(&mut ensemble, 0, 0);
    ack(&mut ensemble, 0, 1);
    assert_eq!(ensemble.path().unwrap().cwnd, 8 * MSS64);
}

#[test]
fn a_connection_joining_half_closed_ones_is_paced_past_their_acks() {
    let mut ensemble = ensemble(8);
    send(&mut ensemble, 0, 0);
    ensemble.join(member(2), true);
    send(&mut ensemble, 2, 0);
    ack(&mut ensemble, 0, 1);
    assert!(ensemble.grant(0).paced_until.is_some());
    ack(&mut ensemble, 2, 1);
    assert!(ensemble.grant(0).paced_until.is_none());
}

#[test]
fn an_idle_ensemble_is_paced_and_a_busy_one_is_not() {
    let mut ensemble = ensemble(8);
    send(&mut ensemble, 0, 0);
    ensemble.restart_after_idle(500 * MS);
    assert_eq!(ensemble.grant(500 * MS).bytes, 7 * MSS64, "still in flight");
    ack(&mut ensemble, 0, 1);
    ensemble.restart_after_idle(140 * MS);
    assert_eq!(ensemble.grant(140 * MS).bytes, 8 * MSS64);
    ensemble.restart_after_idle(141 * MS);
    assert_eq!(ensemble.grant(141 * MS).bytes, MSS64);
}

#[test]
fn a_closed_members_flight_is_released() {
    let mut ensemble = ensemble(4);
    send(&mut ensemble, 0, 0);
    ensemble.leave(member(0));
    assert_eq!(ensemble.grant(0).bytes, 4 * MSS64);
    assert_eq!(ensemble.turns(), [member(1)]);
}
