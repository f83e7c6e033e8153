//! Protocols that a flow carries.

use tcptrace_http2::{Connection as Http2, Facts as Http2Facts, Messages, Oldest};
use tcptrace_http_messages::{proxy_header_length, End, Output};
use tcptrace_tls::{starts_like, Connection as Tls, Handshake, Keys, Start};
use trace_model::rows::{Direction, Protocol};
use trace_model::Mark;

use super::hello_pieces::{HelloPieces, Payload};

#[derive(Debug, Default)]
pub struct CarriedProtocols {
    /// Last protocol found.
    pub protocol: Option<Protocol>,
    /// True if HTTP was found, before or behind other protocols.
    pub is_http: bool,
    /// True for HTTP/2 streams: they overlap, so facts by message order are not reported.
    pub has_streams: bool,
    /// True if no protocol was found or the flow is over: payload is no longer read.
    pub(super) is_opaque: bool,
    pub(super) reader: Option<Reader>,
    /// TLS handshake, after the reader was dropped.
    pub(super) handshake: Option<Box<Handshake>>,
    /// HTTP/2 facts, after the reader was dropped.
    http2: Option<Box<Http2Facts>>,
}

impl CarriedProtocols {
    /// Return whether messages are known: of HTTP, or within TLS records.
    pub fn has_messages(&self) -> bool {
        self.protocol.is_some()
    }

    pub fn handshake(&self) -> Option<&Handshake> {
        match &self.reader {
            Some(Reader::Tls(tls)) => Some(tls.handshake()),
            _ => self.handshake.as_deref(),
        }
    }

    /// Return the facts of an HTTP/2 connection.
    pub fn http2(&self) -> Option<&Http2Facts> {
        let of_reader = self.reader.as_ref().and_then(Reader::as_http2);
        of_reader.map(Http2::facts).or(self.http2.as_deref())
    }

    /// Record the protocol that the reader has found.
    pub(super) fn note(&mut self) {
        if let Some(reader) = &self.reader {
            self.protocol = reader.protocol().or(self.protocol);
            self.is_http |= reader.is_http();
            self.has_streams |= reader.as_http2().is_some();
        }
    }

    /// Drop the reader and keep its facts.
    pub(super) fn drop_reader(&mut self) {
        let reader = self.reader.take();
        if let Some(http2) = reader.as_ref().and_then(Reader::as_http2) {
            self.http2 = Some(Box::new(http2.facts().clone()));
        }
        if let Some(Reader::Tls(tls)) = reader {
            self.handshake = Some(Box::new(tls.handshake().clone()));
        }
    }
}

/// Return whether TLS begins with `bytes`: with a hello, unless the hello is not in the capture.
#[inline]
fn begins_tls(http: &Messages, bytes: &[u8]) -> bool {
    http.may_be_tls()
        && match starts_like(bytes) {
            Some(Start::ClientHello | Start::ServerHello) => true,
            Some(Start::Records) => !http.begins_whole(),
            None => false,
        }
}

/// Return the bytes behind a PROXY protocol header, if the segment contains the whole header.
fn behind_proxy_header(all: Payload<'_>) -> Payload<'_> {
    let is_first = all.offset == 0 && all.direction == Direction::ClientToServer;
    let header = is_first.then(|| proxy_header_length(all.bytes));
    let length = header.flatten().unwrap_or(0);
    Payload {
        offset: all.offset.saturating_add(length as u64),
        bytes: all.bytes.get(length..).unwrap_or_default(),
        ..all
    }
}

/// Reader of both directions' bytes.
#[derive(Debug)]
pub(super) enum Reader {
    /// HTTP, and unknown bytes so far: they may be the start of a hello.
    Http(Messages, Option<Box<HelloPieces>>),
    Tls(Box<Tls>),
}

impl Reader {
    /// Take the next bytes of a direction; `peer_next` is the number of bytes delivered in the other
    /// direction.
    pub(super) fn data(
        &mut self,
        direction: Direction,
        (offset, bytes): (u64, &[u8]),
        (mark, peer_acked): (Mark, Option<u64>),
        peer_next: u64,
        (keys, out): (&mut Keys, &mut Output),
    ) {
        match self {
            Reader::Http(http, pieces) => {
                let all = Payload {
                    direction,
                    offset,
                    bytes,
                    mark,
                    peer_acked,
                };
                let next = behind_proxy_header(all);
                let before = pieces.take();
                let held = before.as_ref().filter(|it| it.is_hello_with(next));
                if held.is_none() && !begins_tls(http, next.bytes) {
                    http.data(direction, offset, bytes, (mark, peer_acked), out);
                    if http.may_be_tls() {
                        *pieces = HelloPieces::with(before, next);
                    }
                    return;
                }
                if http.is_http() {
                    http.give_up_held(mark, out);
                }
                let start = held.map_or(next.offset, |it| it.offset);
                let (client, server) = match direction {
                    Direction::ClientToServer => (start, peer_next),
                    Direction::ServerToClient => (peer_next, start),
                };
                let mut tls = Box::new(Tls::beginning_at(client, server));
                if let Some(held) = held {
                    held.give(&mut tls, keys, out);
                }
                let seen = (mark, peer_acked);
                tls.data(direction, next.offset, next.bytes, seen, keys, out);
                *self = Reader::Tls(tls);
            }
            Reader::Tls(tls) => {
                tls.data(direction, offset, bytes, (mark, peer_acked), keys, out);
            }
        }
    }

    pub(super) fn gap(
        &mut self,
        direction: Direction,
        (offset, length): (u64, u64),
        mark: Mark,
        (keys, out): (&mut Keys, &mut Output),
    ) {
        match self {
            Reader::Http(http, _) => http.gap(direction, (offset, length), mark, out),
            Reader::Tls(tls) => tls.gap(direction, offset, length, mark, keys, out),
        }
    }

    pub(super) fn end(&mut self, direction: Direction, end: End, mark: Mark, out: &mut Output) {
        match self {
            Reader::Http(http, _) => http.end(direction, end, mark, out),
            Reader::Tls(tls) => tls.end(direction, end, mark, out),
        }
    }

    pub(super) fn protocol(&self) -> Option<Protocol> {
        match self {
            Reader::Http(http, _) if http.is_http2() => Some(Protocol::H2),
            Reader::Http(http, _) => http.is_http().then_some(Protocol::Http),
            Reader::Tls(_) => Some(Protocol::Tls),
        }
    }

    pub(super) fn as_http2(&self) -> Option<&Http2> {
        match self {
            Reader::Http(http, _) => http.as_http2(),
            Reader::Tls(tls) => tls.as_http2(),
        }
    }

    /// Return the HTTP/2 stream of the frame with the byte at `offset`.
    pub(super) fn stream_at(&self, direction: Direction, offset: u64) -> Option<u32> {
        match self {
            Reader::Http(http, _) => http.as_http2()?.stream_at(direction, offset),
            Reader::Tls(tls) => tls.stream_at(direction, offset),
        }
    }

    /// Return the start of the oldest open HTTP/2 streams.
    pub(super) fn oldest(&self) -> Oldest {
        match self {
            Reader::Http(http, _) => http.as_http2().map_or_else(Oldest::default, Http2::oldest),
            Reader::Tls(tls) => tls.oldest(),
        }
    }

    /// Return whether HTTP was found, in clear text or decrypted.
    pub(super) fn is_http(&self) -> bool {
        match self {
            Reader::Http(http, _) => http.is_http(),
            Reader::Tls(tls) => tls.is_http(),
        }
    }

    /// Return whether both directions are no longer read.
    pub(super) fn is_opaque(&self) -> bool {
        let is_opaque = |direction| match self {
            Reader::Http(http, _) => http.is_opaque(direction),
            Reader::Tls(tls) => tls.is_opaque(direction),
        };
        is_opaque(Direction::ClientToServer) && is_opaque(Direction::ServerToClient)
    }

    pub(super) fn request_start(&self) -> Option<u64> {
        match self {
            Reader::Http(http, _) => http.request_start(),
            Reader::Tls(tls) => tls.request_start(),
        }
    }

    pub(super) fn response_start(&self) -> Option<u64> {
        match self {
            Reader::Http(http, _) => http.response_start(),
            Reader::Tls(tls) => tls.response_start(),
        }
    }

    #[inline]
    pub(super) fn held_bytes(&self) -> u64 {
        match self {
            Reader::Http(http, _) => http.held_bytes(),
            Reader::Tls(tls) => tls.held_bytes(),
        }
    }

    pub(super) fn give_up_held(&mut self, mark: Mark, out: &mut Output) {
        match self {
            Reader::Http(http, _) => http.give_up_held(mark, out),
            Reader::Tls(tls) => tls.give_up_held(mark, out),
        }
    }
}
