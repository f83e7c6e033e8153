//! The engine of `reference_sim`: a packet-level discrete-event simulation of HTTP over TCP.
//!
//! Time is integer nanoseconds from the start of the simulation; events are handled in the order
//! (time, counter); every element that needs chance has its own stream of random numbers. The
//! same scenario with the same seed gives the same bytes on any machine.
//!
//! - [`scenario`]: what is simulated, as Python hands it over; [`stack`]: the knobs of a TCP.
//! - [`segment`], [`tcp`]: one end of a connection, without I/O.
//! - [`sharing`]: what the connections of one pair of hosts share.
//! - [`truth`]: what really happened.
//!
//! Nothing here reads captures, estimates or classifies: only the trace model is shared with the
//! analysis.

#![forbid(unsafe_code)]

pub mod app;
mod endpoint;
mod event_queue;
mod fabric;
pub mod http2;
mod link;
mod loss;
mod packet;
mod pcapng;
mod places;
pub mod random;
mod route;
pub mod rows;
pub mod scenario;
pub mod segment;
pub mod sharing;
pub mod simulation;
mod slab;
pub mod stack;
mod stream;
pub mod tap;
pub mod tcp;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod testing;
pub mod tls;
pub mod truth;
pub mod validate;
mod wire;
pub mod world;
