//! HTTP/1.0 and HTTP/1.1 transactions from the in-order bytes of a flow (RFC 9110, RFC 9112).
//!
//! Theory of operation. A [`Connection`] is given the bytes of both directions of one flow, each
//! direction in order, a segment at a time, together with the packet that carried them. It does no
//! I/O, never looks at ports and knows no TCP beyond stream offsets.
//!
//! Each direction has a reader ([`stream`]) that is in one of these states:
//!
//! ```text
//!  Idle ──start line──▶ Head ──empty line──▶ Body ──end by its framing──▶ Idle
//!   │                    │                    │
//!   └──no start line─────┴──bytes lost────────┴──▶ Searching ──start line at a segment──▶ Idle
//! ```
//!
//! `Searching` looks at the first bytes of each segment only: a body is never scanned for something
//! that looks like a message. Only heads and short texts are kept; another body costs the same however long it is.
//! A flow in which no start line turns up is given up after a few segments.
//!
//! An HTML document is looked through for links once it is over, and each text only once ([`documents`]): another
//! response with the same body has the same links, known with packets of its own.
//!
//! How a response is framed depends on the request it answers (RFC 9112, section 6.3), so the
//! [`pairing`] is asked when a response's head is complete. It keeps the requests that wait for a
//! response in order, with a marker where messages may have been lost. It pairs what follows such a
//! marker only on evidence, never by counting alone.

#![forbid(unsafe_code)]

mod begin;
mod body;
mod chunked;
mod connection;
mod document;
mod documents;
mod evidence;
mod exchange;
mod fields;
mod framing;
mod head;
mod html_links;
mod html_tags;
mod known_texts;
mod links;
mod loss;
mod message;
mod pairing;
mod proxy_protocol;
mod resume;
mod role;
mod slot;
mod start_line;
mod stream;
mod stream_facts;
mod unpacked;

#[cfg(test)]
mod any_loss_tests;
#[cfg(test)]
mod documents_tests;
#[cfg(test)]
mod exchange_tests;
#[cfg(test)]
mod framing_tests;
#[cfg(test)]
mod html_links_tests;
#[cfg(test)]
mod loss_tests;
#[cfg(test)]
mod request_line_tests;
#[cfg(test)]
mod robustness_tests;
#[cfg(test)]
mod script;

pub use body::Body;
pub use connection::{Connection, Http2Start};
pub use fields::Fields;
pub use framing::Framing;
pub use links::Links;
pub use message::{FirstRecord, Interim, Message, MessageBody, Opaque, Transaction};
pub use proxy_protocol::header_length as proxy_header_length;
pub use stream_facts::{Frames, Grpc, Opening, Piece, Reset, StreamFacts, WindowKind};

use documents::Documents;
use known_texts::KnownTexts;
pub use trace_model::rows::Direction;
use trace_model::rows::H2WindowRow;
pub use trace_model::Mark;
use trace_model::{Anomaly, AnomalyKind};

/// How a direction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    Fin,
    Reset,
    EndOfCapture,
}

/// What a [`Connection`] hands out. The caller empties it as often as it likes.
#[derive(Debug, Default)]
pub struct Output {
    /// Finished transactions, in the order of their requests on the flow.
    pub transactions: Vec<Transaction>,
    /// What was odd; `flow` is left for the caller, who knows it.
    pub anomalies: Vec<Anomaly>,
    /// Events of flow control of HTTP/2, if they are wanted; their flow is left for the caller.
    pub windows: Option<Vec<H2WindowRow>>,
    /// Of all connections that hand out here.
    known: KnownTexts,
    documents: Documents,
}

impl Output {
    pub fn notice(&mut self, kind: AnomalyKind, mark: Mark, detail: impl Into<String>) {
        self.anomalies.push(Anomaly {
            kind,
            frame: Some(mark.frame),
            flow: None,
            offset: None,
            detail: detail.into(),
        });
    }
}
