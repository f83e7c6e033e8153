//! Two hosts and all connections between them.

use std::collections::VecDeque;

use trace_model::rows::ObservationPoint;
use trace_model::{flags, IpAddress, Segment, SeqNumber};

use super::asked::Asked;
use super::backlog::{Backlog, Queued};
use super::departures::Departures;
use super::ledger::Ledger;
use super::pace::Pace;
use super::pacer::Pacer;
use super::phases::Phases;
use super::queue::{LetGo, Queue};
use super::release::{Ack, Coming, Flight, Release, TOGETHER_NS};
use super::room::Room;
use super::sent_queue::SentQueue;
use super::threshold::Threshold;
use super::timers::Timers;
use super::window::{Leaving, SharedWindow};
use super::Sharing;
use crate::arrivals::Arrivals;
use crate::jitter::CLOSE_NS;
use crate::missing_packets::MissingPackets;
use crate::observation::observation_point;

/// ACKs of a round trip of all connections of a pair.
const ACKS_MAX: usize = 256;
/// Connections of a pair that are followed: more than any browser opens to one host.
const CONNECTIONS_MAX: usize = 64;
/// So many connections are as long in opening as another one on no path of which the round trips vary.
const EQUAL_WAYS_MIN: u32 = 2;
/// Payload of a segment on Ethernet: a larger one was put together by a network card.
pub(super) const SEGMENT_BYTES: u32 = 1460;

#[derive(Debug)]
pub(super) struct Connection {
    client_port: u16,
    server_port: u16,
    syn_ns: i64,
    syn_ack_ns: Option<i64>,
    acked: Option<SeqNumber>,
    /// Its first number.
    first: Option<SeqNumber>,
    /// Up to where it was sent when the window that all use was halved last.
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
    /// ... and of that when the one came which was beyond all before.
    pub(super) newest_ns: i64,
    /// When data came first behind what is missing of it.
    pub(super) hole_ns: Option<i64>,
    sent_ns: i64,
    /// Data was lost on one of the connections before that came, or before it was asked for.
    had_loss: bool,
}

impl Connection {
    /// The server had more to send than has come, and nothing was asked for since.
    pub(super) fn had_more(&self) -> bool {
        self.sent_ns > self.syn_ns && !self.is_asked && !self.was_pushed
    }
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
    /// The payload of the packet that came back by the least way from the client.
    pub(super) to_client_bytes: u32,
    /// Connections that were as long in opening as the quickest one.
    equal_ways: u32,
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
    /// The server does not count the packets that come by here one by one, though that had seemed so: it sends to others
    /// by another way, and its numbers tell of no losses.
    pub(super) goes_elsewhere: bool,
    /// Data of the server has shown a loss by itself.
    pub(super) had_hole: bool,
    backlog: Backlog,
    /// What the distances of the client's data tell.
    pub(super) asked: Asked,
    pub(super) room: Room,
    pub(super) sent_queue: SentQueue,
    pub(super) window: SharedWindow,
    pub(super) departures: Departures,
    pub(super) timers: Timers,
    /// How long the server's timer waited last, as a hole shows that it filled.
    pub(super) timer_ns: Option<i64>,
    pub(super) phases: Phases,
    pub(super) ledger: Ledger,
    pub(super) pacer: Pacer,
    pub(super) threshold: Threshold,
}

impl Connection {
    /// Whether a segment that is sent again was sent after the window was halved last.
    fn is_of_new_flight(&self, segment: &Segment<'_>) -> bool {
        self.halved
            .is_none_or(|halved| !halved.is_after(segment.seq))
    }

    /// What it has sent that is not acknowledged.
    fn in_flight(&self) -> i64 {
        let acked = self.acked.or(self.first);
        let both = self.next.zip(acked);
        both.map_or(0, |(next, acked)| i64::from(next.distance_from(acked)))
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
            to_client_bytes: 0,
            equal_ways: 0,
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
            goes_elsewhere: false,
            had_hole: false,
            backlog: Backlog::default(),
            asked: Asked::default(),
            room: Room::default(),
            sent_queue: SentQueue::default(),
            window: SharedWindow::default(),
            departures: Departures::default(),
            timers: Timers::default(),
            timer_ns: None,
            phases: Phases::default(),
            ledger: Ledger::default(),
            pacer: Pacer::default(),
            threshold: Threshold::default(),
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

    /// Whether a segment that is sent again was sent after the window was halved last.
    pub(super) fn is_of_new_flight(&mut self, ports: (u16, u16), segment: &Segment<'_>) -> bool {
        let connection = self.connection(ports.0, ports.1);
        connection.is_some_and(|it| it.is_of_new_flight(segment))
    }

    pub(super) fn heard(&mut self, time_ns: i64, segment: &Segment<'_>) {
        self.asked
            .heard(time_ns, segment.payload_bytes, self.to_client_ns);
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
        let had_acked = connection.acked.or(connection.first);
        let newly = had_acked.map_or(0, |acked| segment.ack.distance_from(acked));
        let is_new = connection
            .acked
            .is_none_or(|acked| segment.ack.is_after(acked));
        if is_new {
            connection.acked = Some(segment.ack);
            connection.acked_ns = time_ns;
        }
        let had_data = connection.sent_ns > connection.syn_ns;
        let (of_ns, syn_ack_ns) = (connection.data_ns, connection.syn_ack_ns);
        // That of a SYN opens no window (RFC 5681, section 3.1).
        if is_new && newly > i32::from(is_first) {
            let end_ns = time_ns.saturating_add(self.full_way_ns());
            self.phases.acknowledged(end_ns);
        }
        let answered = syn_ack_ns.filter(|_| is_first);
        if let Some(back_ns) = answered.map(|then| time_ns.saturating_sub(then)) {
            if self.to_client_ns.is_none_or(|least| back_ns < least) {
                self.to_client_ns = Some(back_ns);
                self.to_client_bytes = segment.payload_bytes;
            }
        }
        let acked = self.room.acknowledges(i64::from(newly));
        if self.acks.len() >= ACKS_MAX {
            self.acks.pop_front();
        }
        self.acks.push_back(Ack {
            time_ns,
            client_port: ports.0,
            is_new,
            is_of_data: had_data && (is_new || segment.payload_bytes == 0),
            acked,
            of_ns,
        });
    }

    fn opens(&mut self, time_ns: i64, (client_port, server_port): (u16, u16)) {
        let ports = (client_port, server_port);
        let mut gone = 0_i64;
        self.connections.retain(|it| {
            let stays = (it.client_port, it.server_port) != ports;
            gone = gone.saturating_add(if stays { 0 } else { it.in_flight() });
            stays
        });
        if self.connections.len() >= CONNECTIONS_MAX {
            let oldest = self.connections.pop_front();
            gone = gone.saturating_add(oldest.map_or(0, |it| it.in_flight()));
        }
        self.room.acknowledges(gone);
        self.connections.push_back(Connection {
            client_port,
            server_port,
            syn_ns: time_ns,
            syn_ack_ns: None,
            acked: None,
            first: None,
            halved: None,
            acked_ns: time_ns,
            next: None,
            is_asked: false,
            was_pushed: false,
            data_ns: time_ns,
            newest_ns: time_ns,
            hole_ns: None,
            sent_ns: time_ns,
            had_loss: self.had_loss,
        });
    }

    /// A segment of the server comes by, which stood in the queue of the slowest link for at most so long.
    /// It may have been sent before, and been missed.
    pub(super) fn sent(
        &mut self,
        time_ns: i64,
        segment: &Segment<'_>,
        (queued_ns, is_missed): (i64, bool),
    ) -> Sharing {
        let client_port = segment.destination_port;
        let had_loss = self.had_loss;
        let ack_before = self.ack_before(time_ns, segment.payload_bytes);
        let Some(connection) = self.connection(client_port, segment.source_port) else {
            return Sharing::default();
        };
        let end = segment.seq.plus(segment.sequence_length());
        let is_new = connection.next.is_none_or(|next| end.is_after(next));
        let is_first = connection.next.is_none();
        let before = connection.next.unwrap_or(segment.seq);
        connection.first = connection.first.or(Some(segment.seq));
        // What is sent again may carry new data as well.
        let is_again = before.is_after(segment.payload_seq());
        let is_hole = segment.seq.is_after(before);
        let newly = i64::from(end.distance_from(before));
        if is_new {
            connection.next = Some(end);
        }
        let is_lost_anew = !is_new && connection.is_of_new_flight(segment);
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
            let is_close = there_ns.saturating_sub(least).saturating_abs() <= CLOSE_NS;
            self.equal_ways = if is_close {
                self.equal_ways.saturating_add(1)
            } else if there_ns < least {
                0
            } else {
                self.equal_ways
            };
        }
        self.room.sends(newly);
        let takes_ns = self.pace.of(segment.payload_bytes);
        let was_idle = self.queue.was_idle(time_ns, takes_ns);
        let left = self.leaves_queue(time_ns, segment.payload_bytes, (sent_ns, was_idle));
        if !has_payload {
            return self.sharing(false);
        }
        // Who paces a restart goes on with what the pacer let go (Visweswaraiah and Heidemann 1997).
        if is_again || is_hole || left == LetGo::Pacer {
            self.room.had_loss();
            self.ledger.had_loss();
        }
        let is_in_answer = had_more && !begins;
        let let_go_by = if is_new {
            self.let_go_by(is_in_answer, was_idle)
        } else {
            None
        };
        let room_until_ns = self.room_until_ns(time_ns, (segment.payload_bytes, newly), was_idle);
        self.had_loss |= !is_new;
        let is_by_clock = is_new && self.leaves_by_clock(sent_ns, time_ns, segment.payload_bytes);
        if is_by_clock && is_in_answer {
            self.pacer.shows();
        }
        if is_lost_anew {
            self.halves();
        }
        let is_in_rhythm = begins && self.is_shared && left == LetGo::Pacer;
        let mut release = self.fly(Coming {
            time_ns,
            bytes: segment.payload_bytes,
            client_port,
            quiet_ns: time_ns.saturating_sub(sent_ns),
            had_more,
            tells_nothing: begins || !is_new || is_missed,
        });
        if release == Release::None && self.is_shared {
            // Of hosts that share a window it is not asked whether that was by chance.
            release = self.release(time_ns, client_port, queued_ns);
        }
        // What the window had room for is known best of what lay in the server's buffer.
        let known = let_go_by.filter(|_| self.is_shared && is_in_answer);
        release = known.map_or(release, |ack| ack.lets_go(client_port));
        if is_new {
            let leaving = Leaving {
                release,
                had_more: is_in_answer,
                is_paced: left == LetGo::Pacer || is_by_clock,
                client_port,
            };
            self.limits(time_ns, (segment.payload_bytes, newly), leaving);
        }
        let is_of_link = is_in_answer && is_new;
        let was_held = release != Release::None;
        let is_busy = sent_ns >= self.queue.busy_since_ns() && self.pace.largest_ns().is_some();
        let is_behind_others = is_busy && self.came_ns.is_some_and(|came_ns| came_ns > sent_ns);
        let gap_ns = self.came_ns.replace(time_ns);
        let gap_ns = gap_ns.map(|before_ns| time_ns.saturating_sub(before_ns));
        // What comes so closely did not wait for a writer, though that had pushed what came before.
        let is_close = |gap_ns: i64| is_new && gap_ns <= TOGETHER_NS;
        if let Some(gap_ns) = gap_ns.filter(|gap_ns| is_of_link || is_close(*gap_ns)) {
            self.arrives(gap_ns, segment.payload_bytes, was_held);
        }
        Sharing {
            had_loss: had_loss_then,
            is_after_other: release == Release::Other,
            is_let_go_by_other: let_go_by
                .filter(|_| self.is_shared)
                .or(ack_before)
                .is_some_and(|ack| ack.client_port != client_port),
            is_let_go: left == LetGo::Ack && is_new,
            is_behind_others,
            is_paced: (left == LetGo::Pacer || is_by_clock) && is_new,
            is_of_pacer: self.pacer.is_shown() && is_new && (is_by_clock || is_in_rhythm),
            room_until_ns,
            ..self.sharing(release == Release::Other && is_new)
        }
    }

    /// The window that all use was halved: another loss of what was sent until now does not halve it again.
    fn halves(&mut self) {
        self.window_halves();
        for connection in &mut self.connections {
            connection.halved = connection.next;
        }
    }

    /// How long a packet of the server may have stood before the slowest link. A server's burst leaves in another pace.
    pub(super) fn queues(&mut self, time_ns: i64, segment: &Segment<'_>) -> Queued {
        if self.is_at_server() {
            return Queued::default();
        }
        let service_ns = self.pace.of(segment.payload_bytes).zip(self.pace.of(0));
        self.backlog
            .comes(time_ns, service_ns, segment.destination_port)
    }

    pub(super) fn sharing(&self, by_other: bool) -> Sharing {
        Sharing {
            is_shared: self.is_shared,
            may_be_shared: self.is_shared || self.evidence > 0,
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
            is_of_pacer: false,
            asked_byte_ps: self.asked.byte_ps(),
            sent_byte_ps: self.sent_queue.byte_ps(),
            due_ns: None,
            is_behind_others: false,
            queued_ns: 0,
            limit: self.window.limit(),
            buffer: self.window.of_one(),
            stood_ns: 0,
            takes_ns: 0,
            room_until_ns: None,
            missed_elsewhere: 0,
            goes_elsewhere: self.goes_elsewhere,
            timer_ns: self.timer_ns,
            is_path_steady: self.equal_ways >= EQUAL_WAYS_MIN,
            unheard_ns: None,
            is_again: false,
            missed: None,
            phases: self.phases,
        }
    }

    /// Data that lay in the server's buffer comes by, so long after other data. All connections share the slowest
    /// link, so none of it comes closer than that takes; where an ACK may have let it go (`was_held`), a longer
    /// distance is not the link's. A server's burst leaves in another pace.
    fn arrives(&mut self, gap_ns: i64, bytes: u32, was_held: bool) {
        let round_trip_ns = self.round_trip_ns();
        if self.is_at_server() || (was_held && gap_ns >= round_trip_ns) {
            return;
        }
        let segments = bytes.div_ceil(SEGMENT_BYTES);
        self.link.came_after(gap_ns, bytes, segments, round_trip_ns);
    }

    /// How long after an ACK a full segment comes by that it lets go, if nothing stands before that.
    pub(super) fn full_way_ns(&self) -> i64 {
        let way_ns = self.to_server_ns.unwrap_or(0);
        way_ns.saturating_add(self.pace.largest_ns().unwrap_or(0))
    }

    pub(super) fn is_at_server(&self) -> bool {
        observation_point(self.to_server_ns, self.to_client_ns) == ObservationPoint::Server
    }

    pub(super) fn round_trip_ns(&self) -> i64 {
        let (there, back) = (self.to_server_ns, self.to_client_ns);
        there.unwrap_or(0).saturating_add(back.unwrap_or(0))
    }
}
