//! The effect of idle time on the window (claim H4: Heidemann 1996, section 2.4).

use super::pair_tests::{stack, Pair};
use crate::stack::*;

const MS: Nanoseconds = 1_000_000;

/// Return the sending times of ten segments after an idle time, with a window grown to twelve. The times are
/// milliseconds after the first segment.
fn flight_after(idle: Nanoseconds, policy: IdleRestart) -> Vec<Nanoseconds> {
    flight_of(idle, policy, Congestion::Reno)
}

fn flight_of(idle: Nanoseconds, policy: IdleRestart, congestion: Congestion) -> Vec<Nanoseconds> {
    let mut client = stack();
    client.acks.every = 1;
    client.acks.counts_segments = true;
    let mut server = stack();
    server.idle_restart = policy;
    server.congestion = congestion;
    server.initial_window = InitialWindow::Segments(2);
    let mut pair = Pair::connected(client, server);
    pair.write(1, 10 * 1460);
    pair.run_until(1000 * MS);
    // The last ACK arrived at 500 ms, 400 ms after the first write.
    let sent = pair.data().count();
    pair.run_until(pair.data().last().unwrap().time + idle);
    pair.write(1, 10 * 1460);
    pair.run_until(20_000 * MS);
    let times: Vec<_> = pair.data().skip(sent).map(|sent| sent.time / MS).collect();
    assert_eq!(times.len(), 10);
    times.iter().map(|time| time - times[0]).collect()
}

#[test]
fn no_restart_without_a_congestion_window() {
    for policy in [IdleRestart::Reset, IdleRestart::Decay, IdleRestart::Pace] {
        let times = flight_of(8000 * MS, policy, Congestion::FixedWindow);
        assert_eq!(at_once(&times), 10, "{policy:?}");
    }
}

fn at_once(times: &[Nanoseconds]) -> usize {
    times.iter().filter(|time| **time == 0).count()
}

#[test]
fn sunos_keeps_the_window_and_sends_a_burst() {
    let times = flight_after(8000 * MS, IdleRestart::Keep);
    assert_eq!(at_once(&times), 10);
}

#[test]
fn bsd_restarts_from_its_initial_window_after_one_timeout() {
    assert_eq!(at_once(&flight_after(8000 * MS, IdleRestart::Reset)), 2);
    let before_timeout = flight_after(900 * MS, IdleRestart::Reset);
    assert_eq!(at_once(&before_timeout), 10);
}

#[test]
fn decay_halves_the_window_for_each_timeout_down_to_the_initial_one() {
    assert_eq!(at_once(&flight_after(1500 * MS, IdleRestart::Decay)), 6);
    assert_eq!(at_once(&flight_after(2500 * MS, IdleRestart::Decay)), 3);
    assert_eq!(at_once(&flight_after(8000 * MS, IdleRestart::Decay)), 2);
}

#[test]
fn pacing_spreads_the_kept_window_over_one_round_trip() {
    let times = flight_after(8000 * MS, IdleRestart::Pace);
    let gaps: Vec<_> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // A round trip of 100 ms over twelve segments.
    assert!(gaps.iter().all(|gap| (8..=9).contains(gap)), "{gaps:?}");
    assert!(*times.last().unwrap() < 100, "{times:?}");
}
