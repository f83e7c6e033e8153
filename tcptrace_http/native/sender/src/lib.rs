//! Model of a TCP sender from its segments and the ACKs that reach it, with one constraint per file.
//!
//! A segment leaves when the last of its constraints is released. [`congestion`] keeps cwnd as an interval.
//! [`nagle`] keeps the outstanding short segments. [`receive_window`] keeps the right edge that the peer
//! offers. [`restart`] keeps the effect of idle periods on cwnd. [`timers`] has the retransmission timers.

#![forbid(unsafe_code)]

pub mod congestion;
pub mod cork;
pub mod nagle;
pub mod receive_window;
pub mod restart;
pub mod timers;
