//! TLS as it is on the wire, without keys: handshakes, and exchanges of application data.
//!
//! Theory of operation. A [`Connection`] is given the bytes of both directions of one flow, as HTTP's is: each direction
//! in order, a segment at a time, together with the packet that carried them. A reader for each direction
//! ([`reader`]) finds the records by their headers of five bytes; after bytes that were not captured it looks for
//! the next header. Every record has a role ([`phases`]): before TLS 1.3 its type tells, in TLS 1.3, whose
//! records all look alike once they are encrypted, its place and its length do:
//!
//! ```text
//!  client  ClientHello  [early data]                      [certificate] Finished  request ...
//!  server                   ServerHello ... Finished (53 or 69 bytes)   [tickets]          response ...
//! ```
//!
//! Application data becomes exchanges ([`exchange`]): a burst of the client and what the server answers, up to the
//! client's next burst. Where the client sends while the response is on its way (HTTP/2), they are one group.
//!
//! Nothing of application data is held; of a handshake only the record being read, and a hello. If [`Keys`] have the
//! secrets of the connection, application data is held too, a record at a time, and what it hides is read
//! ([`decrypted`]); if that is HTTP, its transactions take the place of the exchanges.

#![forbid(unsafe_code)]

mod bytes;
mod cipher;
mod connection;
mod decrypted;
mod effects;
mod exchange;
mod handshake;
mod hello;
mod messages;
mod offsets;
mod phases;
mod reader;
mod recognise;
mod record;
mod record_log;

#[cfg(test)]
mod tests;

pub use connection::Connection;
pub use decrypted::Keys;
pub use handshake::Handshake;
pub use recognise::{may_begin_hello, starts_like, Start};
pub use record_log::RecordLog;
pub use tcptrace_tls_keys::BadLines;
