//! The hosts: connections, and the applications' calls on them.
//!
//! Theory of operation. Whatever happens to an end of a connection (a segment, its timer, a call
//! of its application), the end is then driven: its segments go out, what it has to tell is kept
//! for its application, and its timer is planned. The applications' calls at one moment are
//! followed by one drive when all was told that is to be told, so that an answer made in no time
//! may carry the ACK; but before each `write` call, and (unless the stack lets the application act
//! before it sends, as in ns-2) before a `close`, what was written before goes out.
//!
//! Timers are lazy: an end has at most one useful event in the queue. It moves only forwards: when
//! it comes and the deadline is later by then, it is planned anew; an event that was overtaken by
//! an earlier one is told by its time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use trace_model::flags;

use crate::app::exchange::{Exchanges, Timeline};
use crate::app::{AppId, Content, End, Happening, Network};
use crate::endpoint::{Endpoint, PendingWrite};
use crate::event_queue::Event;
use crate::fabric::{of, of_mut, peer, Arrived, Fabric, Flow};
use crate::packet::Packet;
use crate::places::Places;
use crate::random::{element, Random};
use crate::route::Routes;
use crate::scenario::{Record, Scenario};
use crate::segment::Segment;
use crate::sharing::hosts::{Ends, Hosts};
use crate::sharing::stride::ContentKind;
use crate::sharing::HostPair;
use crate::slab::Slab;
use crate::stack::{Nanoseconds, Stack};
use crate::tcp::{Connection, Event as TcpEvent};
use crate::truth::{ConnectionRow, LimitRow, SendReason, Side, Truth, WindowRow};

/// The first of the dynamic ports (RFC 6335, section 6).
const FIRST_DYNAMIC_PORT: u16 = 49_152;

/// A connection with both its ends, as far as these exist.
#[derive(Debug)]
struct Pair {
    flow: Flow,
    ends: [Option<Endpoint>; 2],
    timeline: Timeline,
    /// Ends of the messages that each side writes, and their numbers.
    messages: [VecDeque<(u64, u64)>; 2],
}

#[derive(Clone, Copy, Debug)]
struct Listener {
    app: AppId,
    stack: u32,
}

/// What an application is to be told.
#[derive(Clone, Copy, Debug)]
pub enum Notice {
    Woken { token: u64 },
    Happened { at: End, what: Happening },
}

#[derive(Debug)]
pub struct World {
    fabric: Fabric,
    stacks: Vec<Arc<Stack>>,
    pairs: Slab<Pair>,
    places: Places,
    next_ports: Vec<u16>,
    listeners: BTreeMap<(u32, u16), Listener>,
    wakes: Slab<(AppId, u64)>,
    notices: VecDeque<(AppId, Notice)>,
    exchanges: Exchanges,
    /// Stands for that of a connection that is over: nobody reads it.
    spare_timeline: Timeline,
    /// Ends that their applications called.
    due: Vec<End>,
    randoms: Vec<Random>,
    sequence_numbers: Random,
    /// Whether a tap wants the bytes of streams.
    keeps_content: bool,
    /// What connections share, where their stacks do.
    hosts: Hosts,
    /// The first of the applications that transfer files.
    first_transfer: AppId,
}

/// How what is shared reaches the connections.
struct Reach<'world> {
    pairs: &'world mut Slab<Pair>,
    places: &'world Places,
}

impl Ends for Reach<'_> {
    fn tcp(&mut self, at: End) -> Option<&mut Connection> {
        let place = self.places.get(at.connection)?;
        let pair = self.pairs.get_mut(place)?;
        of_mut(&mut pair.ends, at.side)
            .as_mut()
            .map(|end| &mut end.tcp)
    }
}

impl World {
    /// The world of a valid scenario, for so many applications.
    #[must_use]
    pub fn new(scenario: &Scenario, applications: u32) -> Self {
        let random = |element| Random::new(scenario.seed, element);
        let routes = Routes::new(scenario.nodes.len(), &scenario.links);
        World {
            fabric: Fabric::new(scenario, routes, random),
            stacks: scenario.stacks.iter().cloned().map(Arc::new).collect(),
            pairs: Slab::default(),
            places: Places::default(),
            next_ports: vec![FIRST_DYNAMIC_PORT; scenario.nodes.len()],
            listeners: BTreeMap::new(),
            wakes: Slab::default(),
            notices: VecDeque::new(),
            exchanges: Exchanges::default(),
            spare_timeline: Timeline::default(),
            due: Vec::new(),
            randoms: (0..applications)
                .map(|number| random(element::application(number)))
                .collect(),
            sequence_numbers: random(element::SEQUENCE_NUMBERS),
            keeps_content: !scenario.taps.is_empty(),
            hosts: Hosts::default(),
            first_transfer: AppId(
                (scenario.servers.len() + scenario.proxies.len() + scenario.browsers.len()) as u32,
            ),
        }
    }

    #[must_use]
    pub fn next_time(&self) -> Option<Nanoseconds> {
        self.fabric.events.next_time()
    }

    /// Handles the next event.
    pub fn step(&mut self) {
        let Some((time, event)) = self.fabric.events.pop() else {
            return;
        };
        debug_assert!(time >= self.fabric.now, "time goes forwards");
        self.fabric.truth.events += 1;
        match event {
            Event::Arrival { packet } => {
                self.fabric.now = time;
                self.arrive(packet);
            }
            Event::Timer { end } => self.timer(end_of(end), time),
            Event::Write { end } => self.make_planned_write(end_of(end), time),
            Event::Wake { wake } => {
                if let Some((app, token)) = self.wakes.remove(wake) {
                    self.fabric.now = time;
                    self.notices.push_back((app, Notice::Woken { token }));
                }
            }
        }
    }

    /// The next thing that an application is to be told.
    pub fn notice(&mut self) -> Option<(AppId, Notice)> {
        self.notices.pop_front()
    }

    /// Drives the ends that their applications have called; whether there were any.
    pub fn drive_called(&mut self) -> bool {
        let mut due = std::mem::take(&mut self.due);
        let has_driven = !due.is_empty();
        for end in due.drain(..) {
            if let Some((_, pair)) = self.pair(end.connection) {
                if let Some(endpoint) = of_mut(&mut pair.ends, end.side) {
                    endpoint.is_due = false;
                }
            }
            self.drive(end);
        }
        // The vector is kept for its memory, unless driving has called for more.
        if self.due.is_empty() {
            self.due = due;
        }
        has_driven
    }

    /// Whether no connection is alive.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Time stops here, at the latest.
    pub fn advance_to(&mut self, time: Nanoseconds) {
        self.fabric.now = self.fabric.now.max(time);
    }

    #[must_use]
    pub fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// The most connections that were alive at once.
    #[must_use]
    pub fn most_connections(&self) -> usize {
        self.pairs.places()
    }

    /// The rows that are known only now.
    pub fn finish(&mut self) {
        self.fabric.finish();
        self.fabric.truth.end = self.fabric.now;
    }

    /// Truth and taps, once it is finished.
    pub fn into_fabric(self) -> Fabric {
        self.fabric
    }

    fn pair(&mut self, connection: u32) -> Option<(u32, &mut Pair)> {
        let place = self.places.get(connection)?;
        Some((place, self.pairs.get_mut(place)?))
    }

    fn end(&mut self, at: End) -> Option<&mut Endpoint> {
        let (_, pair) = self.pair(at.connection)?;
        of_mut(&mut pair.ends, at.side).as_mut()
    }

    fn endpoint(&self, at: End) -> Option<&Endpoint> {
        let place = self.places.get(at.connection)?;
        of(&self.pairs.get(place)?.ends, at.side).as_ref()
    }

    fn arrive(&mut self, number: u32) {
        let Some(place) = self.fabric.place_of(number) else {
            return;
        };
        let Some(pair) = self.pairs.get_mut(place) else {
            return;
        };
        let connection = pair.flow.connection;
        match self.fabric.arrive(number, &mut pair.flow) {
            Some(Arrived::There(packet)) => self.receive(place, &packet),
            Some(Arrived::Dropped) => self.settle(connection),
            Some(Arrived::PassedOn) | None => {}
        }
    }

    fn receive(&mut self, place: u32, packet: &Packet) {
        let side = peer(packet.side);
        let segment = &packet.segment;
        let Some(pair) = self.pairs.get_mut(place) else {
            return;
        };
        if segment.has(flags::ACK) {
            pair.flow.acknowledged(side, segment.ack);
        }
        if of(&pair.ends, side).is_none() {
            return self.knock(place, packet);
        }
        let at = End {
            connection: packet.connection,
            side,
        };
        self.take(at, segment);
        self.drive(at);
    }

    fn take(&mut self, at: End, segment: &Segment) {
        let now = self.fabric.now;
        let ack = segment.has(flags::ACK).then_some(segment.ack);
        self.act(at, ack, |tcp| tcp.receive(segment, now));
    }

    /// Something happens to an end that may move its windows.
    fn act(&mut self, at: End, ack: Option<u64>, happen: impl FnOnce(&mut Connection)) {
        let now = self.fabric.now;
        let mut ends = Reach {
            pairs: &mut self.pairs,
            places: &self.places,
        };
        let before = self.hosts.before(at, ack, &mut ends);
        if let Some(tcp) = ends.tcp(at) {
            happen(tcp);
        }
        if let Some(before) = before {
            self.hosts.after(at, &before, now, &mut ends);
        }
    }

    /// A new end shares what its stack shares with others of its pair of hosts.
    fn share(&mut self, at: End, syn: Option<&Segment>) {
        let now = self.fabric.now;
        let Some((_, pair)) = self.pair(at.connection) else {
            return;
        };
        let hosts = HostPair {
            local: *of(&pair.flow.nodes, at.side),
            remote: *of(&pair.flow.nodes, peer(at.side)),
        };
        let mut ends = Reach {
            pairs: &mut self.pairs,
            places: &self.places,
        };
        self.hosts.opened(at, hosts, syn, now, &mut ends);
    }

    /// A segment for a server that does not know the connection.
    fn knock(&mut self, place: u32, packet: &Packet) {
        let Some(pair) = self.pairs.get_mut(place) else {
            return;
        };
        let [_, node] = pair.flow.nodes;
        let [_, port] = pair.flow.ports;
        let listener = self.listeners.get(&(node, port)).copied();
        let stack = listener.and_then(|it| self.stacks.get(it.stack as usize));
        let at = End {
            connection: packet.connection,
            side: Side::Server,
        };
        let (Some(listener), Some(stack)) = (listener, stack) else {
            if !packet.segment.has(flags::RST) {
                let refusal = refusal(&packet.segment);
                self.fabric
                    .send(place, &mut pair.flow, at.side, refusal, SendReason::Reset);
            }
            return self.settle(at.connection);
        };
        let tcp = Connection::accept(stack);
        let [_, server] = &mut pair.ends;
        let [_, buffer] = &mut pair.flow.buffers;
        *buffer = stack.send_buffer;
        *server = Some(Endpoint::new(tcp, listener.app, stack));
        self.share(at, Some(&packet.segment));
        self.take(at, &packet.segment);
        self.drive(at);
    }

    fn timer(&mut self, at: End, time: Nanoseconds) {
        let Some(endpoint) = self.end(at) else {
            return;
        };
        if endpoint.timer != time {
            return;
        }
        endpoint.timer = Nanoseconds::MAX;
        match endpoint.tcp.deadline() {
            Some(deadline) if deadline <= time => {
                self.fabric.now = time;
                self.act(at, None, |tcp| tcp.timeout(time));
                self.drive(at);
            }
            _ => self.plan_timer(at),
        }
    }

    fn plan_timer(&mut self, at: End) {
        let now = self.fabric.now;
        let Some(endpoint) = self.end(at) else {
            return;
        };
        let Some(deadline) = endpoint.tcp.deadline() else {
            return;
        };
        if deadline < endpoint.timer {
            endpoint.timer = deadline.max(now);
            let event = Event::Timer {
                end: end_number(at),
            };
            self.fabric.events.push(deadline.max(now), event);
        }
    }

    /// Sends what may go, tells what is to be told, plans the timer.
    fn drive(&mut self, at: End) {
        let Some(endpoint) = self.end(at) else {
            return;
        };
        if endpoint.tcp.tells_before_sending() && self.tell(at) {
            // The application answers first; it is driven then.
            return self.call(at);
        }
        self.transmit(at);
        while self.tell(at) {
            self.transmit(at);
        }
        self.note_state(at);
        self.plan_timer(at);
        for other in self.hosts.group(at).to_vec() {
            if other != at {
                self.note_state(other);
                self.plan_timer(other);
            }
        }
        self.settle(at.connection);
    }

    /// To be driven when the application returns.
    fn call(&mut self, at: End) {
        let Some(endpoint) = self.end(at) else {
            return;
        };
        if !std::mem::replace(&mut endpoint.is_due, true) {
            self.due.push(at);
        }
    }

    fn transmit(&mut self, at: End) {
        if self.hosts.has(at) {
            return self.transmit_of_group(at);
        }
        let now = self.fabric.now;
        let Some(place) = self.places.get(at.connection) else {
            return;
        };
        let Some(pair) = self.pairs.get_mut(place) else {
            return;
        };
        let Some(endpoint) = of_mut(&mut pair.ends, at.side) else {
            return;
        };
        endpoint.has_written = false;
        let before = *of(&pair.flow.sent_end, at.side);
        while let Some((segment, reason)) = endpoint.tcp.transmit(now) {
            self.fabric
                .send(place, &mut pair.flow, at.side, segment, reason);
        }
        let end = *of(&pair.flow.sent_end, at.side);
        if end > before {
            let rows = &mut self.fabric.truth.transactions;
            pair.timeline.sent(at.side, end, now, rows);
        }
    }

    /// What the end, or with E-TCP any of its group, may send now.
    fn transmit_of_group(&mut self, at: End) {
        let now = self.fabric.now;
        if let Some(endpoint) = self.end(at) {
            endpoint.has_written = false;
        }
        loop {
            let mut ends = Reach {
                pairs: &mut self.pairs,
                places: &self.places,
            };
            let Some((from, segment, reason)) = self.hosts.transmit(at, now, &mut ends) else {
                return;
            };
            let place = self.places.get(from.connection);
            let Some((place, pair)) = place.zip(place.and_then(|it| self.pairs.get_mut(it))) else {
                return;
            };
            let before = *of(&pair.flow.sent_end, from.side);
            self.fabric
                .send(place, &mut pair.flow, from.side, segment, reason);
            let end = *of(&pair.flow.sent_end, from.side);
            if end > before {
                let rows = &mut self.fabric.truth.transactions;
                pair.timeline.sent(from.side, end, now, rows);
            }
        }
    }

    /// Whether there was anything to tell.
    fn tell(&mut self, at: End) -> bool {
        let mut has_told = false;
        while let Some(event) = self.end(at).and_then(|end| end.tcp.event()) {
            has_told = true;
            self.tell_of(at, event);
        }
        has_told
    }

    fn tell_of(&mut self, at: End, event: TcpEvent) {
        match event {
            TcpEvent::Connected => self.connected(at),
            TcpEvent::Readable(to) => {
                self.came(at, to);
                self.take_in(at);
            }
            TcpEvent::Writable => self.write_on(at),
            TcpEvent::PeerClosed => {
                if let Some(endpoint) = self.end(at) {
                    endpoint.peer_closed = true;
                }
                self.take_in(at);
            }
            TcpEvent::Closed => self.over(at, Happening::Closed),
            TcpEvent::Failed => self.over(at, Happening::Failed),
        }
    }

    fn over(&mut self, at: End, what: Happening) {
        // What it leaves of a window is for one of the others.
        let heir = self.hosts.group(at).iter().copied().find(|it| *it != at);
        if let Some(heir) = heir {
            self.call(heir);
        }
        let mut ends = Reach {
            pairs: &mut self.pairs,
            places: &self.places,
        };
        self.hosts.closed(at, &mut ends);
        self.notify(at, what);
    }

    /// Data up to this offset is there to be read.
    fn came(&mut self, at: End, to: u64) {
        let Some(place) = self.places.get(at.connection) else {
            return;
        };
        let Some(pair) = self.pairs.get_mut(place) else {
            return;
        };
        let rows = &mut self.fabric.truth.transactions;
        pair.timeline.came(at.side, to, self.fabric.now, rows);
        if let Some(endpoint) = of_mut(&mut pair.ends, at.side) {
            endpoint.readable = to;
        }
    }

    fn notify(&mut self, at: End, what: Happening) {
        if let Some(app) = self.end(at).map(|end| end.app) {
            self.notices.push_back((app, Notice::Happened { at, what }));
        }
    }

    fn connected(&mut self, at: End) {
        let now = self.fabric.now;
        match at.side {
            Side::Client => {
                if let Some(row) = self.connection_row(at.connection) {
                    row.established = Some(now);
                }
                self.notify(at, Happening::Connected);
            }
            Side::Server => self.notify(at, Happening::Accepted),
        }
    }

    fn connection_row(&mut self, connection: u32) -> Option<&mut ConnectionRow> {
        self.fabric.truth.connections.find(connection as usize)
    }

    /// The application reads what is there, unless it has stopped reading.
    fn take_in(&mut self, at: End) {
        let Some((_, pair)) = self.pair(at.connection) else {
            return;
        };
        let Some(endpoint) = of_mut(&mut pair.ends, at.side) else {
            return;
        };
        if !endpoint.is_reading {
            return;
        }
        let app = endpoint.app;
        let to = endpoint.readable;
        let has_more = to > endpoint.read;
        endpoint.read = to;
        let is_over = std::mem::take(&mut endpoint.peer_closed);
        let messages = of_mut(&mut pair.messages, peer(at.side));
        let complete = messages.partition_point(|(end, _)| *end <= to);
        let complete: Vec<u64> = messages
            .drain(..complete)
            .map(|(_, number)| number)
            .collect();
        let mut tell = |what| self.notices.push_back((app, Notice::Happened { at, what }));
        if has_more {
            // The SYN is not counted.
            tell(Happening::Received { total: to - 1 });
        }
        for message in complete {
            tell(Happening::Message { message });
        }
        if is_over {
            tell(Happening::PeerClosed);
        }
    }

    /// The writer goes on with the calls that wait.
    fn write_on(&mut self, at: End) {
        let now = self.fabric.now;
        loop {
            let Some(endpoint) = self.end(at) else {
                return;
            };
            let Some(write) = endpoint.writes.front().copied() else {
                return;
            };
            let start = endpoint.taken.map_or(now, |taken| taken + write.gap);
            if endpoint.pauses {
                return;
            }
            if write.is_whole && start > now {
                endpoint.pauses = true;
                let event = Event::Write {
                    end: end_number(at),
                };
                return self.fabric.events.push(start, event);
            }
            if endpoint.has_written {
                self.transmit(at);
            }
            if !self.make_write(at) {
                return;
            }
        }
    }

    /// Makes the next call; whether some of it was taken.
    fn make_write(&mut self, at: End) -> bool {
        let now = self.fabric.now;
        let Some(endpoint) = self.end(at) else {
            return false;
        };
        let Some(write) = endpoint.writes.front_mut() else {
            return false;
        };
        let taken = endpoint.tcp.write(write.left, now).min(write.left);
        write.left -= taken;
        write.is_whole &= taken == 0;
        endpoint.has_written |= taken > 0;
        if write.left > 0 {
            return taken > 0;
        }
        endpoint.writes.pop_front();
        endpoint.taken = Some(now);
        if endpoint.writes.is_empty() {
            if endpoint.is_closing {
                self.close_tcp(at);
            }
            self.notify(at, Happening::Written);
        }
        true
    }

    fn make_planned_write(&mut self, at: End, time: Nanoseconds) {
        let Some(endpoint) = self.end(at) else {
            return;
        };
        endpoint.pauses = false;
        self.fabric.now = time;
        self.write_on(at);
        self.drive(at);
    }

    fn close_tcp(&mut self, at: End) {
        let now = self.fabric.now;
        let Some(endpoint) = self.end(at) else {
            return;
        };
        // In ns-2 the call that writes the last data says that it is the last; sockets are closed
        // by a call of their own, and what was written is on its way by then.
        if endpoint.has_written && !endpoint.stack.upcall_before_ack {
            self.transmit(at);
        }
        if let Some(endpoint) = self.end(at) {
            endpoint.tcp.close(now);
        }
    }

    /// The rows of what changed.
    fn note_state(&mut self, at: End) {
        let Record {
            windows, limits, ..
        } = self.fabric.record;
        if !windows && !limits {
            return;
        }
        let time = self.fabric.now;
        let Some(place) = self.places.get(at.connection) else {
            return;
        };
        let Some(pair) = self.pairs.get_mut(place) else {
            return;
        };
        let next = *of(&pair.flow.sent_end, at.side);
        let Some(endpoint) = of_mut(&mut pair.ends, at.side) else {
            return;
        };
        let limit = endpoint.tcp.limit();
        if limits && endpoint.limit.replace(limit) != Some(limit) {
            self.fabric.truth.limits.push(LimitRow {
                time,
                connection: at.connection,
                side: at.side,
                limit,
                next,
            });
        }
        if windows {
            let row = window_row(at, &endpoint.tcp);
            if endpoint.window.replace(row) != Some(row) {
                self.fabric.truth.windows.push(WindowRow { time, ..row });
            }
        }
    }

    /// Gives up what is over: both ends are closed, and none of its packets is on its way.
    fn settle(&mut self, connection: u32) {
        let now = self.fabric.now;
        let Some((place, pair)) = self.pair(connection) else {
            return;
        };
        let [client, server] = &pair.ends;
        let is_closed = |end: &Option<Endpoint>| end.as_ref().is_none_or(|end| end.tcp.is_closed());
        if !is_closed(client) || !is_closed(server) {
            return;
        }
        let in_flight = pair.flow.in_flight;
        if let Some(row) = self.connection_row(connection) {
            row.closed.get_or_insert(now);
        }
        if in_flight == 0 {
            self.pairs.remove(place);
            self.places.close(connection);
            self.fabric.truth.connections.over(connection as usize);
            self.fabric.forget(connection);
        }
    }

    /// What is written decides about turns, where connections take turns.
    fn tell_content(&mut self, at: End, parts: &[Content]) {
        if !self.hosts.has(at) {
            return;
        }
        let app = self.end(at).map(|end| end.app);
        let is_file_transfer = app.is_some_and(|app| app >= self.first_transfer);
        if let Some(content) = ContentKind::of(parts, is_file_transfer) {
            self.hosts.set_content(at, content);
        }
    }

    /// The next port of a node that none of its connections has. Where they have all of them, the
    /// next one: a host would refuse to connect, here connections have numbers of their own.
    fn free_port(&mut self, node: u32) -> u16 {
        let of_node = |pair: &&Pair| pair.flow.nodes.first() == Some(&node);
        let pairs = self.pairs.iter().filter(of_node);
        let taken: BTreeSet<u16> = pairs
            .map(|pair| pair.flow.ports)
            .map(|[port, _]| port)
            .collect();
        let Some(next) = self.next_ports.get_mut(node as usize) else {
            return FIRST_DYNAMIC_PORT;
        };
        let after = |port: u16| port.checked_add(1).unwrap_or(FIRST_DYNAMIC_PORT);
        let first = *next;
        let mut port = first;
        while taken.contains(&port) && after(port) != first {
            port = after(port);
        }
        *next = after(port);
        port
    }
}

impl Network for World {
    fn now(&self) -> Nanoseconds {
        self.fabric.now
    }

    fn connect(&mut self, app: AppId, node: u32, stack: u32, to_node: u32, to_port: u16) -> u32 {
        let connection = self.places.next_number();
        let stack = self.stacks.get(stack as usize).cloned();
        debug_assert!(stack.is_some(), "no stack");
        let buffer = stack.as_ref().map_or(0, |stack| stack.send_buffer);
        let flow = Flow {
            connection,
            nodes: [node, to_node],
            ports: [self.free_port(node), to_port],
            initial: [(); 2].map(|()| self.sequence_numbers.word() as u32),
            scales: [None; 2],
            sent_end: [0; 2],
            // The server's is known when it accepts.
            buffers: [buffer, 0],
            streams: Default::default(),
            in_flight: 0,
        };
        let [client_port, server_port] = flow.ports;
        self.fabric.truth.connections.add(ConnectionRow {
            connection,
            client_node: node,
            server_node: to_node,
            client_port,
            server_port,
            opened: self.fabric.now,
            established: None,
            closed: None,
        });
        let client = stack.map(|stack| Endpoint::new(Connection::connect(&stack), app, &stack));
        let place = self.pairs.insert(Pair {
            flow,
            ends: [client, None],
            timeline: Timeline::default(),
            messages: Default::default(),
        });
        self.places.open(place);
        let at = End {
            connection,
            side: Side::Client,
        };
        self.share(at, None);
        self.call(at);
        connection
    }

    fn listen(&mut self, app: AppId, node: u32, port: u16, stack: u32) {
        self.listeners.insert((node, port), Listener { app, stack });
    }

    fn write(&mut self, at: End, parts: Vec<Content>, message: Option<u64>, gap: Nanoseconds) {
        let keeps_content = self.keeps_content;
        self.tell_content(at, &parts);
        let Some((_, pair)) = self.pair(at.connection) else {
            return;
        };
        let Some(endpoint) = of_mut(&mut pair.ends, at.side) else {
            return;
        };
        let bytes: u64 = parts.iter().map(Content::bytes).sum();
        endpoint.write_offset += bytes;
        if let Some(message) = message {
            of_mut(&mut pair.messages, at.side).push_back((endpoint.write_offset, message));
        }
        endpoint.writes.push_back(PendingWrite {
            left: bytes,
            is_whole: true,
            gap,
        });
        let is_first = endpoint.writes.len() == 1;
        if keeps_content {
            let stream = of_mut(&mut pair.flow.streams, at.side);
            parts.into_iter().for_each(|part| stream.push(part));
        }
        if is_first {
            self.write_on(at);
            self.call(at);
        }
    }

    fn close(&mut self, at: End) {
        let Some(endpoint) = self.end(at) else {
            return;
        };
        endpoint.is_closing = true;
        if endpoint.writes.is_empty() {
            self.close_tcp(at);
            self.call(at);
        }
    }

    fn read(&mut self, at: End, is_reading: bool) {
        let now = self.fabric.now;
        let Some(endpoint) = self.end(at) else {
            return;
        };
        endpoint.is_reading = is_reading;
        endpoint.tcp.set_reading(is_reading, now);
        self.take_in(at);
        self.call(at);
    }

    fn wake(&mut self, app: AppId, at: Nanoseconds, token: u64) {
        let wake = self.wakes.insert((app, token));
        let at = at.max(self.fabric.now);
        self.fabric.events.push(at, Event::Wake { wake });
    }

    fn random(&mut self, app: AppId) -> &mut Random {
        debug_assert!((app.0 as usize) < self.randoms.len(), "no application");
        match self.randoms.get_mut(app.0 as usize) {
            Some(random) => random,
            None => &mut self.sequence_numbers,
        }
    }

    fn truth(&mut self) -> &mut Truth {
        &mut self.fabric.truth
    }

    fn exchanges(&mut self) -> &mut Exchanges {
        &mut self.exchanges
    }

    fn timeline(&mut self, connection: u32) -> &mut Timeline {
        let place = self.places.get(connection);
        match place.and_then(|place| self.pairs.get_mut(place)) {
            Some(pair) => &mut pair.timeline,
            None => &mut self.spare_timeline,
        }
    }

    fn write_offset(&self, at: End) -> u64 {
        let endpoint = self.endpoint(at);
        endpoint.map_or(0, |endpoint| endpoint.write_offset)
    }

    fn mss(&self, at: End) -> u32 {
        self.endpoint(at).map_or(0, |endpoint| endpoint.tcp.mss())
    }
}

/// The answer of a host where nobody listens (RFC 9293, section 3.10.7.1).
fn refusal(segment: &Segment) -> Segment {
    Segment {
        ack: segment.end(),
        flags: flags::RST | flags::ACK,
        ..Segment::default()
    }
}

/// Without its time.
fn window_row(at: End, tcp: &Connection) -> WindowRow {
    let sender = tcp.sender();
    WindowRow {
        time: 0,
        connection: at.connection,
        side: at.side,
        cwnd: sender.window.cwnd,
        ssthresh: sender.window.ssthresh,
        flight: sender.flight(),
        receive_window: sender.receive_window(),
        smoothed_rtt: sender.round_trip.smoothed(),
        retransmission_timeout: sender.round_trip.timeout(&tcp.stack().retransmission),
    }
}

fn end_number(at: End) -> u32 {
    at.connection << 1
        | match at.side {
            Side::Client => 0,
            Side::Server => 1,
        }
}

fn end_of(number: u32) -> End {
    let side = if number & 1 == 0 {
        Side::Client
    } else {
        Side::Server
    };
    End {
        connection: number >> 1,
        side,
    }
}
