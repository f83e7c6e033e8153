//! State that all connections between two hosts share: their path, and the sender's state per host (RFC
//! 2140).

use crate::bottleneck::PACKET_BYTES_MIN;
use crate::bursts::Bursts;
use crate::receiver::DELAY_MIN_NS;
use crate::{Bottleneck, Serialization};

/// The link is idle if a gap exceeds the serialization time by more than this share plus `BUSY_SLACK_NS`.
const BUSY_SHARE: i64 = 8;
const BUSY_SLACK_NS: i64 = 20_000;

/// Size of an ACK that covers several segments; a receiver delays the ACK of one segment only (RFC 5681,
/// section 4.2).
const AT_ONCE_BYTES: u32 = 2_500;

/// State of the link when a packet passes.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkUse {
    /// Time of the packet before it, of any connection.
    pub before_ns: Option<i64>,
    /// Start of the link's busy period.
    pub busy_since_ns: i64,
    /// Bytes of all packets up to the end of this packet.
    pub carried: u64,
    /// Queueing delay of this packet behind the capture, caused by packets of all connections.
    pub queued_ns: i64,
}

impl LinkUse {
    /// State before the first packet.
    pub const NONE: LinkUse = LinkUse {
        before_ns: None,
        busy_since_ns: 0,
        carried: 0,
        queued_ns: 0,
    };
}

/// Acknowledged packet: its time, its bytes, and the bytes that the link had carried by its end.
#[derive(Clone, Copy, Debug)]
pub struct AckedPacket {
    pub time_ns: i64,
    pub bytes: u32,
    pub carried: u64,
}

/// Smallest round trip, and the bytes of the packet and of its ACK.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoundTrip {
    pub time_ns: i64,
    pub bytes: u32,
}

/// Path state of one direction.
#[derive(Clone, Debug, Default)]
struct Direction {
    /// Estimates from the packet gaps (`bottleneck`) and from the ACKs (`by_acks`).
    bottleneck: Bottleneck,
    by_acks: Bottleneck,
    bursts: Bursts,
    /// Time of the previous packet.
    last_ns: Option<i64>,
    last_bytes: u32,
    /// Start of the run of packets that follow each other at the link's rate.
    busy_since_ns: i64,
    /// Time at which the link behind the capture has carried all packets.
    free_ns: i64,
    /// Smallest round trip from the capture to the host that receives this direction.
    round_trip: Option<RoundTrip>,
}

/// Path state of both directions between two hosts, in either order.
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

    /// Take a packet of any connection; `is_full` marks a full segment.
    pub fn on_packet(
        &mut self,
        is_second: bool,
        time_ns: i64,
        packet_bytes: u32,
        is_full: bool,
    ) -> LinkUse {
        // The round trip of the opposite direction leads to the sender of this direction.
        let other = self.direction(!is_second);
        let answer_ns = other.round_trip.map_or(0, |it| it.time_ns);
        let opposite_ns = other.last_ns;
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
        // A packet that follows a pure ACK is not queued behind data.
        let was_data =
            std::mem::replace(&mut direction.last_bytes, packet_bytes) >= PACKET_BYTES_MIN;
        if let Some(before) = before_ns.filter(|_| was_data) {
            // An application writes full packets back to back only by chance; a link always does.
            let may_be_answer = !is_full
                && opposite_ns.is_some_and(|opposite_ns| {
                    opposite_ns >= before
                        && time_ns.saturating_sub(opposite_ns) >= answer_ns.saturating_mul(3) / 4
                });
            direction
                .bottleneck
                .on_pair(gap_ns, packet_bytes, may_be_answer);
        }
        let queued_ns = direction.free_ns.saturating_sub(time_ns).max(0);
        let behind_ns = direction.by_acks.serialization().time_ns(packet_bytes);
        direction.free_ns = direction.free_ns.max(time_ns).saturating_add(behind_ns);
        LinkUse {
            queued_ns,
            carried: direction.bursts.on_packet(time_ns, packet_bytes),
            before_ns,
            busy_since_ns: direction.busy_since_ns,
        }
    }

    /// Take the ACK of the packet `acked`: a packet of `ack_bytes` that passes at `time_ns`.
    pub fn on_ack(&mut self, is_second: bool, time_ns: i64, acked: AckedPacket, ack_bytes: u32) {
        let direction = self.direction_mut(is_second);
        let this = RoundTrip {
            time_ns: time_ns.saturating_sub(acked.time_ns),
            bytes: acked.bytes.saturating_add(ack_bytes),
        };
        let known = direction.round_trip.filter(|it| it.time_ns <= this.time_ns);
        let least = *direction.round_trip.insert(known.unwrap_or(this));
        let received_ns = time_ns.saturating_sub(least.time_ns);
        // Only the packets behind the acknowledged packet may still be in the link's queue.
        let behind = direction.bursts.carried().saturating_sub(acked.carried);
        let behind = u32::try_from(behind).unwrap_or(u32::MAX);
        let behind_ns = direction.by_acks.serialization().time_ns(behind);
        direction.free_ns = direction.free_ns.min(received_ns.saturating_add(behind_ns));
        let bound = direction.bursts.at_most(
            acked.carried.saturating_add(ack_bytes.into()),
            acked.time_ns,
            received_ns,
            least.bytes,
        );
        if let Some(bound) = bound {
            let is_prompt = bound.bytes >= AT_ONCE_BYTES || bound.took_ns < DELAY_MIN_NS;
            let is_tight = is_prompt && bound.is_of_one_burst;
            direction
                .by_acks
                .on_bound(bound.took_ns, bound.bytes, is_tight);
        }
    }

    /// Return the smallest round trip to the host that receives this direction.
    #[must_use]
    pub fn round_trip(&self, is_second: bool) -> Option<RoundTrip> {
        self.direction(is_second).round_trip
    }

    /// Return the serialization time of the direction's bottleneck, estimated from ACKs.
    #[must_use]
    pub fn serialization_by_acks(&self, is_second: bool) -> Serialization {
        self.direction(is_second).by_acks.serialization()
    }

    /// Return the serialization time of the direction's bottleneck, estimated from arrivals.
    #[must_use]
    pub fn serialization(&self, is_second: bool) -> Serialization {
        self.direction(is_second).bottleneck.serialization()
    }
}
