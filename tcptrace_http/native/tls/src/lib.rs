//! TLS on the wire without keys: handshakes, and exchanges of application data.
//!
//! Theory of operation. A [`Connection`] takes the bytes of both directions of one flow, as HTTP's connection
//! does. Each direction comes in order, segment by segment, with the packet that carried the segment. One
//! reader per direction ([`reader`]) finds the records by their five-byte headers. After a gap, the reader
//! searches for the next header. Every record has a role ([`phases`]). Before TLS 1.3, the record type gives
//! the role. Encrypted TLS 1.3 records all look alike, so the position and the length give the role:
//!
//! ```text
//!  client  ClientHello  [early data]                      [certificate] Finished  request ...
//!  server                   ServerHello ... Finished (53 or 69 bytes)   [tickets]          response ...
//! ```
//!
//! Application data forms exchanges ([`exchange`]): a client burst and the server's response, up to the
//! client's next burst. If the client sends during the response (HTTP/2), the exchanges form one group.
//!
//! Application data is not held. Of a handshake, only the current record and a hello are held. If [`Keys`]
//! have the secrets of the connection, one record of application data is held at a time and decrypted
//! ([`decrypted`]). If the plaintext is HTTP, its transactions replace the exchanges.

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
