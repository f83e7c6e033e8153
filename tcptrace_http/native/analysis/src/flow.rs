//! One TCP connection: both directions, what is inferred of their segments, and what HTTP they carry.

use std::collections::VecDeque;

use trace_model::rows::{ClosedBy, Direction, SegmentRow, TransactionRow};
use trace_model::{flags, AnomalyKind, IpAddress, Packet, Segment};

use crate::classify::{classify, Class};
use crate::flights::{FlightData, FlightTracker};
use crate::half::Half;
use crate::http::{self, Connection, End, Mark};
use crate::orientation::{starts_like_http, Spoken};
use crate::pauses::{AckSeen, FinishedResponse, Path, PauseTracker, ServerData};
use crate::reassembly::{Delivery, Piece, Reassembler};
use crate::segment_size::SegmentSize;
use crate::tables::Tables;
use crate::transaction_row::transaction_row;

/// Data that a one-sided capture leaves unacknowledged: more would only cost memory.
const OUTSTANDING_MAX: usize = 1 << 14;
/// An acknowledgment further ahead than the largest window (RFC 7323, section 2.3) is no
/// acknowledgment of this flow's data.
const ACK_AHEAD_MAX: i64 = 1 << 30;
/// Transactions whose last ACK is awaited; a client that acknowledges nothing must not cost memory.
const UNACKNOWLEDGED_MAX: usize = 1024;

/// An endpoint of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    pub address: IpAddress,
    pub port: u16,
}

/// Which of the two halves a segment belongs to: the one of the first packet's sender, or the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    First,
    Second,
}

impl Side {
    fn other(self) -> Side {
        match self {
            Side::First => Side::Second,
            Side::Second => Side::First,
        }
    }
}

/// A transaction that is complete, but whose last byte the client has not acknowledged yet.
#[derive(Debug)]
struct Unacknowledged {
    row: TransactionRow,
    response_end: Option<u64>,
}

#[derive(Debug)]
pub struct Flow {
    pub number: u32,
    pub endpoints: [Endpoint; 2],
    pub first: Half,
    pub second: Half,
    /// Who is the client.
    pub client: Side,
    /// Whether a SYN told who the client is; else the first message may still tell.
    roles_are_certain: bool,
    pub start_ns: i64,
    pub end_ns: i64,
    pub closed_by: ClosedBy,
    pub syn_ns: Option<i64>,
    pub syn_ack_ns: Option<i64>,
    pub initial_rtt_ns: Option<i64>,
    pub segment_size: SegmentSize,
    /// Boxed, as is `http`, to keep the flows small of which nothing is asked any more.
    pub pauses: Box<PauseTracker>,
    pub flights: FlightTracker,
    pub is_http: bool,
    http: Option<Box<Connection>>,
    /// No HTTP was found, or the flow is over: payload is not looked at any more.
    is_opaque: bool,
    transactions: u32,
    unacknowledged: VecDeque<Unacknowledged>,
    /// Offset up to which the server's data must be acknowledged for its loss recovery to end.
    recovery_until: i64,
}

impl Flow {
    #[must_use]
    pub fn new(
        number: u32,
        packet: &Packet<'_>,
        segment: &Segment<'_>,
        endpoints: [Endpoint; 2],
    ) -> Self {
        let is_syn = segment.has(flags::SYN);
        let sender_is_client = if is_syn {
            !segment.has(flags::ACK)
        } else {
            // Nothing better is known yet: servers listen on the lower port.
            segment.source_port >= segment.destination_port
        };
        Flow {
            number,
            endpoints,
            first: Half::default(),
            second: Half::default(),
            client: if sender_is_client {
                Side::First
            } else {
                Side::Second
            },
            roles_are_certain: is_syn,
            start_ns: packet.time_ns,
            end_ns: packet.time_ns,
            closed_by: ClosedBy::Open,
            syn_ns: None,
            syn_ack_ns: None,
            initial_rtt_ns: None,
            segment_size: SegmentSize::default(),
            pauses: Box::default(),
            flights: FlightTracker::default(),
            is_http: false,
            http: None,
            is_opaque: false,
            transactions: 0,
            unacknowledged: VecDeque::new(),
            recovery_until: 0,
        }
    }

    /// The side of a sender; the two ends of a flow to itself cannot be told apart.
    #[must_use]
    pub fn side_of(&self, source: Endpoint) -> Side {
        if self.endpoints[0] == source {
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
            self.handshake(side, packet.time_ns, segment);
        } else if !self.roles_are_certain && !segment.payload.is_empty() {
            self.orient(side, segment.payload);
        }
        let direction = self.direction_of(side);
        let (sender, peer) = self.halves(side);
        let start = sender.offset_of(segment.seq, is_syn);
        let ack = segment
            .has(flags::ACK)
            .then(|| peer.offset_of_ack(segment.ack))
            .filter(|ack| *ack <= peer.next.saturating_add(ACK_AHEAD_MAX));
        let window = sender.window_bytes(segment, peer, is_syn);
        let initial_rtt = self.initial_rtt_ns;
        let (sender, peer) = self.halves(side);
        let class = classify(
            sender,
            peer,
            segment,
            packet.time_ns,
            start,
            ack,
            initial_rtt,
        );
        sender.count(&class, segment);

        let row = tables.segments.as_mut().map(|rows| {
            rows.push(SegmentRow {
                frame: packet.frame,
                flow: 0,
                direction,
                time: packet.time_ns,
                seq: start,
                ack,
                payload_bytes: segment.payload_bytes,
                flags: segment.flags,
                window_bytes: window,
                is_retransmission: class.is_retransmission,
                is_out_of_order: class.is_out_of_order,
                is_keep_alive: class.is_keep_alive,
                is_zero_window: class.is_zero_window,
                is_window_update: class.is_window_update,
                duplicate_ack_count: class.duplicate_ack_count,
                gap_before_bytes: class.gap_before_bytes,
                ..SegmentRow::default()
            });
            rows.len().saturating_sub(1)
        });
        if let Some(ack) = ack {
            self.acknowledge(side, packet, ack, window, tables);
        }
        self.advance(side, packet, segment, start, &class, row);
        let wire_segments = self.segment_size.wire_segments(segment.payload_bytes);
        let flight_bytes = self.half(side).flight_bytes();
        if let Some(shown) = row.and_then(|row| tables.segments.as_mut()?.get_mut(row)) {
            shown.flow = self.number;
            shown.flight_bytes = flight_bytes;
            shown.wire_segments = wire_segments;
        }
        if class.is_new && segment.payload_bytes > 0 && self.was_reset() {
            self.reopen();
        }
        if !self.is_opaque {
            self.payload(side, packet, segment, start, ack, tables);
        }
        self.close(side, packet, segment, tables);
    }

    /// Takes what a SYN or SYN-ACK tells: the client, options, and the halves of the round trip.
    fn handshake(&mut self, side: Side, time_ns: i64, segment: &Segment<'_>) {
        let is_syn_ack = segment.has(flags::ACK);
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
        *slot = Some(time_ns);
        let (client, server) = (self.client_half(), self.server_half());
        self.segment_size.negotiated(
            client.mss_option,
            server.mss_option,
            client.uses_timestamps && server.uses_timestamps,
        );
    }

    /// Learns who the client is from the first bytes of a message.
    fn orient(&mut self, side: Side, payload: &[u8]) {
        let client = match starts_like_http(payload) {
            Some(Spoken::Request) => side,
            Some(Spoken::Response) => side.other(),
            None => return,
        };
        self.take_roles(client);
        self.roles_are_certain = true;
    }

    /// Makes `client` the client. What was inferred under the other assumption is dropped.
    fn take_roles(&mut self, client: Side) {
        if self.client != client {
            self.client = client;
            self.http = None;
            *self.pauses = PauseTracker::default();
            self.flights = FlightTracker::default();
        }
    }

    /// `side` acknowledged the other's data up to `ack`.
    fn acknowledge(
        &mut self,
        side: Side,
        packet: &Packet<'_>,
        ack: i64,
        window: u32,
        tables: &mut Tables,
    ) {
        let acknowledges_server = side == self.client;
        let (sender, peer) = self.halves(side);
        sender.last_window_bytes = window;
        if ack <= peer.acked {
            return;
        }
        let outstanding_segments = u32::try_from(peer.outstanding.len()).unwrap_or(u32::MAX);
        let outstanding_bytes = peer.flight_bytes();
        let mut covered_ns = packet.time_ns;
        let segments = &mut tables.segments;
        let acknowledged = peer.acknowledge(ack, packet.time_ns, |sent, rtt| {
            covered_ns = sent.time_ns;
            if let Some(row) = sent.row.and_then(|row| segments.as_mut()?.get_mut(row)) {
                row.acked_by_frame = Some(packet.frame);
                row.rtt = rtt;
            }
        });
        if !acknowledges_server {
            return;
        }
        if self.initial_rtt_ns.is_none() && acknowledged.before <= 1 {
            self.initial_rtt_ns = self
                .syn_ns
                .zip(self.syn_ack_ns)
                .map(|(syn, _)| packet.time_ns.saturating_sub(syn))
                .filter(|rtt| *rtt >= 0);
        }
        if self.is_http {
            let server_path = self.client_half().path_rtt_ns;
            let seen = AckSeen {
                frame: packet.frame,
                time_ns: packet.time_ns,
                acknowledged,
                covered_ns,
                outstanding_segments,
                outstanding_bytes,
            };
            self.pauses.client_ack(seen, server_path);
            self.flush_acknowledged(packet, ack, tables);
        }
    }

    /// Moves the sender's state on by a segment that carries payload, a SYN or a FIN.
    fn advance(
        &mut self,
        side: Side,
        packet: &Packet<'_>,
        segment: &Segment<'_>,
        start: i64,
        class: &Class,
        row: Option<usize>,
    ) {
        let length = segment.sequence_length();
        if length == 0 || segment.has(flags::RST) || class.is_keep_alive {
            return;
        }
        let end = start.saturating_add(i64::from(length));
        let from_server = side != self.client;
        let is_new = class.is_new;
        let (sender, peer) = self.halves(side);
        if is_new {
            if sender.outstanding.len() >= OUTSTANDING_MAX
                || (peer.counts.packets == 0 && sender.outstanding.len() > 1)
            {
                sender.outstanding.pop_front();
            }
            sender.outstanding.push_back(crate::half::Outstanding {
                end,
                time_ns: packet.time_ns,
                is_ambiguous: class.gap_before_bytes > 0,
                row,
            });
            if class.gap_before_bytes > 0 {
                sender.holes.add(sender.next, start);
            }
            sender.unique_bytes = sender
                .unique_bytes
                .saturating_add(u64::from(segment.payload_bytes));
            sender.next = end;
            sender.advanced_ns = packet.time_ns;
        } else {
            let beyond = u64::try_from(end.saturating_sub(sender.next)).unwrap_or(0);
            let filled = sender.holes.fill(start, end).saturating_add(beyond);
            let payload = u64::from(segment.payload_bytes);
            sender.unique_bytes = sender.unique_bytes.saturating_add(filled.min(payload));
            sender.mark_ambiguous();
            sender.next = sender.next.max(end);
        }
        if from_server && segment.payload_bytes > 0 {
            self.server_data(packet, segment, start, class);
        }
    }

    /// Follows the pace of the server's data.
    fn server_data(
        &mut self,
        packet: &Packet<'_>,
        segment: &Segment<'_>,
        start: i64,
        class: &Class,
    ) {
        if !class.is_new || class.gap_before_bytes > 0 {
            self.recovery_until = self.server_half().next;
        }
        if !class.is_new {
            self.flights.retransmission();
            self.pauses.retransmission();
            return;
        }
        self.segment_size
            .data(segment.payload_bytes, self.server_half().acked, start);
        if !self.is_http {
            return;
        }
        let path = self.path();
        let stream_start = u64::try_from(start.saturating_sub(1)).unwrap_or(0);
        let flight_bytes = self.server_half().flight_bytes();
        self.pauses.server_data(
            ServerData {
                frame: packet.frame,
                time_ns: packet.time_ns,
                start: stream_start,
                end: stream_start.saturating_add(u64::from(segment.payload_bytes)),
                bytes: segment.payload_bytes,
                has_fin: segment.has(flags::FIN),
            },
            &path,
            flight_bytes,
        );
        let full = u64::from(path.segment_bytes.max(1));
        self.flights.server_data(FlightData {
            frame: packet.frame,
            time_ns: packet.time_ns,
            offset: stream_start,
            segments: self.segment_size.wire_segments(segment.payload_bytes),
            rtt_ns: self.path_rtt_ns(),
            receive_window_segments: u32::try_from(path.receive_window / full).unwrap_or(u32::MAX),
        });
    }

    fn path(&self) -> Path {
        let server = self.server_half();
        Path {
            segment_bytes: self.segment_size.full(),
            server_path_rtt_ns: self.client_half().path_rtt_ns,
            client_path_rtt_ns: server.path_rtt_ns,
            receive_window: u64::from(self.client_half().last_window_bytes),
            in_loss_recovery: server.acked < self.recovery_until,
        }
    }

    /// Round trip of the whole path: both parts of it, as seen from the observation point.
    #[must_use]
    pub fn path_rtt_ns(&self) -> Option<i64> {
        let to_server = self.client_half().path_rtt_ns?;
        Some(to_server.saturating_add(self.server_half().path_rtt_ns.unwrap_or(0)))
    }

    /// Hands the segment's payload, and what it makes deliverable, to HTTP.
    fn payload(
        &mut self,
        side: Side,
        packet: &Packet<'_>,
        segment: &Segment<'_>,
        start: i64,
        ack: Option<i64>,
        tables: &mut Tables,
    ) {
        let mark = Mark {
            frame: packet.frame,
            time_ns: packet.time_ns,
        };
        let payload_start = start
            .saturating_add(i64::from(segment.has(flags::SYN)))
            .saturating_sub(1);
        if segment.payload_bytes > 0 && !segment.has(flags::RST) {
            let piece = Piece {
                offset: payload_start,
                length: segment.payload_bytes,
                bytes: segment.payload,
                mark,
                peer_acked: ack.and_then(|ack| u64::try_from(ack.saturating_sub(1)).ok()),
            };
            self.deliver(side, mark, tables, |reassembler, deliver| {
                reassembler.insert(piece, deliver)
            });
        }
        if let Some(ack) = ack {
            let acked = ack.saturating_sub(1);
            if self.half(side.other()).reassembler.is_waiting() {
                self.deliver(side.other(), mark, tables, |reassembler, deliver| {
                    reassembler.acknowledged(acked, deliver);
                });
            }
        }
    }

    /// Runs `work` on the reassembler of `side`, feeding HTTP with what comes out.
    fn deliver(
        &mut self,
        side: Side,
        mark: Mark,
        tables: &mut Tables,
        work: impl FnOnce(&mut Reassembler, &mut dyn FnMut(Delivery<'_>)),
    ) {
        let direction = self.direction_of(side);
        let opened_before = self.http.as_ref().and_then(|http| http.response_start());
        let mut connection = self.http.take().unwrap_or_default();
        let output = &mut tables.http_output;
        let (sender, _) = self.halves(side);
        let gaps_before = sender.reassembler.gap_bytes;
        work(&mut sender.reassembler, &mut |delivery| match delivery {
            Delivery::Bytes {
                offset,
                bytes,
                mark,
                peer_acked,
            } => {
                connection.data(direction, offset, bytes, mark, peer_acked, output);
            }
            Delivery::Gap {
                offset,
                length,
                mark,
            } => {
                connection.gap(direction, offset, length, mark, output);
            }
        });
        let lost = sender.reassembler.gap_bytes.saturating_sub(gaps_before);
        if std::mem::take(&mut sender.reassembler.differing) {
            let detail = "bytes sent again differ from the first copy, which is kept".to_owned();
            tables.anomaly(
                AnomalyKind::OverlappingDataDiffers,
                Some(mark.frame),
                self.number,
                detail,
            );
        }
        if lost > 0 {
            let detail =
                format!("{lost} bytes were acknowledged or passed over, but never captured");
            tables.anomaly(
                AnomalyKind::CaptureGap,
                Some(mark.frame),
                self.number,
                detail,
            );
        }
        self.after_delivery(connection, opened_before, tables);
    }

    /// Takes what HTTP made of the bytes.
    fn after_delivery(
        &mut self,
        connection: Box<Connection>,
        opened_before: Option<u64>,
        tables: &mut Tables,
    ) {
        self.is_http |= connection.is_http();
        let opened = connection.response_start();
        let both_opaque = connection.is_opaque(Direction::ClientToServer)
            && connection.is_opaque(Direction::ServerToClient);
        if self.is_http && opened != opened_before {
            if let Some(start) = opened {
                self.pauses.response_opens(start);
            }
        }
        if both_opaque {
            self.is_opaque = true;
            self.first.reassembler = Reassembler::default();
            self.second.reassembler = Reassembler::default();
        } else {
            self.http = Some(connection);
        }
        self.collect(tables);
    }

    /// Turns finished transactions into rows; they wait for the client's last ACK.
    fn collect(&mut self, tables: &mut Tables) {
        if tables.http_output.transactions.is_empty() && tables.http_output.anomalies.is_empty() {
            return;
        }
        let mut output = std::mem::take(&mut tables.http_output);
        for mut anomaly in output.anomalies.drain(..) {
            anomaly.flow = Some(self.number);
            tables.push_anomaly(anomaly);
        }
        for transaction in output.transactions.drain(..) {
            self.finished(transaction, tables);
        }
        tables.http_output = output;
    }

    fn finished(&mut self, transaction: http::Transaction, tables: &mut Tables) {
        let index = self.transactions;
        self.transactions = index.saturating_add(1);
        let response = transaction
            .response
            .as_ref()
            .map(|response| FinishedResponse {
                flow: self.number,
                transaction: index,
                start: response.start,
                end: response.end,
                head_bytes: response.header_bytes,
            });
        if let Some(response) = response {
            self.pauses.response_ends(response, &mut tables.pauses);
            self.flights
                .response_ends(response, self.path_rtt_ns(), &mut tables.flights);
        }
        let row = transaction_row(self.number, index, transaction);
        self.unacknowledged.push_back(Unacknowledged {
            row,
            response_end: response.map(|response| response.end),
        });
        if self.unacknowledged.len() > UNACKNOWLEDGED_MAX {
            if let Some(oldest) = self.unacknowledged.pop_front() {
                tables.transactions.push(&oldest.row);
            }
        }
    }

    /// Writes the transactions whose last byte is now acknowledged.
    fn flush_acknowledged(&mut self, packet: &Packet<'_>, ack: i64, tables: &mut Tables) {
        let acked = u64::try_from(ack.saturating_sub(1)).unwrap_or(0);
        while let Some(front) = self.unacknowledged.front_mut() {
            match front.response_end {
                Some(end) if end > acked => return,
                Some(_) => {
                    front.row.last_ack_frame = Some(packet.frame);
                    front.row.last_ack_time = Some(packet.time_ns);
                }
                None => {}
            }
            tables.transactions.push(&front.row);
            self.unacknowledged.pop_front();
        }
    }

    /// Notes a FIN or RST, and tells HTTP when a direction has ended.
    fn close(
        &mut self,
        side: Side,
        packet: &Packet<'_>,
        segment: &Segment<'_>,
        tables: &mut Tables,
    ) {
        let mark = Mark {
            frame: packet.frame,
            time_ns: packet.time_ns,
        };
        let is_client = side == self.client;
        if segment.has(flags::RST) {
            if self.closed_by == ClosedBy::Open {
                self.closed_by = if is_client {
                    ClosedBy::ClientReset
                } else {
                    ClosedBy::ServerReset
                };
            }
            self.end_direction(Side::First, End::Reset, mark, tables);
            self.end_direction(Side::Second, End::Reset, mark, tables);
            self.is_opaque = true;
            return;
        }
        if segment.has(flags::FIN) {
            if self.closed_by == ClosedBy::Open {
                self.closed_by = if is_client {
                    ClosedBy::Client
                } else {
                    ClosedBy::Server
                };
            }
            let (sender, _) = self.halves(side);
            sender.fin_end.get_or_insert(sender.next);
        }
        for side in [side, side.other()] {
            let half = self.half(side);
            // The FIN takes one number after the last byte; streams count bytes from 0.
            let is_delivered = half
                .fin_end
                .is_some_and(|end| half.reassembler.delivered() >= end.saturating_sub(2));
            if is_delivered && !half.has_ended {
                self.end_direction(side, End::Fin, mark, tables);
            }
        }
        if self.is_over() {
            self.is_opaque = true;
            self.release();
        }
    }

    fn was_reset(&self) -> bool {
        matches!(
            self.closed_by,
            ClosedBy::ClientReset | ClosedBy::ServerReset
        )
    }

    /// Goes on after an RST that its receiver did not believe, as new data shows: it was forged, or
    /// outside the window (RFC 9293, section 3.10.7.4).
    fn reopen(&mut self) {
        self.closed_by = ClosedBy::Open;
        self.is_opaque = false;
        self.http = None;
        for half in [&mut self.first, &mut self.second] {
            half.has_ended = false;
            half.fin_end = None;
        }
    }

    /// Gives back the memory of a flow that is over, once all of it is acknowledged. What comes
    /// after that (a FIN sent again, say) is still counted.
    fn release(&mut self) {
        let is_acked = |half: &Half| half.acked >= half.next;
        if !is_acked(&self.first) || !is_acked(&self.second) {
            return;
        }
        self.http = None;
        self.pauses.release();
        self.unacknowledged.shrink_to_fit();
        self.first.outstanding = VecDeque::new();
        self.second.outstanding = VecDeque::new();
    }

    fn end_direction(&mut self, side: Side, end: End, mark: Mark, tables: &mut Tables) {
        let (half, _) = self.halves(side);
        if std::mem::replace(&mut half.has_ended, true) || self.is_opaque {
            return;
        }
        self.deliver(side, mark, tables, |reassembler, deliver| {
            reassembler.finish(deliver)
        });
        let direction = self.direction_of(side);
        if let Some(http) = self.http.as_mut() {
            http.end(direction, end, mark, &mut tables.http_output);
        }
        self.collect(tables);
    }

    /// The capture, or this use of the ports, is over.
    pub fn finish(&mut self, tables: &mut Tables) {
        let mark = Mark {
            frame: tables.last_frame,
            time_ns: self.end_ns,
        };
        self.end_direction(Side::First, End::EndOfCapture, mark, tables);
        self.end_direction(Side::Second, End::EndOfCapture, mark, tables);
        self.http = None;
        for waiting in std::mem::take(&mut self.unacknowledged) {
            tables.transactions.push(&waiting.row);
        }
        if !self.client_half().has_syn && !self.server_half().has_syn {
            let detail = "the handshake was not captured".to_owned();
            tables.anomaly(AnomalyKind::MidStreamStart, None, self.number, detail);
        }
    }
}
