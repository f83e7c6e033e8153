//! The hosts: connections, and the applications' calls on them.
//!
//! Theory of operation. After each event at an end of a connection (a segment, its timer, an application's
//! call), the end is driven. A drive sends its segments, queues the events for its application, and plans its
//! timer. At one moment, all events are delivered first, and one drive follows the applications' calls. An
//! immediate response can therefore carry the ACK. Earlier data goes out before each `write` call. Earlier
//! data also goes out before a `close`. The exception is a stack whose application acts before sending, as in
//! ns-2.
//!
//! Timers are lazy: an end has at most one valid event in the queue. A deadline only moves forwards. If the
//! deadline is later when the event occurs, the event is planned again. An event overtaken by an earlier one
//! is recognized by its time.

mod arriving;
mod calls;
mod driving;
mod record;
mod telling;
mod writing;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::app::exchange::{Exchanges, Timeline};
use crate::app::{AppEvent, AppId, End};
use crate::endpoint::Endpoint;
use crate::event_queue::Event;
use crate::fabric::{of, of_mut, peer, Fabric, Flow};
use crate::places::Places;
use crate::random::{element, Random};
use crate::route::Routes;
use crate::scenario::Scenario;
use crate::segment::Segment;
use crate::sharing::hosts::{Ends, Hosts};
use crate::sharing::HostPair;
use crate::slab::Slab;
use crate::stack::{Nanoseconds, Stack};
use crate::tcp::Connection;
use crate::truth::Side;

/// The first dynamic port (RFC 6335, section 6).
const FIRST_DYNAMIC_PORT: u16 = 49_152;

/// A connection with its existing ends.
#[derive(Debug)]
struct Pair {
    flow: Flow,
    ends: [Option<Endpoint>; 2],
    timeline: Timeline,
    /// Ends of the messages that each side writes, with their numbers.
    messages: [VecDeque<(u64, u64)>; 2],
}

#[derive(Clone, Copy, Debug)]
struct Listener {
    app: AppId,
    stack: u32,
}

/// An event for an application.
#[derive(Clone, Copy, Debug)]
pub enum Notice {
    Woken { token: u64 },
    Happened { at: End, what: AppEvent },
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
    /// Replacement for the timeline of a finished connection. No code reads it.
    spare_timeline: Timeline,
    /// Ends that their applications called.
    due: Vec<End>,
    /// Further called ends: connections that the application opens send before these.
    answering: Vec<End>,
    randoms: Vec<Random>,
    sequence_numbers: Random,
    seed: u64,
    /// True if a tap needs the bytes of streams.
    keeps_content: bool,
    /// State shared by connections, if their stacks share any.
    hosts: Hosts,
    /// First of the applications that transfer files.
    first_transfer: AppId,
}

/// Access of the shared state to the connections.
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
    /// Create the world of a valid scenario with this number of applications.
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
            answering: Vec::new(),
            randoms: (0..applications)
                .map(|number| random(element::application(number)))
                .collect(),
            sequence_numbers: random(element::SEQUENCE_NUMBERS),
            seed: scenario.seed,
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

    /// Handle the next event.
    pub fn step(&mut self) {
        let Some((time, event)) = self.fabric.events.pop() else {
            return;
        };
        debug_assert!(time >= self.fabric.now, "time never moves backwards");
        self.fabric.truth.events += 1;
        match event {
            Event::Arrival { packet } => {
                self.fabric.now = time;
                self.arrive(packet);
            }
            Event::Service { link } => {
                self.fabric.now = time;
                self.serve(link);
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

    /// Return the next event for an application.
    pub fn notice(&mut self) -> Option<(AppId, Notice)> {
        self.notices.pop_front()
    }

    /// Drive the ends that their applications called. Return true if there were any.
    pub fn drive_called(&mut self) -> bool {
        let mut due = std::mem::take(&mut self.due);
        due.append(&mut self.answering);
        let has_driven = !due.is_empty();
        for end in due.drain(..) {
            if let Some((_, pair)) = self.pair(end.connection) {
                if let Some(endpoint) = of_mut(&mut pair.ends, end.side) {
                    endpoint.is_due = false;
                }
            }
            self.drive(end);
        }
        // The vector is reused for its memory, unless driving added ends.
        if self.due.is_empty() {
            self.due = due;
        }
        has_driven
    }

    /// Return true if no connection is open.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Advance the time to at least this value.
    pub fn advance_to(&mut self, time: Nanoseconds) {
        self.fabric.now = self.fabric.now.max(time);
    }

    #[must_use]
    pub fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// Return the maximum number of open connections so far.
    #[must_use]
    pub fn most_connections(&self) -> usize {
        self.pairs.places()
    }

    /// Add the rows that are known only at the end.
    pub fn finish(&mut self) {
        self.fabric.finish();
        self.fabric.truth.end = self.fabric.now;
    }

    /// Return truth and taps of a finished world.
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

    /// Run an event at an end that can change its windows.
    fn act(&mut self, at: End, ack: Option<u64>, happen: impl FnOnce(&mut Connection)) {
        let now = self.fabric.now;
        let mut ends = Reach {
            pairs: &mut self.pairs,
            places: &self.places,
        };
        let before = self.hosts.before(at, ack, now, &mut ends);
        if let Some(tcp) = ends.tcp(at) {
            happen(tcp);
        }
        if let Some(before) = before {
            self.hosts.after(at, &before, now, &mut ends);
        }
    }

    /// Register a new end for the sharing of its stack between this pair of hosts.
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

    /// Remove a finished connection: both ends are closed, and no packet is in flight.
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
