//! What is handed out: messages and the transactions they make.

use std::sync::Arc;

use super::body::Body;
use super::fields::{ContentLength, Fields};
use super::framing::{self, Framing};
use super::head::{Head, Start};
use super::links::Links;
use super::stream_facts::StreamFacts;
use super::Mark;

/// Where the message now being read began.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Origin {
    pub(super) start: u64,
    pub(super) first: Mark,
    pub(super) head_last: Mark,
    /// What the segment of the first byte acknowledged of the other direction.
    pub(super) peer_acked: Option<u64>,
}

/// One HTTP message as it was on the wire. Offsets count the bytes of its direction from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub start: u64,
    /// Exclusive. Where a message is incomplete, the end of what is known of it.
    pub end: u64,
    /// Where its head ends.
    pub head_end: u64,
    /// The packet that carried its first byte.
    pub first: Mark,
    /// The latest packet, by frame number, that carried any byte of it.
    pub last: Mark,
    /// The latest packet that carried any byte of its head.
    pub head_last: Mark,
    /// Of a request; cut at 8 KiB, as is the target.
    pub method: Option<Box<str>>,
    /// Of a request. Bytes that are not UTF-8 are U+FFFD.
    pub target: Option<Box<str>>,
    /// Of a response.
    pub status: Option<u16>,
    /// 0 for HTTP/1.0 and 1 for HTTP/1.1.
    pub minor_version: u8,
    pub fields: Fields,
    /// Start line, fields and empty line on the wire.
    pub header_bytes: u64,
    pub body: MessageBody,
    /// The end was reached as the framing defines it; bytes may be missing all the same.
    pub complete: bool,
    /// Bytes of it that were never captured. Where it is incomplete this includes those at which it
    /// breaks off, which may belong to later messages too.
    pub missing_bytes: u64,
    /// Whether the connection is meant to go on after it (RFC 9112, section 9.3).
    pub keep_alive: bool,
    /// The options of its Connection field (RFC 9110, section 7.6.1).
    pub has_close: bool,
    pub has_keep_alive: bool,
    /// Of an HTML document: what it refers to, if anything.
    pub links: Option<Arc<Links>>,
    /// Of a message that came in records of TLS.
    pub first_record: Option<FirstRecord>,
}

/// The record of TLS that a message begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstRecord {
    /// The packet that completed it: no byte of it can be used before.
    pub last: Option<Mark>,
    /// On the wire.
    pub bytes: u64,
}

/// The body of a message (RFC 9112, section 6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageBody {
    pub framing: Framing,
    pub content_length: Option<u64>,
    /// With chunked framing removed, before content decoding; missing bytes count.
    pub bytes: u64,
    /// On the wire, with chunked framing and trailers; missing bytes count.
    pub wire_bytes: u64,
    /// The packet that carried its first byte.
    pub first: Option<Mark>,
    /// Of a whole 200 response, if bodies are looked at.
    pub kept: Option<Body>,
}

impl Message {
    pub(super) fn from_head(head: Head, origin: Origin, framing: Framing) -> Box<Message> {
        let (method, target, status) = match head.start {
            Start::Request { method, target } => (Some(method), Some(target), None),
            Start::Status(status) => (None, None, Some(status)),
        };
        let header_bytes = head.bytes as u64;
        Box::new(Message {
            start: origin.start,
            end: origin.start.saturating_add(header_bytes),
            head_end: origin.start.saturating_add(header_bytes),
            first: origin.first,
            last: origin.head_last,
            head_last: origin.head_last,
            method,
            target,
            status,
            minor_version: head.minor_version,
            fields: head.fields,
            header_bytes,
            body: MessageBody {
                framing,
                content_length: match head.framing.content_length {
                    ContentLength::Bytes(bytes) => Some(bytes),
                    ContentLength::Absent | ContentLength::Invalid => None,
                },
                bytes: 0,
                wire_bytes: 0,
                first: None,
                kept: None,
            },
            complete: false,
            missing_bytes: 0,
            keep_alive: framing != Framing::UntilClose
                && framing::keep_alive(&head.framing, head.minor_version),
            has_close: head.framing.connection_close,
            has_keep_alive: head.framing.connection_keep_alive,
            links: None,
            first_record: None,
        })
    }

    /// A message of HTTP/2 whose first frame begins at `start`: nothing of it is known yet.
    #[must_use]
    pub fn of_frames(start: u64, first: Mark) -> Box<Message> {
        Box::new(Message {
            start,
            end: start,
            head_end: start,
            first,
            last: first,
            head_last: first,
            method: None,
            target: None,
            status: None,
            minor_version: 0,
            fields: Fields::default(),
            header_bytes: 0,
            body: MessageBody {
                framing: Framing::Unknown,
                content_length: None,
                bytes: 0,
                wire_bytes: 0,
                first: None,
                kept: None,
            },
            complete: false,
            missing_bytes: 0,
            keep_alive: true,
            has_close: false,
            has_keep_alive: false,
            links: None,
            first_record: None,
        })
    }

    /// Its head on the wire, with the records of TLS around it.
    #[must_use]
    pub fn header_wire_bytes(&self) -> u64 {
        match self.first_record {
            Some(_) => self.head_end.saturating_sub(self.start),
            None => self.header_bytes,
        }
    }

    /// The whole message on the wire, with the records of TLS around it; missing bytes count.
    #[must_use]
    pub fn wire_bytes(&self) -> u64 {
        match self.first_record {
            Some(_) => self.end.saturating_sub(self.start),
            None => self.header_bytes.saturating_add(self.body.wire_bytes),
        }
    }

    /// Memory that it takes.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        let fields = &self.fields;
        let texts = [
            &self.method,
            &self.target,
            &fields.host,
            &fields.content_type,
            &fields.content_encoding,
            &fields.server,
            &fields.location,
            &fields.etag,
            &fields.last_modified,
            &fields.cache_control,
            &fields.vary,
            &fields.accept_encoding,
            &fields.referer,
        ];
        let text_bytes = texts.into_iter().flatten().map(|text| text.len());
        let link_bytes = self.links.iter().map(|links| links.bytes());
        let body_bytes = self.body.kept.as_ref().map_or(0, Body::held_bytes);
        text_bytes.chain(link_bytes).fold(
            size_of::<Message>().saturating_add(body_bytes),
            usize::saturating_add,
        ) as u64
    }
}

/// The interim responses (1xx) before a final one (RFC 9110, section 15.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interim {
    pub count: u32,
    /// Of the first one.
    pub status: u16,
    /// The packet that carried the first byte of the first one.
    pub first: Mark,
    /// The offset of the first one.
    pub start: u64,
}

/// A request and its response, or one of the two where the other was not captured, was never sent,
/// or cannot be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// Counts the transactions of the flow from 0, in the order in which they are handed out.
    pub index: u64,
    pub request: Option<Box<Message>>,
    pub response: Option<Box<Message>>,
    pub interim: Option<Interim>,
    /// The request was sent before the response to the one before it had arrived.
    pub pipelined: bool,
    /// Messages were lost before it; it was paired because the client asked only after it had
    /// received all that the server had sent. Sure for a client that does not pipeline.
    pub paired_after_loss: bool,
    /// What is known of an exchange that cannot be read. None: it is HTTP.
    pub opaque: Option<Opaque>,
    /// Of HTTP/2: what its stream tells beyond its messages.
    pub stream: Option<Box<StreamFacts>>,
}

/// An exchange that is encrypted: records take the place of heads and bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opaque {
    /// The client sent while the response was on its way: these may be several exchanges at once, as in HTTP/2.
    pub is_group: bool,
}

impl Transaction {
    /// Whether both messages are there and reached their ends.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        let whole = |message: &Option<Box<Message>>| message.as_ref().is_some_and(|it| it.complete);
        whole(&self.request) && whole(&self.response)
    }
}
