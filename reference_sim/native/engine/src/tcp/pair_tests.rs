//! Two ends joined by a pipe with a delay: their combined behaviour.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::segment::{flags, Ecn, Segment};
use crate::stack::*;
use crate::tcp::{Connection, Event};
use crate::truth::{Limit, SendReason};

pub(super) const MS: Nanoseconds = 1_000_000;
/// Default one-way delay.
const DELAY: Nanoseconds = 50 * MS;

pub fn stack() -> Stack {
    Stack {
        name: "test".into(),
        mss: 1460,
        mss_option: true,
        window_scale: None,
        timestamps: false,
        sack: false,
        receive_buffer: 32_768,
        receive_autotuning: false,
        send_buffer: 65_536,
        max_window_segments: None,
        congestion: Congestion::Newreno,
        slow_start: SlowStart::Standard,
        initial_window: InitialWindow::Segments(1),
        initial_ssthresh_segments: None,
        handshake_ack_opens_window: false,
        acks: AckPolicy {
            every: 2,
            counts_segments: false,
            delay: AckDelay::Timer { delay_ns: 200 * MS },
            at_once_bytes: 0,
            at_once_after_loss: false,
            quick_acks: None,
            on_push: false,
        },
        nagle: Nagle::Bsd,
        retransmission: Retransmission {
            initial_ns: 3000 * MS,
            min_ns: 1000 * MS,
            max_ns: 64_000 * MS,
            min_is_spread: false,
            tick_ns: 0,
            on_ticks: false,
            duplicate_ack_threshold: 3,
            times_acks: false,
            fixed_point: false,
            fast_retransmit_backs_off: false,
            syn_initial_ns: 3000 * MS,
            max_retries: 12,
        },
        tail_loss_probe: false,
        window_in_segments: false,
        limited_transmit: false,
        idle_restart: IdleRestart::Reset,
        restart_cap_segments: None,
        ecn: false,
        rate_pacing: false,
        data_on_handshake_ack: false,
        upcall_before_ack: false,
        upcall_opens_before_ack: false,
        write_step_bytes: None,
        writer_wakes: WriterWakes::Any,
        fin_with_data: true,
        fin_on_bare_acks: false,
        accelerated_open: false,
        fast_open: false,
        sharing: Sharing::None,
        ages_shared_state: false,
        expects_delayed_acks: false,
        time_wait_ns: 0,
    }
}

/// A sent segment: its sender (0: the client), its time and its reason.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub by: usize,
    pub time: Nanoseconds,
    pub segment: Segment,
    pub reason: SendReason,
}

pub struct Pair {
    pub ends: [Connection; 2],
    pub now: Nanoseconds,
    /// One-way delay of each direction.
    pub delay: Nanoseconds,
    wire: VecDeque<Sent>,
    pub log: Vec<Sent>,
    pub events: Vec<(usize, Event)>,
    /// Lost data segments of the server, counted from 0.
    pub lost: Vec<usize>,
    /// Marked data segments of the server, counted from 0.
    pub marked: Vec<usize>,
    data_segments: usize,
    to_write: u64,
}

impl Pair {
    pub fn new(client: Stack, server: Stack) -> Self {
        let ends = [
            Connection::connect(&Arc::new(client)),
            Connection::accept(&Arc::new(server)),
        ];
        Pair {
            ends,
            now: 0,
            delay: DELAY,
            wire: VecDeque::new(),
            log: Vec::new(),
            events: Vec::new(),
            lost: Vec::new(),
            marked: Vec::new(),
            data_segments: 0,
            to_write: 0,
        }
    }

    pub fn pump(&mut self, by: usize) {
        while let Some((mut segment, reason)) = self.ends[by].transmit(self.now) {
            let is_data = by == 1 && segment.payload > 0;
            if is_data && self.marked.contains(&self.data_segments) {
                segment.ecn = Ecn::Congested;
            }
            let sent = Sent {
                by,
                time: self.now,
                segment,
                reason,
            };
            self.log.push(sent);
            let is_lost = is_data && self.lost.contains(&self.data_segments);
            self.data_segments += usize::from(is_data);
            if !is_lost {
                self.wire.push_back(sent);
            }
        }
        while let Some(event) = self.ends[by].event() {
            self.events.push((by, event));
        }
    }

    pub fn write(&mut self, by: usize, bytes: u64) {
        self.to_write = bytes;
        self.write_on(by);
    }

    fn write_on(&mut self, by: usize) {
        while self.to_write > 0 {
            let taken = self.ends[by].write(self.to_write, self.now);
            self.to_write -= taken;
            self.pump(by);
            if taken == 0 {
                break;
            }
        }
    }

    pub fn run_until(&mut self, end: Nanoseconds) {
        loop {
            let arrival = self.wire.front().map(|sent| sent.time + self.delay);
            let timers = self.ends.iter().filter_map(Connection::deadline);
            let Some(next) = arrival
                .into_iter()
                .chain(timers)
                .min()
                .filter(|time| *time <= end)
            else {
                break;
            };
            self.now = next;
            if arrival == Some(next) {
                let sent = self.wire.pop_front().unwrap();
                self.ends[1 - sent.by].receive(&sent.segment, next);
                self.pump(1 - sent.by);
                self.write_on(1);
            } else {
                for by in 0..2 {
                    self.ends[by].timeout(next);
                    self.pump(by);
                }
            }
        }
        self.now = end;
    }

    pub fn connected(client: Stack, server: Stack) -> Self {
        let mut pair = Pair::new(client, server);
        pair.pump(0);
        pair.run_until(500 * MS);
        pair
    }

    pub fn received(&self) -> u64 {
        self.events
            .iter()
            .filter_map(|(by, event)| match event {
                Event::Readable(offset) if *by == 0 => Some(offset - 1),
                _ => None,
            })
            .max()
            .unwrap_or(0)
    }

    pub fn data(&self) -> impl Iterator<Item = &Sent> {
        self.log
            .iter()
            .filter(|sent| sent.by == 1 && sent.segment.payload > 0)
    }
}

#[test]
fn a_handshake_takes_three_segments_and_connects_both() {
    let pair = Pair::connected(stack(), stack());
    let flags: Vec<u16> = pair.log.iter().map(|sent| sent.segment.flags).collect();
    assert_eq!(flags, [flags::SYN, flags::SYN | flags::ACK, flags::ACK]);
    assert_eq!(pair.events, [(0, Event::Connected), (1, Event::Connected)]);
}

#[test]
fn slow_start_doubles_the_flight_each_round_trip() {
    let mut at_once = stack();
    at_once.acks.every = 1;
    at_once.acks.counts_segments = true;
    let mut pair = Pair::connected(at_once, stack());
    pair.write(1, 15 * 1460);
    pair.run_until(1000 * MS);
    let times: Vec<Nanoseconds> = pair.data().map(|sent| sent.time / MS).collect();
    assert_eq!(times.iter().filter(|time| **time == 500).count(), 1);
    assert_eq!(times.iter().filter(|time| **time == 600).count(), 2);
    assert_eq!(times.iter().filter(|time| **time == 700).count(), 4);
    assert_eq!(times.iter().filter(|time| **time == 800).count(), 8);
    assert_eq!(pair.received(), 15 * 1460);
}

#[test]
fn the_first_segment_of_a_window_of_one_waits_for_the_delayed_ack() {
    let mut pair = Pair::connected(stack(), stack());
    pair.write(1, 2 * 1460);
    pair.run_until(2000 * MS);
    let times: Vec<Nanoseconds> = pair.data().map(|sent| sent.time / MS).collect();
    assert_eq!(times, [500, 800]);
}

#[test]
fn nagle_delays_a_short_tail_until_the_flight_is_acknowledged() {
    let mut server = stack();
    server.initial_window = InitialWindow::Segments(4);
    let mut pair = Pair::connected(stack(), server);
    pair.write(1, 226);
    pair.write(1, 700);
    pair.run_until(2000 * MS);
    let data: Vec<(Nanoseconds, u32)> = pair
        .data()
        .map(|sent| (sent.time / MS, sent.segment.payload))
        .collect();
    assert_eq!(data, [(500, 226), (800, 700)]);
}

#[test]
fn three_duplicates_retransmit_a_segment_before_its_timeout() {
    for congestion in [Congestion::Tahoe, Congestion::Reno, Congestion::Newreno] {
        let mut server = stack();
        server.congestion = congestion;
        server.initial_window = InitialWindow::Segments(10);
        let mut pair = Pair::connected(stack(), server);
        pair.lost = vec![2];
        pair.write(1, 20 * 1460);
        pair.run_until(30_000 * MS);
        assert_eq!(pair.received(), 20 * 1460, "{congestion:?}");
        let again: Vec<&Sent> = pair
            .data()
            .filter(|sent| sent.reason == SendReason::FastRetransmit)
            .collect();
        assert_eq!(again.len(), 1, "{congestion:?}");
        assert_eq!(again[0].segment.seq, 1 + 2 * 1460);
        assert!(pair
            .data()
            .all(|sent| sent.reason != SendReason::RetransmissionTimeout
                || congestion == Congestion::Tahoe));
    }
}

#[test]
fn newreno_repairs_every_loss_of_a_window_on_partial_acks() {
    let mut server = stack();
    server.initial_window = InitialWindow::Segments(10);
    let mut pair = Pair::connected(stack(), server);
    pair.lost = vec![1, 3, 5];
    pair.write(1, 20 * 1460);
    pair.run_until(30_000 * MS);
    assert_eq!(pair.received(), 20 * 1460);
    assert!(pair
        .data()
        .all(|sent| sent.reason != SendReason::RetransmissionTimeout));
}

#[test]
fn a_receive_window_can_limit_in_fast_recovery_too() {
    let (mut client, mut server) = (stack(), stack());
    client.receive_buffer = 6 * 1460;
    server.congestion = Congestion::FixedWindow;
    let mut pair = Pair::connected(client, server);
    pair.lost = vec![1];
    pair.write(1, 20 * 1460);
    pair.run_until(620 * MS);
    let again = |sent: &Sent| sent.reason == SendReason::FastRetransmit;
    assert!(pair.data().any(again));
    assert_eq!(pair.ends[1].limit(), Limit::ReceiveWindow);
}

#[test]
fn a_rest_that_fits_the_receive_window_waits_for_the_congestion_window() {
    for (rest, limit) in [(500, Limit::SlowStart), (1460, Limit::ReceiveWindow)] {
        let (mut client, mut server) = (stack(), stack());
        client.receive_buffer = 2 * 1460 + 1000;
        server.initial_window = InitialWindow::Segments(2);
        let mut pair = Pair::connected(client, server);
        pair.write(1, 2 * 1460 + rest);
        assert_eq!(pair.ends[1].limit(), limit);
    }
}

#[test]
fn a_lost_tail_waits_for_the_retransmission_timer() {
    let mut server = stack();
    server.initial_window = InitialWindow::Segments(4);
    let mut pair = Pair::connected(stack(), server);
    pair.lost = vec![3];
    pair.write(1, 4 * 1460);
    pair.run_until(30_000 * MS);
    assert_eq!(pair.received(), 4 * 1460);
    assert_eq!(
        pair.data().last().map(|sent| sent.reason),
        Some(SendReason::RetransmissionTimeout)
    );
}

#[test]
fn both_ends_close_after_each_fin_is_acknowledged() {
    let mut pair = Pair::connected(stack(), stack());
    pair.write(1, 100);
    pair.ends[1].close(pair.now);
    pair.pump(1);
    pair.run_until(2000 * MS);
    assert!(pair.events.contains(&(0, Event::PeerClosed)));
    pair.ends[0].close(pair.now);
    pair.pump(0);
    pair.run_until(4000 * MS);
    assert!(pair.ends.iter().all(Connection::is_closed));
    assert!(pair.ends.iter().all(|end| end.deadline().is_none()));
}

#[test]
fn a_full_send_buffer_stops_the_writer_until_an_ack_makes_room() {
    let mut server = stack();
    server.send_buffer = 4096;
    server.initial_window = InitialWindow::Segments(10);
    let mut pair = Pair::connected(stack(), server);
    pair.write(1, 20_000);
    assert_eq!(pair.to_write, 20_000 - 4096);
    pair.run_until(30_000 * MS);
    assert_eq!(pair.received(), 20_000);
}

#[test]
fn a_closed_window_is_probed_and_opens_when_the_client_reads_again() {
    let mut pair = Pair::connected(stack(), stack());
    pair.ends[0].set_reading(false, pair.now);
    pair.write(1, 60_000);
    pair.run_until(20_000 * MS);
    assert!(pair
        .data()
        .any(|sent| sent.reason == SendReason::WindowProbe));
    assert_eq!(pair.received(), 32_768);
    pair.ends[0].set_reading(true, pair.now);
    pair.pump(0);
    pair.run_until(90_000 * MS);
    assert_eq!(pair.received(), 60_000);
}

#[test]
fn a_bulk_transfer_survives_any_pattern_of_losses() {
    for pattern in 0..200_usize {
        let mut server = stack();
        server.congestion = [Congestion::Tahoe, Congestion::Reno, Congestion::Newreno][pattern % 3];
        server.initial_window = InitialWindow::Segments(1 + pattern as u32 % 10);
        let mut pair = Pair::connected(stack(), server);
        pair.lost = (0..60)
            .filter(|number| (number * 7919 + pattern * 104_729) % 11 < 2)
            .collect();
        pair.write(1, 60_000);
        pair.ends[1].close(pair.now);
        pair.run_until(4_000_000 * MS);
        assert_eq!(pair.received(), 60_000, "pattern {pattern}");
    }
}
