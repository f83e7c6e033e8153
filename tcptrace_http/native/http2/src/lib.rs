//! HTTP/2 from the in-order bytes of a flow (RFC 9113), and HTTP of whatever version.
//!
//! Theory of operation. A [`Connection`] is given the bytes of both directions of one flow, each in order, a segment at
//! a time, as HTTP/1's is. A reader for each direction ([`reader`]) finds the frames by their headers of nine bytes; behind
//! bytes that were not captured it searches for the next header. Of DATA only the length is looked at; header blocks are
//! decoded by [`hpack`], whose table survives what was not seen.
//!
//! A stream becomes a transaction: its messages, where its frames lie among those of the others, and which of them had
//! waited for a flow-control window ([`window`]): what a segment waited for is told from that, elsewhere.
//!
//! [`Messages`] reads HTTP of either version, and changes over where a connection does.

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
