//! BBR over a bottleneck with a rate, a delay and a queue without end: its states, rate and window.

use crate::random::Random;
use crate::stack::Congestion;
use crate::stack::Nanoseconds;
use crate::tcp::bbr::{Ack, Bbr, Mode, Repair};
use crate::tcp::congestion::Window;
use crate::tcp::delivery_rate::DeliveryRate;
use crate::tcp::pair_tests::{stack, Pair, MS};
use crate::tcp::scoreboard::Scoreboard;

const MSS: u64 = 1000;
/// Bottleneck of 1 MB/s: one segment per millisecond.
const SERIALIZATION: Nanoseconds = MS;
const RTT: Nanoseconds = 40 * MS;
/// Segments in flight that fill the path without a queue.
const BDP: u64 = 40;

/// A sender with endless data over one bottleneck.
struct Path {
    bbr: Bbr,
    window: Window,
    delivery: DeliveryRate,
    board: Scoreboard,
    now: Nanoseconds,
    next: u64,
    /// Time of the next release by the pacer.
    release: Nanoseconds,
    link_free: Nanoseconds,
    /// Times of the ACKs of the segments in flight, with their sending times.
    acks: std::collections::VecDeque<(Nanoseconds, Nanoseconds)>,
    acked: u64,
    repair: Repair,
    lost: u64,
}

impl Path {
    fn new(seed: u64) -> Self {
        let mut stack = stack();
        stack.congestion = Congestion::Bbr;
        stack.initial_window = crate::stack::InitialWindow::Segments(10);
        let window = Window::new(&stack, MSS as u32);
        let mut bbr = Bbr::new(MSS, window.initial(), Random::new(seed, 0));
        bbr.begin(Some(RTT), window.cwnd, 0);
        Path {
            bbr,
            window,
            delivery: DeliveryRate::default(),
            board: Scoreboard::new(Some(MSS)),
            now: 0,
            next: 0,
            release: 0,
            link_free: 0,
            acks: std::collections::VecDeque::new(),
            acked: 0,
            repair: Repair::Open,
            lost: 0,
        }
    }

    fn flight(&self) -> u64 {
        self.board.pipe() / MSS
    }

    fn send(&mut self) {
        let snapshot = self.delivery.sent(self.board.segments() == 0, self.now);
        let start = 1 + self.next * MSS;
        self.board.send(start, start + MSS, snapshot, self.now);
        self.next += 1;
        self.link_free = self.link_free.max(self.now) + SERIALIZATION;
        self.acks
            .push_back((self.link_free + RTT - SERIALIZATION, self.now));
        let rate = self.bbr.pace().rate.unwrap();
        self.release = self.release.max(self.now) + MSS * 1_000_000_000 / rate;
    }

    fn receive(&mut self, sent: Nanoseconds) {
        let before = self.board.pipe();
        self.acked += 1;
        let ack = 1 + self.acked * MSS;
        let delivered = self.board.receive(ack, std::iter::empty());
        let ack = Ack {
            delivered: delivered.weight,
            lost: std::mem::take(&mut self.lost) * MSS,
            flights: [before, self.board.pipe()],
            rtt: Some(self.now - sent),
            smoothed_rtt: Some(self.now - sent),
            sample: self.delivery.on_ack(&delivered, self.now),
            repair: self.repair,
            next_release: self.release,
            now: self.now,
        };
        self.bbr.on_ack(&ack, &mut self.delivery, &mut self.window);
    }

    /// Run until this time, and return each new state with its time.
    fn run_until(&mut self, end: Nanoseconds) -> Vec<(Nanoseconds, Mode)> {
        let mut states = Vec::new();
        loop {
            let ack = self.acks.front().map(|(at, _)| *at);
            let has_room = self.board.pipe() < self.window.cwnd;
            let release = has_room.then(|| self.release.max(self.now));
            let Some(next) = ack.into_iter().chain(release).min() else {
                return states;
            };
            if next > end {
                return states;
            }
            self.now = next;
            let before = self.bbr.mode();
            if ack == Some(next) {
                let (_, sent) = self.acks.pop_front().unwrap();
                self.receive(sent);
            } else {
                self.send();
            }
            if self.bbr.mode() != before {
                states.push((self.now, self.bbr.mode()));
            }
        }
    }
}

/// Return the number of the phase that this state is.
fn phase(mode: Mode) -> Option<usize> {
    match mode {
        Mode::ProbeBw { phase, .. } => Some(phase),
        _ => None,
    }
}

#[test]
fn startup_doubles_the_rate_per_round_trip_until_three_of_them_bring_no_growth() {
    let mut path = Path::new(1);
    path.run_until(RTT);
    let first = path.bbr.pace().rate.unwrap();
    // 2.885 initial windows per RTT, less 1 %.
    assert_eq!(first, 10_000 * 25 * 2885 / 1000 / 100 * 99);
    let states = path.run_until(1000 * MS);
    let (at, mode) = states[0];
    assert_eq!(mode, Mode::Drain);
    // Two round trips to the bandwidth of the path and three more, each longer by the queue.
    assert!((6 * RTT..12 * RTT).contains(&at), "{at}");
}

#[test]
fn drain_empties_the_queue_before_probe_bw() {
    let mut path = Path::new(1);
    let states = path.run_until(1000 * MS);
    let (entered, _) = states[1];
    assert!(phase(states[1].1).is_some());
    let mut path = Path::new(1);
    path.run_until(entered);
    // The path, and three quanta of two segments.
    assert!(
        (BDP - 2..=BDP + 9).contains(&path.flight()),
        "{}",
        path.flight()
    );
    assert_eq!(path.window.ssthresh, (BDP + 6) * MSS);
}

#[test]
fn probe_bw_keeps_the_window_at_two_bdp_and_the_flight_near_one() {
    let mut path = Path::new(1);
    path.run_until(2000 * MS);
    for at in 2000..6000 {
        path.run_until(at * MS);
        // Two BDP of up to 41 segments, three quanta, and two segments while probing.
        assert!(
            path.window.cwnd <= (2 * 41 + 6 + 2 + 2) * MSS,
            "{}",
            path.window.cwnd
        );
        assert!(
            (BDP * 3 / 4..=BDP * 5 / 4 + 9).contains(&path.flight()),
            "{}",
            path.flight()
        );
    }
}

#[test]
fn a_cycle_of_probe_bw_has_eight_phases_of_a_round_trip_at_most_one_of_them_short() {
    let mut path = Path::new(3);
    path.run_until(1500 * MS);
    let states = path.run_until(5000 * MS);
    let phases: Vec<usize> = states.iter().filter_map(|(_, mode)| phase(*mode)).collect();
    for pair in phases.windows(2) {
        assert_eq!(pair[1], (pair[0] + 1) % 8);
    }
    let starts: Vec<Nanoseconds> = states
        .iter()
        .filter(|(_, mode)| phase(*mode) == Some(0))
        .map(|(at, _)| *at)
        .collect();
    for pair in starts.windows(2) {
        let cycle = pair[1] - pair[0];
        assert!((7 * RTT..=10 * RTT).contains(&cycle), "{cycle}");
    }
}

#[test]
fn the_first_phase_is_random_and_never_the_draining_one() {
    let firsts: std::collections::BTreeSet<usize> = (0..64)
        .filter_map(|seed| {
            let states = Path::new(seed).run_until(1500 * MS);
            states.iter().find_map(|(_, mode)| phase(*mode))
        })
        .collect();
    assert_eq!(
        firsts.into_iter().collect::<Vec<_>>(),
        [0, 2, 3, 4, 5, 6, 7]
    );
}

#[test]
fn probe_rtt_comes_after_ten_seconds_and_holds_four_segments_for_200_ms() {
    let mut path = Path::new(1);
    let states = path.run_until(12_000 * MS);
    let probing: Vec<_> = states
        .iter()
        .filter(|(_, mode)| matches!(mode, Mode::ProbeRtt { .. }))
        .collect();
    let (entered, _) = probing[0];
    assert!((10_000 * MS..10_800 * MS).contains(entered), "{entered}");
    let (left, _) = states
        .iter()
        .find(|(at, mode)| at > entered && phase(*mode).is_some())
        .unwrap();
    let mut path = Path::new(1);
    path.run_until(left - MS);
    assert!(path.window.cwnd == 4 * MSS && path.flight() <= 4);
    assert!(
        (200 * MS..320 * MS).contains(&(left - entered)),
        "{}",
        left - entered
    );
    // The window before it is back at once.
    path.run_until(*left);
    assert!(path.window.cwnd > 2 * BDP * MSS);
}

#[test]
fn a_loss_conserves_packets_for_a_round_trip_and_gives_the_window_back() {
    let mut path = Path::new(1);
    path.run_until(2000 * MS);
    let before = path.window.cwnd;
    let rate = path.bbr.pace().rate.unwrap();
    path.repair = Repair::FastRecovery;
    path.lost = 1;
    path.run_until(2002 * MS);
    // In flight, and what the ACK delivered.
    assert!(path.window.cwnd < before && path.window.cwnd >= (path.flight()) * MSS);
    path.run_until(2000 * MS + RTT / 2);
    path.repair = Repair::Open;
    path.run_until(2002 * MS + RTT / 2);
    assert!(path.window.cwnd >= before - 4 * MSS);
    let after = path.bbr.pace().rate.unwrap();
    assert!(after * 10 >= rate * 6, "{rate} {after}");
}

#[test]
fn a_timeout_restarts_from_one_segment_and_its_end_gives_the_window_back() {
    let mut path = Path::new(1);
    path.run_until(2000 * MS);
    let before = path.window.cwnd;
    path.bbr.on_timeout(before);
    path.window.cwnd = MSS;
    path.repair = Repair::Timeout;
    path.run_until(2010 * MS);
    assert!(path.window.cwnd < before / 2);
    path.repair = Repair::Open;
    path.run_until(2012 * MS);
    assert!(path.window.cwnd >= before);
}

#[test]
fn after_an_idle_time_probe_bw_paces_at_the_estimated_bandwidth() {
    let mut path = Path::new(1);
    path.run_until(2000 * MS);
    path.bbr.restart(&mut path.window, 5000 * MS);
    let rate = path.bbr.pace().rate.unwrap();
    assert!((980_000..=1_000_000).contains(&rate), "{rate}");
}

#[test]
fn without_sack_a_loss_is_repaired_and_gives_the_window_back() {
    let mut server = stack();
    server.congestion = Congestion::Bbr;
    server.initial_window = crate::stack::InitialWindow::Segments(10);
    let mut client = stack();
    client.acks.every = 1;
    client.acks.counts_segments = true;
    client.receive_buffer = 65_535;
    let mut pair = Pair::connected(client, server);
    pair.lost = vec![25];
    pair.write(1, 300_000);
    pair.run_until(3000 * MS);
    assert_eq!(pair.received(), 300_000);
    let reasons: Vec<_> = pair
        .data()
        .filter(|sent| sent.reason != crate::truth::SendReason::New)
        .map(|sent| sent.reason)
        .collect();
    assert_eq!(reasons, [crate::truth::SendReason::FastRetransmit]);
    let window = &pair.ends[1].sender().window;
    assert!(window.cwnd >= 40 * 1460, "{}", window.cwnd);
}
