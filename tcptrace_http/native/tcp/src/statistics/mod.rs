//! Statistics of a flow: all values that tcptrace, Tstat and tshark report per connection.
//!
//! The statistics are kept on request only. Sound definitions of tcptrace are used (its manual and its behaviour).
//! `tests/differential/disagreements.toml` lists the differences and their reasons. Memory is bounded: unacknowledged
//! segments per direction (`ledger`), and sums.

mod causes;
mod completeness;
mod copies;
mod counts;
mod flight;
mod ledger;
mod moments;
mod round_trips;
mod row;
pub mod selective_acks;
mod sender;
mod windows;

use trace_model::{Packet, Segment};

pub use self::row::FlowFacts;
use self::sender::{SeenSegment, Sender};
use crate::classify::Class;
use crate::ends::Side;

/// Statistics of both directions of a flow.
#[derive(Debug, Default)]
pub struct Statistics {
    first: Sender,
    second: Sender,
    completeness: u8,
}

impl Statistics {
    /// Take a segment of `side` that starts at offset `start`, acknowledges up to `ack` and announces
    /// `window` bytes.
    pub fn segment(
        &mut self,
        side: Side,
        packet: &Packet<'_>,
        segment: &Segment<'_>,
        place: (i64, Option<i64>, u32),
        class: &Class,
    ) {
        let (start, ack, window) = place;
        self.completeness |= completeness::bits(segment);
        let (sender, peer) = match side {
            Side::First => (&mut self.first, &mut self.second),
            Side::Second => (&mut self.second, &mut self.first),
        };
        sender.sent(&SeenSegment {
            packet,
            segment,
            class,
            start,
            window,
            peer_window_is_zero: peer.announced.last == Some(0),
        });
        if let Some(ack) = ack {
            peer.acknowledged(ack, segment, class, packet.time_ns);
        }
    }
}
