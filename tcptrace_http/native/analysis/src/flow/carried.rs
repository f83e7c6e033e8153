//! What a flow carries, as far as it is known.

use tcptrace_http2::{Connection as Http2, Facts as Http2Facts, Messages, Oldest};
use tcptrace_http_messages::{proxy_header_length, End, Output};
use tcptrace_tls::{starts_like, Connection as Tls, Handshake, Keys, Start};
use trace_model::rows::{Direction, Protocol};
use trace_model::Mark;

use super::hello_pieces::{HelloPieces, Payload};

#[derive(Debug, Default)]
pub struct Carried {
    /// What was found on it last.
    pub protocol: Option<Protocol>,
    /// HTTP was found, whatever came behind it.
    pub is_http: bool,
    /// Messages are streams of HTTP/2, which overlap: what tells a message by its place among others is not told.
    pub has_streams: bool,
    /// Neither was found, or the flow is over: payload is not looked at any more.
    pub(super) is_opaque: bool,
    pub(super) reader: Option<Reader>,
    /// Of TLS, once its reader is given back.
    pub(super) handshake: Option<Box<Handshake>>,
    /// Of HTTP/2, as before.
    http2: Option<Box<Http2Facts>>,
}

impl Carried {
    /// Whether messages are known on it: of HTTP, or those that records of TLS hide.
    pub fn has_messages(&self) -> bool {
        self.protocol.is_some()
    }

    pub fn handshake(&self) -> Option<&Handshake> {
        match &self.reader {
            Some(Reader::Tls(tls)) => Some(tls.handshake()),
            _ => self.handshake.as_deref(),
        }
    }

    /// What is known of a connection of HTTP/2.
    pub fn http2(&self) -> Option<&Http2Facts> {
        let of_reader = self.reader.as_ref().and_then(Reader::as_http2);
        of_reader.map(Http2::facts).or(self.http2.as_deref())
    }

    /// Notes what the reader has found.
    pub(super) fn note(&mut self) {
        if let Some(reader) = &self.reader {
            self.protocol = reader.protocol().or(self.protocol);
            self.is_http |= reader.is_http();
            self.has_streams |= reader.as_http2().is_some();
        }
    }

    /// Gives the reader back.
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

/// Whether TLS begins with `bytes`: with a hello, unless that was missed.
#[inline]
fn begins_tls(http: &Messages, bytes: &[u8]) -> bool {
    http.may_be_tls()
        && match starts_like(bytes) {
            Some(Start::ClientHello | Start::ServerHello) => true,
            Some(Start::Records) => !http.begins_whole(),
            None => false,
        }
}

/// What comes behind the header that a load balancer writes first, if that is all of it.
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

/// Who is given the bytes of both directions.
#[derive(Debug)]
pub(super) enum Reader {
    /// Until it is known what the bytes are, too: they may be the first ones of a hello.
    Http(Messages, Option<Box<HelloPieces>>),
    Tls(Box<Tls>),
}

impl Reader {
    /// The next bytes of a direction; `peer_next` is how many of the other one were delivered.
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
                let held = before.as_ref().filter(|it| it.are_hello_with(next));
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

    /// The stream of HTTP/2 whose frame has the byte of a direction at `offset`.
    pub(super) fn stream_at(&self, direction: Direction, offset: u64) -> Option<u32> {
        match self {
            Reader::Http(http, _) => http.as_http2()?.stream_at(direction, offset),
            Reader::Tls(tls) => tls.stream_at(direction, offset),
        }
    }

    /// Where the oldest of open streams of HTTP/2 begin.
    pub(super) fn oldest(&self) -> Oldest {
        match self {
            Reader::Http(http, _) => http.as_http2().map_or_else(Oldest::default, Http2::oldest),
            Reader::Tls(tls) => tls.oldest(),
        }
    }

    /// Whether HTTP was found, in clear or decrypted.
    pub(super) fn is_http(&self) -> bool {
        match self {
            Reader::Http(http, _) => http.is_http(),
            Reader::Tls(tls) => tls.is_http(),
        }
    }

    /// Whether neither direction is looked at any more.
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
