//! Connections of two hosts that share one congestion window (RFC 2140, section 4; E-TCP): an ACK of one lets
//! data of another go.
//!
//! Theory of operation. Data that was held leaves when an ACK comes, so it goes by the path's time after that
//! ACK did. Where each connection has a window of its own that is an ACK of its own. So of what comes after a
//! pause between two hosts ([`Flight`]) it is looked whose ACK let it go: if time and again there is none of
//! its own connection, but at that very time one of another's, more often than chance has it, the windows are
//! shared. An application that writes now and then, or a paced sender, has neither.
//!
//! Every share of a capture sees all packets, and learns the same from them.

mod host_pair;
mod missed;
mod pace;
mod release;

use crate::hosts::HostStep;
use crate::waits::Arrivals;
use foldhash::fast::FixedState;
use host_pair::HostPair;
use std::hash::BuildHasher;
use trace_model::flags;
use trace_model::IpAddress;
use trace_model::Packet;
use trace_model::Segment;

/// Pairs of hosts that are followed; one that falls on the place of another takes it.
const PAIRS: usize = 1024;

/// What the other connections between the same hosts have to do with a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sharing {
    /// The sender's connections to this host share their window.
    pub is_shared: bool,
    /// If so, an ACK of another of them let the segment go, and nothing that came on its own.
    pub by_other: bool,
    /// Data had been lost on one of them when the sender was asked for the segment, or sent the one before.
    pub had_loss: bool,
    /// The least way to that host and back, of all connections to it.
    pub to_server_ns: Option<i64>,
    /// ... and to the other one.
    pub to_client_ns: Option<i64>,
    /// The least time that the largest segment of any of them takes.
    pub service_ns: Option<i64>,
    /// What the data of all of them tells of the slowest link to this host.
    pub link: Arrivals,
    /// Packets of the host that were missed since the sender's last data on this connection, and that others of its
    /// connections have accounted for.
    pub missed_elsewhere: u32,
    /// The segment may have been sent before and missed: when it would have come, had an ACK of another connection
    /// let it go.
    pub missed_ns: Option<i64>,
}

/// All pairs of hosts of which a SYN was seen.
#[derive(Debug, Default)]
pub struct SharedWindows {
    pairs: Vec<Option<Box<HostPair>>>,
    /// The pair of the packet before: most are of the same.
    last: usize,
}

impl SharedWindows {
    /// Takes the next packet, of whichever connection, and what its host's numbers tell.
    pub fn segment(
        &mut self,
        packet: &Packet<'_>,
        segment: &Segment<'_>,
        host_step: Option<HostStep>,
    ) -> Sharing {
        let Some(network) = packet.network else {
            return Sharing::default();
        };
        let (source, destination) = (network.source, network.destination);
        let is_syn = segment.has(flags::SYN) && !segment.has(flags::ACK);
        if self.pairs.is_empty() {
            self.pairs.resize_with(PAIRS, || None);
        }
        // The sender of a packet of the pair, if it is one.
        let from_client = |slot: &Option<Box<HostPair>>| {
            let pair = slot.as_deref()?;
            let is_client = pair.client == source && pair.server == destination;
            let is_server = || pair.client == destination && pair.server == source;
            (is_client || is_server()).then_some(pair.client == source)
        };
        let mut sender = self.pairs.get(self.last).and_then(from_client);
        if sender.is_none() {
            self.last = place_of(source, destination);
            sender = self.pairs.get(self.last).and_then(from_client);
        }
        let Some(slot) = self.pairs.get_mut(self.last) else {
            return Sharing::default();
        };
        if is_syn && sender.is_none() {
            *slot = Some(Box::new(HostPair::new(source, destination)));
            sender = Some(true);
        }
        let (Some(pair), Some(from_client)) = (slot.as_deref_mut(), sender) else {
            return Sharing::default();
        };
        if from_client {
            pair.heard(packet.time_ns, segment);
            pair.sharing(false)
        } else {
            let missed = pair.misses(packet.time_ns, segment, host_step);
            let sharing = pair.sent(packet.time_ns, segment);
            Sharing {
                missed_elsewhere: missed.elsewhere,
                missed_ns: missed.would_come_ns,
                ..sharing
            }
        }
    }
}

/// Both directions have one place.
fn place_of(source: IpAddress, destination: IpAddress) -> usize {
    let hash = |address: IpAddress| FixedState::default().hash_one(address.octets);
    let both = hash(source).wrapping_add(hash(destination));
    usize::try_from(both >> 32).unwrap_or(0) % PAIRS
}

#[cfg(test)]
mod tests;
