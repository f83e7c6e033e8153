//! What a flow tells the core of each segment, and what it is told of its transactions.

use tcptrace_attribution::{
    AckEvent, Bound, Connection, DataEvent, Extent, Facts, Handshake, Moment, Profile,
};
use tcptrace_tcp::{Class, Side};
use trace_model::rows::{Direction, TransactionRow, WaitRow};
use trace_model::{flags, Packet, Segment};

use super::unacknowledged::Waiting;
use super::Flow;
use crate::host_pairs::IP_BYTES;
use crate::recoveries::Span;
use crate::tables::Tables;

/// A lone segment that is acknowledged later may have met the timer of delayed acknowledgments.
const PROMPT_NS: i64 = 8_000_000;

/// The newest acknowledgment of something new.
#[derive(Clone, Copy, Debug, Default)]
struct LastAck {
    time_ns: i64,
    /// When the last segment that it acknowledged had passed.
    sent_ns: i64,
}

/// The record of a flow's segments.
#[derive(Debug, Default)]
pub struct Record {
    connection: Connection,
    /// Bytes of the handshake's packets, and of those without payload since.
    probe_bytes: u32,
    header_bytes: u32,
    /// Of the first side's data, and of the other's.
    last_acks: [LastAck; 2],
}

impl Record {
    /// Memory that it takes.
    pub fn held_bytes(&self) -> u64 {
        self.connection.held_bytes() as u64
    }

    fn last_ack(&mut self, side: Side) -> &mut LastAck {
        let [first, second] = &mut self.last_acks;
        match side {
            Side::First => first,
            Side::Second => second,
        }
    }
}

impl Flow {
    /// From now on segments are recorded, if the flow is not over.
    pub fn begin_record(&mut self) {
        if !self.is_over() {
            self.record.get_or_insert_default();
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
        let missing_before = self.half(side).missing_before;
        let link = self.pair.link;
        let is_second = side == Side::Second;
        let Some(record) = self.record.as_mut().filter(|_| !self.is_opaque) else {
            return;
        };
        let headers = u32::from(segment.header_bytes).saturating_add(IP_BYTES);
        let packet_bytes = segment.payload_bytes.saturating_add(headers);
        if segment.has(flags::SYN) {
            record.probe_bytes = record.probe_bytes.max(headers);
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
                missing_before,
                has_fin: segment.has(flags::FIN),
                is_probe: class.is_window_probe || class.is_keep_alive,
            };
            record.connection.on_data(is_second, data);
        }
        if let Some(ack) = ack {
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

    /// The distance of an acknowledgment from the one before it, and the bytes of the packets that it covers, if all of
    /// these followed each other on the bottleneck.
    pub fn ack_pair(
        &mut self,
        side: Side,
        packet: &Packet<'_>,
        segment: &Segment<'_>,
    ) -> Option<(i64, u32)> {
        if !segment.has(flags::ACK) {
            return None;
        }
        let (_, peer) = self.halves(side);
        let ack = peer.offset_of_ack(segment.ack);
        if ack <= peer.acked || ack > peer.next {
            return None;
        }
        let (mut count, mut end, mut latest_ns, mut first_ns) = (0_u32, 0, 0, i64::MAX);
        for it in peer.outstanding.iter().take_while(|it| it.end <= ack) {
            count = count.saturating_add(1);
            end = it.end;
            latest_ns = it.time_ns;
            first_ns = first_ns.min(it.time_ns);
        }
        let next = peer.outstanding.iter().find(|it| it.end > ack);
        let next_ns = next.map(|next| next.time_ns);
        let (acked, rtt_ns) = (peer.acked, peer.path_rtt_ns);
        let record = self.record.as_mut()?;
        let headers = record.header_bytes;
        let this = LastAck {
            time_ns: packet.time_ns,
            sent_ns: latest_ns,
        };
        let before = std::mem::replace(record.last_ack(side.other()), this);
        let is_pure = segment.payload_bytes == 0 && segment.options.sack.as_slice().is_empty();
        if before.time_ns == 0 || end != ack || !is_pure || acked <= 1 {
            return None;
        }
        let bytes = u32::try_from(ack.saturating_sub(acked)).ok()?;
        let bytes = bytes.saturating_add(count.saturating_mul(headers));
        let gap_ns = packet.time_ns.saturating_sub(before.time_ns);
        let apart_ns = latest_ns.saturating_sub(before.sent_ns);
        // The segment behind it was on its way as well: on a fast link that would have been acknowledged with it.
        let has_next = next_ns.is_some_and(|next_ns| next_ns <= before.time_ns);
        let is_prompt = count >= 2 || gap_ns < PROMPT_NS || has_next;
        if latest_ns <= before.time_ns && apart_ns <= gap_ns / 2 && is_prompt {
            return Some((gap_ns, bytes));
        }
        // Two segments that left at once onto an idle path are acknowledged at once.
        let is_burst = count >= 2 && first_ns >= before.time_ns && latest_ns == first_ns;
        let rtt_ns = rtt_ns.filter(|_| is_burst)?;
        let link_ns = packet
            .time_ns
            .saturating_sub(first_ns)
            .saturating_sub(rtt_ns);
        Some((link_ns, bytes.saturating_sub(headers)))
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
        let is_first = (direction == Direction::ClientToServer) == (self.client == Side::First);
        if is_first { first } else { second }.as_ref()
    }

    /// Writes a transaction and its waits, as the core explains them.
    pub(super) fn write_explained(&mut self, transaction: Waiting, tables: &mut Tables) {
        let Waiting {
            mut row,
            request,
            response,
        } = transaction;
        let facts = self.facts(&row, request, response);
        if let Some(record) = self.record.as_mut() {
            let explained = record.connection.explain(&facts);
            row.start_time = explained.start.time_ns;
            row.end_time = explained.end.time_ns;
            for wait in &explained.waits {
                tables.waits.push(&WaitRow {
                    flow: row.flow,
                    transaction: row.index,
                    cause: wait.cause,
                    start: wait.start.time_ns,
                    end: wait.end.time_ns,
                    first_frame: wait.start.frame,
                    last_frame: wait.end.frame,
                    confidence: wait.confidence,
                    ..bound_columns(wait.bound, &facts)
                });
            }
        }
        tables.transactions.push(&row);
    }

    /// What is known of a transaction that is over.
    fn facts(&self, row: &TransactionRow, request: Option<Span>, response: Option<Span>) -> Facts {
        let path = self.quickest_path();
        let [first_ns, second_ns] = self.pair.round_trips_ns;
        let by_role = |pair: [_; 2]| match (self.client, pair) {
            (Side::First, pair) => pair,
            (Side::Second, [first, second]) => [second, first],
        };
        let (client_ns, server_ns) = match self.client {
            Side::First => (first_ns, second_ns),
            Side::Second => (second_ns, first_ns),
        };
        let least = |one: Option<i64>, other: Option<i64>| one.into_iter().chain(other).min();
        let handshake = Handshake {
            begun: self.setup.begun().map(of_core),
            resent: self.setup.resent().map(of_core),
            done: self.setup.done_at().map(of_core),
        };
        let record = self.record.as_deref();
        Facts {
            client_is_second: self.client == Side::Second,
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
            handshake: (row.index == 0).then_some(handshake),
            to_server_ns: least(path.to_server_ns, server_ns).unwrap_or(0),
            to_client_ns: least(path.to_client_ns, client_ns).unwrap_or(0),
            links: by_role(self.pair.links),
            links_by_acks: by_role(self.pair.links_by_acks),
            header_bytes: record.map_or(IP_BYTES, |it| it.header_bytes),
            probe_bytes: record.map_or(IP_BYTES, |it| it.probe_bytes),
        }
    }
}

/// What bound the segment that ended a wait; the other columns are not set.
fn bound_columns(bound: Option<Bound>, facts: &Facts) -> WaitRow {
    let Some(bound) = bound else {
        return WaitRow::default();
    };
    let message = match bound.direction {
        Direction::ClientToServer => facts.request,
        Direction::ServerToClient => facts.response,
    };
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

fn of_core(moment: crate::waits::Moment) -> Moment {
    Moment {
        time_ns: moment.time_ns,
        frame: moment.frame,
    }
}
