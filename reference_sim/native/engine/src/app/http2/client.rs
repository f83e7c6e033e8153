//! The client end of an HTTP/2 connection: preface, requests, and WINDOW_UPDATEs for read data.

use std::collections::BTreeMap;

use super::frames;
use super::hpack::Encoder;
use super::{offset_behind, Frame};
use crate::app::exchange::ExchangeId;
use crate::app::pool::{note_request, Outgoing};
use crate::app::{Content, End, Network};
use crate::http2::{Http2, FIRST_CONNECTION_WINDOW};
use crate::truth::Side;

/// The received part of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponsePart {
    pub exchange: ExchangeId,
    /// Body bytes so far.
    pub body: u64,
    pub is_over: bool,
}

/// One client connection.
#[derive(Debug)]
pub struct Session {
    terms: Http2,
    scheme: &'static str,
    encoder: Encoder,
    streams: BTreeMap<ExchangeId, Stream>,
    next_stream: u32,
    has_preface: bool,
    /// True once the server's SETTINGS arrived.
    is_settled: bool,
    /// Bytes already read of the next frame.
    read_of_frame: u64,
    /// Bytes read, without a WINDOW_UPDATE yet.
    unreported: u32,
}

#[derive(Debug, Default)]
struct Stream {
    number: u32,
    body: u64,
    unreported: u32,
}

impl Session {
    #[must_use]
    pub fn new(terms: Http2, is_secured: bool) -> Self {
        Session {
            terms,
            scheme: if is_secured { "https" } else { "http" },
            encoder: Encoder::default(),
            streams: BTreeMap::new(),
            next_stream: 1,
            has_preface: false,
            is_settled: false,
            read_of_frame: 0,
            unreported: 0,
        }
    }

    /// Write the preface and all sendable requests in one call. Return these requests.
    pub fn write(
        &mut self,
        network: &mut dyn Network,
        at: End,
        requests: &mut Vec<Outgoing>,
    ) -> Vec<ExchangeId> {
        let (mut bytes, mut written) = (Vec::new(), Vec::new());
        let mut frames = Vec::new();
        if !self.has_preface {
            self.has_preface = true;
            bytes = self.preface();
            frames.push((bytes.len() as u64, Frame::Settings));
        }
        if self.is_settled || !self.terms.waits_for_settings {
            for request in requests.drain(..) {
                let from = offset_behind(network, at, bytes.len() as u64);
                let number = self.next_stream;
                self.next_stream += 2;
                let exchange = request.exchange;
                let stream = Stream {
                    number,
                    ..Stream::default()
                };
                self.streams.insert(exchange, stream);
                let block = self.encoder.block(&request.head.text(), self.scheme);
                bytes.extend(frames::headers(number, &block, true));
                let to = offset_behind(network, at, bytes.len() as u64);
                note_request(network, at, exchange, request.row, (from, to));
                let stream = number;
                frames.push((bytes.len() as u64, Frame::Request { exchange, stream }));
                written.push(exchange);
            }
        }
        send(network, at, bytes, &frames);
        written
    }

    fn preface(&self) -> Vec<u8> {
        let mut bytes = frames::PREFACE.to_vec();
        bytes.extend(frames::settings(&[
            (frames::ENABLE_PUSH, 0),
            (frames::INITIAL_WINDOW_SIZE, self.terms.stream_window),
        ]));
        let more = self.terms.connection_window - FIRST_CONNECTION_WINDOW;
        if more > 0 {
            bytes.extend(frames::window_update(0, more));
        }
        bytes
    }

    /// Handle `total` received bytes of the stream.
    pub fn on_data(&mut self, network: &mut dyn Network, at: End, total: u64) -> Vec<ResponsePart> {
        let mut came = Vec::new();
        let (mut bytes, mut frames) = (Vec::new(), Vec::new());
        while let Some((end, frame)) = network.exchanges().frames.first(at) {
            let is_whole = end <= total + 1;
            match frame {
                Frame::Response {
                    exchange,
                    bytes,
                    is_last,
                } if is_whole || end - bytes < total + 1 => {
                    let read = bytes.saturating_sub(end.saturating_sub(total + 1));
                    let body = self.read(exchange, read - self.read_of_frame);
                    self.read_of_frame = read;
                    let is_over = is_whole && is_last;
                    came.push(ResponsePart {
                        exchange,
                        body,
                        is_over,
                    });
                    if is_over {
                        self.streams.remove(&exchange);
                    }
                }
                _ if !is_whole => break,
                Frame::Settings => {
                    self.is_settled = true;
                    bytes.extend(frames::settings_ack());
                }
                _ => {}
            }
            if !is_whole {
                break;
            }
            self.read_of_frame = 0;
            // Data read together is acknowledged frame by frame.
            self.report(&mut bytes, &mut frames);
            network.exchanges().frames.pop(at);
        }
        self.report(&mut bytes, &mut frames);
        send(network, at, bytes, &frames);
        came
    }

    /// Count read bytes of a response, and return its body bytes so far.
    fn read(&mut self, exchange: ExchangeId, bytes: u64) -> u64 {
        self.unreported += bytes as u32;
        self.streams.get_mut(&exchange).map_or(0, |stream| {
            stream.unreported += bytes as u32;
            stream.body += bytes;
            stream.body
        })
    }

    /// Append a WINDOW_UPDATE for each window whose use reached the threshold.
    fn report(&mut self, out: &mut Vec<u8>, frames: &mut Vec<(u64, Frame)>) {
        let update = self.terms.update_bytes;
        let mut tell = |number: u32, unreported: &mut u32, window: u32| {
            if *unreported >= update.unwrap_or(window / 2).clamp(1, window) {
                out.extend(frames::window_update(number, *unreported));
                let stream = (number > 0).then_some(number);
                let bytes = std::mem::take(unreported);
                frames.push((out.len() as u64, Frame::WindowUpdate { stream, bytes }));
            }
        };
        tell(0, &mut self.unreported, self.terms.connection_window);
        for stream in self.streams.values_mut() {
            let number = stream.number;
            tell(number, &mut stream.unreported, self.terms.stream_window);
        }
    }
}

/// Write frames in one call, and register their ends for the server.
fn send(network: &mut dyn Network, at: End, bytes: Vec<u8>, frames: &[(u64, Frame)]) {
    if bytes.is_empty() {
        return;
    }
    let server = End {
        side: Side::Server,
        ..at
    };
    let whole = offset_behind(network, at, bytes.len() as u64);
    let is_sealed = network.stream_bytes(at, 1) > 1;
    for (end, frame) in frames {
        // A record is readable only as a whole.
        let end = if is_sealed {
            whole
        } else {
            offset_behind(network, at, *end)
        };
        network.exchanges().frames.push(server, end, *frame);
    }
    let parts = vec![Content::Text(bytes.into())];
    network.write(at, parts, None, 0);
}
