//! HTTP of both versions on one flow.

use tcptrace_http_messages::{
    Connection as Http1, Direction, End, Http2Start, Message, Output, Transaction,
};
use trace_model::Mark;

use crate::connection::Connection as Http2;
use crate::frame::{starts_like, starts_with_settings};
use crate::reader::PREFACE;
use crate::stream::Oldest;

/// Status 101 Switching Protocols (RFC 9110, section 15.2.2).
const SWITCHING_PROTOCOLS: u16 = 101;

/// Reader of HTTP/1 until HTTP/2 begins.
#[derive(Debug)]
pub enum Messages {
    Http1(Box<Http1>),
    Http2(Box<Http2>),
}

/// Bytes of a direction, as passed to [`Messages::data`].
#[derive(Clone, Copy)]
struct Bytes<'a> {
    direction: Direction,
    offset: u64,
    bytes: &'a [u8],
    mark: Mark,
}

impl Messages {
    /// Create a reader of HTTP/1 that switches if the bytes show HTTP/2.
    #[must_use]
    pub fn new(http: Http1) -> Self {
        Messages::Http1(Box::new(http))
    }

    /// Create a reader of HTTP/2, as negotiated in TLS; `is_whole` is true if no byte is missing so far.
    #[must_use]
    pub fn http2(is_whole: bool) -> Self {
        Messages::Http2(Box::new(if is_whole {
            Http2::beginning_at(0, 0)
        } else {
            Http2::joined_at(0, 0)
        }))
    }

    /// Take the next bytes of a direction; see [`Http1::data`].
    pub fn data(
        &mut self,
        direction: Direction,
        offset: u64,
        bytes: &[u8],
        (mark, peer_acked): (Mark, Option<u64>),
        out: &mut Output,
    ) {
        let given = Bytes {
            direction,
            offset,
            bytes,
            mark,
        };
        match self {
            Messages::Http2(http) => http.data(direction, offset, bytes, mark, out),
            Messages::Http1(http) => {
                if !http.is_http() && begins_frames(http, given) {
                    *self = Messages::Http2(create_with_frames(http, given, out));
                    return;
                }
                http.data(direction, offset, bytes, mark, peer_acked, out);
                if let Some(start) = http.http2() {
                    *self = Messages::Http2(create_at(start, given, out));
                }
            }
        }
    }

    /// Take a gap: `length` bytes from `offset` on were never captured.
    pub fn gap(
        &mut self,
        direction: Direction,
        (offset, length): (u64, u64),
        mark: Mark,
        out: &mut Output,
    ) {
        match self {
            Messages::Http1(http) => http.gap(direction, offset, length, mark, out),
            Messages::Http2(http) => http.gap(direction, offset, length, mark, out),
        }
    }

    /// End a direction.
    pub fn end(&mut self, direction: Direction, end: End, mark: Mark, out: &mut Output) {
        match self {
            Messages::Http1(http) => http.end(direction, end, mark, out),
            Messages::Http2(http) => http.end(direction, out),
        }
    }

    /// Return whether HTTP messages were found.
    #[must_use]
    pub fn is_http(&self) -> bool {
        match self {
            Messages::Http1(http) => http.is_http(),
            Messages::Http2(_) => true,
        }
    }

    #[must_use]
    pub fn is_http2(&self) -> bool {
        self.as_http2().is_some()
    }

    #[must_use]
    pub fn as_http2(&self) -> Option<&Http2> {
        match self {
            Messages::Http1(_) => None,
            Messages::Http2(http) => Some(http),
        }
    }

    /// Return whether TLS may begin here; see [`Http1::may_be_tls`].
    #[must_use]
    pub fn may_be_tls(&self) -> bool {
        match self {
            Messages::Http1(http) => http.may_be_tls(),
            Messages::Http2(_) => false,
        }
    }

    /// Return whether all bytes from the first byte on were passed.
    #[must_use]
    pub fn begins_whole(&self) -> bool {
        match self {
            Messages::Http1(http) => http.begins_whole(),
            Messages::Http2(_) => true,
        }
    }

    #[must_use]
    pub fn roles_are_reversed(&self) -> bool {
        match self {
            Messages::Http1(http) => http.roles_are_reversed(),
            Messages::Http2(_) => false,
        }
    }

    /// Return whether a direction is no longer read.
    #[must_use]
    pub fn is_opaque(&self, direction: Direction) -> bool {
        match self {
            // HTTP/2 frames may still begin in an opaque HTTP/1 direction.
            Messages::Http1(http) => http.is_opaque(direction),
            Messages::Http2(http) => http.is_opaque(direction),
        }
    }

    /// Return the offset of the latest HTTP/1 request; HTTP/2 streams overlap.
    #[must_use]
    pub fn request_start(&self) -> Option<u64> {
        match self {
            Messages::Http1(http) => http.request_start(),
            Messages::Http2(_) => None,
        }
    }

    /// Return the offset of the latest HTTP/1 response.
    #[must_use]
    pub fn response_start(&self) -> Option<u64> {
        match self {
            Messages::Http1(http) => http.response_start(),
            Messages::Http2(_) => None,
        }
    }

    /// Return the start of the oldest messages that were not emitted yet.
    #[must_use]
    pub fn oldest(&self) -> Oldest {
        match self {
            Messages::Http1(http) => {
                let (client, server) = http.oldest();
                Oldest {
                    client,
                    server,
                    time_ns: None,
                }
            }
            Messages::Http2(http) => http.oldest(),
        }
    }

    /// Return the memory of unfinished messages.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        match self {
            Messages::Http1(http) => http.held_bytes(),
            Messages::Http2(http) => http.held_bytes(),
        }
    }

    /// Emit the known parts of unfinished messages.
    pub fn give_up_held(&mut self, mark: Mark, out: &mut Output) {
        match self {
            Messages::Http1(http) => http.give_up_held(mark, out),
            Messages::Http2(http) => http.give_up_held(out),
        }
    }
}

/// Return whether frames begin without a preface.
///
/// The server's SETTINGS may come first if TLS hid the negotiation. Any frame may come first if the
/// connection's start is not in the capture.
fn begins_frames(http: &Http1, given: Bytes<'_>) -> bool {
    if http.begins_whole() {
        given.direction == Direction::ServerToClient
            && given.offset == 0
            && starts_with_settings(given.bytes)
    } else {
        starts_like(given.bytes)
    }
}

/// Create an HTTP/2 reader for a connection with these first frames.
fn create_with_frames(http: &Http1, given: Bytes<'_>, out: &mut Output) -> Box<Http2> {
    let next = |direction| http.next(direction);
    let (client, server) = match given.direction {
        Direction::ClientToServer => (given.offset, next(Direction::ServerToClient)),
        Direction::ServerToClient => (next(Direction::ClientToServer), given.offset),
    };
    let mut http2 = Box::new(if http.begins_whole() {
        Http2::beginning_at(client, server)
    } else {
        Http2::joined_at(client, server)
    });
    http2.data(given.direction, given.offset, given.bytes, given.mark, out);
    http2
}

/// Return the request that the 101 answered, as the request of stream 1 without bytes (RFC 7540, section
/// 3.2).
fn upgraded_request(out: &Output, at: u64, mark: Mark) -> Option<Box<Message>> {
    let is_switch = |it: &&Transaction| {
        let response = it.response.as_ref();
        response.is_some_and(|it| it.status == Some(SWITCHING_PROTOCOLS))
    };
    let switch = out.transactions.iter().rev().find(is_switch)?;
    let original = switch.request.as_ref()?;
    let mut request = Message::of_frames(at, mark);
    request.method.clone_from(&original.method);
    request.target.clone_from(&original.target);
    request.fields.host.clone_from(&original.fields.host);
    Some(request)
}

/// Create an HTTP/2 reader that begins at `start`, at or before these bytes.
fn create_at(start: Http2Start, given: Bytes<'_>, out: &mut Output) -> Box<Http2> {
    let mut http2 = Box::new(if start.is_upgrade {
        let request = upgraded_request(out, start.client, given.mark);
        Http2::upgraded_at((start.client, start.server), request)
    } else {
        Http2::beginning_at(start.client, start.server)
    });
    let Bytes {
        direction,
        offset,
        bytes,
        mark,
    } = given;
    if direction == Direction::ClientToServer {
        // Part of the preface in earlier segments.
        let before = usize::try_from(offset.saturating_sub(start.client)).unwrap_or(usize::MAX);
        let before = PREFACE.get(..before).unwrap_or(PREFACE);
        http2.data(direction, start.client, before, mark, out);
    }
    http2.data(direction, offset, bytes, mark, out);
    http2
}
