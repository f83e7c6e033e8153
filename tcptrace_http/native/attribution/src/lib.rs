//! What each segment and each transaction waited for.
//!
//! Record, then explain. A [`Stream`] keeps a bounded log of one direction's segments and of the acknowledgments that
//! answer them; nothing is decided while it is written. When a message ends, or a part of a long one fills the log, that is
//! replayed once: for each segment
//! the releases of its constraints are found, the latest one binds ([`release`]), and the time between two deliveries
//! becomes [`Span`]s. [`transaction`] lays these, the handshake and the server's time behind each other so that they
//! partition the elapsed time.

#![forbid(unsafe_code)]

mod bound;
mod causes;
mod connection;
#[cfg(test)]
mod connection_tests;
mod delivery;
mod departure;
mod exchange;
mod explained_segment;
mod explained_stream;
mod learnt;
mod log;
mod lost;
mod multiplexed;
mod partition;
mod path_facts;
mod profile;
mod recovery;
mod release;
mod replay;
mod sender;
mod setup;
mod spans;
mod standstill;
mod stream;
mod timing;
mod transaction;
mod unfinished;
#[cfg(test)]
mod unfinished_tests;

pub use bound::{Bound, Short};
pub use connection::{Connection, Facts};
pub use exchange::{Ended, Extent, Handshake, Unfinished};
pub use explained_segment::{Allowance, Binding, ExplainedSegment};
pub use learnt::{Delays, Flight, Learnt};
pub use log::{AckEvent, DataEvent};
pub use multiplexed::{Frames, OfStream, Opening, Piece};
pub use partition::{Moment, Wait};
pub use path_facts::PathFacts;
pub use profile::Profile;
pub use transaction::Explained;
