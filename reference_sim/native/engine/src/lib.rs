//! The engine of `reference_sim`: a packet-level discrete-event simulation of HTTP over TCP.
//!
//! Time is integer nanoseconds from the start of the simulation. Events are handled in the order (time,
//! counter). Every random element has its own stream of random numbers. Equal scenarios with equal seeds give
//! equal bytes on every machine.
//!
//! - [`scenario`]: the input, as Python passes it; [`stack`]: the parameters of a TCP.
//! - [`segment`], [`tcp`]: one end of a connection, without I/O.
//! - [`sharing`]: state shared by the connections of one pair of hosts.
//! - [`truth`]: the recorded true events.
//!
//! Nothing here reads captures, estimates or classifies. Only the trace model is shared with the analysis.

#![forbid(unsafe_code)]

pub mod app;
mod codel;
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
