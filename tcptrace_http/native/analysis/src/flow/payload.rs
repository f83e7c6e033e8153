//! Payload on its way to HTTP, and what comes back from there.

use tcptrace_http_messages::Connection;
use tcptrace_tcp::{Delivery, Half, Piece, Reassembler, Side};
use trace_model::rows::Direction;
use trace_model::{flags, AnomalyKind, Mark, Packet, Segment};

use super::Flow;
use crate::tables::Tables;
use crate::waits::{Moment, Waits};

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
            self.cut.note(packet.frame, segment);
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
        let opened_before = Opened::of(self.http.as_deref());
        let looks_at_bodies = tables.exchanges.is_some();
        let connection = self.http.take();
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
        self.after_delivery(connection, opened_before, (direction, mark), tables);
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
        (direction, mark): (Direction, Mark),
        tables: &mut Tables,
    ) {
        self.is_http |= connection.is_http();
        // What a request waited for shows before its head is complete.
        if !self.is_http && !connection.has_begun_request() {
            self.waits = None;
        } else if self.waits.is_none() {
            self.begin_waits(direction, mark);
        }
        let opened = Opened::of(Some(&connection));
        let both_opaque = connection.is_opaque(Direction::ClientToServer)
            && connection.is_opaque(Direction::ServerToClient);
        self.note_openings(opened_before, opened, &connection);
        if both_opaque {
            self.is_opaque = true;
            if let Some(pauses) = self.request_pauses.as_mut() {
                pauses.release();
            }
            for half in [&mut self.first, &mut self.second] {
                half.reassembler = Reassembler::default();
                half.early = None;
                half.into_closed_window = None;
            }
        } else {
            self.http = Some(connection);
        }
        self.collect(tables);
    }

    /// From the segment on in which the first message begins.
    fn begin_waits(&mut self, direction: Direction, mark: Mark) {
        let at = Moment {
            time_ns: mark.time_ns,
            frame: mark.frame,
        };
        let is_request = direction == Direction::ClientToServer;
        let mut waits = Waits::new(at, is_request);
        if is_request && self.segment_size.client_had_more() {
            waits.request_goes_on();
        }
        if is_request {
            let bytes = self.client_half().next.saturating_sub(1);
            waits.had_asked(at, u32::try_from(bytes).unwrap_or(0), self.sharing().ahead);
        }
        let path = self.waits_path();
        for (by_client, half, data) in [
            (true, self.client_half(), self.server_half()),
            (false, self.server_half(), self.client_half()),
        ] {
            waits.offered_in_syn(half.syn_window);
            let has_acked = data.acked > 0 || half.last_window_bytes > 0;
            // A SYN acknowledges nothing, but an answer to what it brought (RFC 1644, RFC 7413) is sent into the
            // window that it tells.
            let window = if has_acked {
                half.last_window_bytes
            } else {
                u32::from(half.last_window)
            };
            if half.counts.packets > 0 && (has_acked || half.has_syn) {
                waits.acknowledged(by_client, at, data.acked, window, path);
            }
        }
        if let Some(answer) = self.setup.answer() {
            waits.shook_hands(answer, path);
        }
        if let Some(first_data) = self.setup.first_data() {
            waits.asked_after(first_data, path);
        }
        self.waits = Some(Box::new(waits));
    }

    /// Tells the trackers of pauses which messages began in the segment just seen.
    fn note_openings(&mut self, before: Opened, after: Opened, connection: &Connection) {
        if let Some(start) = after.request.filter(|_| after.request != before.request) {
            if let Some(pauses) = self.request_pauses.as_mut() {
                pauses.message_opens(start);
            }
            if let Some(waits) = self.waits.as_mut() {
                waits.request_opens();
            }
        }
        if let Some(start) = after
            .response
            .filter(|_| self.is_http && after.response != before.response)
        {
            self.followed().pauses.message_opens(start);
            if let Some(waits) = self.waits.as_mut() {
                let asked_ns = connection.response_was_asked().map(|mark| mark.time_ns);
                waits.response_opens(start, asked_ns);
            }
        }
    }
}
