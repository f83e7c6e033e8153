//! Output types: messages and transactions.

use std::sync::Arc;

use super::body::Body;
use super::fields::{ContentLength, Fields};
use super::framing::{self, Framing};
use super::head::{Head, Start};
use super::links::Links;
use super::stream_facts::StreamFacts;
use super::Mark;

/// The start of the current message.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Origin {
    pub(super) start: u64,
    pub(super) first: Mark,
    pub(super) head_last: Mark,
    /// Number of bytes of the other direction that the first byte's segment acknowledged.
    pub(super) peer_acked: Option<u64>,
}

/// One HTTP message as on the wire. Offsets count the bytes of its direction from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub start: u64,
    /// Exclusive end. For an incomplete message, the end of its known part.
    pub end: u64,
    /// End offset of the head.
    pub head_end: u64,
    /// The packet that carried the first byte.
    pub first: Mark,
    /// The packet with the highest frame number that carried a byte of the message.
    pub last: Mark,
    /// The packet with the highest frame number that carried a byte of the head.
    pub head_last: Mark,
    /// Request only. Method and target are cut at 8 KiB.
    pub method: Option<Box<str>>,
    /// Request only. Bytes that are not UTF-8 become U+FFFD.
    pub target: Option<Box<str>>,
    /// Response only.
    pub status: Option<u16>,
    /// 0 for HTTP/1.0 and 1 for HTTP/1.1.
    pub minor_version: u8,
    pub fields: Fields,
    /// Length of start line, fields and empty line on the wire.
    pub header_bytes: u64,
    pub body: MessageBody,
    /// True if the message reached the end that its framing defines. Bytes can still be missing.
    pub complete: bool,
    /// Number of bytes that were not captured. For an incomplete message, this includes the bytes at the
    /// break, which can belong to later messages.
    pub missing_bytes: u64,
    /// True if the connection persists after the message (RFC 9112, section 9.3).
    pub keep_alive: bool,
    /// True if the Connection field has the option `close` (RFC 9110, section 7.6.1).
    pub has_close: bool,
    pub has_keep_alive: bool,
    /// The links of an HTML document, if it has any.
    pub links: Option<Arc<Links>>,
    /// Set for a message in TLS records.
    pub first_record: Option<FirstRecord>,
}

/// The TLS record at the start of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstRecord {
    /// The packet that completed the record. No byte of the record is usable before.
    pub last: Option<Mark>,
    /// Length on the wire.
    pub bytes: u64,
}

/// The body of a message (RFC 9112, section 6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageBody {
    pub framing: Framing,
    pub content_length: Option<u64>,
    /// Length without chunked framing, before content decoding. Missing bytes count.
    pub bytes: u64,
    /// Length on the wire, with chunked framing and trailers. Missing bytes count.
    pub wire_bytes: u64,
    /// The packet that carried the first byte.
    pub first: Option<Mark>,
    /// Set for a whole 200 response, if bodies are inspected.
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

    /// Return an HTTP/2 message whose first frame begins at `start`. All other fields are still unknown.
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

    /// Return the length of the head on the wire, with its TLS records.
    #[must_use]
    pub fn header_wire_bytes(&self) -> u64 {
        match self.first_record {
            Some(_) => self.head_end.saturating_sub(self.start),
            None => self.header_bytes,
        }
    }

    /// Return the length of the message on the wire, with its TLS records. Missing bytes count.
    #[must_use]
    pub fn wire_bytes(&self) -> u64 {
        match self.first_record {
            Some(_) => self.end.saturating_sub(self.start),
            None => self.header_bytes.saturating_add(self.body.wire_bytes),
        }
    }

    /// Return the memory of the message.
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

/// The interim responses (1xx) before a final response (RFC 9110, section 15.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interim {
    pub count: u32,
    /// Status of the first interim response.
    pub status: u16,
    /// The packet that carried the first byte of the first interim response.
    pub first: Mark,
    /// Offset of the first interim response.
    pub start: u64,
}

/// A request and its response, or one of them alone. The other one was not captured, was never sent, or is
/// unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// Number of the transaction on the flow, counted from 0 in hand-out order.
    pub index: u64,
    pub request: Option<Box<Message>>,
    pub response: Option<Box<Message>>,
    pub interim: Option<Interim>,
    /// True if the client sent the request before the previous response arrived.
    pub pipelined: bool,
    /// True if messages before the transaction were lost. The pairing rests on a request sent after all
    /// server bytes had arrived. The pair is certain for a client that does not pipeline.
    pub paired_after_loss: bool,
    /// The facts of an unreadable exchange. None for HTTP.
    pub opaque: Option<Opaque>,
    /// HTTP/2 only: facts of the stream beyond its messages.
    pub stream: Option<Box<StreamFacts>>,
}

/// An encrypted exchange. Records replace heads and bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opaque {
    /// True if the client sent during the response. The exchange can then be several concurrent exchanges, as
    /// in HTTP/2.
    pub is_group: bool,
}

impl Transaction {
    /// Return true if both messages exist and reached their ends.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        let whole = |message: &Option<Box<Message>>| message.as_ref().is_some_and(|it| it.complete);
        whole(&self.request) && whole(&self.response)
    }
}
