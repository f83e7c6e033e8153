//! Where a capture was taken between the sender and the receiver of a direction.

use crate::{tolerance_ns, Serialization};

/// A host's time to answer that a round trip may hold.
const HOST_MAX_NS: i64 = 800_000;

/// A packet without options and payload.
pub const LEAST_BYTES: u32 = 40;

/// The end of the path at which a direction was captured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// Departures are seen: the path's queues come behind the capture.
    Sender,
    /// Arrivals are seen: the path's queues come before the capture.
    #[default]
    Receiver,
}

/// One direction's path as the capture has it: from the sender past the capture to the receiver.
#[derive(Clone, Copy, Debug, Default)]
pub struct Route {
    pub place: Place,
    /// Least round trip from the capture to the sender.
    pub to_sender_ns: i64,
    /// Least round trip from the capture to the receiver.
    pub to_receiver_ns: i64,
    /// Of the slowest link.
    pub link: Serialization,
    /// What it takes at most, while it is not known.
    pub link_at_most: Option<Serialization>,
    /// Bytes of the packets on which the longer round trip was measured, there and back.
    pub probe_bytes: u32,
    /// Bytes of a packet without payload.
    pub ack_bytes: u32,
}

impl Route {
    /// When the capture sees the first segment that an acknowledgment releases, if it saw that one pass at `ack_ns`.
    #[must_use]
    pub fn answer_ns(&self, ack_ns: i64, ack_bytes: u32, packet_bytes: u32) -> i64 {
        let sizes_ns = match self.place {
            Place::Sender => 0,
            Place::Receiver => {
                let own_ns = self.link.time_ns(ack_bytes.saturating_add(packet_bytes));
                own_ns.saturating_sub(self.link.time_ns(self.probe_bytes))
            }
        };
        ack_ns
            .saturating_add(self.to_sender_ns)
            .saturating_add(sizes_ns)
    }

    /// The round trip of the least packets: what the probes took of the slowest link is taken off.
    #[must_use]
    pub fn least_round_trip_ns(&self) -> i64 {
        let more_ns = self
            .link
            .longer_ns(self.probe_bytes, LEAST_BYTES.saturating_mul(2));
        self.round_trip_ns().saturating_sub(more_ns).max(0)
    }

    /// What a segment takes of the slowest link before the capture sees it.
    #[must_use]
    pub fn service_ns(&self, packet_bytes: u32) -> i64 {
        match self.place {
            Place::Sender => 0,
            Place::Receiver => self.link.time_ns(packet_bytes),
        }
    }

    /// The whole path's least round trip.
    #[must_use]
    pub fn round_trip_ns(&self) -> i64 {
        self.to_sender_ns.saturating_add(self.to_receiver_ns)
    }

    /// How much later than predicted a packet may be because the link's time is not known.
    #[must_use]
    pub fn unknown_ns(&self, packet_bytes: u32) -> i64 {
        match (self.place, self.link_at_most) {
            (Place::Receiver, Some(most)) if !self.link.is_known() => most.time_ns(packet_bytes),
            _ => 0,
        }
    }

    /// What hosts may have taken of the round trip to the sender to answer: half of it, and no more than they are seen to
    /// (research: real-kernel, a SYN or a request is answered later than an ACK).
    #[must_use]
    pub fn host_ns(&self) -> i64 {
        (self.to_sender_ns.saturating_mul(3) / 4).min(HOST_MAX_NS)
    }

    /// How far an answer may be from its prediction.
    #[must_use]
    pub fn tolerance_ns(&self) -> i64 {
        tolerance_ns(self.to_sender_ns)
    }
}
