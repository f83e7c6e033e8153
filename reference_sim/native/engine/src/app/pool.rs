//! A client's connections to one endpoint: the assignment of requests, and the requests that wait.

use std::collections::VecDeque;

use super::exchange::ExchangeId;
use super::http2::{ResponsePart, Session};
use super::http_text::Head;
use super::{AppId, End, Network};
use crate::http2::Http2;
use crate::scenario::Scenario;
use crate::stack::Nanoseconds;
use crate::truth::{Side, TransactionRow};

/// The endpoint of a pool's connections, and their mode of use.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    pub app: AppId,
    pub node: u32,
    pub stack: u32,
    pub to_node: u32,
    pub to_port: u16,
    /// True if a request can be written before the handshake ends. One of the handshake's segments then
    /// carries it.
    pub writes_at_once: bool,
    pub is_secured: bool,
    pub http2: Option<Http2>,
}

impl Terms {
    /// Return the terms for connections from a node and stack to a node and port.
    #[must_use]
    pub fn new(scenario: &Scenario, app: AppId, from: (u32, u32), to: (u32, u16)) -> Terms {
        let stack = scenario.stacks.get(from.1 as usize);
        Terms {
            app,
            node: from.0,
            stack: from.1,
            to_node: to.0,
            to_port: to.1,
            writes_at_once: stack
                .is_some_and(|stack| stack.data_on_handshake_ack || stack.accelerated_open),
            is_secured: false,
            http2: None,
        }
    }
}

/// Limits on the number of connections, and on the requests of each.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub connections: Option<u32>,
    pub persistent: bool,
    /// Maximum number of outstanding requests per connection.
    pub pipelining: u32,
}

/// A request ready to be written.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// The known fields of its transaction before the write.
    pub row: TransactionRow,
    pub exchange: ExchangeId,
    pub head: Head,
    /// Split into two writes: the bytes of the first, and the delay of the second.
    pub split: Option<(u64, Nanoseconds)>,
    /// True if the connection closes after this request.
    pub is_last: bool,
}

/// One connection.
#[derive(Debug)]
pub struct Channel {
    pub connection: u32,
    pub lane: Option<u32>,
    /// Requests without a complete response, in order.
    pub outstanding: VecDeque<ExchangeId>,
    /// Outstanding requests that wait for the handshake.
    unwritten: Vec<Outgoing>,
    can_write: bool,
    /// True if the connection carries no further request.
    pub is_spent: bool,
    /// True once this side closed.
    is_closed: bool,
    /// Number of complete responses.
    pub answered: u32,
    /// The response during which the client paused reading.
    pub paused_in: Option<ExchangeId>,
    /// None for HTTP/1.
    pub http2: Option<Session>,
}

impl Channel {
    #[must_use]
    pub fn end(&self) -> End {
        End {
            connection: self.connection,
            side: Side::Client,
        }
    }

    fn takes(&self, depth: u32) -> bool {
        !self.is_spent && self.outstanding.len() < depth as usize
    }
}

/// The open connections, in opening order.
#[derive(Debug)]
pub struct Pool {
    terms: Terms,
    channels: Vec<Channel>,
}

/// The result of a search for a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Open(usize),
    New,
    Nowhere,
}

impl Pool {
    #[must_use]
    pub fn new(terms: Terms) -> Self {
        Pool {
            terms,
            channels: Vec::new(),
        }
    }

    /// Return the connection for a request: a free one, a new one, or the one with the fewest outstanding
    /// requests. A request with a lane uses only connections of its lane.
    #[must_use]
    pub fn place(&self, lane: Option<u32>, limits: &Limits) -> Place {
        let depth = if limits.persistent {
            limits.pipelining.max(1)
        } else {
            1
        };
        if lane.is_some() {
            let own = |channel: &Channel| channel.lane == lane && !channel.is_spent;
            return match self.channels.iter().position(own) {
                Some(index) if self.takes(index, depth) => Place::Open(index),
                Some(_) => Place::Nowhere,
                None if self.busy_on(lane) => Place::Nowhere,
                None => Place::New,
            };
        }
        let free = |channel: &Channel| channel.takes(1);
        if let Some(index) = self.channels.iter().position(free) {
            return Place::Open(index);
        }
        let in_use = self
            .channels
            .iter()
            .filter(|channel| channel.is_in_use())
            .count();
        if limits.connections.is_none_or(|most| in_use < most as usize) {
            return Place::New;
        }
        let numbered = self.channels.iter().enumerate();
        let takers = numbered.filter(|(_, channel)| channel.takes(depth));
        match takers.min_by_key(|(_, channel)| channel.outstanding.len()) {
            Some((index, _)) => Place::Open(index),
            None => Place::Nowhere,
        }
    }

    fn takes(&self, index: usize, depth: u32) -> bool {
        self.channels
            .get(index)
            .is_some_and(|channel| channel.takes(depth))
    }

    /// Return true if a lane has a connection in use. A lane has at most one connection at a time.
    fn busy_on(&self, lane: Option<u32>) -> bool {
        let mut on_lane = self.channels.iter().filter(|channel| channel.lane == lane);
        on_lane.any(Channel::is_in_use)
    }

    /// Open a connection and return its index.
    pub fn open(&mut self, network: &mut dyn Network, lane: Option<u32>) -> usize {
        let terms = &self.terms;
        let connection = network.connect(
            terms.app,
            terms.node,
            terms.stack,
            terms.to_node,
            terms.to_port,
        );
        self.channels.push(Channel {
            connection,
            lane,
            outstanding: VecDeque::new(),
            unwritten: Vec::new(),
            can_write: terms.writes_at_once,
            is_spent: false,
            is_closed: false,
            answered: 0,
            paused_in: None,
            http2: terms
                .http2
                .map(|http2| Session::new(http2, terms.is_secured)),
        });
        self.channels.len() - 1
    }

    /// Write a request now or after the handshake. Return the requests that were written.
    pub fn ask(
        &mut self,
        network: &mut dyn Network,
        index: usize,
        request: Outgoing,
    ) -> Vec<ExchangeId> {
        let Some(channel) = self.channels.get_mut(index) else {
            return Vec::new();
        };
        channel.outstanding.push_back(request.exchange);
        channel.is_spent |= request.is_last;
        channel.unwritten.push(request);
        if channel.http2.is_some() {
            // Requests that are due together go out in one call.
            return Vec::new();
        }
        channel.flush(network)
    }

    pub fn connected(&mut self, network: &mut dyn Network, connection: u32) -> Vec<ExchangeId> {
        let Some(channel) = self.get_mut(connection) else {
            return Vec::new();
        };
        channel.can_write = true;
        channel.flush(network)
    }

    #[must_use]
    pub fn get(&self, connection: u32) -> Option<&Channel> {
        self.channels.get(self.index(connection)?)
    }

    pub fn get_mut(&mut self, connection: u32) -> Option<&mut Channel> {
        let index = self.index(connection)?;
        self.channels.get_mut(index)
    }

    /// Connections are numbered in opening order, so a binary search finds the index.
    fn index(&self, connection: u32) -> Option<usize> {
        let of = |channel: &Channel| channel.connection;
        self.channels.binary_search_by_key(&connection, of).ok()
    }

    #[must_use]
    pub fn at(&self, index: usize) -> Option<&Channel> {
        self.channels.get(index)
    }

    /// Remove a connection and return its state.
    pub fn remove(&mut self, connection: u32) -> Option<Channel> {
        let index = self.index(connection)?;
        Some(self.channels.remove(index))
    }

    /// Write the waiting HTTP/2 requests and return them.
    pub fn flush(&mut self, network: &mut dyn Network) -> Vec<ExchangeId> {
        let sessions = self.channels.iter_mut().filter(|it| it.http2.is_some());
        sessions.flat_map(|it| it.flush(network)).collect()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.channels.is_empty()
    }

    /// Close every connection that could carry more requests. None follow.
    pub fn close_all(&mut self, network: &mut dyn Network) {
        for channel in &mut self.channels {
            if !channel.is_spent {
                channel.close(network);
            }
        }
    }
}

impl Channel {
    /// Close this side.
    pub fn close(&mut self, network: &mut dyn Network) {
        self.is_spent = true;
        if !self.is_closed {
            self.is_closed = true;
            network.close(self.end());
        }
    }

    fn is_in_use(&self) -> bool {
        !self.is_spent || !self.outstanding.is_empty()
    }

    /// Return the received parts of HTTP/2 responses, given `total` received stream bytes.
    pub fn read_frames(&mut self, network: &mut dyn Network, total: u64) -> Vec<ResponsePart> {
        let at = self.end();
        let session = self.http2.as_mut().filter(|_| !self.is_closed);
        session.map_or_else(Vec::new, |session| session.on_data(network, at, total))
    }

    /// Write the waiting requests and return them.
    fn flush(&mut self, network: &mut dyn Network) -> Vec<ExchangeId> {
        if !self.can_write {
            return Vec::new();
        }
        let at = self.end();
        if let Some(session) = &mut self.http2 {
            return session.write(network, at, &mut self.unwritten);
        }
        let requests = std::mem::take(&mut self.unwritten);
        let written = requests
            .into_iter()
            .map(|request| request.write(network, at));
        written.collect()
    }
}

impl Outgoing {
    fn write(self, network: &mut dyn Network, at: End) -> ExchangeId {
        let bytes = self.head.bytes();
        let split = self.split.filter(|(first, _)| (1..bytes).contains(first));
        let first = split.map_or(bytes, |(first, _)| first);
        let calls = [first, bytes - first];
        let on_stream = calls.map(|bytes| network.stream_bytes(at, bytes));
        let from = network.write_offset(at);
        let to = from + on_stream.iter().sum::<u64>();
        note_request(network, at, self.exchange, self.row, (from, to));
        let whole = self.head.content();
        let message = Some(self.exchange.request());
        match split {
            Some((first, gap)) => {
                network.write(at, vec![whole.slice(0, first)], None, 0);
                network.write(at, vec![whole.slice(first, bytes)], message, gap);
            }
            None => network.write(at, vec![whole], message, 0),
        }
        self.exchange
    }
}

/// Record a transaction in the truth before its request is written.
pub(super) fn note_request(
    network: &mut dyn Network,
    at: End,
    exchange: ExchangeId,
    mut row: TransactionRow,
    (from, to): (u64, u64),
) {
    row.connection = at.connection;
    row.index = network.timeline(at.connection).begin();
    row.request_bytes = to - from;
    row.request_offset = from;
    row.written = network.now();
    let number = network.truth().transactions.add(row);
    network.timeline(at.connection).request(from, to, number);
    if let Some(exchange) = network.exchanges().get_mut(exchange) {
        exchange.row = number;
    }
}
