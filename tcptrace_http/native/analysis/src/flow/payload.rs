//! Delivery of payload to HTTP or TLS, and the handling of their results.

use tcptrace_http2::Messages;
use tcptrace_http_messages::Connection;
use tcptrace_tcp::{Delivery, Half, Piece, Reassembler, Side};
use trace_model::{flags, AnomalyKind, Mark, Packet, Segment};

use super::carried::Reader;
use super::Flow;
use crate::tables::Tables;

/// Start of the latest message in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OpenMessages {
    request: Option<u64>,
    response: Option<u64>,
}

impl OpenMessages {
    fn of(reader: Option<&Reader>) -> Self {
        OpenMessages {
            request: reader.and_then(Reader::request_start),
            response: reader.and_then(Reader::response_start),
        }
    }
}

impl Flow {
    /// Deliver the segment's payload, and the data that it completes.
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
        // The sender had received the data that this segment acknowledges.
        if let Some(ack) = ack.filter(|_| self.half(side.other()).reassembler.is_waiting()) {
            self.deliver(side.other(), mark, tables, |reassembler, deliver| {
                reassembler.acknowledged(ack.saturating_sub(1), deliver);
            });
        }
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
            self.on_receiver_ack(side.other(), ack.saturating_sub(1), tables);
        }
    }

    /// Run `work` on the reassembler of `side`, and deliver its output.
    pub(super) fn deliver(
        &mut self,
        side: Side,
        mark: Mark,
        tables: &mut Tables,
        work: impl FnOnce(&mut Reassembler, &mut dyn FnMut(Delivery<'_>)),
    ) {
        let direction = self.direction_of(side);
        let opened_before = OpenMessages::of(self.carried.reader.as_ref());
        let looks_at_bodies = tables.exchanges.is_some();
        let reader = self.carried.reader.take();
        let mut reader = reader.unwrap_or_else(|| self.new_reader(looks_at_bodies));
        let (keys, output) = (&mut tables.keys, &mut tables.http_output);
        keys.looks_at_bodies = looks_at_bodies;
        let (sender, peer) = self.halves(side);
        let peer_next = u64::try_from(peer.reassembler.delivered()).unwrap_or(0);
        let gaps_before = sender.reassembler.gap_bytes;
        work(&mut sender.reassembler, &mut |delivery| match delivery {
            Delivery::Bytes {
                offset,
                bytes,
                mark,
                peer_acked,
            } => {
                let data = (offset, bytes);
                let to = (&mut *keys, &mut *output);
                reader.data(direction, data, (mark, peer_acked), peer_next, to);
            }
            Delivery::Gap {
                offset,
                length,
                mark,
            } => {
                reader.gap(
                    direction,
                    (offset, length),
                    mark,
                    (&mut *keys, &mut *output),
                );
            }
        });
        let lost = sender.reassembler.gap_bytes.saturating_sub(gaps_before);
        if std::mem::take(&mut sender.reassembler.differing) {
            let detail =
                "retransmitted bytes differ from the first copy; the first copy is used".to_owned();
            tables.anomaly(
                AnomalyKind::OverlappingDataDiffers,
                Some(mark.frame),
                self.id.number,
                detail,
            );
        }
        if lost > 0 {
            let detail =
                format!("the capture lacks {lost} bytes that were acknowledged or skipped");
            tables.anomaly(
                AnomalyKind::CaptureGap,
                Some(mark.frame),
                self.id.number,
                detail,
            );
        }
        self.after_delivery(reader, opened_before, tables);
    }

    /// Create the reader: HTTP until the bytes show TLS.
    fn new_reader(&self, looks_at_bodies: bool) -> Reader {
        let is_unread = |half: &Half| half.has_syn && half.reassembler.delivered() == 0;
        let connection = if is_unread(&self.first) && is_unread(&self.second) {
            Connection::from_its_beginning()
        } else {
            Connection::new()
        };
        let connection = if looks_at_bodies {
            connection.looking_at_bodies()
        } else {
            connection
        };
        Reader::Http(Messages::new(connection), None)
    }

    /// Take the reader's results.
    pub(super) fn after_delivery(
        &mut self,
        reader: Reader,
        opened_before: OpenMessages,
        tables: &mut Tables,
    ) {
        tables.take_records(self.id.number);
        tables.take_windows(self.id.number);
        let opened = OpenMessages::of(Some(&reader));
        let is_opaque = reader.is_opaque();
        self.carried.reader = Some(reader);
        self.carried.note();
        self.note_openings(opened_before, opened);
        if is_opaque {
            self.carried.is_opaque = true;
            self.carried.drop_reader();
            self.messages = None;
            self.record = None;
            for half in [&mut self.first, &mut self.second] {
                half.reassembler = Reassembler::default();
                half.early = None;
                half.into_closed_window = None;
            }
        }
        self.collect(tables);
    }

    /// Notify the trackers of messages that began in the last segment.
    fn note_openings(&mut self, before: OpenMessages, after: OpenMessages) {
        let is_known = self.carried.has_messages();
        let messages = self.messages();
        if let Some(start) = after.request.filter(|_| after.request != before.request) {
            messages.requests.on_message_start(start);
        }
        let response = after.response.filter(|_| is_known);
        if let Some(start) = response.filter(|_| after.response != before.response) {
            messages.responses.on_message_start(start);
        }
    }
}
