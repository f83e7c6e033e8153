//! HTTP of whatever version on one flow.

use tcptrace_http_messages::{
    Connection as Http1, Direction, End, Http2Start, Message, Output, Transaction,
};
use trace_model::Mark;

use crate::connection::Connection as Http2;
use crate::frame::{starts_like, starts_with_settings};
use crate::reader::PREFACE;
use crate::stream::Oldest;

/// RFC 9110, section 15.2.2.
const SWITCHING_PROTOCOLS: u16 = 101;

/// Reads HTTP/1 until HTTP/2 begins.
#[derive(Debug)]
pub enum Messages {
    Http1(Box<Http1>),
    Http2(Box<Http2>),
}

/// Bytes of a direction, as [`Messages::data`] is given them.
#[derive(Clone, Copy)]
struct Bytes<'a> {
    direction: Direction,
    offset: u64,
    bytes: &'a [u8],
    mark: Mark,
}

impl Messages {
    /// HTTP/1, unless the bytes show HTTP/2.
    #[must_use]
    pub fn new(http: Http1) -> Self {
        Messages::Http1(Box::new(http))
    }

    /// HTTP/2, as client and server agreed in TLS; `is_whole`: all of it is to come.
    #[must_use]
    pub fn http2(is_whole: bool) -> Self {
        Messages::Http2(Box::new(if is_whole {
            Http2::beginning_at(0, 0)
        } else {
            Http2::joined_at(0, 0)
        }))
    }

    /// The next bytes of a direction; see [`Http1::data`].
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
                    *self = Messages::Http2(begun_with(http, given, out));
                    return;
                }
                http.data(direction, offset, bytes, mark, peer_acked, out);
                if let Some(start) = http.http2() {
                    *self = Messages::Http2(begun_at(start, given, out));
                }
            }
        }
    }

    /// `length` bytes from `offset` on were never captured.
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

    /// The direction ended; nothing of it follows.
    pub fn end(&mut self, direction: Direction, end: End, mark: Mark, out: &mut Output) {
        match self {
            Messages::Http1(http) => http.end(direction, end, mark, out),
            Messages::Http2(http) => http.end(direction, out),
        }
    }

    /// Whether messages of HTTP were found.
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

    /// Whether TLS may begin here: see [`Http1::may_be_tls`].
    #[must_use]
    pub fn may_be_tls(&self) -> bool {
        match self {
            Messages::Http1(http) => http.may_be_tls(),
            Messages::Http2(_) => false,
        }
    }

    /// Whether all bytes were given so far, from the first on.
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

    /// Whether a direction is not looked at any more.
    #[must_use]
    pub fn is_opaque(&self, direction: Direction) -> bool {
        match self {
            // Frames may begin it yet.
            Messages::Http1(http) => http.is_opaque(direction),
            Messages::Http2(http) => http.is_opaque(direction),
        }
    }

    /// The offset of the latest request of HTTP/1; streams of HTTP/2 overlap.
    #[must_use]
    pub fn request_start(&self) -> Option<u64> {
        match self {
            Messages::Http1(http) => http.request_start(),
            Messages::Http2(_) => None,
        }
    }

    /// The offset of the latest response of HTTP/1.
    #[must_use]
    pub fn response_start(&self) -> Option<u64> {
        match self {
            Messages::Http1(http) => http.response_start(),
            Messages::Http2(_) => None,
        }
    }

    /// Where the oldest messages begin that are not handed out yet.
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

    /// Memory that unfinished messages take.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        match self {
            Messages::Http1(http) => http.held_bytes(),
            Messages::Http2(http) => http.held_bytes(),
        }
    }

    /// Hands out what is known of messages that are not whole.
    pub fn give_up_held(&mut self, mark: Mark, out: &mut Output) {
        match self {
            Messages::Http1(http) => http.give_up_held(mark, out),
            Messages::Http2(http) => http.give_up_held(out),
        }
    }
}

/// Whether frames begin that no preface came before: the server's SETTINGS may come first where TLS has hidden what was
/// agreed, and all frames where the connection was joined later.
fn begins_frames(http: &Http1, given: Bytes<'_>) -> bool {
    if http.begins_whole() {
        given.direction == Direction::ServerToClient
            && given.offset == 0
            && starts_with_settings(given.bytes)
    } else {
        starts_like(given.bytes)
    }
}

/// HTTP/2 of which these are the first frames.
fn begun_with(http: &Http1, given: Bytes<'_>, out: &mut Output) -> Box<Http2> {
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

/// What the request asked for that was answered by 101: the same of stream 1 (RFC 7540, section 3.2), which has no bytes of
/// it.
fn upgraded_request(out: &Output, at: u64, mark: Mark) -> Option<Box<Message>> {
    let is_switch = |it: &&Transaction| {
        let response = it.response.as_ref();
        response.is_some_and(|it| it.status == Some(SWITCHING_PROTOCOLS))
    };
    let switch = out.transactions.iter().rev().find(is_switch)?;
    let asked = switch.request.as_ref()?;
    let mut request = Message::of_frames(at, mark);
    request.method.clone_from(&asked.method);
    request.target.clone_from(&asked.target);
    request.fields.host.clone_from(&asked.fields.host);
    Some(request)
}

/// HTTP/2 that begins at `start`, with these bytes or before them.
fn begun_at(start: Http2Start, given: Bytes<'_>, out: &mut Output) -> Box<Http2> {
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
        // What came of the preface in segments before.
        let before = usize::try_from(offset.saturating_sub(start.client)).unwrap_or(usize::MAX);
        let before = PREFACE.get(..before).unwrap_or(PREFACE);
        http2.data(direction, start.client, before, mark, out);
    }
    http2.data(direction, offset, bytes, mark, out);
    http2
}
