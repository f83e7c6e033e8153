//! Interface between a flow and the attribution: segments in, explained transactions out.

use std::collections::VecDeque;

use tcptrace_attribution::{AckEvent, Connection, DataEvent, Extent, Facts, Profile, Wait};
use tcptrace_http2::Oldest;
use tcptrace_path::AckedPacket;
use tcptrace_tcp::{Class, Side};
use trace_model::rows::{Cause, Constraint, Direction, WaitRow};
use trace_model::{flags, AnomalyKind, Packet, Segment};

use super::carried::Reader;
use super::facts::reset_stream;
use super::messages::{half_offset, stream_offset};
use super::unacknowledged::Waiting;
use super::Flow;
use crate::asked::{ExplainedRequest, RequestedFrame};
use crate::pair_view::{packet_bytes, PairView, IP_BYTES};
use crate::tables::Tables;

/// Maximum number of segments for which the link's bytes are kept.
const SENT_MAX: usize = 1024;

/// New segment, and its end in its stream.
#[derive(Clone, Copy, Debug)]
struct SentSegment {
    end: i64,
    packet: AckedPacket,
}

/// Segments that a side has sent, and their highest end.
#[derive(Debug, Default)]
struct SentSegments {
    outstanding: VecDeque<SentSegment>,
    highest: i64,
}

/// Record of a flow's segments.
#[derive(Debug, Default)]
pub struct Record {
    connection: Connection,
    /// Path facts of all connections between the hosts.
    pub pair: PairView,
    /// Bytes of a packet without payload after the handshake.
    header_bytes: u32,
    /// Segments of the first side, and of the second.
    sent: [SentSegments; 2],
}

impl Record {
    /// Return the memory of the record.
    pub fn held_bytes(&self) -> u64 {
        self.connection.held_bytes() as u64
    }

    /// Drop the log of incomplete messages.
    pub fn give_up(&mut self) {
        self.connection.give_up();
    }

    fn sent(&mut self, side: Side) -> &mut SentSegments {
        let [first, second] = &mut self.sent;
        match side {
            Side::First => first,
            Side::Second => second,
        }
    }

    /// Add a new segment; the ACK of a retransmission does not show its arrival (Karn's algorithm, RFC 6298,
    /// section 3).
    fn on_sent(&mut self, side: Side, sent: SentSegment) {
        let before = self.sent(side);
        if sent.end <= before.highest || before.outstanding.len() >= SENT_MAX {
            before.outstanding.clear();
        } else {
            before.highest = sent.end;
            before.outstanding.push_back(sent);
        }
    }
}

impl Flow {
    /// Start recording segments of an open flow; unanswered SYNs are not recorded, because a flood has very
    /// many.
    pub fn begin_record(&mut self, segment: &Segment<'_>) {
        let is_bare_syn = segment.has(flags::SYN) && !segment.has(flags::ACK);
        if !is_bare_syn && !self.is_over() && !self.carried.is_opaque {
            let syn = self.answered_syn();
            let client = self.client();
            let record = self.record.get_or_insert_with(Box::default);
            if let Some(syn) = syn.filter(|_| segment.has(flags::SYN)) {
                record.on_sent(client, syn);
            }
        }
    }

    /// Return the client's SYN that a SYN-ACK answers, if the SYN was sent once.
    fn answered_syn(&self) -> Option<SentSegment> {
        let begun = self.setup.handshake().begun;
        let begun = begun.filter(|_| !self.setup.was_resent())?;
        let packet = AckedPacket {
            time_ns: begun.time_ns,
            bytes: self.setup.packet_bytes(),
            carried: 0,
        };
        Some(SentSegment { end: 1, packet })
    }

    /// Take the path facts of all connections between the hosts.
    pub fn set_pair(&mut self, pair: PairView) {
        if let Some(record) = self.record.as_mut() {
            record.pair = pair;
        }
    }

    /// Record a segment of `side` with the offset of its first byte, its ACK and its window.
    pub(super) fn record(
        &mut self,
        side: Side,
        packet: &Packet<'_>,
        segment: &Segment<'_>,
        (start, ack, window): (i64, Option<i64>, u32),
        class: &Class,
    ) {
        let full = self
            .segment_size
            .full_behind(segment.header_bytes, segment.payload_bytes);
        // Accurate ECN counts marks in these flags (RFC 9768, section 3.2.2).
        let echo = flags::ECE | flags::SYN | flags::AE;
        let has_echo =
            segment.flags & echo == flags::ECE && self.has_negotiated_ecn() != Some(false);
        let missing_before = self.half(side).identifications.missing_before;
        let is_second = side == Side::Second;
        // Retransmissions behind a FIN show undelivered data.
        let is_wanted = !self.carried.is_opaque || !self.unacknowledged.is_empty();
        let Some(record) = self.record.as_mut().filter(|_| is_wanted) else {
            return;
        };
        let link = record.pair.link;
        let packet_bytes = packet_bytes(segment);
        let headers = packet_bytes.saturating_sub(segment.payload_bytes);
        let has_syn = segment.has(flags::SYN);
        if has_syn || segment.payload_bytes > 0 {
            let first = start.saturating_add(i64::from(has_syn));
            let packet = AckedPacket {
                time_ns: packet.time_ns,
                bytes: packet_bytes,
                carried: link.carried,
            };
            let end = first.saturating_add(i64::from(segment.payload_bytes));
            record.on_sent(side, SentSegment { end, packet });
        }
        if segment.payload_bytes > 0 {
            record.header_bytes = headers;
            let first = start.saturating_add(i64::from(segment.has(flags::SYN)));
            let full = if full == 0 {
                segment.payload_bytes
            } else {
                full
            };
            let data = DataEvent {
                time_ns: packet.time_ns,
                frame: packet.frame,
                start: first,
                end: first.saturating_add(i64::from(segment.payload_bytes)),
                full_bytes: i64::from(full),
                packet_bytes,
                link_before_ns: link.before_ns,
                link_busy_since_ns: link.busy_since_ns,
                link_queue_ns: link.queued_ns,
                missing_before,
                has_fin: segment.has(flags::FIN),
                is_probe: class.is_window_probe || class.is_keep_alive,
            };
            record.connection.on_data(is_second, data);
        }
        // The window of an RST has no meaning (RFC 9293, section 3.10.7.4).
        if let Some(ack) = ack.filter(|_| !segment.has(flags::RST)) {
            let mut blocks = segment.options.sack.as_slice().iter();
            let ack = AckEvent {
                time_ns: packet.time_ns,
                frame: packet.frame,
                ack,
                window: i64::from(window),
                payload_bytes: segment.payload_bytes,
                packet_bytes,
                has_sack: blocks.any(|(left, _)| left.is_after(segment.ack)),
                has_echo,
            };
            record.connection.on_ack(!is_second, ack);
        }
        if record.connection.is_long() {
            self.explain_parts();
        }
    }

    /// Explain the logged part of a long message.
    fn explain_parts(&mut self) {
        let path = self.path_facts();
        let reader = self.carried.reader.as_ref();
        let http2 = reader.and_then(Reader::as_http2);
        // A single open stream behaves like an HTTP/1 message.
        let overlap = http2.is_some_and(|it| it.open_streams() > 1);
        let oldest = reader.map_or_else(Oldest::default, Reader::oldest);
        let alone = |start: Option<u64>, of_stream: Option<u64>| {
            let start = start.or(of_stream.filter(|_| !overlap));
            start.map(half_offset)
        };
        let begun = [
            alone(reader.and_then(Reader::request_start), oldest.client),
            alone(reader.and_then(Reader::response_start), oldest.server),
        ];
        if let Some(record) = self.record.as_mut() {
            record.connection.explain_parts(&path, begun, overlap);
        }
    }

    /// Return the bytes of a packet without payload.
    pub(super) fn header_bytes(&self) -> u32 {
        let record = self.record.as_deref();
        record.map_or(IP_BYTES, |it| it.header_bytes)
    }

    /// Request the explanation of the last segment.
    pub(super) fn ask(&mut self, side: Side, frame: u64, asked: &mut RequestedFrame) {
        asked.flow = Some(self.id.number);
        if let Some(record) = self.record.as_mut() {
            record.connection.ask(side == Side::Second, frame);
        }
    }

    /// Return the newest segment whose end equals the ACK of `side`.
    pub fn newly_acked(&mut self, side: Side, segment: &Segment<'_>) -> Option<AckedPacket> {
        if !segment.has(flags::ACK) {
            return None;
        }
        let ack = self
            .half(side.other())
            .sequence
            .known_offset_of_ack(segment.ack)?;
        let record = self.record.as_mut()?;
        let mut newest = None;
        let sent = &mut record.sent(side.other()).outstanding;
        while let Some(it) = sent.front().filter(|it| it.end <= ack) {
            newest = (it.end == ack).then_some(it.packet);
            sent.pop_front();
        }
        newest
    }

    /// Drop the record and keep its profiles.
    pub(super) fn end_record(&mut self) {
        if let Some(record) = self.record.take() {
            let connection = &record.connection;
            self.profiles = Some(Box::new([
                connection.profile(false),
                connection.profile(true),
            ]));
        }
    }

    /// Return the profile of a direction, after the record was dropped.
    pub fn profile(&self, direction: Direction) -> Option<&Profile> {
        let [first, second] = self.profiles.as_deref()?;
        let is_first = (direction == Direction::ClientToServer) == (self.client() == Side::First);
        if is_first { first } else { second }.as_ref()
    }

    /// Write a transaction and its waits, as the attribution explains them.
    pub(super) fn write(&mut self, transaction: Box<Waiting>, tables: &mut Tables) {
        let Waiting {
            mut row,
            whole,
            request,
            response,
            stream,
        } = *transaction;
        let reset = stream.as_deref().and_then(|stream| stream.reset);
        let of_stream = stream.map(|stream| self.of_stream(*stream));
        let mut facts = self.facts(&row, request, response);
        facts.unfinished = match reset {
            Some(reset) => reset_stream(&row, whole, reset),
            None => self.unfinished(&row, whole, &facts, tables.last_ns),
        };
        if let Some(record) = self.record.as_mut() {
            let explained = record.connection.explain(&facts, of_stream.as_ref());
            let dropped_events = record.connection.take_dropped_events();
            if dropped_events > 0 {
                let detail = format!(
                    "a message of transaction {} exceeds the log limit: {dropped_events} segments and ACKs were \
                     dropped, and their waits are unobserved",
                    row.index
                );
                let frame = row.response_last_frame.or(row.request_last_frame);
                tables.anomaly(AnomalyKind::LimitReached, frame, row.flow, detail);
            }
            if let Some(mut segment) = record.connection.take_asked() {
                let start = message_of(segment.direction, &facts).map_or(0, |it| it.start);
                let offset = segment.data.start.saturating_sub(start);
                if offset == 0 {
                    segment.bind_opening(&explained.waits);
                }
                if of_stream.is_some() {
                    segment.bind_window(&explained.waits);
                }
                tables.asked.explained = Some(ExplainedRequest {
                    transaction: row.index,
                    offset,
                    segment,
                });
            }
            row.start_time = explained.start.time_ns;
            row.end_time = explained.end.time_ns;
            for wait in &explained.waits {
                let mut columns = bound_columns(wait, &facts);
                if let Some((bound, reader)) = wait.bound.zip(self.carried.reader.as_ref()) {
                    let is_of_other =
                        bound.constraint == Constraint::Loss && bound.behind_stream.is_some();
                    let lost = is_of_other.then(|| stream_offset(bound.start));
                    let lost = lost.and_then(|at| reader.stream_at(bound.direction, at));
                    columns.behind_stream = lost.or(columns.behind_stream);
                }
                tables.of_flows.waits.push(&WaitRow {
                    flow: row.flow,
                    transaction: row.index,
                    cause: wait.cause,
                    start: wait.start.time_ns,
                    end: wait.end.time_ns,
                    first_frame: wait.start.frame,
                    last_frame: wait.end.frame,
                    confidence: wait.confidence,
                    ..columns
                });
            }
        }
        row.acked_after = row
            .last_ack_time
            .map(|acked| acked.saturating_sub(row.end_time).max(0));
        tables.of_flows.transactions.push(&row);
    }
}

/// Return the transaction's message of a direction.
fn message_of(direction: Direction, facts: &Facts) -> Option<Extent> {
    match direction {
        Direction::ClientToServer => facts.request,
        Direction::ServerToClient => facts.response,
    }
}

/// Return the columns of the bound that ended a wait; the other columns are not set.
fn bound_columns(wait: &Wait, facts: &Facts) -> WaitRow {
    let is_observed = wait.cause != Cause::Unobserved;
    let Some(bound) = wait.bound.filter(|_| is_observed) else {
        return WaitRow::default();
    };
    let message = message_of(bound.direction, facts);
    let start = message.map_or(bound.start, |it| it.start);
    let bytes_of = |start: i64, end: i64| u32::try_from(end.saturating_sub(start)).ok();
    WaitRow {
        direction: Some(bound.direction),
        constraint: Some(bound.constraint),
        released_by: bound.released_by,
        offset: u64::try_from(bound.start.saturating_sub(start)).ok(),
        bytes: bytes_of(bound.start, bound.end),
        behind_frame: bound.behind.map(|it| it.frame),
        behind_offset: bound.behind.map(|it| it.start.saturating_sub(start)),
        behind_bytes: bound.behind.and_then(|it| bytes_of(it.start, it.end)),
        behind_stream: bound.behind_stream,
        ..WaitRow::default()
    }
}
