//! A client's connections to one place: which of them carries a request, and what waits on each.

use std::collections::VecDeque;

use super::exchange::ExchangeId;
use super::http2::{Came, Session};
use super::http_text::Head;
use super::{AppId, End, Network};
use crate::http2::Http2;
use crate::scenario::Scenario;
use crate::stack::Nanoseconds;
use crate::truth::{Side, TransactionRow};

/// Where a pool's connections go, and how they are used.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    pub app: AppId,
    pub node: u32,
    pub stack: u32,
    pub to_node: u32,
    pub to_port: u16,
    /// A request may be written before the handshake is done: it rides on one of its segments.
    pub writes_at_once: bool,
    pub is_secured: bool,
    pub http2: Option<Http2>,
}

impl Terms {
    /// From a node and stack to a node and port.
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

/// How many connections there may be, and what each may carry.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub connections: Option<u32>,
    pub persistent: bool,
    /// Requests outstanding on a connection.
    pub pipelining: u32,
}

/// A request that is ready to be written.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// What is known of its transaction before it is written.
    pub row: TransactionRow,
    pub exchange: ExchangeId,
    pub head: Head,
    /// In two writes: so many bytes, the rest so much later.
    pub split: Option<(u64, Nanoseconds)>,
    /// It asks for the connection to be closed, or lets it.
    pub is_last: bool,
}

/// One connection.
#[derive(Debug)]
pub struct Channel {
    pub connection: u32,
    pub lane: Option<u32>,
    /// Requests without a whole response, in order.
    pub outstanding: VecDeque<ExchangeId>,
    /// Those of them that wait for the handshake.
    unwritten: Vec<Outgoing>,
    can_write: bool,
    /// It carries no further request.
    pub is_spent: bool,
    /// Closed from this side.
    is_closed: bool,
    /// Whole responses that came.
    pub answered: u32,
    /// The response in which the client paused reading.
    pub paused_in: Option<ExchangeId>,
    /// None: it speaks HTTP/1.
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

/// The connections that are open, in the order in which they were opened.
#[derive(Debug)]
pub struct Pool {
    terms: Terms,
    channels: Vec<Channel>,
}

/// What a place in the pool was found to be.
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

    /// Which connection a request may go on now: one that is free, a new one, or the one with
    /// the fewest requests outstanding; those with a lane on their lane's only.
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

    /// A lane is one connection at a time.
    fn busy_on(&self, lane: Option<u32>) -> bool {
        let mut on_lane = self.channels.iter().filter(|channel| channel.lane == lane);
        on_lane.any(Channel::is_in_use)
    }

    /// Opens a connection; its index.
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

    /// Writes a request, now or when the handshake is done. Gives those that were written.
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
            // Requests that are wanted at once go out in one call.
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

    /// Connections are numbered in the order in which they are opened.
    fn index(&self, connection: u32) -> Option<usize> {
        let of = |channel: &Channel| channel.connection;
        self.channels.binary_search_by_key(&connection, of).ok()
    }

    #[must_use]
    pub fn at(&self, index: usize) -> Option<&Channel> {
        self.channels.get(index)
    }

    /// Forgets a connection; what it had.
    pub fn remove(&mut self, connection: u32) -> Option<Channel> {
        let index = self.index(connection)?;
        Some(self.channels.remove(index))
    }

    /// Writes the requests of HTTP/2 that wait; gives them.
    pub fn flush(&mut self, network: &mut dyn Network) -> Vec<ExchangeId> {
        let sessions = self.channels.iter_mut().filter(|it| it.http2.is_some());
        sessions.flat_map(|it| it.flush(network)).collect()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.channels.is_empty()
    }

    /// Closes every connection that could carry more; none will.
    pub fn close_all(&mut self, network: &mut dyn Network) {
        for channel in &mut self.channels {
            if !channel.is_spent {
                channel.close(network);
            }
        }
    }
}

impl Channel {
    /// Closes this side.
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

    /// Of HTTP/2: what has come of responses, with so many bytes of the stream.
    pub fn came(&mut self, network: &mut dyn Network, total: u64) -> Vec<Came> {
        let at = self.end();
        let session = self.http2.as_mut().filter(|_| !self.is_closed);
        session.map_or_else(Vec::new, |session| session.received(network, at, total))
    }

    /// Writes what waits; gives the requests of it.
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

/// A request is about to be written: its transaction is one of the truth.
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
