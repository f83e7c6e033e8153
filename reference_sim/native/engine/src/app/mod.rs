//! Applications: the sources of all writes on connections.
//!
//! An application receives events and answers with calls of its [`Network`]. An application never blocks.
//! Bytes have no content in transit. The written content is kept beside the stream ([`Content`]), and taps
//! build frames from it. A reader is notified of each complete message. The table of [`exchange`] maps
//! messages to requests.

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

/// Number of an application: servers first, then proxies, browsers and transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AppId(pub u32);

/// The subject of an application's timer, packed into the number that [`Network::wake`] carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Token {
    kind: u8,
    /// Only the lowest 24 bits are kept.
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

/// One end of a connection. Connections are numbered in opening order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct End {
    pub connection: u32,
    pub side: Side,
}

/// The content of a stream range. No text is generated before [`Content::copy`], so a simulation without taps
/// only counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Literal bytes, such as a command or the delimiters of a multipart body.
    Text(Arc<[u8]>),
    /// A range of a request's or a response's head.
    Head { head: Head, from: u64, bytes: u64 },
    /// A range of a body.
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

    /// Append the bytes [from, to) of this content.
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

    /// Return the part [from, to) of this content.
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

/// An event at one end of an application's connection. No event is delivered during the application's own
/// call. While the application does not read ([`Network::read`]), its data events are held until reading
/// resumes. Data that came with a FIN precedes [`AppEvent::PeerClosed`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppEvent {
    /// A listening application has a new connection.
    Accepted,
    Connected,
    /// Number of stream bytes received in order, without the SYN.
    Received {
        total: u64,
    },
    /// The end of the peer's message with this number arrived.
    Message {
        message: u64,
    },
    /// The send buffer took all written data.
    Written,
    PeerClosed,
    Closed,
    Failed,
}

/// The actions of applications.
pub trait Network {
    fn now(&self) -> Nanoseconds;
    /// Open a connection to the application that listens on a port of a node.
    fn connect(&mut self, app: AppId, node: u32, stack: u32, to_node: u32, to_port: u16) -> u32;
    fn listen(&mut self, app: AppId, node: u32, port: u16, stack: u32);
    /// Queue one `write` call after earlier ones. A blocked writer makes its next call `gap` after the last
    /// one was taken. The peer receives `message` when it has read to the end of the write.
    fn write(&mut self, at: End, parts: Vec<Content>, message: Option<u64>, gap: Nanoseconds);
    /// Close for writing after all queued writes.
    fn close(&mut self, at: End);
    /// Stop or resume reading from the socket.
    fn read(&mut self, at: End, is_reading: bool);
    fn wake(&mut self, app: AppId, at: Nanoseconds, token: u64);
    /// Return the application's own random number stream.
    fn random(&mut self, app: AppId) -> &mut Random;
    fn truth(&mut self) -> &mut Truth;
    /// Return the exchanges under way, shared by all applications.
    fn exchanges(&mut self) -> &mut Exchanges;
    /// Return the marks of a connection's transactions. The driver of the connection calls [`Timeline::sent`]
    /// and [`Timeline::came`].
    fn timeline(&mut self, connection: u32) -> &mut Timeline;
    /// Return the stream offset (SYN counted) at which this end's next write begins.
    fn write_offset(&self, at: End) -> u64;
    /// Return the maximum segment payload on this connection.
    fn mss(&self, at: End) -> u32;
    /// Return the stream bytes of a write of `bytes` bytes. TLS adds its overhead.
    fn stream_bytes(&self, _: End, bytes: u64) -> u64 {
        bytes
    }
    /// Return true if written data waits for the send buffer.
    fn is_writing(&self, _: End) -> bool {
        false
    }
}

/// A user of connections.
pub trait Application {
    fn start(&mut self, network: &mut dyn Network);
    fn woken(&mut self, network: &mut dyn Network, token: u64);
    fn on_event(&mut self, network: &mut dyn Network, at: End, what: AppEvent);
    /// Return true if the application has nothing more to do.
    fn is_done(&self) -> bool;
}
