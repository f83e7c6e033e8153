//! Payload on its way to HTTP, and what comes back from there.

use tcptrace_http_messages::Connection;
use tcptrace_tcp::{Delivery, Half, Piece, Reassembler, Side};
use trace_model::rows::Direction;
use trace_model::{flags, AnomalyKind, Mark, Packet, Segment};

use super::Flow;
use crate::tables::Tables;

/// Where the latest messages of both directions began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Opened {
    request: Option<u64>,
    response: Option<u64>,
}

impl Opened {
    fn of(connection: Option<&Connection>) -> Self {
        Opened {
            request: connection.and_then(Connection::request_start),
            response: connection.and_then(Connection::response_start),
        }
    }
}

impl Flow {
    /// Hands the segment's payload, and what it makes deliverable, to HTTP.
    pub(super) fn payload(
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
            self.properties.cut.note(packet.frame, segment);
            let piece = Piece {
                offset: payload_start,
                length: segment.payload_bytes,
                bytes: segment.payload,
                mark,
                peer_acked: ack.and_then(|ack| u64::try_from(ack.saturating_sub(1)).ok()),
            };
            self.take_payload(side, piece, tables);
        }
        if let Some(ack) = ack {
            let acked = ack.saturating_sub(1);
            self.receiver_answers(side.other(), acked, tables);
            if self.half(side.other()).reassembler.is_waiting() {
                self.deliver(side.other(), mark, tables, |reassembler, deliver| {
                    reassembler.acknowledged(acked, deliver);
                });
            }
        }
    }

    /// Runs `work` on the reassembler of `side`, feeding HTTP with what comes out.
    pub(super) fn deliver(
        &mut self,
        side: Side,
        mark: Mark,
        tables: &mut Tables,
        work: impl FnOnce(&mut Reassembler, &mut dyn FnMut(Delivery<'_>)),
    ) {
        let direction = self.direction_of(side);
        let opened_before = Opened::of(self.carried.http.as_deref());
        let looks_at_bodies = tables.exchanges.is_some();
        let connection = self.carried.http.take();
        let mut connection = connection.unwrap_or_else(|| self.new_connection(looks_at_bodies));
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
                self.id.number,
                detail,
            );
        }
        if lost > 0 {
            let detail =
                format!("{lost} bytes were acknowledged or passed over, but never captured");
            tables.anomaly(
                AnomalyKind::CaptureGap,
                Some(mark.frame),
                self.id.number,
                detail,
            );
        }
        self.after_delivery(connection, opened_before, tables);
    }

    fn new_connection(&self, looks_at_bodies: bool) -> Box<Connection> {
        let is_unread = |half: &Half| half.has_syn && half.reassembler.delivered() == 0;
        let connection = if is_unread(&self.first) && is_unread(&self.second) {
            Connection::from_its_beginning()
        } else {
            Connection::new()
        };
        Box::new(if looks_at_bodies {
            connection.looking_at_bodies()
        } else {
            connection
        })
    }

    /// Takes what HTTP made of the bytes.
    pub(super) fn after_delivery(
        &mut self,
        connection: Box<Connection>,
        opened_before: Opened,
        tables: &mut Tables,
    ) {
        self.carried.is_http |= connection.is_http();
        let opened = Opened::of(Some(&connection));
        let both_opaque = connection.is_opaque(Direction::ClientToServer)
            && connection.is_opaque(Direction::ServerToClient);
        self.note_openings(opened_before, opened);
        if both_opaque {
            self.carried.is_opaque = true;
            self.messages = None;
            self.record = None;
            for half in [&mut self.first, &mut self.second] {
                half.reassembler = Reassembler::default();
                half.early = None;
                half.into_closed_window = None;
            }
        } else {
            self.carried.http = Some(connection);
        }
        self.collect(tables);
    }

    /// Tells the trackers which messages began in the segment just seen.
    fn note_openings(&mut self, before: Opened, after: Opened) {
        let is_http = self.carried.is_http;
        let messages = self.messages();
        if let Some(start) = after.request.filter(|_| after.request != before.request) {
            messages.requests.message_opens(start);
        }
        let response = after.response.filter(|_| is_http);
        if let Some(start) = response.filter(|_| after.response != before.response) {
            messages.responses.message_opens(start);
        }
    }
}
