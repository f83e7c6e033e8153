//! The hosts: connections, and the applications' calls on them.
//!
//! Theory of operation. Whatever happens to an end of a connection (a segment, its timer, a call
//! of its application), the end is then driven: its segments go out, what it has to tell is kept
//! for its application, and its timer is planned. An application's calls at one moment are
//! followed by one drive when it returns, so that a FIN may ride on the data written before it;
//! but before each `write` call, and before a `close` where the stack sends a FIN alone, what the
//! calls before have let go out goes out.
//!
//! Timers are lazy: an end has at most one useful event in the queue. It moves only forwards: when
//! it comes and the deadline is later by then, it is planned anew; an event that was overtaken by
//! an earlier one is told by its time.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use trace_model::flags;

use crate::app::{AppId, Content, End, Happening, Network};
use crate::endpoint::{Endpoint, PendingWrite};
use crate::event_queue::Event;
use crate::fabric::{of, of_mut, peer, Arrived, Fabric, Flow};
use crate::packet::Packet;
use crate::random::{element, Random};
use crate::route::Routes;
use crate::scenario::Scenario;
use crate::segment::Segment;
use crate::slab::Slab;
use crate::stack::{Nanoseconds, Stack};
use crate::stream::Stream;
use crate::tcp;
use crate::truth::{ConnectionRow, Limit, LimitRow, SendReason, Side, Truth, WindowRow};

/// The first of the dynamic ports (RFC 6335, section 6).
const FIRST_DYNAMIC_PORT: u16 = 49_152;

/// What the world asks of one end of a connection; [`crate::tcp`] says how it is driven.
pub trait Tcp: Sized {
    fn connect(stack: &Arc<Stack>, now: Nanoseconds) -> Self;
    fn accept(stack: &Arc<Stack>, now: Nanoseconds) -> Self;
    fn receive(&mut self, segment: &Segment, now: Nanoseconds);
    fn timeout(&mut self, now: Nanoseconds);
    fn deadline(&self) -> Option<Nanoseconds>;
    fn write(&mut self, bytes: u64, now: Nanoseconds) -> u64;
    fn close(&mut self, now: Nanoseconds);
    fn read(&mut self, to: u64, now: Nanoseconds);
    fn transmit(&mut self, now: Nanoseconds) -> Option<(Segment, SendReason)>;
    fn event(&mut self) -> Option<tcp::Event>;
    fn limit(&self) -> Limit;
    fn window_row(&self) -> WindowRow;
    fn mss(&self) -> u32;
    fn is_closed(&self) -> bool;
}

/// A connection with both its ends, as far as these exist.
#[derive(Debug)]
struct Pair<T> {
    flow: Flow,
    ends: [Option<Endpoint<T>>; 2],
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

/// When the first byte of a client's write left it.
#[derive(Clone, Copy, Debug)]
struct FirstByte {
    connection: u32,
    offset: u64,
    sent: Nanoseconds,
}

#[derive(Debug)]
pub struct World<T> {
    fabric: Fabric,
    stacks: Vec<Arc<Stack>>,
    pairs: Slab<Pair<T>>,
    /// The place of each connection, by its number; none once it is over.
    places: Vec<Option<u32>>,
    next_ports: Vec<u16>,
    listeners: BTreeMap<(u32, u16), Listener>,
    wakes: Slab<(AppId, u64)>,
    notices: VecDeque<(AppId, Notice)>,
    /// Ends that their applications called.
    due: Vec<End>,
    randoms: Vec<Random>,
    sequence_numbers: Random,
    /// Whether a tap wants the bytes of streams.
    keeps_content: bool,
    /// Offsets at which clients' writes begin that were not sent yet, by connection.
    unsent_writes: BTreeMap<u32, VecDeque<u64>>,
    first_bytes: Vec<FirstByte>,
}

impl<T: Tcp> World<T> {
    /// The world of a valid scenario, for so many applications.
    #[must_use]
    pub fn new(scenario: &Scenario, applications: u32) -> Self {
        let random = |element| Random::new(scenario.seed, element);
        let routes = Routes::new(scenario.nodes.len(), &scenario.links);
        World {
            fabric: Fabric::new(scenario, routes, random),
            stacks: scenario.stacks.iter().cloned().map(Arc::new).collect(),
            pairs: Slab::default(),
            places: Vec::new(),
            next_ports: vec![FIRST_DYNAMIC_PORT; scenario.nodes.len()],
            listeners: BTreeMap::new(),
            wakes: Slab::default(),
            notices: VecDeque::new(),
            due: Vec::new(),
            randoms: (0..applications)
                .map(|number| random(element::application(number)))
                .collect(),
            sequence_numbers: random(element::SEQUENCE_NUMBERS),
            keeps_content: !scenario.taps.is_empty(),
            unsent_writes: BTreeMap::new(),
            first_bytes: Vec::new(),
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

    /// Drives the ends that their applications have called.
    pub fn drive_called(&mut self) {
        let mut due = std::mem::take(&mut self.due);
        for end in due.drain(..) {
            if let Some((_, pair)) = self.pair(end.connection) {
                if let Some(endpoint) = of_mut(&mut pair.ends, end.side) {
                    endpoint.is_due = false;
                }
            }
            self.drive(end);
        }
        // The vector is kept for its memory.
        self.due = due;
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
        let first_bytes: BTreeMap<(u32, u64), Nanoseconds> = self
            .first_bytes
            .iter()
            .map(|it| ((it.connection, it.offset), it.sent))
            .collect();
        let truth = &mut self.fabric.truth;
        for row in &mut truth.transactions {
            let key = (row.connection, row.request_offset);
            row.request_first_sent = first_bytes.get(&key).copied();
        }
        truth.end = self.fabric.now;
    }

    /// Truth and taps, once it is finished.
    pub fn into_fabric(self) -> Fabric {
        self.fabric
    }

    fn pair(&mut self, connection: u32) -> Option<(u32, &mut Pair<T>)> {
        let place = self.places.get(connection as usize).copied().flatten()?;
        Some((place, self.pairs.get_mut(place)?))
    }

    fn end(&mut self, at: End) -> Option<&mut Endpoint<T>> {
        let (_, pair) = self.pair(at.connection)?;
        of_mut(&mut pair.ends, at.side).as_mut()
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
        let Some(pair) = self.pairs.get_mut(place) else {
            return;
        };
        let side = peer(packet.side);
        let segment = &packet.segment;
        let at = End {
            connection: packet.connection,
            side,
        };
        if of(&pair.ends, side).is_none() && !self.accept(place, segment) {
            return self.settle(packet.connection);
        }
        let now = self.fabric.now;
        let Some(pair) = self.pairs.get_mut(place) else {
            return;
        };
        if segment.has(flags::ACK) {
            self.keep_acked(place, side, segment.ack);
        }
        let Some(pair) = self.pairs.get_mut(place) else {
            return;
        };
        if let Some(endpoint) = of_mut(&mut pair.ends, side) {
            endpoint.tcp.receive(segment, now);
        }
        self.drive(at);
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
