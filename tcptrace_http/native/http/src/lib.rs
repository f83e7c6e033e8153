//! HTTP/1.0 and HTTP/1.1 transactions from the in-order bytes of a flow (RFC 9110, RFC 9112).
//!
//! Theory of operation. A [`Connection`] takes the bytes of both directions of one flow. Each direction comes
//! in order, segment by segment, with the packet that carried the segment. The connection does no I/O,
//! ignores ports, and knows only stream offsets of TCP.
//!
//! Each direction has a reader ([`stream`]) in one of these states:
//!
//! ```text
//!  Idle ──start line──▶ Head ──empty line──▶ Body ──end by its framing──▶ Idle
//!   │                    │                    │
//!   └──no start line─────┴──bytes lost────────┴──▶ Searching ──start line at a segment──▶ Idle
//! ```
//!
//! `Searching` checks only the first bytes of each segment, and never scans a body for something that
//! resembles a message. Only heads and short texts are kept. Other bodies cost constant memory. A flow
//! without a start line is abandoned after a few segments.
//!
//! A finished HTML document is searched for links, each distinct text once ([`documents`]). Another response
//! with the same body has the same links, with its own packets.
//!
//! The framing of a response depends on its request (RFC 9112, section 6.3). When a response's head is
//! complete, the [`pairing`] gives the request. The pairing keeps waiting requests in order, with a marker
//! where messages can be lost. After a marker it pairs only on evidence, never by counting alone.

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

/// The end of a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    Fin,
    Reset,
    EndOfCapture,
}

/// The output of a [`Connection`]. The caller empties it at any time.
#[derive(Debug, Default)]
pub struct Output {
    /// Finished transactions, in the order of their requests on the flow.
    pub transactions: Vec<Transaction>,
    /// Anomalies. The caller sets their `flow`.
    pub anomalies: Vec<Anomaly>,
    /// Flow-control events of HTTP/2, if wanted. The caller sets their flow.
    pub windows: Option<Vec<H2WindowRow>>,
    /// Known texts of all connections with this output.
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
