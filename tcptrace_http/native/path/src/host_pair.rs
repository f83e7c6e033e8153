//! What all connections between two hosts share: their path, and what a sender keeps per host (RFC 2140).

use crate::bottleneck::PACKET_BYTES_MIN;
use crate::bursts::Bursts;
use crate::receiver::DELAY_MIN_NS;
use crate::{Bottleneck, Serialization};

/// Packets that are further apart than the link needs by such a part, and so much, leave it idle.
const BUSY_SHARE: i64 = 8;
const BUSY_SLACK_NS: i64 = 20_000;

/// An acknowledgment of so much is none of one segment alone, which a receiver may delay (RFC 5681, section 4.2).
const AT_ONCE_BYTES: u32 = 2_500;

/// The link's use when a packet passes.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkUse {
    /// When the packet before passed, of whatever connection.
    pub before_ns: Option<i64>,
    /// Since when the link has been busy.
    pub busy_since_ns: i64,
    /// Bytes of all packets up to the end of this one.
    pub carried: u64,
    /// How long it stands in the link's queue behind the capture, behind packets of whatever connection.
    pub queued_ns: i64,
}

impl LinkUse {
    /// Nothing passed.
    pub const NONE: LinkUse = LinkUse {
        before_ns: None,
        busy_since_ns: 0,
        carried: 0,
        queued_ns: 0,
    };
}

/// A packet that is acknowledged: when it passed, its bytes, and what the link had carried by its end.
#[derive(Clone, Copy, Debug)]
pub struct Acknowledged {
    pub time_ns: i64,
    pub bytes: u32,
    pub carried: u64,
}

/// A round trip without a queue as far as is known, and the bytes of the packet and of its acknowledgment.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoundTrip {
    pub time_ns: i64,
    pub bytes: u32,
}

/// One direction between the hosts.
#[derive(Clone, Debug, Default)]
struct Direction {
    /// As the distances of its packets show, and as those of their acknowledgments do.
    bottleneck: Bottleneck,
    by_acks: Bottleneck,
    bursts: Bursts,
    /// The packet before: when it passed.
    last_ns: Option<i64>,
    last_bytes: u32,
    /// Since when packets have followed each other as fast as the link allows.
    busy_since_ns: i64,
    /// When the link behind the capture has carried all that passed.
    free_ns: i64,
    /// Least round trip from the capture to the hosts that this direction leads to.
    round_trip: Option<RoundTrip>,
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

    /// A packet of any connection passes; `is_full` if its segment is a full one.
    pub fn on_packet(
        &mut self,
        is_second: bool,
        time_ns: i64,
        packet_bytes: u32,
        is_full: bool,
    ) -> LinkUse {
        // A packet of the other direction's round trip leads to where this one's come from.
        let other = self.direction(!is_second);
        let answer_ns = other.round_trip.map_or(0, |it| it.time_ns);
        let asked_ns = other.last_ns;
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
        // What follows a bare acknowledgment is an answer of its own.
        let was_data =
            std::mem::replace(&mut direction.last_bytes, packet_bytes) >= PACKET_BYTES_MIN;
        if let Some(before) = before_ns.filter(|_| was_data) {
            // An application writes full packets by chance only; a link carries them one after the other.
            let may_be_answer = !is_full
                && asked_ns.is_some_and(|asked_ns| {
                    asked_ns >= before
                        && time_ns.saturating_sub(asked_ns) >= answer_ns.saturating_mul(3) / 4
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

    /// At `time_ns` a packet of `ack_bytes` comes that acknowledges one of a direction.
    pub fn on_ack(&mut self, is_second: bool, time_ns: i64, acked: Acknowledged, ack_bytes: u32) {
        let direction = self.direction_mut(is_second);
        let this = RoundTrip {
            time_ns: time_ns.saturating_sub(acked.time_ns),
            bytes: acked.bytes.saturating_add(ack_bytes),
        };
        let known = direction.round_trip.filter(|it| it.time_ns <= this.time_ns);
        let least = *direction.round_trip.insert(known.unwrap_or(this));
        let there_ns = time_ns.saturating_sub(least.time_ns);
        // What passed behind it is all that the link may still have to carry.
        let behind = direction.bursts.carried().saturating_sub(acked.carried);
        let behind = u32::try_from(behind).unwrap_or(u32::MAX);
        let behind_ns = direction.by_acks.serialization().time_ns(behind);
        direction.free_ns = direction.free_ns.min(there_ns.saturating_add(behind_ns));
        let bound = direction.bursts.at_most(
            acked.carried.saturating_add(ack_bytes.into()),
            acked.time_ns,
            there_ns,
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

    /// Least round trip to the host that a direction leads to.
    #[must_use]
    pub fn round_trip(&self, is_second: bool) -> Option<RoundTrip> {
        self.direction(is_second).round_trip
    }

    /// Serialization time of a direction's slowest link, as acknowledgments show it.
    #[must_use]
    pub fn serialization_by_acks(&self, is_second: bool) -> Serialization {
        self.direction(is_second).by_acks.serialization()
    }

    /// Serialization time of a direction's slowest link, as its arrivals show it.
    #[must_use]
    pub fn serialization(&self, is_second: bool) -> Serialization {
        self.direction(is_second).bottleneck.serialization()
    }
}
