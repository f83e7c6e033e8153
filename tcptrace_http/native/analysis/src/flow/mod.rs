//! One TCP connection: both directions, what is inferred of their segments, and what HTTP they carry.

mod advance;
mod asked_proxy;
mod copies;
mod early;
mod echoed;
mod end;
mod finished;
mod followed;
mod joined_queue;
mod memory;
mod paths;
mod payload;
mod properties;
mod record;
mod recover;
mod refused;
mod request_path;
mod roles;
mod round_trips;
mod sent;
mod sent_before;
mod shares_late;
mod sockets;
mod unacknowledged;
mod usage;

use tcptrace_http_messages::Connection;
use tcptrace_tcp::{
    classify, Class, Cut, Endpoint, Half, HostStep, Key, SegmentSize, Side, Statistics,
    TcpAnalysis, ACK_AHEAD_MAX,
};
use trace_model::rows::{ClosedBy, Direction, SegmentRow};
use trace_model::{flags, Packet, Segment};

use crate::echoes::{Echoes, HeardOf};
use crate::host_pairs::PairView;
use crate::pauses::PauseTracker;
use crate::recoveries::Recoveries;
use crate::tables::Tables;
use crate::waits::{Moment, Setup, Waits};
use followed::Followed;
use record::Record;
use tcptrace_attribution::Profile;
use unacknowledged::Unacknowledged;
pub use usage::{Close, Closing, LetDown, Usage};

#[derive(Debug)]
pub struct Flow {
    /// By which the flow table finds it.
    pub key: Key,
    /// It waits among the open flows of its partition.
    pub is_queued: bool,
    pub number: u32,
    pub endpoints: [Endpoint; 2],
    first_is_low: bool,
    pub first: Half,
    pub second: Half,
    /// Who is the client.
    pub client: Side,
    /// Whether a SYN told who the client is; else the first message may still tell.
    roles_are_certain: bool,
    pub first_frame: u64,
    pub start_ns: i64,
    pub start_frame: u64,
    pub end_ns: i64,
    pub closed_by: ClosedBy,
    /// Time of the RST that ended it.
    reset_ns: i64,
    pub syn_ns: Option<i64>,
    pub syn_ack_ns: Option<i64>,
    pub initial_rtt_ns: Option<i64>,
    pub segment_size: SegmentSize,
    /// Another connection had the ports before; and what the segments table tells, if it is asked for.
    pub reuses_ports: bool,
    tcp_analysis: Option<Box<TcpAnalysis>>,
    /// Boxed, as is `http`, to keep the flows small of which nothing is asked yet, or any more.
    followed: Option<Box<Followed>>,
    /// Of the client's data, once there is any.
    pub request_pauses: Option<Box<PauseTracker>>,
    pub is_http: bool,
    /// A client has asked it as one asks a proxy.
    is_of_proxy: bool,
    http: Option<Box<Connection>>,
    /// No HTTP was found, or the flow is over: payload is not looked at any more.
    is_opaque: bool,
    pub usage: Usage,
    pub closing: Closing,
    unacknowledged: Unacknowledged,
    setup: Setup,
    echoes: Option<Box<Echoes>>,
    /// When it sent the newest packet.
    server_had_heard: HeardOf,
    /// From the first message on.
    waits: Option<Box<Waits>>,
    /// What the core of one sender model explains, and what the flow's hosts have shown of their path.
    record: Option<Box<Record>>,
    /// What the record had shown of each side when it was given back.
    profiles: Option<Box<[Option<Profile>; 2]>>,
    pub pair: PairView,
    /// Its part of the sum that bounds the memory of all flows.
    held_bytes: u64,
    /// Payload that was not captured of segments that were.
    pub cut: Cut,
    /// Offset up to which the server's data must be acknowledged for its loss recovery to end.
    recovery_until: i64,
    /// The same of the client's data.
    request_recovery_until: i64,
    /// Losses and closed windows, once there is one.
    recoveries: Option<Box<Recoveries>>,
    /// What the numbers of its host tell of the packet that is taken.
    pub host_step: Option<HostStep>,
    /// ... and that other hosts have the same counter.
    pub counter_is_of_several: bool,
    /// Kept only when asked for.
    pub statistics: Option<Box<Statistics>>,
    /// Packets of it that were captured more than once.
    pub copies: copies::Copies,
    properties: properties::Properties,
}

impl Flow {
    #[must_use]
    pub fn new(
        number: u32,
        key: Key,
        packet: &Packet<'_>,
        segment: &Segment<'_>,
        endpoints: [Endpoint; 2],
        first_is_low: bool,
    ) -> Self {
        let is_syn = segment.has(flags::SYN);
        let sender_is_client = if is_syn {
            !segment.has(flags::ACK)
        } else {
            // Nothing better is known yet: servers listen on the lower port.
            segment.source_port >= segment.destination_port
        };
        Flow {
            key,
            is_queued: false,
            number,
            endpoints,
            first_is_low,
            first: Half::default(),
            second: Half::default(),
            client: if sender_is_client {
                Side::First
            } else {
                Side::Second
            },
            roles_are_certain: is_syn,
            first_frame: packet.frame,
            start_ns: packet.time_ns,
            start_frame: packet.frame,
            end_ns: packet.time_ns,
            closed_by: ClosedBy::Open,
            reset_ns: 0,
            syn_ns: None,
            syn_ack_ns: None,
            initial_rtt_ns: None,
            segment_size: SegmentSize::default(),
            reuses_ports: false,
            tcp_analysis: None,
            followed: None,
            request_pauses: None,
            is_http: false,
            is_of_proxy: false,
            http: None,
            is_opaque: false,
            usage: Usage::default(),
            closing: Closing::default(),
            unacknowledged: Unacknowledged::default(),
            setup: Setup::default(),
            echoes: None,
            server_had_heard: HeardOf::default(),
            waits: None,
            record: None,
            profiles: None,
            pair: PairView::default(),
            held_bytes: 0,
            cut: Cut::default(),
            recovery_until: 0,
            request_recovery_until: 0,
            recoveries: None,
            host_step: None,
            counter_is_of_several: false,
            statistics: None,
            copies: copies::Copies::default(),
            properties: properties::Properties::default(),
        }
    }

    /// The side of a sender, by whether it is the lower endpoint of the flow's key; the two ends of a
    /// flow to itself cannot be told apart.
    #[must_use]
    pub fn side_of(&self, sender_is_low: bool) -> Side {
        if sender_is_low == self.first_is_low {
            Side::First
        } else {
            Side::Second
        }
    }

    /// The half of `side`'s sender and that of its peer.
    fn halves(&mut self, side: Side) -> (&mut Half, &mut Half) {
        match side {
            Side::First => (&mut self.first, &mut self.second),
            Side::Second => (&mut self.second, &mut self.first),
        }
    }

    #[must_use]
    pub fn half(&self, side: Side) -> &Half {
        match side {
            Side::First => &self.first,
            Side::Second => &self.second,
        }
    }

    #[must_use]
    pub fn client_half(&self) -> &Half {
        self.half(self.client)
    }

    #[must_use]
    pub fn server_half(&self) -> &Half {
        self.half(self.client.other())
    }

    /// The endpoints by their roles.
    #[must_use]
    pub fn client_and_server(&self) -> (Endpoint, Endpoint) {
        let [first, second] = self.endpoints;
        match self.client {
            Side::First => (first, second),
            Side::Second => (second, first),
        }
    }

    /// Whether both directions have ended.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.first.has_ended && self.second.has_ended
    }

    fn direction_of(&self, side: Side) -> Direction {
        if side == self.client {
            Direction::ClientToServer
        } else {
            Direction::ServerToClient
        }
    }

    /// Whether `segment` starts another connection between the same ports, as tshark numbers
    /// tcp.stream: a SYN with another number than the one this side began with. A SYN-ACK never
    /// does, nor a SYN that is sent again, even after a FIN or RST.
    #[must_use]
    pub fn is_reused_by(&self, side: Side, segment: &Segment<'_>) -> bool {
        segment.has(flags::SYN)
            && !segment.has(flags::ACK)
            && self
                .half(side)
                .initial
                .is_some_and(|initial| initial != segment.seq)
    }

    /// Takes the next segment of the flow.
    pub fn segment(
        &mut self,
        side: Side,
        packet: &Packet<'_>,
        segment: &Segment<'_>,
        tables: &mut Tables,
    ) {
        self.end_ns = packet.time_ns;
        let is_syn = segment.has(flags::SYN);
        if is_syn {
            self.handshake(side, packet, segment);
        } else if !self.roles_are_certain && !segment.payload.is_empty() {
            self.orient(side, segment.payload);
        }
        let is_early = self.is_before_syn_ack(side, segment);
        if segment.has(flags::ACK) {
            self.begin_without_syn_ack(side, segment);
        }
        let (sender, peer) = self.halves(side);
        let start = sender.offset_of(segment.seq, is_syn);
        let ack = segment
            .has(flags::ACK)
            .then(|| peer.offset_of_ack(segment.ack))
            .filter(|ack| *ack <= peer.next.saturating_add(ACK_AHEAD_MAX));
        let window = sender.window_bytes(segment, peer, is_syn);
        let initial_rtt = self.initial_rtt_ns;
        self.note_echoes(side, packet.time_ns, (segment, start));
        self.note_properties(side, packet.time_ns, segment, (start, ack));
        let (sender, peer) = self.halves(side);
        let time_ns = packet.time_ns;
        let class = if is_early {
            self.count_early(side, segment)
        } else {
            classify(sender, peer, segment, time_ns, start, ack, initial_rtt)
        };

        if let Some(statistics) = self.statistics.as_mut() {
            statistics.segment(side, packet, segment, (start, ack, window), &class);
        }
        let place = (start, ack, window);
        let recovery = if is_early {
            None
        } else {
            self.recover(side, packet, segment, place, &class, tables)
        };
        self.record(side, packet, segment, (start, ack, window), &class);
        let row = tables.segments.as_ref().map(|rows| {
            let mut row = self.segment_row(side, packet, segment, (start, ack), &class);
            if rows.wanted().sack_edges {
                row.sack_edges = self
                    .half(side.other())
                    .offsets_of_sack(&segment.options.sack);
            }
            (rows.next(), row)
        });
        if let Some(ack) = ack {
            self.deliver_early(side.other(), ack, tables);
            let is_answered_syn = (is_syn || is_early) && ack > 1 && segment.payload_bytes > 0;
            self.acknowledge(side, packet, (ack, window, is_answered_syn), tables);
            if side == self.client && class.duplicate_ack_count > 0 {
                self.acknowledges_again(time_ns, segment);
            }
            if side == self.client && class.repeats_ack_of_all {
                self.acknowledges_all_again();
            }
        }
        let number = row.as_ref().map(|(number, _)| *number);
        if is_early {
            self.keep_early(side, packet, segment, tables);
        } else {
            self.advance(side, packet, segment, start, (&class, recovery), number);
        }
        if let Some(((_, mut row), rows)) = row.zip(tables.segments.as_mut()) {
            row.wire_segments = self.segment_size.wire_segments(segment.payload_bytes);
            rows.push(&row);
        }
        if is_early {
            return;
        }
        if self.was_reset() && self.disproves_reset(side, packet.time_ns, segment, class.is_new) {
            self.reopen();
        }
        if !self.is_opaque {
            self.payload(side, packet, segment, start, ack, tables);
        }
        self.close(side, packet, segment, tables);
        // Only payload makes a flow hold more, and its end much less.
        if segment.payload_bytes > 0 || self.is_opaque {
            self.account(packet, tables);
        }
    }

    fn segment_row(
        &mut self,
        side: Side,
        packet: &Packet<'_>,
        segment: &Segment<'_>,
        (start, ack): (i64, Option<i64>),
        class: &Class,
    ) -> SegmentRow {
        let mut row = SegmentRow {
            frame: packet.frame,
            flow: self.number,
            direction: self.direction_of(side),
            time: packet.time_ns,
            seq: start,
            ack,
            payload_bytes: segment.payload_bytes,
            flags: segment.flags,
            gap_before_bytes: class.gap_before_bytes,
            is_reused_ports: std::mem::take(&mut self.reuses_ports),
            ..SegmentRow::default()
        };
        let analysis = self.tcp_analysis.get_or_insert_default();
        analysis.describe(side == Side::First, packet, segment, &mut row);
        row
    }

    /// Takes what a SYN or SYN-ACK tells: the client, options, and the halves of the round trip.
    fn handshake(&mut self, side: Side, packet: &Packet<'_>, segment: &Segment<'_>) {
        let is_syn_ack = segment.has(flags::ACK);
        self.setup.syn(moment(packet), is_syn_ack);
        if !self.roles_are_certain {
            let client = if is_syn_ack { side.other() } else { side };
            self.take_roles(client);
        }
        self.roles_are_certain = true;
        let (sender, _) = self.halves(side);
        sender.begin(segment.seq);
        sender.handshake(segment);
        let slot = if is_syn_ack {
            &mut self.syn_ack_ns
        } else {
            &mut self.syn_ns
        };
        *slot = Some(packet.time_ns);
        let (client, server) = (self.client_half(), self.server_half());
        // The SYN had data (RFC 1644, RFC 7413): what comes behind leaves room for these options.
        let is_of_data = is_syn_ack && client.next > 1;
        self.segment_size.negotiated(
            client.mss_option,
            server.mss_option,
            client.uses_timestamps && server.uses_timestamps,
        );
        if is_of_data {
            self.segment_size.syn_header(segment.header_bytes);
        }
    }
}

fn moment(packet: &Packet<'_>) -> Moment {
    Moment {
        time_ns: packet.time_ns,
        frame: packet.frame,
    }
}
