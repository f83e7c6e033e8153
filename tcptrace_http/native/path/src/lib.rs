//! What the path does to segments and to their acknowledgments.
//!
//! A capture shows when a segment passes one point of the path. A [`Route`] places that point between the sender and
//! the receiver of one direction, so that an acknowledgment can be given the time at which its sender could have
//! answered it. [`Bottleneck`] learns the serialization time of the slowest link, [`HostPair`] keeps what all
//! connections between two hosts share, and [`receiver`] tells whether an acknowledgment was delayed.

#![forbid(unsafe_code)]

mod bottleneck;
mod bursts;
mod host_pair;
pub mod receiver;
mod route;

pub use bottleneck::{Bottleneck, Serialization};
pub use host_pair::{Acknowledged, HostPair, LinkUse, RoundTrip};
pub use route::{Place, Route, LEAST_BYTES};

/// Two moments closer than this are one, for a kernel answers in some 50 microseconds and a capture's clock
/// has microseconds.
pub const TOLERANCE_MIN_NS: i64 = 250_000;
/// Outliers of a kernel's answer to an acknowledgment on a path of 20 ms and more (research: real-kernel, "Detector advice").
pub const TOLERANCE_MAX_NS: i64 = 4_000_000;
/// The part of a round trip that its jitter takes.
const TOLERANCE_SHARE: i64 = 24;

/// How far an answer may be from what a round trip of `rtt_ns` predicts.
#[must_use]
pub fn tolerance_ns(rtt_ns: i64) -> i64 {
    (rtt_ns / TOLERANCE_SHARE).clamp(TOLERANCE_MIN_NS, TOLERANCE_MAX_NS)
}
