//! The actions of applications: the calls of [`Network`].

use std::collections::BTreeSet;

use crate::app::exchange::{Exchanges, Timeline};
use crate::app::{AppId, Content, End, Network};
use crate::endpoint::{Endpoint, PendingWrite};
use crate::event_queue::Event;
use crate::fabric::{of_mut, Flow};
use crate::random::{element, Random};
use crate::sharing::stride::ContentKind;
use crate::stack::Nanoseconds;
use crate::tcp::Connection;
use crate::truth::{ConnectionRow, Side, Truth};
use crate::world::{Listener, Pair, World, FIRST_DYNAMIC_PORT};

impl World {
    /// Return the next unused port of a node. If all ports are used, return the next one. A real host would
    /// refuse to connect; here connections have their own numbers.
    pub(super) fn free_port(&mut self, node: u32) -> u16 {
        let of_node = |pair: &&Pair| pair.flow.nodes.first() == Some(&node);
        let taken = || {
            let pairs = self.pairs.iter().filter(of_node);
            pairs.map(|pair| pair.flow.ports).map(|[port, _]| port)
        };
        let Some(next) = self.next_ports.get_mut(node as usize) else {
            return FIRST_DYNAMIC_PORT;
        };
        let after = |port: u16| port.checked_add(1).unwrap_or(FIRST_DYNAMIC_PORT);
        let first = *next;
        let mut port = first;
        // A port is rarely in use before all ports had their turn, so most connections need no set.
        if taken().any(|taken| taken == first) {
            let taken: BTreeSet<u16> = taken().collect();
            while taken.contains(&port) && after(port) != first {
                port = after(port);
            }
        }
        *next = after(port);
        port
    }

    /// Record the written content, which decides the turns of connections in an ensemble.
    pub(super) fn tell_content(&mut self, at: End, parts: &[Content]) {
        if !self.hosts.has(at) {
            return;
        }
        let app = self.end(at).map(|end| end.app);
        let is_file_transfer = app.is_some_and(|app| app >= self.first_transfer);
        if let Some(content) = ContentKind::of(parts, is_file_transfer) {
            self.hosts.set_content(at, content);
        }
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
            // The server's buffer is known when the server accepts.
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
        let random = Random::new(self.seed, element::end(connection, Side::Client));
        let client = stack.map(|stack| {
            let tcp = Connection::connect(&stack).drawing_from(random);
            Endpoint::new(tcp, app, &stack)
        });
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

    fn is_writing(&self, at: End) -> bool {
        let endpoint = self.endpoint(at);
        endpoint.is_some_and(|endpoint| !endpoint.writes.is_empty())
    }
}
