//! Two hosts and all connections between them.

use std::collections::VecDeque;

use trace_model::rows::ObservationPoint;
use trace_model::{flags, IpAddress, Segment, SeqNumber};

use super::backlog::{Backlog, Queued};
use super::departures::Departures;
use super::pace::Pace;
use super::queue::{LetGo, Queue};
use super::release::{Ack, Coming, Flight, Release};
use super::timers::Timers;
use super::window::SharedWindow;
use super::Sharing;
use crate::arrivals::Arrivals;
use crate::missing_packets::MissingPackets;
use crate::observation::observation_point;

/// ACKs of a round trip of all connections of a pair.
const ACKS_MAX: usize = 256;
/// Connections of a pair that are followed: more than any browser opens to one host.
const CONNECTIONS_MAX: usize = 64;
/// Payload of a segment on Ethernet: a larger one was put together by a network card.
pub(super) const SEGMENT_BYTES: u32 = 1460;

#[derive(Debug)]
pub(super) struct Connection {
    client_port: u16,
    server_port: u16,
    syn_ns: i64,
    syn_ack_ns: Option<i64>,
    acked: Option<SeqNumber>,
    /// Up to where the window that all use knows its data to have come, and up to where it was sent when that was
    /// halved last.
    counted: Option<SeqNumber>,
    halved: Option<SeqNumber>,
    /// When the client acknowledged something new last.
    pub(super) acked_ns: i64,
    pub(super) next: Option<SeqNumber>,
    /// The client has sent data since the server has.
    is_asked: bool,
    /// The server's newest data was pushed: it had no more to send then (RFC 9293, section 3.9.1).
    was_pushed: bool,
    /// When that came, or the connection was opened; the former is told by numbers.
    pub(super) data_ns: i64,
    sent_ns: i64,
    /// Data was lost on one of the connections before that came, or before it was asked for.
    had_loss: bool,
}

#[derive(Debug)]
pub(super) struct HostPair {
    pub(super) client: IpAddress,
    pub(super) server: IpAddress,
    /// When a packet of it was seen last.
    pub(super) seen_ns: i64,
    pub(super) connections: VecDeque<Connection>,
    pub(super) acks: VecDeque<Ack>,
    /// The way to the server and back, and to the client and back, from here.
    pub(super) to_server_ns: Option<i64>,
    pub(super) to_client_ns: Option<i64>,
    pub(super) pace: Pace,
    pub(super) queue: Queue,
    pub(super) flight: Option<Flight>,
    /// Flights that only an ACK of another connection let go, and what flights tell for shared windows, in eighths of
    /// a bit.
    pub(super) by_others: i64,
    pub(super) evidence: i64,
    pub(super) is_shared: bool,
    pub(super) had_loss: bool,
    /// When data of the server came last, and what its distances tell of the slowest link.
    pub(super) came_ns: Option<i64>,
    pub(super) link: Arrivals,
    pub(super) missing: MissingPackets,
    backlog: Backlog,
    pub(super) window: SharedWindow,
    pub(super) departures: Departures,
    pub(super) timers: Timers,
}

impl Connection {
    /// How much more the client has acknowledged.
    fn acknowledges(&mut self, ack: SeqNumber) -> i64 {
        let before = self.counted.filter(|before| ack.is_after(*before));
        let newly = before.map_or(0, |before| ack.distance_from(before));
        if newly > 0 {
            self.counted = Some(ack);
        }
        i64::from(newly)
    }

    /// How much more the server has sent, which ends at `end`.
    fn sends(&mut self, segment: &Segment<'_>, end: SeqNumber) -> i64 {
        let start = segment.seq.plus(u32::from(segment.has(flags::SYN)));
        let before = *self.next.get_or_insert(start);
        self.counted.get_or_insert(start);
        if !end.is_after(before) {
            return 0;
        }
        self.next = Some(end);
        i64::from(end.distance_from(before))
    }

    /// Bytes that were sent and not acknowledged.
    fn outstanding(&self) -> i64 {
        let both = self.next.zip(self.counted);
        both.map_or(0, |(next, counted)| i64::from(next.distance_from(counted)))
    }
}

impl HostPair {
    pub(super) fn new(client: IpAddress, server: IpAddress) -> Self {
        HostPair {
            client,
            server,
            seen_ns: 0,
            connections: VecDeque::new(),
            acks: VecDeque::new(),
            to_server_ns: None,
            to_client_ns: None,
            pace: Pace::default(),
            queue: Queue::default(),
            flight: None,
            by_others: 0,
            evidence: 0,
            is_shared: false,
            had_loss: false,
            came_ns: None,
            link: Arrivals::default(),
            missing: MissingPackets::default(),
            backlog: Backlog::default(),
            window: SharedWindow::default(),
            departures: Departures::default(),
            timers: Timers::default(),
        }
    }

    /// Whether these are its hosts, in either order.
    pub(super) fn has(&self, (source, destination): (IpAddress, IpAddress)) -> bool {
        (self.client == source && self.server == destination)
            || (self.client == destination && self.server == source)
    }

    pub(super) fn connection(
        &mut self,
        client_port: u16,
        server_port: u16,
    ) -> Option<&mut Connection> {
        // The newest are the busiest.
        self.connections
            .iter_mut()
            .rev()
            .find(|it| it.client_port == client_port && it.server_port == server_port)
    }

    pub(super) fn heard(&mut self, time_ns: i64, segment: &Segment<'_>) {
        let ports = (segment.source_port, segment.destination_port);
        if segment.has(flags::SYN) {
            return self.opens(time_ns, ports);
        }
        let had_loss = self.had_loss;
        let Some(connection) = self.connection(ports.0, ports.1) else {
            return;
        };
        if segment.payload_bytes > 0 {
            connection.is_asked = true;
            connection.had_loss = had_loss;
        }
        if !segment.has(flags::ACK) {
            return;
        }
        let is_first = connection.acked.is_none();
        let is_new = connection
            .acked
            .is_none_or(|acked| segment.ack.is_after(acked));
        if is_new {
            connection.acked = Some(segment.ack);
            connection.acked_ns = time_ns;
        }
        let newly = connection.acknowledges(segment.ack);
        let of_ns = connection.data_ns;
        let answered = connection.syn_ack_ns.filter(|_| is_first);
        let acked = self.window.acknowledged(newly);
        if let Some(back_ns) = answered.map(|then| time_ns.saturating_sub(then)) {
            self.to_client_ns = Some(
                self.to_client_ns
                    .map_or(back_ns, |least| least.min(back_ns)),
            );
        }
        if self.acks.len() >= ACKS_MAX {
            self.acks.pop_front();
        }
        self.acks.push_back(Ack {
            time_ns,
            client_port: ports.0,
            is_new,
            acked,
            of_ns,
        });
    }

    fn opens(&mut self, time_ns: i64, (client_port, server_port): (u16, u16)) {
        let again =
            |it: &Connection| (it.client_port, it.server_port) == (client_port, server_port);
        let over = self.connections.iter().position(again);
        let oldest = (self.connections.len() >= CONNECTIONS_MAX).then_some(0);
        let over = over.or(oldest).and_then(|at| self.connections.remove(at));
        if let Some(over) = over {
            self.window.gives_up(over.outstanding());
        }
        self.connections.push_back(Connection {
            client_port,
            server_port,
            syn_ns: time_ns,
            syn_ack_ns: None,
            acked: None,
            counted: None,
            halved: None,
            acked_ns: time_ns,
            next: None,
            is_asked: false,
            was_pushed: false,
            data_ns: time_ns,
            sent_ns: time_ns,
            had_loss: self.had_loss,
        });
    }

    pub(super) fn sent(&mut self, time_ns: i64, segment: &Segment<'_>) -> Sharing {
        let client_port = segment.destination_port;
        let had_loss = self.had_loss;
        let ack_before = self.ack_before(time_ns, segment.payload_bytes);
        let Some(connection) = self.connection(client_port, segment.source_port) else {
            return Sharing::default();
        };
        let end = segment.seq.plus(segment.sequence_length());
        let is_new = connection.next.is_none_or(|next| end.is_after(next));
        let is_first = connection.next.is_none();
        let newly = connection.sends(segment, end);
        let is_lost_anew = !is_new
            && connection
                .halved
                .is_none_or(|halved| !halved.is_after(segment.seq));
        let had_syn_ack = connection.syn_ack_ns.is_some();
        let there_ns = time_ns.saturating_sub(connection.syn_ns);
        if segment.has(flags::SYN) {
            connection.syn_ack_ns = Some(time_ns);
        }
        let has_payload = segment.payload_bytes > 0;
        let begins = (has_payload && std::mem::take(&mut connection.is_asked)) || is_first;
        let is_pushed = segment.has(flags::PSH);
        let had_more = has_payload && !std::mem::replace(&mut connection.was_pushed, is_pushed);
        let sent_ns = connection.sent_ns;
        let had_loss_then = connection.had_loss;
        if has_payload {
            connection.sent_ns = time_ns;
            connection.had_loss = had_loss || !is_new;
        }
        if segment.has(flags::SYN) && !had_syn_ack {
            let least = self.to_server_ns.unwrap_or(i64::MAX);
            self.to_server_ns = Some(least.min(there_ns));
        }
        let left = self.leaves_queue(time_ns, segment.payload_bytes, sent_ns);
        if !has_payload {
            self.window.sends(newly);
            return self.sharing(false);
        }
        self.had_loss |= !is_new;
        if is_lost_anew {
            self.halves();
        }
        let release = self.fly(Coming {
            time_ns,
            bytes: segment.payload_bytes,
            client_port,
            quiet_ns: time_ns.saturating_sub(sent_ns),
            had_more,
            tells_nothing: begins || !is_new,
        });
        if is_new {
            self.limits(time_ns, segment.payload_bytes, release, had_more && !begins);
            self.window.sends(newly);
        }
        let is_of_link = had_more && !begins && is_new;
        let was_held = release != Release::None;
        let before_ns = self.came_ns.replace(time_ns).filter(|_| is_of_link);
        if let Some(before_ns) = before_ns {
            let gap_ns = time_ns.saturating_sub(before_ns);
            self.arrives(gap_ns, segment.payload_bytes, was_held);
        }
        Sharing {
            had_loss: had_loss_then,
            is_after_other: release == Release::Other,
            is_let_go_by_other: ack_before.is_some_and(|ack| ack.client_port != client_port),
            is_let_go: left == LetGo::Ack && is_new,
            is_paced: left == LetGo::Pacer && is_new,
            ..self.sharing(release == Release::Other && is_new)
        }
    }

    /// The window that all use was halved: another loss of what was sent until now does not halve it again.
    fn halves(&mut self) {
        self.window.had_loss();
        for connection in &mut self.connections {
            connection.halved = connection.next;
        }
    }

    /// How long a packet of the server may have stood before the slowest link. A server's burst leaves in another pace.
    pub(super) fn queues(&mut self, time_ns: i64, segment: &Segment<'_>) -> Queued {
        if observation_point(self.to_server_ns, self.to_client_ns) == ObservationPoint::Server {
            return Queued::default();
        }
        let service_ns = self.pace.of(segment.payload_bytes);
        self.backlog
            .comes(time_ns, service_ns, segment.destination_port)
    }

    pub(super) fn sharing(&self, by_other: bool) -> Sharing {
        Sharing {
            is_shared: self.is_shared,
            by_other,
            is_after_other: by_other,
            had_loss: self.had_loss,
            to_server_ns: self.to_server_ns,
            to_client_ns: self.to_client_ns,
            service_ns: self.pace.largest_ns(),
            link: self.link,
            is_let_go: false,
            is_let_go_by_other: false,
            is_paced: false,
            queued_ns: 0,
            limit: self.window.limit(),
            stood_ns: 0,
            missed_elsewhere: 0,
            missed: None,
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

    pub(super) fn round_trip_ns(&self) -> i64 {
        let (there, back) = (self.to_server_ns, self.to_client_ns);
        there.unwrap_or(0).saturating_add(back.unwrap_or(0))
    }
}
