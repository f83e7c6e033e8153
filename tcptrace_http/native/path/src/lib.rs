//! Path model: the delay of segments and of their ACKs.
//!
//! A capture shows when a segment passes one point of the path. A [`Route`] places that point between the
//! sender and the receiver of one direction. The route gives the time at which a sender can react to an ACK.
//! [`Bottleneck`] learns the serialization time of the bottleneck. [`HostPair`] keeps the state that all
//! connections between two hosts share. [`receiver`] classifies ACKs as prompt or delayed.

#![forbid(unsafe_code)]

mod bottleneck;
mod bursts;
mod host_pair;
pub mod receiver;
mod route;

pub use bottleneck::{Bottleneck, Serialization};
pub use host_pair::{AckedPacket, HostPair, LinkUse, RoundTrip};
pub use route::{Place, Route, LEAST_BYTES};

/// Events closer than this are simultaneous: a kernel answers within about 50 µs, and capture clocks have
/// microseconds.
pub const TOLERANCE_MIN_NS: i64 = 250_000;
/// Upper limit of the tolerance: the slowest kernel answers to an ACK on paths of at least 20 ms (research:
/// real-kernel, "Detector advice").
pub const TOLERANCE_MAX_NS: i64 = 4_000_000;
/// Jitter of a round trip, as a divisor.
const TOLERANCE_SHARE: i64 = 24;

/// Return the tolerance of an answer's time on a path with a round trip of `rtt_ns`.
#[must_use]
pub fn tolerance_ns(rtt_ns: i64) -> i64 {
    (rtt_ns / TOLERANCE_SHARE).clamp(TOLERANCE_MIN_NS, TOLERANCE_MAX_NS)
}
