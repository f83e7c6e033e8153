//! Attribution: the wait of each segment and of each transaction.
//!
//! Record, then explain. A [`Stream`] keeps a bounded log of one direction's segments and of their ACKs. The
//! log decides no cause. A replay of the log takes place once: at the end of a message, or when a long
//! message fills the log. The replay finds the releases of each segment's constraints, and the latest release
//! binds ([`release`]). The time between two deliveries becomes [`Span`]s. [`transaction`] puts the
//! handshake, the server's time and the spans in sequence. Together they partition the elapsed time.

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
mod reduction;
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
pub use exchange::{ConnectionEnd, Extent, Handshake, UnfinishedTransaction};
pub use explained_segment::{Allowance, Binding, ExplainedSegment};
pub use learnt::{Delays, Flight, LearntState};
pub use log::{AckEvent, DataEvent};
pub use multiplexed::{Frames, Opening, Piece, StreamFrames};
pub use partition::{Moment, Wait};
pub use path_facts::PathFacts;
pub use profile::Profile;
pub use transaction::ExplainedTransaction;
