//! A TCP sender as its segments and the acknowledgments that reach it show it: one constraint per file.
//!
//! A segment leaves when the last of its constraints is released. [`congestion`] keeps the congestion window as an
//! interval, [`nagle`] the short segments that are outstanding, [`receive_window`] the right edge that the peer
//! offers, [`restart`] what an idle period did to the congestion window, and [`timers`] what a retransmission waited
//! for.

#![forbid(unsafe_code)]

pub mod congestion;
pub mod cork;
pub mod nagle;
pub mod receive_window;
pub mod restart;
pub mod timers;
