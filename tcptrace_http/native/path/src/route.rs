//! Position of a capture between the sender and the receiver of a direction.

use crate::{tolerance_ns, Serialization};

/// Maximum answer time of a host within a measured round trip.
const HOST_MAX_NS: i64 = 800_000;

/// Size of a packet without options and payload.
pub const LEAST_BYTES: u32 = 40;

/// End of the path at which a direction was captured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// The capture shows departures: the path's queues are behind the capture.
    Sender,
    /// The capture shows arrivals: the path's queues are before the capture.
    #[default]
    Receiver,
}

/// Path of one direction relative to the capture: sender, capture point, receiver.
#[derive(Clone, Copy, Debug, Default)]
pub struct Route {
    pub place: Place,
    /// Smallest round trip from the capture to the sender.
    pub to_sender_ns: i64,
    /// Smallest round trip from the capture to the receiver.
    pub to_receiver_ns: i64,
    /// Serialization time of the bottleneck.
    pub link: Serialization,
    /// Upper bound of the serialization time, if the time itself is unknown.
    pub link_at_most: Option<Serialization>,
    /// Bytes of the two packets that measured the longer round trip, forward and back.
    pub probe_bytes: u32,
    /// Bytes of a packet without payload.
    pub ack_bytes: u32,
}

impl Route {
    /// Return the time at which the capture sees the first segment that an ACK releases.
    ///
    /// The ACK passes the capture at `ack_ns`.
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

    /// Return the round trip of the smallest packets: without the serialization time of the measured packets'
    /// payload.
    #[must_use]
    pub fn least_round_trip_ns(&self) -> i64 {
        let more_ns = self
            .link
            .longer_ns(self.probe_bytes, LEAST_BYTES.saturating_mul(2));
        self.round_trip_ns().saturating_sub(more_ns).max(0)
    }

    /// Return the bottleneck's serialization time of a segment before the capture sees it.
    #[must_use]
    pub fn service_ns(&self, packet_bytes: u32) -> i64 {
        match self.place {
            Place::Sender => 0,
            Place::Receiver => self.link.time_ns(packet_bytes),
        }
    }

    /// Return the smallest round trip of the whole path.
    #[must_use]
    pub fn round_trip_ns(&self) -> i64 {
        self.to_sender_ns.saturating_add(self.to_receiver_ns)
    }

    /// Return the additional delay that a packet may have while the serialization time is unknown.
    #[must_use]
    pub fn unknown_ns(&self, packet_bytes: u32) -> i64 {
        match (self.place, self.link_at_most) {
            (Place::Receiver, Some(most)) if !self.link.is_known() => most.time_ns(packet_bytes),
            _ => 0,
        }
    }

    /// Return the maximum answer time of hosts within the round trip to the sender.
    ///
    /// The limits are three quarters of that round trip and `HOST_MAX_NS` (research: real-kernel, hosts
    /// answer a SYN or a request later than an ACK).
    #[must_use]
    pub fn host_ns(&self) -> i64 {
        (self.to_sender_ns.saturating_mul(3) / 4).min(HOST_MAX_NS)
    }

    /// Return the tolerance of an answer's time.
    #[must_use]
    pub fn tolerance_ns(&self) -> i64 {
        tolerance_ns(self.to_sender_ns)
    }
}
