//! What all connections between two hosts share: their path, and what a sender keeps per host (RFC 2140).

use crate::{Bottleneck, Serialization};

/// Packets that are further apart than the link needs by such a part, and so much, leave it idle.
const BUSY_SHARE: i64 = 8;
const BUSY_SLACK_NS: i64 = 20_000;

/// The link's use when a packet passes.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkUse {
    /// When the packet before passed, of whatever connection.
    pub before_ns: Option<i64>,
    /// Since when the link has been busy.
    pub busy_since_ns: i64,
}

/// One direction between the hosts.
#[derive(Clone, Debug, Default)]
struct Direction {
    /// As the distances of its packets show, and as those of their acknowledgments do.
    bottleneck: Bottleneck,
    by_acks: Bottleneck,
    /// The packet before: when it passed.
    last_ns: Option<i64>,
    /// Since when packets have followed each other as fast as the link allows.
    busy_since_ns: i64,
    /// Least round trip from the capture to the hosts that this direction leads to.
    round_trip_ns: Option<i64>,
}

/// Both directions between two hosts; which one is first does not matter.
#[derive(Clone, Debug, Default)]
pub struct HostPair {
    directions: [Direction; 2],
}

impl HostPair {
    fn direction(&self, is_second: bool) -> &Direction {
        let [first, second] = &self.directions;
        if is_second {
            second
        } else {
            first
        }
    }

    fn direction_mut(&mut self, is_second: bool) -> &mut Direction {
        let [first, second] = &mut self.directions;
        if is_second {
            second
        } else {
            first
        }
    }

    /// A packet of any connection passes.
    pub fn on_packet(&mut self, is_second: bool, time_ns: i64, packet_bytes: u32) -> LinkUse {
        let direction = self.direction_mut(is_second);
        let before_ns = direction.last_ns.replace(time_ns);
        let service_ns = direction.bottleneck.serialization().time_ns(packet_bytes);
        let gap_ns = before_ns.map_or(i64::MAX, |before_ns| time_ns.saturating_sub(before_ns));
        let busy_ns = service_ns
            .saturating_add(service_ns / BUSY_SHARE)
            .saturating_add(BUSY_SLACK_NS);
        if gap_ns > busy_ns {
            direction.busy_since_ns = time_ns.saturating_sub(service_ns);
        }
        if before_ns.is_some() {
            direction.bottleneck.on_pair(gap_ns, packet_bytes);
        }
        LinkUse {
            before_ns,
            busy_since_ns: direction.busy_since_ns,
        }
    }

    /// Two acknowledgments of what a direction carries followed each other; the second one covers `bytes` of packets,
    /// all in flight when the first one came.
    pub fn on_ack_pair(&mut self, is_second: bool, gap_ns: i64, bytes: u32) {
        self.direction_mut(is_second).by_acks.on_pair(gap_ns, bytes);
    }

    /// A round trip from the capture to the host that a direction leads to, without a queue as far as is known.
    pub fn on_round_trip(&mut self, is_second: bool, rtt_ns: i64) {
        let least = &mut self.direction_mut(is_second).round_trip_ns;
        *least = Some(least.map_or(rtt_ns, |known| known.min(rtt_ns)));
    }

    /// Least round trip to the host that a direction leads to.
    #[must_use]
    pub fn round_trip_ns(&self, is_second: bool) -> Option<i64> {
        self.direction(is_second).round_trip_ns
    }

    /// Serialization time of a direction's slowest link, as acknowledgments show it.
    #[must_use]
    pub fn serialization_by_acks(&self, is_second: bool) -> Serialization {
        self.direction(is_second).by_acks.frequent()
    }

    /// Serialization time of a direction's slowest link, as its arrivals show it.
    #[must_use]
    pub fn serialization(&self, is_second: bool) -> Serialization {
        self.direction(is_second).bottleneck.serialization()
    }
}
