//! Two hosts and all connections between them.

use std::collections::VecDeque;

use trace_model::rows::ObservationPoint;
use trace_model::{IpAddress, Segment};

use super::ack::Ack;
use super::asked::Asked;
use super::backlog::{Backlog, Came, Queued};
use super::bare::Bare;
use super::begun_anew::BegunAnew;
use super::connection::Connection;
use super::departures::Departures;
use super::division::Division;
use super::flight::Flight;
use super::headers::Headers;
use super::inherited::Inherited;
use super::largest::LargestWindow;
use super::ledger::Ledger;
use super::link_times::LinkTimes;
use super::missing_packets::MissingPackets;
use super::no_recovery::NoRecovery;
use super::pace::Pace;
use super::pacer::Pacer;
use super::phases::Phases;
use super::queue::Queue;
use super::rhythm::Rhythm;
use super::room::{Room, TIMEOUT_INITIAL_NS};
use super::sender_clock::SenderClock;
use super::sent_queue::SentQueue;
use super::server_acks::ServerAcks;
use super::steady::Steady;
use super::threshold::Threshold;
use super::timers::Timers;
use super::uplink::{Ahead, Uplink};
use super::way::Way;
use super::window::SharedWindow;
use super::working::Working;
use super::Sharing;
use crate::arrivals::Arrivals;
use crate::observation::observation_point;

/// So many connections are as long in opening as another one, to half a millisecond, on no path of which the round trips
/// vary.
const EQUAL_WAYS_MIN: u32 = 1;

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
    /// The former was measured by a bare answer to a SYN that was sent once.
    pub(super) is_way_sure: bool,
    /// ... the least that was answered at the server, and with how much payload.
    pub(super) client_way: Option<Way>,
    /// Connections that were as long in opening as the quickest one.
    pub(super) equal_ways: u32,
    pub(super) pace: Pace,
    pub(super) queue: Queue,
    pub(super) flight: Option<Flight>,
    /// Flights that only an ACK of another connection let go, and what flights tell for shared windows, in eighths of
    /// a bit.
    pub(super) by_others: i64,
    /// ... which began answers.
    pub(super) openings_by_others: i64,
    /// ... and that were no coincidence, as likely as not.
    pub(super) sure_openings: i64,
    pub(super) evidence: i64,
    pub(super) steady: Steady,
    pub(super) is_shared: bool,
    /// ... or divide one between them.
    pub(super) are_divided: bool,
    pub(super) division: Division,
    pub(super) had_loss: bool,
    /// When data of the server came last, and what its distances tell of the slowest link.
    pub(super) came_ns: Option<i64>,
    pub(super) link: Arrivals,
    /// When it came last behind a silence of all connections in which a timer may have run out.
    pub(super) resumed_ns: i64,
    pub(super) bare: Bare,
    pub(super) link_times: LinkTimes,
    /// The way to the server and back of a FIN and its ACK, and so many packets without payload that went right before it.
    pub(super) bare_way: Option<(u32, i64)>,
    pub(super) missing: MissingPackets,
    /// The server does not count the packets that come by here one by one, though that had seemed so: it sends to others
    /// by another way, and its numbers tell of no losses.
    pub(super) goes_elsewhere: bool,
    /// The connection whose data came last.
    pub(super) sent_by: Option<(u16, u16)>,
    /// Data of the server has shown a loss by itself, or by when it left.
    pub(super) had_hole: bool,
    pub(super) backlog: Backlog,
    pub(super) server_acks: ServerAcks,
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
    pub(super) largest: LargestWindow,
    pub(super) ledger: Ledger,
    pub(super) pacer: Pacer,
    pub(super) sender_clock: SenderClock,
    pub(super) threshold: Threshold,
    pub(super) begun_anew: BegunAnew,
    pub(super) no_recovery: NoRecovery,
    pub(super) inherited: Inherited,
    pub(super) uplink: Uplink,
    pub(super) working: Working,
    pub(super) headers: Headers,
    /// Of what the server writes.
    pub(super) rhythm: Rhythm,
    /// When data came last behind which nothing had been in flight.
    pub(super) quiet_until_ns: Option<i64>,
    /// When the ACK went by that let data go last behind a repair, with nothing else in flight.
    pub(super) restarted_by_ns: Option<i64>,
    /// When something came last that was sent again.
    pub(super) copied_ns: i64,
    /// The server stamps its packets with milliseconds.
    pub(super) counts_ms: bool,
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
            is_way_sure: false,
            client_way: None,
            equal_ways: 0,
            pace: Pace::default(),
            queue: Queue::default(),
            flight: None,
            by_others: 0,
            openings_by_others: 0,
            sure_openings: 0,
            evidence: 0,
            steady: Steady::default(),
            is_shared: false,
            are_divided: false,
            division: Division::default(),
            had_loss: false,
            came_ns: None,
            resumed_ns: 0,
            link: Arrivals::default(),
            bare: Bare::default(),
            link_times: LinkTimes::default(),
            bare_way: None,
            missing: MissingPackets::default(),
            goes_elsewhere: false,
            sent_by: None,
            had_hole: false,
            backlog: Backlog::default(),
            server_acks: ServerAcks::default(),
            asked: Asked::default(),
            room: Room::default(),
            sent_queue: SentQueue::default(),
            window: SharedWindow::default(),
            departures: Departures::default(),
            timers: Timers::default(),
            timer_ns: None,
            phases: Phases::default(),
            largest: LargestWindow::default(),
            ledger: Ledger::default(),
            pacer: Pacer::default(),
            sender_clock: SenderClock::default(),
            threshold: Threshold::default(),
            begun_anew: BegunAnew::default(),
            no_recovery: NoRecovery::default(),
            inherited: Inherited::default(),
            uplink: Uplink::default(),
            working: Working::default(),
            headers: Headers::default(),
            rhythm: Rhythm::default(),
            quiet_until_ns: None,
            restarted_by_ns: None,
            copied_ns: 0,
            counts_ms: false,
        }
    }

    /// A packet goes by, with the headers that the slowest link carries as well.
    pub(super) fn has_headers(&mut self, from_client: bool, segment: &Segment<'_>) {
        self.headers.goes_by(from_client, segment);
        if let Some(bytes) = self.headers.of_data(self.client.is_v6) {
            self.link.has_headers(bytes);
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

    /// How long a packet of the server may have stood before the slowest link. A server's burst leaves in another pace.
    pub(super) fn queues(&mut self, time_ns: i64, segment: &Segment<'_>, lost: u32) -> Queued {
        if self.is_at_server() {
            return Queued::default();
        }
        let pace = self.pace;
        let packet = Came {
            time_ns,
            bytes: segment.payload_bytes,
            client_port: segment.destination_port,
            lost_ns: self.lost_ns(lost),
            late: self.late(time_ns, segment),
        };
        self.backlog.comes(packet, &|bytes| pace.on_link(bytes))
    }

    pub(super) fn sharing(&self, by_other: bool) -> Sharing {
        Sharing {
            is_shared: self.is_shared,
            may_be_shared: self.is_shared || self.evidence > 0 && !self.are_divided,
            is_let_go_by_end: false,
            by_other,
            is_after_other: by_other,
            passed_over: 0,
            has_come_behind: false,
            is_after_answer_to_other: false,
            had_loss: self.had_loss,
            to_server_ns: self.to_server_ns,
            to_client_ns: self.to_client_ns,
            service_ns: self.pace.largest_ns(),
            link: self.link,
            is_let_go: false,
            is_let_go_by_other: false,
            would_be_by_other: false,
            is_paced: false,
            is_of_pacer: false,
            would_be_of_pacer: false,
            left_before_acks: false,
            paced_ns: None,
            clock_ns: None,
            asked_byte_ps: self.asked.byte_ps(),
            sent_byte_time: self.sent_queue.byte_time(),
            receiver: self.sent_queue.receiver(),
            due_ns: None,
            is_behind_others: false,
            is_by_no_ack: false,
            are_others_in_flight: false,
            queued_ns: 0,
            limit: self.window.limit(),
            grew_until_ns: self.window.grew_until_ns(),
            buffer: self.window.of_one(),
            sockets: self.window.sockets,
            largest_bytes: self.pace.largest_bytes,
            initial_window_bytes: self.initial_window_bytes(),
            stood_ns: 0,
            is_stamped: false,
            takes_ns: 0,
            works_ns: self.working.mean_ns(),
            room_until_ns: None,
            quiet_until_ns: self.quiet_until_ns,
            had_room_ns: None,
            let_go_ns: None,
            is_let_go_by_newest: false,
            missed_elsewhere: 0,
            goes_elsewhere: self.goes_elsewhere,
            timer_ns: self.timer_ns,
            is_path_steady: self.equal_ways >= EQUAL_WAYS_MIN,
            unheard: None,
            is_again: false,
            missed: None,
            missed_if_shared: None,
            hole_ns: None,
            phases: self.phases_as_let_go(),
            threshold: None,
            begin_paced: self.inherited.begin_paced,
            ahead: Ahead::default(),
            written: None,
            syn_longer_bytes: self.headers.syn_longer_bytes(),
        }
    }

    /// Whether packets of the server are missing that may be in flight still, or wait for its timer. What went on behind
    /// them without a hole is not of those: it has lost nothing then, or has sent it again.
    pub(super) fn may_miss_packets(&self) -> bool {
        let since_ns = self.seen_ns.saturating_sub(TIMEOUT_INITIAL_NS);
        let Some(noticed_ns) = self.missing.unaccounted_ns(since_ns) else {
            return false;
        };
        let mut open = self.connections.iter().filter(|it| it.over_ns.is_none());
        open.any(|it| it.newest_ns <= noticed_ns)
    }

    /// How long after an ACK a full segment comes by that it lets go, if nothing stands before that.
    pub(super) fn full_way_ns(&self) -> i64 {
        let (way_ns, takes_ns) = self.way_and_link_ns();
        way_ns.saturating_add(takes_ns)
    }

    fn way_and_link_ns(&self) -> (i64, i64) {
        let way_ns = self.to_server_ns.unwrap_or(0);
        (way_ns, self.pace.largest_ns().unwrap_or(0))
    }

    /// The phases of the window as what it let go comes: by a way that is known the better the later it is asked for.
    pub(super) fn phases_as_let_go(&self) -> Phases {
        self.phases.as_let_go(self.way_and_link_ns())
    }

    pub(super) fn is_at_server(&self) -> bool {
        observation_point(self.to_server_ns, self.to_client_ns) == ObservationPoint::Server
    }

    /// Whether data of another connection than this was on its way when the server sent what comes now, or was lost
    /// and is not repaired: the window that they may share counts it as well (Eggert 1999, section 3).
    pub(super) fn are_others_in_flight(&self, time_ns: i64, client_port: u16) -> bool {
        let since_ns = time_ns.saturating_sub(self.round_trip_ns());
        let mut others = self.connections.iter();
        others.any(|it| {
            let is_sent = it.sent_ns >= since_ns || it.in_flight() > 0;
            it.client_port != client_port && it.sent_ns > it.syn_ns && is_sent
        })
    }

    pub(super) fn round_trip_ns(&self) -> i64 {
        let (there, back) = (self.to_server_ns, self.to_client_ns);
        there.unwrap_or(0).saturating_add(back.unwrap_or(0))
    }
}

#[cfg(test)]
impl HostPair {
    /// Two hosts that are so far apart, at one of which the capture was taken.
    pub(super) fn with_path(to_server_ns: i64) -> HostPair {
        let address = IpAddress {
            is_v6: false,
            octets: [0; 16],
        };
        let mut pair = HostPair::new(address, address);
        pair.to_server_ns = Some(to_server_ns);
        pair
    }
}
