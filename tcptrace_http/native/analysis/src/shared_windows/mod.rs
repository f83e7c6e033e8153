//! Connections of two hosts that share one congestion window (RFC 2140, section 4; E-TCP): an ACK of one lets
//! data of another go.
//!
//! Theory of operation. Data that was held leaves when an ACK comes, so it goes by the path's time after that
//! ACK did. Where each connection has a window of its own that is an ACK of its own. So of what comes after a
//! pause between two hosts ([`flight`]) it is looked whose ACK let it go: if time and again there is none of
//! its own connection, but at that very time one of another's, more often than chance has it, the windows are
//! shared. An application that writes now and then, or a paced sender, has neither.
//!
//! Whether they share a window or not, they share the path: its slowest link is one queue that all of them feed
//! ([`queue`]). Data waits for the link only while that is busy, whichever connection's data it sends.
//!
//! What limits a shared window shows in what all have in flight together ([`window`]); of one that is divided ([`division`])
//! each has a part, with a phase of its own. Every share of a capture sees all packets, and learns the same from them.

mod ack;
mod ack_before;
mod acked_late;
mod answered;
mod answers;
mod asked;
mod backlog;
mod bare;
mod bare_acks;
mod before_acks;
mod beginnings;
mod begins_anew;
mod begun_anew;
mod begun_piece;
mod below_threshold;
mod by_sender_clock;
mod came_late;
mod clock;
mod closed_window;
mod closing;
mod connection;
mod departures;
mod divided;
mod division;
mod due_acks;
mod early;
mod equally_long;
mod fast_recovery;
mod fillers;
mod flight;
mod goes_back;
mod had_room;
mod headers;
mod heard;
mod hole;
mod host_pair;
mod idle_link;
mod inherited;
mod largest;
mod late;
mod leaving;
mod ledger;
mod left_by_others;
mod let_go;
mod limits;
mod link_times;
mod marks;
mod missed;
mod missed_if_shared;
mod missing_packets;
mod no_recovery;
mod own_flight;
mod pace;
mod paced_restart;
mod pacer;
mod part;
mod parts;
mod phases;
mod queue;
mod receiver;
mod release;
mod resumed;
mod rhythm;
mod room;
mod sender_clock;
mod sent;
mod sent_link;
mod sent_queue;
mod server_acks;
mod stamps;
mod steady;
mod threshold;
mod ticks;
mod timed_out;
mod timers;
mod uplink;
mod waited_for_repair;
mod way;
mod window;
mod working;
mod writes;

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use tcptrace_tcp::HostStep;
use trace_model::{flags, IpAddress, Packet, Segment};

use crate::arrivals::Arrivals;
use crate::byte_time::ByteTime;
use crate::used_window::{Limit, Sockets};
use host_pair::HostPair;

pub use leaving::Unheard;
pub use missed::MissedBefore;
#[cfg(test)]
pub use phases::SPANS_MAX;
pub use phases::{Phases, SlowStart};
pub use receiver::Receiver;
pub(crate) use rhythm::is_rhythm;
pub use uplink::{Ahead, Standing};
pub use writes::WrittenAt;

/// Pairs of hosts that are followed: so many places, and of those on which a pair may stand so many side by side. The
/// one that was heard of least lately gives way to a new one.
const PAIRS: usize = 1024;
const WAYS: usize = 8;

/// What the other connections between the same hosts have to do with a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sharing {
    /// The sender's connections to this host share their window.
    pub is_shared: bool,
    /// More than chance would have it speaks for that, if not enough to be sure.
    pub may_be_shared: bool,
    /// They divide one between them, of which each has a part, and the end of another let the segment go.
    pub is_let_go_by_end: bool,
    /// If so, an ACK of another of them let the segment go, and nothing that came on its own.
    pub by_other: bool,
    /// An ACK of another of them came right before the segment left, and nothing on its own; whatever it carries.
    pub is_after_other: bool,
    /// Next to the server: so many ACKs of other connections have passed over what it has on its way, the last of them
    /// right before this; else none.
    pub passed_over: u32,
    /// ... and an ACK has told that something behind it came.
    pub has_come_behind: bool,
    /// Of the client's data: the server had acknowledged what another of them had sent right before it left.
    pub is_after_answer_to_other: bool,
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
    /// The slowest link had nothing to send when an ACK of one of them let the segment go: it waited for that.
    pub is_let_go: bool,
    /// If nothing was before it on the slowest link, it left when an ACK of another connection came.
    pub is_let_go_by_other: bool,
    /// ... if the connections share their window, which need not be known yet.
    pub would_be_by_other: bool,
    /// If it lay in the sender's buffer, a clock of the sender let it go: it paces its data.
    pub is_paced: bool,
    /// ... wherever it lay: the sender is known to pace.
    pub is_of_pacer: bool,
    /// ... if the connections share their window, which need not be known yet.
    pub would_be_of_pacer: bool,
    /// It lay in its sender's buffer, and left before any ACK can have let it go.
    pub left_before_acks: bool,
    /// So long a pacer has held it since the window that they share was restarted.
    pub paced_ns: Option<i64>,
    /// Next to the server: so long its clock has gone that let it go.
    pub clock_ns: Option<i64>,
    /// Picoseconds that a byte of the client's data took on the slowest link, at most, on any of them; at the server.
    pub asked_byte_ps: Option<i64>,
    /// Picoseconds that a byte of the server's data takes on the slowest link, if ACKs have agreed on that; at the server.
    pub sent_byte_time: Option<ByteTime>,
    /// When its client acknowledges that; at the server.
    pub receiver: Receiver,
    /// When the ACK of the segment is due that nothing delays, behind all that the server has sent; at the server.
    pub due_ns: Option<i64>,
    /// Since it carried the data before on this connection the slowest link has carried others' without a pause.
    pub is_behind_others: bool,
    /// No ACK of something new on any of them came to the server when the segment may have left.
    pub is_by_no_ack: bool,
    /// Others of them had data in flight when the segment left: if they share their window, that is not all its own.
    pub are_others_in_flight: bool,
    /// How long the segment may have stood before the slowest link, behind what that carried for all of them.
    pub queued_ns: i64,
    /// ... or for its own connection only.
    pub stood_ns: i64,
    /// The clock of its sender has told that.
    pub is_stamped: bool,
    /// How long the server works before it answers, as answers have shown that stood in no queue.
    pub works_ns: i64,
    /// What that takes for it, as far as it is known.
    pub takes_ns: i64,
    /// Data of any of them that came by then found room in their window: what left later may have waited for that since.
    pub room_until_ns: Option<i64>,
    /// When data of any of them came last that was sent when nothing had been in flight for longer than ACKs are delayed:
    /// until then no window held anything.
    pub quiet_until_ns: Option<i64>,
    /// When the ACK went by since which the window that they share had room for the segment, if that was not the one
    /// that let it go.
    pub had_room_ns: Option<i64>,
    /// When the ACK went by that let the segment go, of whichever connection, if they share their window.
    pub let_go_ns: Option<i64>,
    /// No newer ACK had come to the server when the segment left: what that let go before left together with it.
    pub is_let_go_by_newest: bool,
    /// Packets of the host that were missed since the sender's last data on this connection, and that others of its
    /// connections have accounted for.
    pub missed_elsewhere: u32,
    /// The server's numbers pass over packets that it sends to others by another way: they tell of no losses.
    pub goes_elsewhere: bool,
    /// Connections were equally long in opening: round trips do not vary with the length of the path.
    pub is_path_steady: bool,
    /// How long a timer of the server waited last, as far as a hole has shown that.
    pub timer_ns: Option<i64>,
    /// What its sender had not heard when it sent this again.
    pub unheard: Option<Unheard>,
    /// What the sender waited for if its connections share their window.
    pub limit: Limit,
    /// Until when the window that they share has grown, if it is full now.
    pub grew_until_ns: Option<i64>,
    /// How much any connection of the sender has in flight at most, as others have shown.
    pub buffer: Option<i64>,
    /// What they have shown of the sockets of the server.
    pub sockets: Sockets,
    /// The largest payload of the server that came on any of them.
    pub largest_bytes: u32,
    /// What each connection of the server may send at least before the first ACK, if none shares its window; 0: unknown.
    pub initial_window_bytes: u64,
    /// The segment may have been sent before and missed, whichever ACK had let it go.
    pub is_again: bool,
    /// ... and is not known to its connection alone.
    pub missed: Option<MissedBefore>,
    /// ... if the connections share their window, which need not be known yet.
    pub missed_if_shared: Option<MissedBefore>,
    /// When what is missing before the segment would have come, if the connections share their window.
    pub hole_ns: Option<i64>,
    /// When the window was in slow start after a loss.
    pub phases: Phases,
    /// By so many bytes a SYN and its answer, which measure the way, are longer than packets without payload.
    pub syn_longer_bytes: u32,
    /// What stood before it on the link to the server, of the client's data.
    pub ahead: Ahead,
    /// When its application wrote it, if that writes in a rhythm and a piece begins.
    pub written: Option<WrittenAt>,
    /// Where slow start ends of its connection, which began with what those before it had learnt.
    pub threshold: Option<i64>,
    /// Connections begin with a window that others have left, which their host paces.
    pub begin_paced: bool,
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
        let is_syn = segment.has(flags::SYN) && !segment.has(flags::ACK);
        if self.pairs.is_empty() {
            self.pairs.resize_with(PAIRS, || None);
        }
        let hosts = (network.source, network.destination);
        let known = self.pairs.get(self.last).and_then(Option::as_deref);
        if known.is_none_or(|pair| !pair.has(hosts)) {
            let Some(place) = self.place(hosts, is_syn) else {
                return Sharing::default();
            };
            self.last = place;
        }
        let Some(pair) = self.pairs.get_mut(self.last).and_then(Option::as_deref_mut) else {
            return Sharing::default();
        };
        pair.seen_ns = packet.time_ns;
        let from_client = pair.client == network.source;
        pair.has_headers(from_client, segment);
        if from_client {
            pair.heard(packet.time_ns, segment);
            pair.queue_hears(packet.time_ns, segment);
            Sharing {
                ahead: pair.leaves_client(packet.time_ns, segment),
                is_after_answer_to_other: pair.is_after_answer_to_other(packet.time_ns, segment),
                ..pair.sharing(false)
            }
        } else {
            pair.asked.said(packet.time_ns);
            pair.acknowledges_client(packet.time_ns, segment);
            pair.bare_comes(packet.time_ns, segment);
            let due_ns = pair.queue_sends(packet.time_ns, segment);
            let lost = host_step.map_or(0, |it| pair.missing.more_than(it.passed_over));
            let left = pair.leaves(packet.time_ns, segment.payload_bytes, lost);
            let written = pair.writes(packet.time_ns, segment, (host_step, left));
            let missed = pair.misses(packet.time_ns, segment, (host_step, lost), (left, written));
            let queued = pair.queues(packet.time_ns, segment, lost);
            let behind = (queued.behind_others_ns, missed.is_again);
            let sharing = pair.sent(packet.time_ns, segment, behind);
            Sharing {
                due_ns,
                passed_over: pair.passed_over(packet.time_ns, segment),
                has_come_behind: pair.has_come_behind(segment),
                queued_ns: queued.behind_others_ns,
                stood_ns: queued.stood_ns,
                is_stamped: queued.is_stamped,
                takes_ns: pair.pace.of(segment.payload_bytes).unwrap_or(0),
                missed_elsewhere: missed.elsewhere,
                missed: missed.before,
                missed_if_shared: missed.if_shared,
                hole_ns: missed.hole_ns,
                is_again: missed.is_again,
                is_after_other: sharing.is_after_other && !missed.is_cleared,
                unheard: missed.unheard,
                written,
                ..sharing
            }
        }
    }

    /// The newest packet, which the server sent, came to the queue of the slowest link then.
    pub fn joined_at(&mut self, joined_ns: i64) {
        if let Some(pair) = self.pairs.get_mut(self.last).and_then(Option::as_deref_mut) {
            if !pair.counts_ms {
                pair.backlog.joined_at(joined_ns);
            }
        }
    }

    /// What the connection of the newest packet shows of its server's sockets.
    pub fn has_shown_sockets(&mut self, shown: Sockets) {
        if let Some(pair) = self.pairs.get_mut(self.last).and_then(Option::as_deref_mut) {
            pair.window.sockets.is_told(shown);
        }
    }

    /// When the window was in slow start that the connections between these hosts are known by now to share.
    #[must_use]
    pub fn shared_phases(&self, hosts: (IpAddress, IpAddress)) -> Option<Phases> {
        let pair = self.pair(hosts).filter(|pair| pair.is_shared)?;
        Some(pair.phases_as_let_go())
    }

    /// The phases of the window of the connections between these hosts, as if they shared one.
    #[must_use]
    pub fn phases(&self, hosts: (IpAddress, IpAddress)) -> Option<Phases> {
        self.pair(hosts).map(HostPair::phases_as_let_go)
    }

    fn pair(&self, hosts: (IpAddress, IpAddress)) -> Option<&HostPair> {
        let first = first_place(hosts);
        let places = self.pairs.get(first..first.saturating_add(WAYS))?;
        let mut pairs = places.iter().flatten();
        pairs.find(|pair| pair.has(hosts)).map(Box::as_ref)
    }

    /// Where the pair of these hosts stands; a client's SYN (`opens`) puts it there.
    fn place(&mut self, hosts: (IpAddress, IpAddress), opens: bool) -> Option<usize> {
        let first = first_place(hosts);
        let places = self.pairs.get_mut(first..first.saturating_add(WAYS))?;
        let found = places
            .iter()
            .position(|slot| slot.as_deref().is_some_and(|pair| pair.has(hosts)));
        let way = match found {
            Some(way) => way,
            None if !opens => return None,
            None => {
                let seen = |slot: &Option<Box<HostPair>>| slot.as_deref().map(|pair| pair.seen_ns);
                let (way, slot) = places
                    .iter_mut()
                    .enumerate()
                    .min_by_key(|(_, slot)| seen(slot))?;
                *slot = Some(Box::new(HostPair::new(hosts.0, hosts.1)));
                way
            }
        };
        Some(first.saturating_add(way))
    }
}

/// The first of the places on which a pair may stand; both directions have the same.
fn first_place((source, destination): (IpAddress, IpAddress)) -> usize {
    let hash = |address: IpAddress| FixedState::default().hash_one(address.octets);
    let both = hash(source).wrapping_add(hash(destination));
    let set = usize::try_from(both >> 32).unwrap_or(0) % (PAIRS / WAYS);
    set.saturating_mul(WAYS)
}

#[cfg(test)]
mod tests;
