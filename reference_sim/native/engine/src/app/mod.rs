//! Applications: who writes what on connections, and when.
//!
//! An application is told what happened and answers by calling its [`Network`]; it never blocks.
//! Bytes have no content on their way: what was written is remembered beside the stream
//! ([`Content`]), for taps to make frames of it, and the reader is told when it has all of a
//! message. Which message stands for which request is in the table of [`exchange`].

mod answer;
pub mod body;
pub mod browser;
pub mod exchange;
pub mod http2;
pub mod http_text;
pub mod plan;
pub mod pool;
pub mod proxy;
mod request;
pub mod server;
#[cfg(test)]
mod test_network;
#[cfg(test)]
mod tests;
pub mod tls;
pub mod transfer;
mod writes;

use std::sync::Arc;

use crate::app::exchange::{Exchanges, Timeline};
use crate::app::http_text::Head;
use crate::random::Random;
use crate::stack::Nanoseconds;
use crate::truth::{Side, Truth};

/// Number of an application: servers, then proxies, browsers and transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AppId(pub u32);

/// What a timer of an application is about, in the one number that [`Network::wake`] carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Token {
    kind: u8,
    /// Only its last 24 bits are kept.
    count: u32,
    number: u32,
}

impl Token {
    const COUNT_BITS: u32 = 24;

    fn pack(self) -> u64 {
        let count = u64::from(self.count) % (1 << Self::COUNT_BITS);
        u64::from(self.kind) << 56 | count << 32 | u64::from(self.number)
    }

    fn unpack(token: u64) -> Token {
        Token {
            kind: (token >> 56) as u8,
            count: (token >> 32) as u32 % (1 << Self::COUNT_BITS),
            number: token as u32,
        }
    }
}

/// One end of a connection; connections are numbered in the order in which they are opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct End {
    pub connection: u32,
    pub side: Side,
}

/// What stands in a stretch of a stream. Nothing is spelt out before [`Content::copy`] is called:
/// a simulation without taps only counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// These very bytes: a command, the delimiters of a multipart body.
    Text(Arc<[u8]>),
    /// A stretch of a request's or a response's head.
    Head { head: Head, from: u64, bytes: u64 },
    /// A stretch of a body.
    Body {
        body: body::Body,
        from: u64,
        bytes: u64,
    },
}

impl Content {
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match self {
            Content::Text(text) => text.len() as u64,
            Content::Head { bytes, .. } | Content::Body { bytes, .. } => *bytes,
        }
    }

    /// Appends the bytes [from, to) of this content.
    pub fn copy(&self, from: u64, to: u64, out: &mut Vec<u8>) {
        let to = to.min(self.bytes());
        match self {
            Content::Text(text) => out.extend(text.get(from as usize..to as usize).unwrap_or(&[])),
            Content::Head {
                head, from: start, ..
            } => {
                let text = head.text();
                let range = (start + from) as usize..(start + to) as usize;
                out.extend(text.get(range).unwrap_or(&[]));
            }
            Content::Body {
                body, from: start, ..
            } => body.copy(start + from, start + to, out),
        }
    }

    /// The part [from, to) of this content.
    #[must_use]
    pub fn slice(&self, from: u64, to: u64) -> Content {
        let bytes = to.saturating_sub(from);
        match self {
            Content::Text(text) => {
                Content::Text(text.get(from as usize..to as usize).unwrap_or(&[]).into())
            }
            Content::Head {
                head, from: start, ..
            } => Content::Head {
                head: head.clone(),
                from: start + from,
                bytes,
            },
            Content::Body {
                body, from: start, ..
            } => Content::Body {
                body: *body,
                from: start + from,
                bytes,
            },
        }
    }
}

/// What an application is told about one of its connection's ends, never from within a call of its
/// own. While it does not read ([`Network::read`]) it is told of no data: that is told when it
/// goes on. Data that came with a FIN is told before [`Happening::PeerClosed`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    /// A listening application has a new connection.
    Accepted,
    Connected,
    /// So many bytes of the stream have come in order (the SYN not counted).
    Received {
        total: u64,
    },
    /// The end of the message that the peer's application gave this number to has come.
    Message {
        message: u64,
    },
    /// All that was written so far was taken into the send buffer.
    Written,
    PeerClosed,
    Closed,
    Failed,
}

/// What applications may do.
pub trait Network {
    fn now(&self) -> Nanoseconds;
    /// Opens a connection to the application that listens on a port of a node.
    fn connect(&mut self, app: AppId, node: u32, stack: u32, to_node: u32, to_port: u16) -> u32;
    fn listen(&mut self, app: AppId, node: u32, port: u16, stack: u32);
    /// One `write` call, queued behind those before it: a blocked writer makes its next call
    /// `gap` after the last one was taken. The peer gets `message` when it has read to its end.
    fn write(&mut self, at: End, parts: Vec<Content>, message: Option<u64>, gap: Nanoseconds);
    /// Closes for writing after all that was written.
    fn close(&mut self, at: End);
    /// Stops, or goes on, reading from the socket.
    fn read(&mut self, at: End, is_reading: bool);
    fn wake(&mut self, app: AppId, at: Nanoseconds, token: u64);
    /// The application's own stream of random numbers.
    fn random(&mut self, app: AppId) -> &mut Random;
    fn truth(&mut self) -> &mut Truth;
    /// The requests on their way, shared by all applications.
    fn exchanges(&mut self) -> &mut Exchanges;
    /// The marks of a connection's transactions; whoever drives the connection calls
    /// [`Timeline::sent`] and [`Timeline::came`].
    fn timeline(&mut self, connection: u32) -> &mut Timeline;
    /// The offset (SYN counted) at which the next write of this end begins.
    fn write_offset(&self, at: End) -> u64;
    /// The largest payload of a segment on this connection.
    fn mss(&self, at: End) -> u32;
    /// Bytes of the stream that one call with so many takes: more, where it is sealed.
    fn stream_bytes(&self, _: End, bytes: u64) -> u64 {
        bytes
    }
    /// Whether something that was written waits for the send buffer.
    fn is_writing(&self, _: End) -> bool {
        false
    }
}

/// Something that uses connections.
pub trait Application {
    fn start(&mut self, network: &mut dyn Network);
    fn woken(&mut self, network: &mut dyn Network, token: u64);
    fn happened(&mut self, network: &mut dyn Network, at: End, what: Happening);
    /// Whether it has nothing more to do.
    fn is_done(&self) -> bool;
}
