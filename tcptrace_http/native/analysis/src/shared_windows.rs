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

use std::collections::VecDeque;
use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use trace_model::rows::ObservationPoint;
use trace_model::{flags, IpAddress, Packet, Segment, SeqNumber};

use crate::hosts::HostStep;
use crate::missing_packets::{MissingPackets, TIMEOUT_MIN_NS};
use crate::observation::observation_point;
use crate::waits::Arrivals;

/// Pairs of hosts that are followed; one that falls on the place of another takes it.
const PAIRS: usize = 1024;
/// ACKs of a round trip of all connections of a pair.
const ACKS_MAX: usize = 256;
/// Connections of a pair that are followed: more than any browser opens to one host.
const CONNECTIONS_MAX: usize = 64;
/// Two packets closer than this left together, if no link is slower.
const TOGETHER_NS: i64 = 2_000_000;
/// Packets of one host are captured out of their true order by less.
const EARLY_MAX_NS: i64 = 200_000;
/// ... and follow the ACK that lets them go by the path and this much.
const LATE_MAX_NS: i64 = 1_000_000;
/// The path's time varies by this share of it.
const JITTER_SHARE: i64 = 50;
/// A segment that takes as long on the slowest link as its payload is long: what follows at once tells its pace.
const FULL_BYTES_MIN: u32 = 500;
/// Headers of IP and TCP.
const HEADER_BYTES: u32 = 40;
/// So many lost packets leave a gap in a flight, which is as long as they take, give or take this share of it.
const LOST_MAX: i64 = 3;
const LOST_SHARE: i64 = 8;
/// Payload of a segment on Ethernet: a larger one was put together by a network card.
const SEGMENT_BYTES: u32 = 1460;
/// Flights that the ACK of another connection must have let go, if there is hardly an ACK.
const SIGNS_MIN: i64 = 2;
/// ... and so many times those that follow one by chance.
const SIGNS_TO_CHANCE: i64 = 4;
/// A chance is a share of this.
const CERTAIN: i64 = 1000;

/// What the other connections between the same hosts have to do with a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sharing {
    /// The sender's connections to this host share their window.
    pub is_shared: bool,
    /// If so, an ACK of another of them let the segment go, and nothing that came on its own.
    pub by_other: bool,
    /// Data was lost on one of them.
    pub had_loss: bool,
    /// The least way to that host and back, of all connections to it.
    pub to_server_ns: Option<i64>,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Release {
    Own,
    Other,
    None,
}

/// What the numbers of the server tell when a packet comes.
#[derive(Clone, Copy, Debug, Default)]
struct Missed {
    /// How many packets were missed since the last data of its connection that others account for.
    elsewhere: u32,
    would_come_ns: Option<i64>,
}

#[derive(Clone, Copy, Debug)]
struct Ack {
    time_ns: i64,
    client_port: u16,
    /// It acknowledged something new.
    is_new: bool,
}

#[derive(Debug)]
struct Connection {
    client_port: u16,
    server_port: u16,
    syn_ns: i64,
    syn_ack_ns: Option<i64>,
    acked: Option<SeqNumber>,
    next: Option<SeqNumber>,
    /// The client has sent data since the server has.
    is_asked: bool,
    /// The server's newest data was pushed: it had no more to send then (RFC 9293, section 3.9.1).
    was_pushed: bool,
    /// When that came, or the connection was opened.
    data_ns: i64,
}

/// What came from the server without a pause, on whichever connection.
#[derive(Clone, Copy, Debug)]
struct Flight {
    start_ns: i64,
    last_ns: i64,
    last_bytes: u32,
    release: Release,
}

/// What the slowest link takes for a segment, as far as two that came at once tell.
#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    /// The quickest: its time and its bytes.
    quickest: Option<(i64, u32)>,
    /// Payload of the largest segment.
    largest_bytes: u32,
}

impl Pace {
    /// A segment came so long after another one.
    fn follows(&mut self, gap_ns: i64, bytes: u32) {
        if !(FULL_BYTES_MIN..=SEGMENT_BYTES).contains(&bytes) {
            return;
        }
        self.largest_bytes = self.largest_bytes.max(bytes);
        let is_quicker = self.of(bytes).is_none_or(|takes_ns| gap_ns < takes_ns);
        if is_quicker {
            self.quickest = Some((gap_ns, bytes));
        }
    }

    fn of(&self, bytes: u32) -> Option<i64> {
        let (gap_ns, quickest_bytes) = self.quickest?;
        let wire = |payload: u32| i64::from(payload.saturating_add(HEADER_BYTES));
        gap_ns
            .saturating_mul(wire(bytes))
            .checked_div(wire(quickest_bytes))
    }

    fn largest_ns(&self) -> Option<i64> {
        self.of(self.largest_bytes)
    }
}

#[derive(Debug)]
struct HostPair {
    client: IpAddress,
    server: IpAddress,
    connections: VecDeque<Connection>,
    acks: VecDeque<Ack>,
    /// The way to the server and back, and to the client and back, from here.
    to_server_ns: Option<i64>,
    to_client_ns: Option<i64>,
    pace: Pace,
    flight: Option<Flight>,
    /// Flights that only an ACK of another connection let go, and how many would by chance, in thousandths.
    by_others: i64,
    by_chance: i64,
    had_loss: bool,
    /// When data of the server came last, and what its distances tell of the slowest link.
    came_ns: Option<i64>,
    link: Arrivals,
    missing: MissingPackets,
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
        let is_here = |pair: &HostPair| {
            (pair.client, pair.server) == (source, destination)
                || (pair.client, pair.server) == (destination, source)
        };
        let is_last = |slot: &Option<Box<HostPair>>| slot.as_deref().is_some_and(is_here);
        if !self.pairs.get(self.last).is_some_and(is_last) {
            self.last = place_of(source, destination);
        }
        let Some(slot) = self.pairs.get_mut(self.last) else {
            return Sharing::default();
        };
        if is_syn && !slot.as_deref().is_some_and(is_here) {
            *slot = Some(Box::new(HostPair::new(source, destination)));
        }
        let Some(pair) = slot.as_deref_mut().filter(|pair| is_here(pair)) else {
            return Sharing::default();
        };
        if pair.client == source {
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

impl HostPair {
    fn new(client: IpAddress, server: IpAddress) -> Self {
        HostPair {
            client,
            server,
            connections: VecDeque::new(),
            acks: VecDeque::new(),
            to_server_ns: None,
            to_client_ns: None,
            pace: Pace::default(),
            flight: None,
            by_others: 0,
            by_chance: 0,
            had_loss: false,
            came_ns: None,
            link: Arrivals::default(),
            missing: MissingPackets::default(),
        }
    }

    fn connection(&mut self, client_port: u16, server_port: u16) -> Option<&mut Connection> {
        // The newest are the busiest.
        self.connections
            .iter_mut()
            .rev()
            .find(|it| it.client_port == client_port && it.server_port == server_port)
    }

    fn heard(&mut self, time_ns: i64, segment: &Segment<'_>) {
        let ports = (segment.source_port, segment.destination_port);
        if segment.has(flags::SYN) {
            return self.opens(time_ns, ports);
        }
        let Some(connection) = self.connection(ports.0, ports.1) else {
            return;
        };
        connection.is_asked |= segment.payload_bytes > 0;
        if !segment.has(flags::ACK) {
            return;
        }
        let is_first = connection.acked.is_none();
        let is_new = connection
            .acked
            .is_none_or(|acked| segment.ack.is_after(acked));
        if is_new {
            connection.acked = Some(segment.ack);
        }
        let answered = connection.syn_ack_ns.filter(|_| is_first);
        if let Some(back_ns) = answered.map(|then| time_ns.saturating_sub(then)) {
            self.to_client_ns = Some(
                self.to_client_ns
                    .map_or(back_ns, |least| least.min(back_ns)),
            );
        }
        if self.connections.len() < 2 {
            // Nobody is there to share with.
            return;
        }
        if self.acks.len() >= ACKS_MAX {
            self.acks.pop_front();
        }
        self.acks.push_back(Ack {
            time_ns,
            client_port: ports.0,
            is_new,
        });
    }

    fn opens(&mut self, time_ns: i64, (client_port, server_port): (u16, u16)) {
        self.connections
            .retain(|it| (it.client_port, it.server_port) != (client_port, server_port));
        if self.connections.len() >= CONNECTIONS_MAX {
            self.connections.pop_front();
        }
        self.connections.push_back(Connection {
            client_port,
            server_port,
            syn_ns: time_ns,
            syn_ack_ns: None,
            acked: None,
            next: None,
            is_asked: false,
            was_pushed: false,
            data_ns: time_ns,
        });
    }

    /// Takes what the numbers of the server tell when a packet of this connection comes.
    fn misses(
        &mut self,
        time_ns: i64,
        segment: &Segment<'_>,
        host_step: Option<HostStep>,
    ) -> Missed {
        let Some(host_step) = host_step else {
            return Missed::default();
        };
        self.missing.note(host_step.passed_over, time_ns);
        let silent_ns = TIMEOUT_MIN_NS.saturating_add(self.round_trip_ns());
        let client_port = segment.destination_port;
        let has_payload = segment.payload_bytes > 0;
        let connection = self.connection(client_port, segment.source_port);
        let Some(connection) = connection.filter(|_| has_payload) else {
            return Missed::default();
        };
        let since_ns = std::mem::replace(&mut connection.data_ns, time_ns);
        let next = connection.next;
        let ahead = next.map_or(0, |next| segment.seq.distance_from(next));
        let elsewhere = self.missing.accounted_for(since_ns);
        let mut would_come_ns = None;
        if ahead > 0 {
            let full_bytes = match self.pace.largest_bytes {
                0 => SEGMENT_BYTES,
                largest => largest,
            };
            let lost = ahead.unsigned_abs().div_ceil(full_bytes);
            self.missing.account_for_hole(lost, since_ns);
        } else if ahead == 0 && time_ns.saturating_sub(since_ns) >= silent_ns {
            let between = self.missing.account_for_timer(since_ns, time_ns);
            would_come_ns = between.and_then(|between| self.would_come(between, client_port));
        }
        Missed {
            elsewhere,
            would_come_ns,
        }
    }

    /// When data of this connection would have come between two times, if the ACK of another one let it go then.
    fn would_come(&self, (after_ns, before_ns): (i64, i64), client_port: u16) -> Option<i64> {
        let way_ns = self
            .to_server_ns?
            .saturating_add(self.pace.largest_ns().unwrap_or(0));
        let came = |ack: &&Ack| {
            let came_ns = ack.time_ns.saturating_add(way_ns);
            came_ns > after_ns && came_ns <= before_ns
        };
        let newest = self.acks.iter().rev().find(came)?;
        let is_of_other = newest.client_port != client_port;
        is_of_other.then(|| newest.time_ns.saturating_add(way_ns))
    }

    fn sent(&mut self, time_ns: i64, segment: &Segment<'_>) -> Sharing {
        let client_port = segment.destination_port;
        let Some(connection) = self.connection(client_port, segment.source_port) else {
            return Sharing::default();
        };
        let end = segment.seq.plus(segment.sequence_length());
        let is_new = connection.next.is_none_or(|next| end.is_after(next));
        let is_first = connection.next.is_none();
        if is_new {
            connection.next = Some(end);
        }
        let had_syn_ack = connection.syn_ack_ns.is_some();
        let there_ns = time_ns.saturating_sub(connection.syn_ns);
        if segment.has(flags::SYN) {
            connection.syn_ack_ns = Some(time_ns);
        }
        let has_payload = segment.payload_bytes > 0;
        let begins = (has_payload && std::mem::take(&mut connection.is_asked)) || is_first;
        let is_pushed = segment.has(flags::PSH);
        let had_more = has_payload && !std::mem::replace(&mut connection.was_pushed, is_pushed);
        if segment.has(flags::SYN) && !had_syn_ack {
            let least = self.to_server_ns.unwrap_or(i64::MAX);
            self.to_server_ns = Some(least.min(there_ns));
        }
        if !has_payload {
            return self.sharing(false);
        }
        self.had_loss |= !is_new;
        let release = self.fly(
            time_ns,
            segment.payload_bytes,
            client_port,
            begins || !is_new,
        );
        let is_of_link = had_more && !begins && is_new;
        let was_held = release != Release::None;
        let before_ns = self.came_ns.replace(time_ns).filter(|_| is_of_link);
        if let Some(before_ns) = before_ns {
            let gap_ns = time_ns.saturating_sub(before_ns);
            self.arrives(gap_ns, segment.payload_bytes, was_held);
        }
        self.sharing(release == Release::Other && is_new)
    }

    fn sharing(&self, by_other: bool) -> Sharing {
        let signs = self.by_others.saturating_mul(CERTAIN);
        let by_chance = self.by_chance.saturating_mul(SIGNS_TO_CHANCE);
        Sharing {
            is_shared: signs >= by_chance.saturating_add(SIGNS_MIN * CERTAIN),
            by_other,
            had_loss: self.had_loss,
            to_server_ns: self.to_server_ns,
            service_ns: self.pace.largest_ns(),
            link: self.link,
            missed_elsewhere: 0,
            missed_ns: None,
        }
    }

    /// Data that lay in the server's buffer comes by, so long after other data. All connections share the slowest
    /// link, so none of it comes closer than that takes; where an ACK may have let it go (`was_held`), a longer
    /// distance is not the link's. A server's burst leaves in another pace.
    fn arrives(&mut self, gap_ns: i64, bytes: u32, was_held: bool) {
        let place = observation_point(self.to_server_ns, self.to_client_ns);
        let round_trip_ns = self.round_trip_ns();
        if place == ObservationPoint::Server || (was_held && gap_ns >= round_trip_ns) {
            return;
        }
        let segments = bytes.div_ceil(SEGMENT_BYTES);
        self.link.came_after(gap_ns, bytes, segments, round_trip_ns);
    }

    /// Data of the server goes by; what let it go, or the flight that it is part of.
    fn fly(&mut self, time_ns: i64, bytes: u32, client_port: u16, tells_nothing: bool) -> Release {
        let own = self.release(time_ns, client_port);
        let before = self.flight;
        let pause_ns = before.map_or(i64::MAX, |it| time_ns.saturating_sub(it.last_ns));
        let last_bytes = before.map_or(0, |it| it.last_bytes);
        if last_bytes >= FULL_BYTES_MIN && pause_ns > 0 {
            self.pace.follows(pause_ns, bytes);
        }
        let goes_on = before.filter(|_| self.is_together(pause_ns));
        let flight = goes_on.unwrap_or(Flight {
            start_ns: time_ns,
            last_ns: time_ns,
            last_bytes: bytes,
            release: own,
        });
        self.flight = Some(Flight {
            last_ns: time_ns,
            last_bytes: bytes,
            ..flight
        });
        if goes_on.is_none() && !tells_nothing && self.is_tellable() {
            let is_by_other = i64::from(own == Release::Other);
            self.by_others = self.by_others.saturating_add(is_by_other);
            if own != Release::Own {
                self.by_chance = self.by_chance.saturating_add(self.chance(client_port));
            }
        }
        let lasts_ns = time_ns.saturating_sub(flight.start_ns);
        if own == Release::None
            && lasts_ns < self.round_trip_ns()
            && flight.release != Release::None
        {
            // It left with the first of them and stood behind it.
            return Release::Other;
        }
        own
    }

    fn round_trip_ns(&self) -> i64 {
        let (there, back) = (self.to_server_ns, self.to_client_ns);
        there.unwrap_or(0).saturating_add(back.unwrap_or(0))
    }

    /// Whether what comes after such a pause left together with what came before, of which some may have been lost.
    fn is_together(&self, pause_ns: i64) -> bool {
        let service_ns = self.pace.largest_ns().unwrap_or(0);
        let lost = pause_ns
            .saturating_add(service_ns / 2)
            .checked_div(service_ns)
            .unwrap_or(0)
            .min(LOST_MAX);
        let off_ns = pause_ns.saturating_sub(service_ns.saturating_mul(lost));
        pause_ns <= service_ns.saturating_add(service_ns / 2).max(TOGETHER_NS)
            || off_ns.saturating_abs() <= service_ns / LOST_SHARE
    }

    fn late_ns(&self) -> i64 {
        self.pace
            .largest_ns()
            .unwrap_or(0)
            .saturating_add(self.round_trip_ns() / JITTER_SHARE)
            .saturating_add(LATE_MAX_NS)
    }

    /// On a link on which a segment takes as long as the path, every ACK is one at the right time.
    fn is_tellable(&self) -> bool {
        self.connections.len() > 1 && self.late_ns().saturating_mul(3) < self.round_trip_ns()
    }

    /// Whose ACK let go what goes by at `time_ns`.
    fn release(&self, time_ns: i64, client_port: u16) -> Release {
        let Some(to_server_ns) = self.to_server_ns else {
            return Release::None;
        };
        let target = time_ns.saturating_sub(to_server_ns);
        let newest = target.saturating_add(EARLY_MAX_NS);
        let oldest = target.saturating_sub(self.late_ns());
        let mut release = Release::None;
        for ack in self
            .acks
            .iter()
            .rev()
            .skip_while(|ack| ack.time_ns > newest)
        {
            if ack.time_ns < oldest {
                break;
            }
            if ack.client_port == client_port {
                return Release::Own;
            }
            if ack.is_new {
                release = Release::Other;
            }
        }
        release
    }

    /// How likely an ACK of another connection is at the right time, if it has nothing to do with it: the share
    /// of the last two round trips that is close enough to one.
    fn chance(&self, client_port: u16) -> i64 {
        let span_ns = self.round_trip_ns().saturating_mul(2);
        let width_ns = self.late_ns().saturating_add(EARLY_MAX_NS);
        let Some(newest) = self.acks.back() else {
            return 0;
        };
        let recent = self.acks.iter().rev();
        let recent = recent.take_while(|ack| newest.time_ns.saturating_sub(ack.time_ns) <= span_ns);
        let mut covered_ns = 0_i64;
        let mut until_ns = i64::MAX;
        for ack in recent.filter(|ack| ack.is_new && ack.client_port != client_port) {
            let distance_ns = until_ns.saturating_sub(ack.time_ns);
            covered_ns = covered_ns.saturating_add(distance_ns.min(width_ns));
            until_ns = ack.time_ns;
        }
        let share = covered_ns.saturating_mul(CERTAIN).checked_div(span_ns);
        share.unwrap_or(CERTAIN).min(CERTAIN)
    }
}

#[cfg(test)]
mod tests {
    use trace_model::{LinkType, Network, TcpOptions};

    use super::*;

    const MS: i64 = 1_000_000;
    const HOSTS: ([u8; 4], [u8; 4]) = ([10, 0, 0, 1], [10, 0, 0, 2]);

    /// Packets of two hosts, of which a capture next to the client has a round trip of 100 ms.
    #[derive(Default)]
    struct Talk {
        windows: SharedWindows,
    }

    impl Talk {
        fn packet(
            &mut self,
            time_ms: i64,
            from_client: bool,
            port: u16,
            what: Segment<'_>,
        ) -> Sharing {
            let (client, server) = (IpAddress::v4(HOSTS.0), IpAddress::v4(HOSTS.1));
            let (source, destination) = if from_client {
                (client, server)
            } else {
                (server, client)
            };
            let ports = if from_client { (port, 80) } else { (80, port) };
            let segment = Segment {
                source_port: ports.0,
                destination_port: ports.1,
                ..what
            };
            let network = Network {
                source,
                destination,
                protocol: 6,
                ttl: 64,
                identification: 0,
                header_offset: 14,
                is_fragment: false,
                ecn: 0,
            };
            let packet = Packet {
                frame: 1,
                time_ns: time_ms * MS,
                interface: 0,
                link_type: LinkType(1),
                wire_bytes: 54,
                captured_bytes: 54,
                network: Some(network),
                segment: None,
            };
            self.windows.segment(&packet, &segment, None)
        }

        fn opens(&mut self, time_ms: i64, port: u16) {
            self.packet(time_ms, true, port, segment(flags::SYN, 0, 0, 0));
            self.packet(
                time_ms + 100,
                false,
                port,
                segment(flags::SYN | flags::ACK, 0, 1, 0),
            );
            self.packet(time_ms + 100, true, port, segment(flags::ACK, 1, 1, 100));
            // Two segments at once tell what the link takes.
            self.data(time_ms + 200, port, 0);
            self.data(time_ms + 201, port, 1);
        }

        /// The server's segment of that number, of 1000 bytes.
        fn data(&mut self, time_ms: i64, port: u16, number: u32) -> Sharing {
            self.packet(
                time_ms,
                false,
                port,
                segment(flags::ACK, 1 + number * 1000, 101, 1000),
            )
        }

        fn ack(&mut self, time_ms: i64, port: u16, number: u32) -> Sharing {
            self.packet(
                time_ms,
                true,
                port,
                segment(flags::ACK, 101, 1001 + number * 1000, 0),
            )
        }
    }

    fn segment(flags: u16, seq: u32, ack: u32, payload_bytes: u32) -> Segment<'static> {
        Segment {
            source_port: 0,
            destination_port: 0,
            seq: SeqNumber(seq),
            ack: SeqNumber(ack),
            flags,
            window: 65_535,
            checksum: 0,
            urgent_pointer: 0,
            options: TcpOptions::default(),
            header_bytes: 20,
            payload_bytes,
            payload_offset: 54,
            payload: &[],
        }
    }

    /// Two connections of which each one's ACKs let data of `whose` go; what is known at the end.
    fn after_rounds(rounds: u32, is_of_other: bool) -> Sharing {
        let mut talk = Talk::default();
        talk.opens(0, 1);
        talk.opens(30, 2);
        let mut sharing = Sharing::default();
        for round in 0..rounds {
            let at = 240 + i64::from(round) * 200;
            for (place, port) in [(0, 1), (50, 2)] {
                talk.ack(at + place, port, round + 1);
                let released = if is_of_other { 3 - port } else { port };
                sharing = talk.data(at + place + 100, released, round + 2);
            }
        }
        sharing
    }

    #[test]
    fn data_that_only_acks_of_another_connection_let_go_shares_its_window() {
        let sharing = after_rounds(6, true);
        assert!(sharing.is_shared && sharing.by_other && !sharing.had_loss);
    }

    #[test]
    fn data_that_its_own_acks_let_go_shares_none() {
        let sharing = after_rounds(6, false);
        assert!(!sharing.is_shared && !sharing.by_other);
    }

    #[test]
    fn distances_of_all_connections_together_show_the_slowest_link() {
        let mut talk = Talk::default();
        for port in [1, 2] {
            talk.packet(0, true, port, segment(flags::SYN, 0, 0, 0));
            talk.packet(100, false, port, segment(flags::SYN | flags::ACK, 0, 1, 0));
            talk.packet(100, true, port, segment(flags::ACK, 1, 1, 100));
        }
        // Each connection has its segments behind the other's: alone neither shows the pace.
        talk.data(300, 1, 0);
        talk.data(350, 2, 0);
        let sharing = talk.data(400, 1, 1);
        let full = talk.data(450, 2, 1).link.takes_ns(1000, 1, 1000);
        assert_ne!(sharing.link, Arrivals::default());
        assert!(full.is_some_and(|full| full.abs_diff(50 * MS) <= 1));
    }

    #[test]
    fn a_short_end_of_a_response_is_no_quicker_link() {
        let mut pace = Pace::default();
        pace.follows(8 * MS, 1440);
        pace.follows(5 * MS, 860);
        assert_eq!(pace.largest_ns(), Some(8 * MS));
    }

    #[test]
    fn what_stands_behind_a_lost_segment_left_with_those_before_it() {
        let mut talk = Talk::default();
        talk.opens(0, 1);
        talk.opens(30, 2);
        for round in 0..6 {
            let at = 240 + i64::from(round) * 200;
            for (place, port) in [(0, 1), (50, 2)] {
                talk.ack(at + place, port, 2 * round + 1);
                talk.data(at + place + 100, 3 - port, 2 * round + 2);
            }
        }
        talk.ack(2000, 1, 13);
        // The link takes 1 ms for each; two never came by.
        assert!(talk.data(2100, 2, 14).by_other);
        assert!(talk.data(2103, 2, 16).by_other);
    }

    #[test]
    fn one_coincidence_shows_nothing() {
        assert!(!after_rounds(1, true).is_shared);
    }

    #[test]
    fn a_server_that_writes_now_and_then_meets_an_ack_of_another_connection_by_chance() {
        let mut talk = Talk::default();
        talk.opens(0, 1);
        talk.opens(30, 2);
        // An ACK every ten milliseconds, and a write of the other connection at every time between.
        for number in 0..400 {
            let at = 300 + i64::from(number) * 10;
            talk.ack(at, 2, number);
            if number % 20 == 19 {
                let write = 1 + number / 20;
                let sharing = talk.data(at + i64::from(write * 7 % 10), 1, write + 1);
                assert!(!sharing.is_shared, "at write {write}");
            }
        }
    }

    #[test]
    fn what_is_sent_again_tells_of_a_loss() {
        let mut talk = Talk::default();
        talk.opens(0, 1);
        assert!(!talk.data(400, 1, 2).had_loss);
        assert!(talk.data(900, 1, 2).had_loss);
    }
}
