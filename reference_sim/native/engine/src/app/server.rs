//! An HTTP server: one response at a time per connection, in request order.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::answer::{fetch, objects, sizes, whole_segments, Answer};
use super::exchange::{Exchange, ExchangeId, Response};
use super::http_text::{clock, ConnectionField, Head, Terms};
use super::writes::write_calls;
use super::{AppEvent, AppId, Application, Content, End, Network, Token};
use crate::scenario::{self, HttpVersion, Scenario};
use crate::stack::Nanoseconds;
use crate::truth::Side;

/// A server of the scenario.
pub struct Server {
    app: AppId,
    scenario: Arc<Scenario>,
    index: usize,
    connections: BTreeMap<u32, Serving>,
    answers: BTreeMap<(u32, u32, u32), Answer>,
}

/// State of one connection.
#[derive(Debug, Default)]
struct Serving {
    /// Waiting requests, without the one being answered.
    waiting: VecDeque<ExchangeId>,
    state: State,
    /// Number of received requests.
    requests: u32,
    /// Event counter, by which an outdated idle timer is recognized.
    generation: u32,
    peer_closed: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Idle,
    Processing(ExchangeId),
    Writing,
    Closed,
}

/// Kinds of timers.
const PROCESSED: u8 = 0;
const IDLE: u8 = 1;

impl Server {
    #[must_use]
    pub fn new(app: AppId, scenario: &Arc<Scenario>, index: usize) -> Self {
        Server {
            app,
            scenario: Arc::clone(scenario),
            index,
            connections: BTreeMap::new(),
            answers: BTreeMap::new(),
        }
    }

    fn terms(&self) -> Option<&scenario::Server> {
        self.scenario.servers.get(self.index)
    }

    pub(super) fn writes_heads_alone(&self) -> bool {
        self.terms().is_some_and(|terms| terms.writes.head_alone)
    }

    pub(super) fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    pub(super) fn wake(&self, network: &mut dyn Network, delay: u64, token: Token) {
        let at = network.now().saturating_add(delay);
        network.wake(self.app, at, token.pack());
    }

    fn on_request(&mut self, network: &mut dyn Network, connection: u32, exchange: ExchangeId) {
        let Some(serving) = self.connections.get_mut(&connection) else {
            return;
        };
        serving.requests += 1;
        serving.generation = serving.generation.wrapping_add(1);
        if serving.state == State::Closed {
            return;
        }
        serving.waiting.push_back(exchange);
        if serving.state == State::Idle {
            self.next(network, connection);
        }
    }

    /// Take the next request, or wait for one.
    fn next(&mut self, network: &mut dyn Network, connection: u32) {
        let Some(serving) = self.connections.get_mut(&connection) else {
            return;
        };
        serving.state = State::Idle;
        let Some(exchange) = serving.waiting.pop_front() else {
            self.idle(network, connection);
            return;
        };
        serving.state = State::Processing(exchange);
        let count = serving.generation;
        let delay = self.processing(network, exchange);
        if delay == 0 {
            self.respond(network, connection, exchange);
        } else {
            let token = Token {
                kind: PROCESSED,
                count,
                number: connection,
            };
            self.wake(network, delay, token);
        }
    }

    fn idle(&mut self, network: &mut dyn Network, connection: u32) {
        let Some(serving) = self.connections.get_mut(&connection) else {
            return;
        };
        if serving.peer_closed {
            close(network, connection, serving);
            return;
        }
        let generation = serving.generation;
        let keep_alive = self.terms().and_then(|terms| terms.keep_alive);
        if let Some(timeout) = keep_alive.and_then(|keep_alive| keep_alive.timeout_ns) {
            let token = Token {
                kind: IDLE,
                count: generation,
                number: connection,
            };
            self.wake(network, timeout, token);
        }
    }

    pub(super) fn processing(&self, network: &mut dyn Network, exchange: ExchangeId) -> u64 {
        let Some(terms) = self.terms() else {
            return 0;
        };
        let drawn = network.random(self.app).draw(&terms.processing);
        let Some(exchange) = network.exchanges().get(exchange) else {
            return drawn;
        };
        let own: u64 = objects(&self.scenario, exchange)
            .iter()
            .map(|(_, object)| object.processing_ns)
            .fold(0, u64::saturating_add);
        drawn.saturating_add(own)
    }

    fn respond(&mut self, network: &mut dyn Network, connection: u32, id: ExchangeId) {
        let at = End {
            connection,
            side: Side::Server,
        };
        let Some(exchange) = network.exchanges().get(id).cloned() else {
            // The client abandoned the request.
            self.next(network, connection);
            return;
        };
        let keeps = self.keeps(connection, &exchange);
        let (now, mss) = (network.now(), network.mss(at));
        let Some((head, body)) = self.response(&exchange, keeps, now, mss) else {
            return;
        };
        let Some(writes) = self.terms().map(|terms| terms.writes) else {
            return;
        };
        let mut head_bytes = head.bytes();
        let calls = write_calls(head.content(), body, &writes);
        let on_stream = |call: &Vec<Content>| {
            let bytes = call.iter().map(Content::bytes).sum();
            network.stream_bytes(at, bytes)
        };
        if writes.head_alone {
            head_bytes = calls.first().map_or(head_bytes, on_stream);
        }
        let bytes: u64 = calls.iter().map(on_stream).sum();
        let response = Response {
            offset: network.write_offset(at),
            head_bytes,
            body_bytes: bytes - head_bytes,
            closes: !keeps,
        };
        note_response(network, connection, id, response);
        write(network, at, calls, writes.gap_ns, id);
        if let Some(serving) = self.connections.get_mut(&connection) {
            serving.state = State::Writing;
            if !keeps {
                close(network, connection, serving);
            }
        }
    }

    /// Return true if the connection stays open after this response.
    fn keeps(&self, connection: u32, exchange: &Exchange) -> bool {
        let Some(keep_alive) = self.terms().and_then(|terms| terms.keep_alive) else {
            return false;
        };
        let served = self
            .connections
            .get(&connection)
            .map_or(0, |serving| serving.requests - serving.waiting.len() as u32);
        exchange.wants_keep_alive && keep_alive.max_requests.is_none_or(|most| served < most)
    }

    pub(super) fn response(
        &mut self,
        exchange: &Exchange,
        keeps: bool,
        now: u64,
        mss: u32,
    ) -> Option<(Head, Vec<Content>)> {
        let scenario = Arc::clone(&self.scenario);
        let server = scenario.servers.get(self.index)?;
        let fetch = fetch(&scenario, exchange)?;
        let objects = objects(&scenario, exchange);
        let key = (exchange.page, exchange.plan, exchange.fetch);
        let answer = self
            .answers
            .entry(key)
            .or_insert_with(|| Answer::new(&objects, &server.product, scenario.epoch_ns, None));
        let terms = Terms {
            version: exchange.version,
            connection: connection_field(exchange.version, keeps),
            clock: clock(scenario.epoch_ns, now),
            min_bytes: server.min_head_bytes,
        };
        let sizes = sizes(exchange, &objects);
        let head = answer.head(
            &sizes,
            server.sizes_include_heads,
            whole_segments(fetch, mss),
            &terms,
        );
        let body = if answer.has_body && fetch.method != "HEAD" {
            answer.body(exchange, &objects, &sizes, head.content_length())
        } else {
            Vec::new()
        };
        Some((head, body))
    }
}

/// Return true if no event occurred since the timer was set.
fn is_now(count: u32, generation: u32) -> bool {
    count == generation % (1 << Token::COUNT_BITS)
}

/// Return the Connection field of a response. HTTP/1.1 persists without the field.
pub(super) fn connection_field(version: HttpVersion, keeps: bool) -> ConnectionField {
    match (version, keeps) {
        (HttpVersion::Http11, true) => ConnectionField::Absent,
        (HttpVersion::Http10, true) => ConnectionField::KeepAlive,
        (_, false) => ConnectionField::Close,
    }
}

fn close(network: &mut dyn Network, connection: u32, serving: &mut Serving) {
    if serving.state != State::Closed {
        serving.state = State::Closed;
        let side = Side::Server;
        network.close(End { connection, side });
    }
}

/// Record a response for the client and the truth before it is written.
pub(super) fn note_response(
    network: &mut dyn Network,
    connection: u32,
    id: ExchangeId,
    response: Response,
) {
    let now = network.now();
    let Some(exchange) = network.exchanges().get_mut(id) else {
        return;
    };
    exchange.response = Some(response);
    let row_number = exchange.row;
    if let Some(row) = network.truth().transactions.find(row_number) {
        row.response_written = Some(now);
        row.response_offset = Some(response.offset);
        row.response_head_bytes = response.head_bytes;
        row.response_body_bytes = response.body_bytes;
    }
    let end = response.offset + response.head_bytes + response.body_bytes;
    let timeline = network.timeline(connection);
    timeline.response(response.offset, end, row_number);
}

fn write(
    network: &mut dyn Network,
    at: End,
    calls: Vec<Vec<Content>>,
    gap: Nanoseconds,
    id: ExchangeId,
) {
    let last = calls.len() - 1;
    for (number, call) in calls.into_iter().enumerate() {
        let message = (number == last).then_some(id.response());
        network.write(at, call, message, if number == 0 { 0 } else { gap });
    }
}

/// Return the bytes [from, to) of the concatenated contents.
pub(super) fn stretch(contents: &[Content], from: u64, to: u64) -> Vec<Content> {
    let (mut parts, mut start) = (Vec::new(), 0);
    for content in contents {
        let bytes = content.bytes();
        let (first, last) = (from.max(start), to.min(start + bytes));
        if first < last {
            parts.push(content.slice(first - start, last - start));
        }
        start += bytes;
    }
    parts
}

impl Application for Server {
    fn start(&mut self, network: &mut dyn Network) {
        if let Some(terms) = self.terms() {
            network.listen(self.app, terms.node, terms.port, terms.stack);
        }
    }

    fn woken(&mut self, network: &mut dyn Network, token: u64) {
        let token = Token::unpack(token);
        let Some(serving) = self.connections.get_mut(&token.number) else {
            return;
        };
        match (token.kind, serving.state) {
            (PROCESSED, State::Processing(exchange)) => {
                self.respond(network, token.number, exchange);
            }
            (IDLE, State::Idle) if is_now(token.count, serving.generation) => {
                close(network, token.number, serving);
            }
            _ => {}
        }
    }

    fn on_event(&mut self, network: &mut dyn Network, at: End, what: AppEvent) {
        let connection = at.connection;
        match what {
            AppEvent::Accepted => {
                self.connections.insert(connection, Serving::default());
                self.idle(network, connection);
            }
            AppEvent::Message { message } => {
                self.on_request(network, connection, ExchangeId::of(message));
            }
            AppEvent::Written => {
                let serving = self.connections.get(&connection);
                if serving.is_some_and(|serving| serving.state == State::Writing) {
                    self.next(network, connection);
                }
            }
            AppEvent::PeerClosed => {
                if let Some(serving) = self.connections.get_mut(&connection) {
                    serving.peer_closed = true;
                    if serving.state == State::Idle {
                        close(network, connection, serving);
                    }
                }
            }
            AppEvent::Closed | AppEvent::Failed => {
                self.connections.remove(&connection);
            }
            AppEvent::Connected | AppEvent::Received { .. } => {}
        }
    }

    fn is_done(&self) -> bool {
        true
    }
}
