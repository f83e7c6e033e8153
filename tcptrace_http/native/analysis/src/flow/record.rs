//! What a flow tells the core of each segment, and what it is told of its transactions.

use std::collections::VecDeque;

use tcptrace_attribution::{
    AckEvent, Connection, DataEvent, Ended, Extent, Facts, Moment, Profile, Unfinished, Wait,
};
use tcptrace_path::{Acknowledged, RoundTrip};
use tcptrace_tcp::{Class, Side};
use trace_model::rows::{Cause, Direction, Framing, TransactionRow, WaitRow};
use trace_model::{flags, AnomalyKind, Packet, Segment};

use super::closing::Close;
use super::unacknowledged::{Waiting, Whole};
use super::Flow;
use crate::asked::{Asked, Explained};
use crate::pair_view::{packet_bytes, PairView, IP_BYTES};
use crate::recoveries::Span;
use crate::tables::Tables;

/// Segments of which is remembered what the link had carried by their end.
const SENT_MAX: usize = 1024;

/// A segment that was not sent before, and where it ends in its stream.
#[derive(Clone, Copy, Debug)]
struct Sent {
    end: i64,
    packet: Acknowledged,
}

/// What a side has sent, and how far.
#[derive(Debug, Default)]
struct SentBefore {
    outstanding: VecDeque<Sent>,
    highest: i64,
}

/// The record of a flow's segments.
#[derive(Debug, Default)]
pub struct Record {
    connection: Connection,
    /// What all connections between its hosts have shown of their path.
    pub pair: PairView,
    /// Bytes of packets without payload since the handshake.
    header_bytes: u32,
    /// Of the first side's data, and of the other's.
    sent: [SentBefore; 2],
}

impl Record {
    /// Memory that it takes.
    pub fn held_bytes(&self) -> u64 {
        self.connection.held_bytes() as u64
    }

    /// Gives back what is held of messages that are not complete.
    pub fn give_up(&mut self) {
        self.connection.give_up();
    }

    fn sent(&mut self, side: Side) -> &mut SentBefore {
        let [first, second] = &mut self.sent;
        match side {
            Side::First => first,
            Side::Second => second,
        }
    }

    /// What is sent again tells by its acknowledgment nothing of when it was there (Karn's algorithm, RFC 6298, 3).
    fn on_sent(&mut self, side: Side, sent: Sent) {
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
    /// From now on segments are recorded, if the flow is not over: of a SYN that nobody has answered there may be very
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

    /// The client's SYN, which a SYN-ACK answers, if it was sent once.
    fn answered_syn(&self) -> Option<Sent> {
        let begun = self.setup.handshake().begun;
        let begun = begun.filter(|_| !self.setup.was_resent())?;
        let packet = Acknowledged {
            time_ns: begun.time_ns,
            bytes: self.setup.packet_bytes(),
            carried: 0,
        };
        Some(Sent { end: 1, packet })
    }

    /// Takes what all connections between its hosts have shown of their path.
    pub fn see_pair(&mut self, pair: PairView) {
        if let Some(record) = self.record.as_mut() {
            record.pair = pair;
        }
    }

    /// Records a segment of `side`, with the offsets of its first byte and of what it acknowledges, and its window.
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
        let missing_before = self.half(side).identifications.missing_before;
        let is_second = side == Side::Second;
        // What is sent again behind a FIN shows what was not delivered.
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
            let packet = Acknowledged {
                time_ns: packet.time_ns,
                bytes: packet_bytes,
                carried: link.carried,
            };
            let end = first.saturating_add(i64::from(segment.payload_bytes));
            record.on_sent(side, Sent { end, packet });
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
        // The window of a RST means nothing (RFC 9293, section 3.10.7.4).
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
            };
            record.connection.on_ack(!is_second, ack);
        }
    }

    /// The segment that passed last is asked for.
    pub(super) fn ask(&mut self, side: Side, frame: u64, asked: &mut Asked) {
        asked.flow = Some(self.id.number);
        if let Some(record) = self.record.as_mut() {
            record.connection.ask(side == Side::Second, frame);
        }
    }

    /// The newest segment that an acknowledgment of `side` covers, if it covers it exactly.
    pub fn newly_acked(&mut self, side: Side, segment: &Segment<'_>) -> Option<Acknowledged> {
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

    /// Gives the record back, and keeps what it has shown.
    pub(super) fn end_record(&mut self) {
        if let Some(record) = self.record.take() {
            let connection = &record.connection;
            self.profiles = Some(Box::new([
                connection.profile(false),
                connection.profile(true),
            ]));
        }
    }

    /// What the record has shown of a direction, after it was given back.
    pub fn profile(&self, direction: Direction) -> Option<&Profile> {
        let [first, second] = self.profiles.as_deref()?;
        let is_first = (direction == Direction::ClientToServer) == (self.client() == Side::First);
        if is_first { first } else { second }.as_ref()
    }

    /// Writes a transaction and its waits, as the core explains them.
    pub(super) fn write(&mut self, transaction: Waiting, tables: &mut Tables) {
        let Waiting {
            mut row,
            whole,
            request,
            response,
        } = transaction;
        let mut facts = self.facts(&row, request, response);
        facts.unfinished = self.unfinished(&row, whole, &facts, tables.last_ns);
        if let Some(record) = self.record.as_mut() {
            let explained = record.connection.explain(&facts);
            let fallen_out = record.connection.take_fallen_out();
            if fallen_out > 0 {
                let detail = format!(
                    "a message of transaction {} is too long to be explained whole: {fallen_out} segments and ACKs \
                     of it were forgotten, and what they waited for is unobserved",
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
                tables.asked.explained = Some(Explained {
                    transaction: row.index,
                    offset,
                    segment,
                });
            }
            row.start_time = explained.start.time_ns;
            row.end_time = explained.end.time_ns;
            for wait in &explained.waits {
                tables.of_flows.waits.push(&WaitRow {
                    flow: row.flow,
                    transaction: row.index,
                    cause: wait.cause,
                    start: wait.start.time_ns,
                    end: wait.end.time_ns,
                    first_frame: wait.start.frame,
                    last_frame: wait.end.frame,
                    confidence: wait.confidence,
                    ..bound_columns(wait, &facts)
                });
            }
        }
        row.acked_after = row
            .last_ack_time
            .map(|acked| acked.saturating_sub(row.end_time).max(0));
        tables.of_flows.transactions.push(&row);
    }

    /// What is known of a transaction that is over.
    fn facts(&self, row: &TransactionRow, request: Option<Span>, response: Option<Span>) -> Facts {
        let client = self.client();
        let pair = self.pair();
        let round_trips = pair.round_trips.map(Option::unwrap_or_default);
        let [to_client, to_server] = by_role(client, round_trips);
        let (lacks_clients_acks, lacks_servers_acks) = self.lacks_pure_acks();
        // Where ACKs were not captured, only a handshake tells a round trip.
        let has_handshake = self.setup.initial_rtt_ns.is_some();
        let told = |round_trip: RoundTrip, lacks_acks: bool| {
            if lacks_acks && !has_handshake {
                RoundTrip::default()
            } else {
                round_trip
            }
        };
        let to_client = told(to_client, lacks_clients_acks);
        let to_server = told(to_server, lacks_servers_acks);
        let longer = if to_server.time_ns < to_client.time_ns {
            to_client
        } else {
            to_server
        };
        // Whose ACKs are of something nearer is as far as its handshake tells.
        let to_server_ns = self.round_trip_behind_local_acks_ns();
        let record = self.record.as_deref();
        Facts {
            client_is_second: client == Side::Second,
            request: extent(
                (row.request_time, row.request_frame),
                (row.request_last_time, row.request_last_frame),
                request,
            ),
            response: extent(
                (row.response_first_time, row.response_first_frame),
                (row.response_last_time, row.response_last_frame),
                response,
            ),
            handshake: (row.index == 0).then(|| self.setup.handshake()),
            to_server_ns: to_server_ns.unwrap_or(to_server.time_ns),
            to_client_ns: to_client.time_ns,
            links: by_role(client, pair.links),
            links_by_acks: by_role(client, pair.links_by_acks),
            is_one_host: pair.is_one_host,
            is_one_sided: self.first.counts.packets == 0 || self.second.counts.packets == 0,
            lacks_acks: [lacks_servers_acks, lacks_clients_acks],
            header_bytes: record.map_or(IP_BYTES, |it| it.header_bytes),
            probe_bytes: longer.bytes,
            unfinished: None,
        }
    }

    /// A transaction whose client has not got all of the response, if the connection or the capture is over.
    fn unfinished(
        &self,
        row: &TransactionRow,
        whole: Whole,
        facts: &Facts,
        last_ns: i64,
    ) -> Option<Unfinished> {
        let is_had = whole.response && row.last_ack_time.is_some();
        let is_over = self.server_half().has_ended;
        if is_had || !is_over || row.response_framing == Some(Framing::Tunnel) {
            return None;
        }
        let moment = |close: Close| Moment {
            time_ns: close.mark.time_ns,
            frame: close.mark.frame,
        };
        // A FIN that comes with the request only says that there are no more.
        let round_trip_ns = facts.to_server_ns.saturating_add(facts.to_client_ns);
        let asked_ns = facts.request.map_or(i64::MIN, |it| it.last.time_ns);
        let gives_up = |close: &Close| {
            close.is_reset || close.mark.time_ns > asked_ns.saturating_add(round_trip_ns)
        };
        let given_up = [self.closing.client.filter(gives_up), self.closing.reset];
        let given_up = given_up.into_iter().flatten().map(moment);
        let content_type = row.content_type.as_deref().unwrap_or_default();
        Some(Unfinished {
            request_is_whole: whole.request,
            response_is_whole: whole.response,
            has_interim: row.interim_responses > 0,
            is_event_stream: content_type.starts_with("text/event-stream"),
            ended: Ended {
                by_server: self.closing.server.map(moment),
                given_up: given_up.reduce(Moment::earlier),
                capture_ns: last_ns.max(self.end_ns),
            },
        })
    }
}

/// The client's of what both sides have, and the server's.
fn by_role<T>(client: Side, [first, second]: [T; 2]) -> [T; 2] {
    match client {
        Side::First => [first, second],
        Side::Second => [second, first],
    }
}

/// The transaction's message of a direction.
fn message_of(direction: Direction, facts: &Facts) -> Option<Extent> {
    match direction {
        Direction::ClientToServer => facts.request,
        Direction::ServerToClient => facts.response,
    }
}

/// What bound the segment that ended a wait; the other columns are not set.
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
        ..WaitRow::default()
    }
}

/// A message from its first byte to its last.
fn extent(
    first: (Option<i64>, Option<u64>),
    last: (Option<i64>, Option<u64>),
    span: Option<Span>,
) -> Option<Extent> {
    let moment = |(time, frame): (Option<i64>, Option<u64>)| {
        Some(Moment {
            time_ns: time?,
            frame: frame?,
        })
    };
    let first = moment(first)?;
    let last = moment(last).unwrap_or(first).later(first);
    let span = span?;
    Some(Extent {
        first,
        last,
        start: span.start,
        end: span.end,
    })
}
