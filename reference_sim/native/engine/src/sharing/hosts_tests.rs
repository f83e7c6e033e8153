//! Transfers from one host to another over a bottleneck, as in Eggert 1999, section 4. The bottleneck has 800
//! kb/s and 50 ms one-way delay. Segments have 512 bytes and are each acknowledged.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use super::hosts::{Ends, Hosts};
use super::HostPair;
use crate::app::End;
use crate::segment::{flags, Segment};
use crate::stack::*;
use crate::tcp::pair_tests::stack;
use crate::tcp::{Connection, Event};
use crate::truth::{SendReason, Side};

const MS: Nanoseconds = 1_000_000;
const DELAY: Nanoseconds = 50 * MS;
const NS_PER_BYTE: Nanoseconds = 10_000;
const MSS: u64 = 512;

/// A transfer and its outcome.
struct Transfer {
    bytes: u64,
    /// The client's end and the server's end.
    ends: [Option<Connection>; 2],
    written: u64,
    received: u64,
    finished: Option<Nanoseconds>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Sent {
    connection: usize,
    time: Nanoseconds,
    segment: Segment,
    reason: SendReason,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum AppEvent {
    Open(usize),
    Arrives {
        connection: usize,
        to: usize,
        sent: usize,
    },
    Timer,
}

struct Transfers(Vec<Transfer>);

impl Ends for Transfers {
    fn tcp(&mut self, at: End) -> Option<&mut Connection> {
        let side = usize::from(at.side == Side::Server);
        self.0[at.connection as usize].ends[side].as_mut()
    }
}

struct Net {
    server: Arc<Stack>,
    client: Arc<Stack>,
    hosts: Hosts,
    transfers: Transfers,
    events: BinaryHeap<Reverse<(Nanoseconds, u64, AppEvent)>>,
    counter: u64,
    now: Nanoseconds,
    /// Time at which the bottleneck has sent all its packets.
    busy_until: Nanoseconds,
    queue_limit: u64,
    /// Packets from the server, dropped ones included, and packets from the client.
    log: [Vec<Sent>; 2],
    drops: u64,
}

fn server_stack(sharing: Sharing) -> Stack {
    Stack {
        mss: MSS as u32,
        receive_buffer: 1 << 20,
        send_buffer: 1 << 20,
        congestion: Congestion::Reno,
        // Every segment is acknowledged at once.
        acks: AckPolicy {
            every: 1,
            counts_segments: true,
            ..stack().acks
        },
        // With windows above 65535 bytes, only the congestion window limits.
        window_scale: Some(8),
        idle_restart: IdleRestart::Pace,
        sharing,
        ..stack()
    }
}

impl Net {
    /// Create transfers from start times and packet counts.
    fn new(server: Stack, queue_limit: u64, transfers: &[(Nanoseconds, u64)]) -> Self {
        let of = |(_, packets): &(Nanoseconds, u64)| Transfer {
            bytes: packets * MSS,
            ends: [None, None],
            written: 0,
            received: 0,
            finished: None,
        };
        let mut net = Net {
            client: Arc::new(server_stack(Sharing::None)),
            server: Arc::new(server),
            hosts: Hosts::default(),
            transfers: Transfers(transfers.iter().map(of).collect()),
            events: BinaryHeap::new(),
            counter: 0,
            now: 0,
            busy_until: 0,
            queue_limit,
            log: [Vec::new(), Vec::new()],
            drops: 0,
        };
        for (number, (start, _)) in transfers.iter().enumerate() {
            net.plan(*start, AppEvent::Open(number));
        }
        net
    }

    fn plan(&mut self, time: Nanoseconds, what: AppEvent) {
        self.counter += 1;
        self.events.push(Reverse((time, self.counter, what)));
    }

    fn run(mut self) -> Self {
        while self.step() {
            assert!(self.now < 600_000 * MS, "it does not end");
        }
        self
    }

    fn step(&mut self) -> bool {
        let Some(Reverse((time, _, what))) = self.events.pop() else {
            return false;
        };
        self.now = time;
        match what {
            AppEvent::Open(number) => {
                let tcp = Connection::connect(&self.client);
                self.transfers.0[number].ends[0] = Some(tcp);
                self.drive(number, 0);
            }
            AppEvent::Arrives {
                connection,
                to,
                sent,
            } => {
                let segment = self.log[1 - to][sent].segment;
                self.arrive(connection, to, &segment);
            }
            AppEvent::Timer => self.timers(),
        }
        true
    }

    fn arrive(&mut self, number: usize, to: usize, segment: &Segment) {
        let at = end(number, to);
        if to == 1 && self.transfers.0[number].ends[1].is_none() {
            self.transfers.0[number].ends[1] = Some(Connection::accept(&self.server));
            let pair = HostPair {
                local: 1,
                remote: 0,
            };
            self.hosts
                .opened(at, pair, Some(segment), self.now, &mut self.transfers);
        }
        let ack = segment.has(flags::ACK).then_some(segment.ack);
        let before = self.hosts.before(at, ack, self.now, &mut self.transfers);
        let Some(tcp) = self.transfers.tcp(at) else {
            return;
        };
        tcp.receive(segment, self.now);
        if let Some(before) = before {
            self.hosts.after(at, &before, self.now, &mut self.transfers);
        }
        self.drive(number, to);
    }

    fn timers(&mut self) {
        for number in 0..self.transfers.0.len() {
            for side in 0..2 {
                let at = end(number, side);
                let now = self.now;
                let deadline = self.transfers.tcp(at).and_then(|tcp| tcp.deadline());
                if deadline.is_none_or(|deadline| deadline > now) {
                    continue;
                }
                let before = self.hosts.before(at, None, self.now, &mut self.transfers);
                self.transfers.tcp(at).unwrap().timeout(now);
                if let Some(before) = before {
                    self.hosts.after(at, &before, now, &mut self.transfers);
                }
                self.drive(number, side);
            }
        }
    }

    fn drive(&mut self, number: usize, side: usize) {
        let at = end(number, side);
        loop {
            self.flush(at);
            let Some(event) = self.transfers.tcp(at).and_then(Connection::event) else {
                break;
            };
            self.tell(number, side, event);
        }
        for transfer in 0..self.transfers.0.len() {
            for side in 0..2 {
                let tcp = self.transfers.tcp(end(transfer, side));
                if let Some(deadline) = tcp.and_then(|tcp| tcp.deadline()) {
                    self.plan_timer(deadline.max(self.now));
                }
            }
        }
    }

    fn plan_timer(&mut self, time: Nanoseconds) {
        let is_planned = |Reverse((at, _, what)): &Reverse<(Nanoseconds, u64, AppEvent)>| {
            *at == time && *what == AppEvent::Timer
        };
        if !self.events.iter().any(is_planned) {
            self.plan(time, AppEvent::Timer);
        }
    }

    fn flush(&mut self, at: End) {
        loop {
            let sent = if self.hosts.has(at) {
                self.hosts.transmit(at, self.now, &mut self.transfers)
            } else {
                let tcp = self.transfers.tcp(at);
                tcp.and_then(|tcp| tcp.transmit(self.now))
                    .map(|(segment, reason)| (at, segment, reason))
            };
            let Some((from, segment, reason)) = sent else {
                break;
            };
            self.send(from, segment, reason);
        }
    }

    fn send(&mut self, from: End, segment: Segment, reason: SendReason) {
        let side = usize::from(from.side == Side::Server);
        let sent = Sent {
            connection: from.connection as usize,
            time: self.now,
            segment,
            reason,
        };
        self.log[side].push(sent);
        let mut arrival = self.now + DELAY;
        if side == 1 {
            let time = u64::from(segment.packet_bytes()) * NS_PER_BYTE;
            let waiting = self.busy_until.saturating_sub(self.now) / time.max(1);
            if segment.payload > 0 && waiting > self.queue_limit {
                self.drops += 1;
                return;
            }
            self.busy_until = self.busy_until.max(self.now) + time;
            arrival = self.busy_until + DELAY;
        }
        let sent = self.log[side].len() - 1;
        self.plan(
            arrival,
            AppEvent::Arrives {
                connection: from.connection as usize,
                to: 1 - side,
                sent,
            },
        );
    }

    fn tell(&mut self, number: usize, side: usize, event: Event) {
        let at = end(number, side);
        let now = self.now;
        match (event, side) {
            (Event::Connected, 1) => {
                let bytes = self.transfers.0[number].bytes;
                let tcp = self.transfers.tcp(at).unwrap();
                let taken = tcp.write(bytes, now);
                assert_eq!(taken, bytes);
                tcp.close(now);
                self.transfers.0[number].written = taken;
            }
            (Event::Readable(to), 0) => {
                let transfer = &mut self.transfers.0[number];
                transfer.received = to - 1;
                if transfer.received == transfer.bytes {
                    transfer.finished = Some(now);
                }
            }
            (Event::PeerClosed, 0) => self.transfers.tcp(at).unwrap().close(now),
            (Event::Closed | Event::Failed, 1) => {
                self.hosts.closed(at, self.now, &mut self.transfers);
            }
            _ => {}
        }
    }

    /// Return the times at which the server sent data of a connection.
    fn data(&self, connection: usize) -> Vec<Nanoseconds> {
        self.log[1]
            .iter()
            .filter(|sent| sent.connection == connection && sent.segment.payload > 0)
            .map(|sent| sent.time)
            .collect()
    }

    /// Return the time from the server's first data to the client's last data.
    fn duration(&self, connection: usize) -> Nanoseconds {
        self.transfers.0[connection].finished.unwrap() - self.data(connection)[0]
    }

    /// Return the arrival time of the last data of all transfers.
    fn end(&self) -> Nanoseconds {
        let finished = |transfer: &Transfer| transfer.finished.unwrap();
        self.transfers.0.iter().map(finished).max().unwrap()
    }

    /// Return the time at which the first ACK of a connection's data reached the server.
    fn first_ack(&self, connection: usize) -> Nanoseconds {
        let is_first = |sent: &&Sent| sent.connection == connection && sent.segment.ack > 1;
        self.log[0].iter().find(is_first).unwrap().time + DELAY
    }

    /// Return the number of packets of each connection that the server sent in this period.
    fn shares(&self, from: Nanoseconds, to: Nanoseconds) -> Vec<usize> {
        (0..self.transfers.0.len())
            .map(|connection| {
                let data = self.data(connection);
                data.iter().filter(|time| (from..to).contains(time)).count()
            })
            .collect()
    }
}

fn end(number: usize, side: usize) -> End {
    End {
        connection: number as u32,
        side: if side == 0 {
            Side::Client
        } else {
            Side::Server
        },
    }
}

const UNLIMITED: u64 = u64::MAX;
const FAIR: Sharing = Sharing::Etcp(Scheduler::Fair);

/// Return a stack with a clock of 100 ms ticks, as in ns-2 at the time of the paper (`tcpTick_`).
fn with_coarse_clock(sharing: Sharing) -> Stack {
    let mut stack = server_stack(sharing);
    stack.retransmission.tick_ns = 100 * MS;
    stack.retransmission.on_ticks = true;
    stack
}

/// Return the time saved by a second transfer of `packets` packets, two seconds later.
fn saved(server: &Stack, packets: u64) -> (Nanoseconds, Net) {
    let transfers = [(0, packets), (2000 * MS, packets)];
    let net = Net::new(server.clone(), UNLIMITED, &transfers).run();
    (net.duration(0) - net.duration(1), net)
}

/// Claim E6 (Figure 3). The figure gives neither sizes nor clock. On ns-2's clock, a round trip of 105 ms
/// counts as two ticks. A few packets of a transfer are therefore paced before the first ACK. A transfer of
/// eight packets saves 0.19 s. Eight packets are the minimum for four round trips.
#[test]
fn the_second_transfer_is_paced_from_the_cached_window_and_saves_about_180_ms() {
    let (saved, net) = saved(&with_coarse_clock(FAIR), 8);
    assert!(saved.abs_diff(180 * MS) < 18 * MS, "{saved} ns");
    let paced: Vec<_> = net
        .data(1)
        .into_iter()
        .filter(|time| *time < net.first_ack(1))
        .collect();
    assert_eq!(paced.len(), 5);
    let gaps: Vec<_> = paced.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.iter().all(|gap| *gap == gaps[0]), "{gaps:?}");
    let afterwards = net.data(1).into_iter().skip(5);
    assert!(afterwards
        .into_iter()
        .all(|time| time == net.first_ack(1) || time > paced[4]));
}

#[test]
fn with_an_exact_clock_the_saving_is_between_a_round_trip_and_a_half_and_two_and_a_half() {
    for (packets, least, most) in [(7, 150, 160), (8, 235, 245), (15, 260, 270)] {
        let (saved, _) = saved(&server_stack(FAIR), packets);
        assert!(
            (least * MS..most * MS).contains(&saved),
            "{packets}: {saved}"
        );
    }
}

/// Claim E7 (Figure 4): starts at 0, 0.5 and 0.8 s.
#[test]
fn connections_share_the_window_equally_as_they_come_and_go() {
    let transfers = [(0, 350), (500 * MS, 140), (800 * MS, 25)];
    let net = Net::new(server_stack(FAIR), UNLIMITED, &transfers).run();
    let [second, third] = [1, 2].map(|connection| net.data(connection));
    let of = |times: &[Nanoseconds]| (times[0], *times.last().unwrap());
    let ((second_from, second_to), (third_from, third_to)) = (of(&second), of(&third));
    assert!(second_from < third_from && third_to < second_to);
    let alone = net.shares(0, second_from);
    assert!(alone[0] > 20 && alone[1..] == [0, 0], "{alone:?}");
    let equal = |shares: &[usize]| shares.iter().max().unwrap() - shares.iter().min().unwrap() <= 1;
    let two = net.shares(second_from, third_from);
    assert!(two[0] > 10 && equal(&two[..2]), "{two:?}");
    let three = net.shares(third_from, third_to);
    assert!(three[2] == 24 && equal(&three), "{three:?}");
    let two_again = net.shares(third_to + 1, second_to);
    assert!(two_again[0] > 5 && equal(&two_again[..2]), "{two_again:?}");
    let alone_again = net.shares(second_to + 1, 600_000 * MS);
    assert!(alone_again[0] > 10 && alone_again[1..] == [0, 0]);
}

/// Section 3.3: a connection that is the only member is "exactly as aggressive as a Reno one".
#[test]
fn an_ensemble_of_one_sends_as_a_connection_that_shares_nothing() {
    for queue_limit in [4, 10, UNLIMITED] {
        let logs = [Sharing::None, FAIR].map(|sharing| {
            let mut server = server_stack(sharing);
            server.congestion = Congestion::Newreno;
            let net = Net::new(server, queue_limit, &[(0, 300)]).run();
            assert_eq!(net.drops > 0, queue_limit != UNLIMITED);
            net.log[1]
                .iter()
                .map(|sent| (sent.time, sent.segment, sent.reason))
                .collect::<Vec<_>>()
        });
        assert_eq!(logs[0].len(), logs[1].len());
        for (own, shared) in logs[0].iter().zip(&logs[1]) {
            assert_eq!(own, shared, "queue of {queue_limit}");
        }
    }
}

/// Return a transfer of the text page: 29 kB of HTML and three concurrent images of 7 to 13 kB. The maximum
/// window of ns-2 is 20 segments.
fn text_page(sharing: Sharing, queue_limit: u64) -> Net {
    let page: Vec<_> = [58, 14, 20, 26].map(|packets| (0, packets)).into();
    let mut server = server_stack(sharing);
    server.max_window_segments = Some(20);
    Net::new(server, queue_limit, &page).run()
}

/// Claims E1 and E3 (sections 4.1 and 4.3). Without losses a bundle is faster by 2 to 26 %. A queue of 10
/// packets changes nothing for the ensemble. The bundle then takes more than twice as long because of its
/// losses.
#[test]
fn an_ensemble_is_slower_than_a_bundle_without_losses_and_faster_with_them() {
    let [model, short_queue] =
        [UNLIMITED, 10].map(|limit| [Sharing::None, FAIR].map(|it| text_page(it, limit)));
    let ratio = |[bundle, ensemble]: &[Net; 2]| ensemble.end() as f64 / bundle.end() as f64;
    assert!((1.02..1.26).contains(&ratio(&model)), "{}", ratio(&model));
    assert!(ratio(&short_queue) < 0.5, "{}", ratio(&short_queue));
    assert_eq!(short_queue[1].drops, 0);
    assert_eq!(short_queue[1].end(), model[1].end());
    let timeouts = short_queue[0].log[1]
        .iter()
        .filter(|sent| sent.reason == SendReason::RetransmissionTimeout);
    assert!(timeouts.count() > 0);
}

#[test]
fn no_sharing_without_a_congestion_window() {
    let page: Vec<_> = [30, 14].map(|packets| (0, packets)).into();
    let with = |sharing| {
        let mut server = server_stack(sharing);
        server.congestion = Congestion::FixedWindow;
        Net::new(server, 20, &page).run()
    };
    let alone = with(Sharing::None);
    for sharing in [FAIR, Sharing::Ensemble, Sharing::Temporal] {
        assert_eq!(with(sharing).log, alone.log, "{sharing:?}");
    }
}

#[test]
fn all_data_arrives_under_every_queue_and_scheduler() {
    let schedulers = [
        Scheduler::Fair,
        Scheduler::ContentDependent,
        Scheduler::TicketDecay,
        Scheduler::HtmlPre,
    ];
    let transfers: Vec<_> = (0..12)
        .map(|number| (number * 130 * MS, 5 + number * 7 % 40))
        .collect();
    for queue_limit in [1, 5, 20] {
        let sharings = schedulers.map(Sharing::Etcp);
        for sharing in
            sharings
                .into_iter()
                .chain([Sharing::Temporal, Sharing::Ensemble, Sharing::None])
        {
            let net = Net::new(server_stack(sharing), queue_limit, &transfers).run();
            for transfer in &net.transfers.0 {
                assert_eq!(transfer.received, transfer.bytes, "{sharing:?}");
            }
        }
    }
}

#[test]
fn temporal_sharing_starts_with_the_last_window() {
    let mut server = server_stack(Sharing::Temporal);
    server.idle_restart = IdleRestart::Keep;
    let net = Net::new(server, UNLIMITED, &[(0, 7), (2000 * MS, 8)]).run();
    let second = net.data(1);
    assert_eq!(second.len(), 8);
    assert!(second.iter().all(|time| *time == second[0]), "a burst");
}

#[test]
fn temporal_sharing_paces_if_the_stack_paces_after_idle_time() {
    let net = Net::new(
        server_stack(Sharing::Temporal),
        UNLIMITED,
        &[(0, 7), (2000 * MS, 8)],
    )
    .run();
    let second = net.data(1);
    let gaps: Vec<_> = second.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(
        gaps.iter().all(|gap| *gap == gaps[0] && *gap > 10 * MS),
        "{gaps:?}"
    );
}

#[test]
fn a_joining_connection_halves_the_open_ones_window() {
    let transfers = [(0, 100), (600 * MS, 100)];
    let mut net = Net::new(server_stack(Sharing::Ensemble), UNLIMITED, &transfers);
    let window = |net: &mut Net, number| {
        let tcp = net.transfers.tcp(end(number, 1));
        tcp.and_then(|tcp| tcp.path()).map(|path| path.cwnd)
    };
    let mut last = None;
    loop {
        let Some(Reverse((time, ..))) = net.events.peek().cloned() else {
            panic!("the second was never established");
        };
        if let Some(joined) = window(&mut net, 1) {
            assert_eq!(Some(joined), last.map(|alone: u64| alone / 2), "{time}");
            assert_eq!(window(&mut net, 0), Some(joined));
            break;
        }
        last = window(&mut net, 0);
        net.step();
    }
}
