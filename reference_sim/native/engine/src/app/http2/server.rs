//! The server end of HTTP/2 connections: ready responses share a connection frame by frame.

use std::collections::BTreeMap;

use super::hpack::Encoder;
use super::stream::{Prepared, Stream};
use super::{frames, offset_behind, Frame};
use crate::app::answer::objects;
use crate::app::exchange::{ExchangeId, Response};
use crate::app::server::{stretch, Server};
use crate::app::{AppEvent, Application, Content, End, Network, Token};
use crate::http2::{Http2, WriteOrder};
use crate::truth::{FrameRow, Side};

/// SETTINGS_MAX_CONCURRENT_STREAMS. RFC 9113, section 6.5.2, recommends at least 100.
const MAX_STREAMS: u32 = 128;
/// Maximum length of a write call, except for its last frame.
const WRITE_BYTES: u64 = 1 << 16;
/// Default urgency of requests (RFC 9218, section 4.1).
const URGENCY: u8 = 3;

/// A server of the scenario.
pub struct Http2Server {
    plain: Server,
    terms: Http2,
    connections: BTreeMap<u32, Serving>,
}

/// State of one connection.
#[derive(Debug, Default)]
struct Serving {
    encoder: Encoder,
    window: u64,
    /// Streams in request order.
    streams: Vec<Stream>,
    /// Number of responses that became ready.
    ready: u32,
    /// Stream of the last written frame.
    last: u32,
    peer_closed: bool,
    is_closed: bool,
}

impl Http2Server {
    #[must_use]
    pub fn new(plain: Server, terms: Http2) -> Self {
        Http2Server {
            plain,
            terms,
            connections: BTreeMap::new(),
        }
    }

    fn on_data(&mut self, network: &mut dyn Network, at: End, total: u64) {
        while let Some(frame) = network.exchanges().frames.next_whole(at, total) {
            match frame {
                Frame::Settings => self.begin(network, at),
                Frame::Request { exchange, stream } => {
                    self.on_request(network, at, exchange, stream);
                }
                Frame::WindowUpdate { stream, bytes } => {
                    let now = network.now();
                    if let Some(serving) = self.connections.get_mut(&at.connection) {
                        serving.widen(stream, u64::from(bytes));
                        serving.note_holds(now);
                    }
                }
                Frame::Response { .. } => {}
            }
        }
        self.write(network, at);
    }

    /// Handle the client's preface. The server's preface is its SETTINGS (RFC 9113, section 3.4).
    fn begin(&mut self, network: &mut dyn Network, at: End) {
        let Some(serving) = self.connections.get_mut(&at.connection) else {
            return;
        };
        serving.window = u64::from(self.terms.connection_window);
        let mut bytes = frames::settings(&[(frames::MAX_CONCURRENT_STREAMS, MAX_STREAMS)]);
        bytes.extend(frames::settings_ack());
        let end = offset_behind(network, at, bytes.len() as u64);
        network
            .exchanges()
            .frames
            .push(client(at), end, Frame::Settings);
        let parts = vec![Content::Text(bytes.into())];
        network.write(at, parts, None, 0);
    }

    fn on_request(
        &mut self,
        network: &mut dyn Network,
        at: End,
        exchange: ExchangeId,
        number: u32,
    ) {
        let urgency = self.urgency(network, exchange);
        let Some(serving) = self.connections.get_mut(&at.connection) else {
            return;
        };
        serving.streams.push(Stream {
            number,
            exchange,
            urgency,
            window: u64::from(self.terms.stream_window),
            response: None,
            hold: None,
        });
        let delay = self.plain.processing(network, exchange);
        if delay == 0 {
            return self.prepare(network, at, number);
        }
        let token = Token {
            kind: 0,
            count: number,
            number: at.connection,
        };
        self.plain.wake(network, delay, token);
    }

    /// Return the urgency from the request's `priority` field (RFC 9218, section 4.1).
    fn urgency(&self, network: &mut dyn Network, exchange: ExchangeId) -> u8 {
        let exchange = network.exchanges().get(exchange);
        let objects = exchange.map_or_else(Vec::new, |it| objects(self.plain.scenario(), it));
        let mut fields = objects.iter().flat_map(|(_, it)| &it.request_fields);
        let said = fields.find_map(|line| {
            let (name, value) = line.split_once(':')?;
            let is_priority = name.eq_ignore_ascii_case("priority");
            let mut items = value.split(',').map(str::trim);
            items.find_map(|item| item.strip_prefix("u=").filter(|_| is_priority))
        });
        let urgency = said.and_then(|urgency| urgency.parse().ok());
        urgency.filter(|urgency| *urgency < 8).unwrap_or(URGENCY)
    }

    /// Handle a ready response.
    fn prepare(&mut self, network: &mut dyn Network, at: End, number: u32) {
        let (now, mss) = (network.now(), network.mss(at));
        let Some(serving) = self.connections.get_mut(&at.connection) else {
            return;
        };
        let place = serving.ready;
        serving.ready += 1;
        let Some(stream) = serving.stream(number) else {
            return;
        };
        let exchange = network.exchanges().get(stream.exchange).cloned();
        let made = exchange.and_then(|it| self.plain.response(&it, true, now, mss));
        let Some((head, body)) = made else {
            // The client abandoned the request.
            return serving.streams.retain(|it| it.number != number);
        };
        stream.response = Some(Prepared {
            place,
            ready: now,
            head: Some(head),
            bytes: body.iter().map(Content::bytes).sum(),
            body,
            sent: 0,
        });
    }

    /// Write frames until no frame is sendable or the send buffer is full.
    fn write(&mut self, network: &mut dyn Network, at: End) {
        let terms = self.terms;
        let are_heads_alone = self.plain.writes_heads_alone();
        let is_recorded = self.plain.scenario().record.limits;
        let Some(serving) = self.connections.get_mut(&at.connection) else {
            return;
        };
        while !network.is_writing(at) && !serving.is_closed {
            let mut call = Call::default();
            while call.bytes < WRITE_BYTES && !(are_heads_alone && call.has_head) {
                if !serving.write_frame(network, at, &terms, &mut call) {
                    break;
                }
            }
            if call.bytes == 0 {
                break;
            }
            network.write(at, call.parts, None, 0);
            for row in call.rows.into_iter().filter(|_| is_recorded) {
                network.truth().frames.push(row);
            }
        }
        serving.note_holds(network.now());
        if serving.peer_closed && serving.streams.is_empty() && !serving.is_closed {
            serving.is_closed = true;
            network.close(at);
        }
    }
}

/// A write call under construction.
#[derive(Debug, Default)]
struct Call {
    parts: Vec<Content>,
    bytes: u64,
    /// True if the last frame belongs to a response's head.
    has_head: bool,
    rows: Vec<FrameRow>,
}

impl Call {
    /// Append content, and return its start and end in the stream.
    fn push(&mut self, network: &dyn Network, at: End, parts: Vec<Content>) -> (u64, u64) {
        let from = offset_behind(network, at, self.bytes);
        self.bytes += parts.iter().map(Content::bytes).sum::<u64>();
        self.parts.extend(parts);
        (from, offset_behind(network, at, self.bytes))
    }
}

impl Serving {
    fn widen(&mut self, stream: Option<u32>, bytes: u64) {
        let Some(number) = stream else {
            self.window += bytes;
            return;
        };
        if let Some(stream) = self.stream(number) {
            stream.window += bytes;
        }
    }

    fn note_holds(&mut self, now: u64) {
        for stream in &mut self.streams {
            stream.note_hold(now, self.window);
        }
    }

    fn stream(&mut self, number: u32) -> Option<&mut Stream> {
        let mut streams = self.streams.iter_mut();
        streams.find(|stream| stream.number == number)
    }

    /// Return the stream whose turn it is, and the payload of its next frame.
    fn turn(&self, terms: &Http2) -> Option<(usize, u64)> {
        let frame = u64::from(terms.frame_bytes);
        let numbered = self.streams.iter().enumerate();
        let able = numbered.filter_map(|(index, stream)| {
            let room = stream.room(self.window, frame)?;
            let key = match terms.order {
                WriteOrder::Sequential => (0, stream.place()),
                WriteOrder::RoundRobin => (u8::from(stream.number <= self.last), stream.number),
                WriteOrder::Priority => (stream.urgency, stream.number),
            };
            Some((key, index, room))
        });
        able.min().map(|(_, index, room)| (index, room))
    }

    /// Append the next frame to a call. Return true if there was one.
    fn write_frame(
        &mut self,
        network: &mut dyn Network,
        at: End,
        terms: &Http2,
        call: &mut Call,
    ) -> bool {
        let Some((index, room)) = self.turn(terms) else {
            return false;
        };
        let Some(stream) = self.streams.get_mut(index) else {
            return false;
        };
        let (number, exchange) = (stream.number, stream.exchange);
        let Some(response) = &mut stream.response else {
            return false;
        };
        response.sent += room;
        let ready = response.ready;
        let is_last = response.sent == response.bytes;
        let head = response.head.take();
        let is_head = head.is_some();
        call.has_head = is_head;
        let parts = match head {
            Some(head) => {
                let block = self.encoder.block(&head.text(), "");
                let frames = frames::headers(number, &block, is_last);
                vec![Content::Text(frames.into())]
            }
            None => {
                let header = frames::data(number, room, is_last);
                let from = response.sent - room;
                let mut parts = vec![Content::Text(header.into())];
                parts.extend(stretch(&response.body, from, response.sent));
                parts
            }
        };
        stream.window -= room;
        let hold = stream.hold.take();
        self.window -= room;
        self.last = number;
        let (from, to) = call.push(network, at, parts);
        let frame = Frame::Response {
            exchange,
            bytes: room,
            is_last,
        };
        network.exchanges().frames.push(client(at), to, frame);
        if let Some(index) = note_frame(network, at, exchange, (from, to), (is_head, is_last)) {
            call.rows.push(FrameRow {
                connection: at.connection,
                index,
                offset: from,
                end: to,
                ready,
                written: network.now(),
                hold,
            });
        }
        if is_last {
            self.streams.remove(index);
        }
        true
    }
}

/// Record a response frame in the truth before it is written. Return the number of its transaction.
fn note_frame(
    network: &mut dyn Network,
    at: End,
    id: ExchangeId,
    (from, to): (u64, u64),
    (is_head, is_last): (bool, bool),
) -> Option<u32> {
    let now = network.now();
    let exchange = network.exchanges().get_mut(id)?;
    let row_number = exchange.row;
    let response = exchange.response.get_or_insert(Response {
        offset: from,
        head_bytes: 0,
        body_bytes: 0,
        closes: false,
    });
    if is_head {
        response.head_bytes = to - from;
    } else {
        response.body_bytes += to - from;
    }
    let response = *response;
    let mut index = None;
    if let Some(row) = network.truth().transactions.find(row_number) {
        index = Some(row.index);
        row.response_written.get_or_insert(now);
        row.response_offset = Some(response.offset);
        row.response_head_bytes = response.head_bytes;
        row.response_body_bytes = response.body_bytes;
    }
    let timeline = network.timeline(at.connection);
    if is_head {
        timeline.response_begins(from, row_number);
    }
    if is_last {
        timeline.response_ends(to, row_number);
    }
    index
}

fn client(at: End) -> End {
    End {
        side: Side::Client,
        ..at
    }
}

impl Application for Http2Server {
    fn start(&mut self, network: &mut dyn Network) {
        self.plain.start(network);
    }

    fn woken(&mut self, network: &mut dyn Network, token: u64) {
        let token = Token::unpack(token);
        let at = End {
            connection: token.number,
            side: Side::Server,
        };
        self.prepare(network, at, token.count);
        self.write(network, at);
    }

    fn on_event(&mut self, network: &mut dyn Network, at: End, what: AppEvent) {
        match what {
            AppEvent::Accepted => {
                self.connections.insert(at.connection, Serving::default());
            }
            AppEvent::Received { total } => self.on_data(network, at, total),
            AppEvent::Written => self.write(network, at),
            AppEvent::PeerClosed => {
                if let Some(serving) = self.connections.get_mut(&at.connection) {
                    serving.peer_closed = true;
                }
                self.write(network, at);
            }
            AppEvent::Closed | AppEvent::Failed => {
                self.connections.remove(&at.connection);
                network.exchanges().frames.forget(at);
            }
            AppEvent::Connected | AppEvent::Message { .. } => {}
        }
    }

    fn is_done(&self) -> bool {
        true
    }
}
