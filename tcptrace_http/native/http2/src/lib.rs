//! HTTP/2 from the in-order bytes of a flow (RFC 9113), and HTTP of both versions.
//!
//! Theory of operation. A [`Connection`] takes the bytes of both directions of one flow, each in order,
//! segment by segment. A reader per direction ([`reader`]) finds the frames by their nine-byte headers. After
//! missing bytes, the reader searches for the next header. Of DATA, the reader uses only the length.
//! [`hpack`] decodes header blocks, and its table survives missing blocks.
//!
//! A stream becomes a transaction. The transaction has its messages and the positions of its frames among
//! those of other streams. The transaction also lists the frames that waited for a flow-control window
//! ([`window`]). The attribution derives the waits of segments from these facts.
//!
//! [`Messages`] reads both HTTP versions and follows a connection's upgrade.

#![forbid(unsafe_code)]

mod connection;
mod control;
mod data;
mod ended;
mod facts;
mod fields;
mod frame;
mod grpc;
mod hpack;
mod messages;
mod reader;
mod side;
mod stream;
mod window;

pub use connection::Connection;
pub use facts::{Counts, Facts, Goaway, SideFacts};
pub use frame::is_of_client;
pub use messages::Messages;
pub use stream::Oldest;
