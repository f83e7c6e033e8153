//! Applications: who writes what on connections, and when.
//!
//! An application is told what happened and answers by calling its [`Network`]; it never blocks.
//! Bytes have no content on their way: what was written is remembered beside the stream
//! ([`Content`]), for taps to make frames of it, and the reader is told when it has all of a
//! message.

use crate::random::Random;
use crate::stack::Nanoseconds;
use crate::truth::{Side, Truth};

/// Number of an application: servers, then proxies, browsers and transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AppId(pub u32);

/// One end of a connection; connections are numbered in the order in which they are opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct End {
    pub connection: u32,
    pub side: Side,
}

/// What stands in a stretch of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// These very bytes: a head, a command.
    Text(Box<[u8]>),
    /// So many bytes of a body, from this offset of it; `object` seeds them.
    Body {
        object: u64,
        kind: BodyKind,
        from: u64,
        bytes: u64,
    },
}

impl Content {
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match self {
            Content::Text(text) => text.len() as u64,
            Content::Body { bytes, .. } => *bytes,
        }
    }

    /// Appends the bytes [from, to) of this content.
    pub fn copy(&self, from: u64, to: u64, out: &mut Vec<u8>) {
        match self {
            Content::Text(text) => {
                out.extend_from_slice(text.get(from as usize..to as usize).unwrap_or(&[]));
            }
            Content::Body {
                object,
                kind,
                from: first,
                ..
            } => crate::body::write(*kind, *object, first + from..first + to, out),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyKind {
    /// Lines of HTML.
    Html,
    /// Bytes that look like a GIF.
    Image,
    /// Any bytes.
    Binary,
}

/// What an application is told about one of its connection's ends.
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
    /// The offset (SYN counted) at which the next write of this end begins.
    fn write_offset(&self, at: End) -> u64;
    /// The largest payload of a segment on this connection.
    fn mss(&self, at: End) -> u32;
}

/// Something that uses connections.
pub trait Application {
    fn start(&mut self, network: &mut dyn Network);
    fn woken(&mut self, network: &mut dyn Network, token: u64);
    fn happened(&mut self, network: &mut dyn Network, at: End, what: Happening);
    /// Whether it has nothing more to do.
    fn is_done(&self) -> bool;
}
