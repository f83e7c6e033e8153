//! Payload on its way to HTTP, and what comes back from there.

use trace_model::rows::{Direction, TransactionRow};
use trace_model::{flags, AnomalyKind, Packet, Segment};

use super::recover::span_of;
use super::unacknowledged::Waiting;
use super::Flow;
use crate::ends::Side;
use crate::exchange::{is_notable, Details, Exchange, Noted};
use crate::finished_message::FinishedMessage;
use crate::half::Half;
use crate::http::{self, Connection, Mark, Message};
use crate::reassembly::{Delivery, Piece, Reassembler};
use crate::tables::Tables;
use crate::transaction_row::{link_rows, transaction_row};
use crate::waits::{Moment, Waits};

/// Transactions of which is told later what they waited for, as how slow their path is, or that a window is shared, shows
/// in the next ones: what the first exchanges of a connection ask for is short.
const UNTOLD_MAX: usize = 4;

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

/// A longer URL is not compared with others: the longest that browsers and caches agree on (it is what
/// sitemaps.org allows), and copies of longer ones cost too much where nobody answers them.
const URL_COMPARED_MAX: usize = 2048;

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

    /// Turns finished transactions into rows; they wait for the client's last ACK.
    pub(super) fn collect(&mut self, tables: &mut Tables) {
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

    pub(super) fn finished(&mut self, mut transaction: http::Transaction, tables: &mut Tables) {
        let index = self.usage.add(&transaction);
        let flow = self.number;
        let framed = |message: &Option<Box<Message>>, direction| {
            message.as_ref().map(|message| FinishedMessage {
                flow,
                transaction: index,
                direction,
                start: message.start,
                end: message.end,
                head_bytes: message.header_bytes,
            })
        };
        let request = framed(&transaction.request, Direction::ClientToServer);
        let response = framed(&transaction.response, Direction::ServerToClient);
        if let Some((request, pauses)) = request.zip(self.request_pauses.as_mut()) {
            pauses.message_ends(request, None, &mut tables.pauses, &mut tables.segmentation);
        }
        if let Some(response) = response {
            let rtt_ns = self.path_rtt_ns();
            let followed = self.followed.get_or_insert_default();
            followed.pauses.message_ends(
                response,
                self.waits.as_deref(),
                &mut tables.pauses,
                &mut tables.segmentation,
            );
            if let Some(waits) = self.waits.as_mut() {
                waits.response_ends(response.start, response.end);
            }
            followed
                .flights
                .response_ends(response, rtt_ns, &mut tables.flights);
            followed
                .queues
                .response_ends(response, rtt_ns, &mut tables.queues);
        }
        let request = span_of(index, transaction.request.as_deref());
        let response = span_of(index, transaction.response.as_deref());
        self.place_recoveries(request, response);
        let noted = tables
            .exchanges
            .is_some()
            .then(|| Noted::of(&mut transaction));
        if let Some(response) = transaction.response.as_mut() {
            let links = std::mem::take(&mut response.links);
            for row in link_rows(self.number, index, links) {
                tables.links.push(&row);
            }
        }
        let row = transaction_row(self.number, index, transaction);
        if let Some((exchanges, noted)) = tables.exchanges.as_mut().zip(noted) {
            exchanges.extend(self.exchange(tables.last_frame, &row, noted));
        }
        if let Some(oldest) = self.unacknowledged.push(row, request, response) {
            self.write(oldest, tables);
        }
    }

    /// Writes the row of a transaction that is over, and those of its waits.
    pub(super) fn write(&mut self, transaction: Waiting, tables: &mut Tables) {
        let Waiting {
            mut row, response, ..
        } = transaction;
        let path = self.quickest_path();
        let sharing = self.sharing();
        let (is_shared, goes_elsewhere) = (sharing.is_shared, sharing.goes_elsewhere);
        let link = sharing.link;
        let waits = self.waits.get_or_insert_with(|| {
            let time_ns = row.request_time.or(row.response_first_time).unwrap_or(0);
            let frame = row.request_frame.or(row.response_first_frame).unwrap_or(0);
            Box::new(Waits::new(Moment { time_ns, frame }, true))
        });
        waits.link_is(link);
        if is_shared {
            waits.windows_are_shared();
        }
        if goes_elsewhere {
            waits.packets_go_elsewhere();
        }
        let start =
            response.and_then(|response| u64::try_from(response.start).ok()?.checked_sub(1));
        for wait in waits.of_transaction(&mut row, start, &self.setup, path) {
            tables.waits.push(&wait);
        }
        if let Some((start, followed)) = start.zip(self.followed.as_deref_mut()) {
            let pauses = &mut followed.pauses;
            pauses.message_is_told(start, self.waits.as_deref(), &mut tables.pauses);
        }
        tables.transactions.push(&row);
    }

    /// The transaction as one of all that the clients asked for, if its request is known.
    fn exchange(&self, frame: u64, row: &TransactionRow, noted: Noted) -> Option<Exchange> {
        let texts = [&row.target, &row.location].into_iter().flatten();
        if texts.into_iter().any(|text| text.len() > URL_COMPARED_MAX) {
            return None;
        }
        let (client, server) = self.client_and_server();
        let details = is_notable(row).then(|| Details {
            row: row.clone(),
            rtt_ns: self.path_rtt_ns(),
            server_path_rtt_ns: self.client_half().path_rtt_ns,
            segment_bytes: self.segment_size.full(),
            noted,
        });
        Some(Exchange {
            frame,
            flow: row.flow,
            transaction: row.index,
            client: client.address,
            server: server.address,
            host: row.host.clone(),
            target: row.target.clone()?,
            request_frame: row.request_frame?,
            request_time: row.request_time?,
            opened_ns: self.syn_ns.filter(|_| row.index == 0),
            details: details.map(Box::new),
        })
    }

    /// Writes the transactions whose last byte is now acknowledged, once what they waited for can be told.
    pub(super) fn flush_acknowledged(
        &mut self,
        packet: &Packet<'_>,
        ack: i64,
        tables: &mut Tables,
    ) {
        self.unacknowledged.acknowledged(packet, ack);
        self.flush_told(tables);
    }

    /// Writes those of them that nothing more will be learnt of.
    pub(super) fn flush_told(&mut self, tables: &mut Tables) {
        let most = if self.may_learn_of_waits() {
            UNTOLD_MAX
        } else {
            0
        };
        while let Some(transaction) = self.unacknowledged.pop_acknowledged(most) {
            self.write(transaction, tables);
        }
    }

    /// Writes all transactions, whether their last byte is acknowledged or not.
    pub(super) fn flush_unacknowledged(&mut self, tables: &mut Tables) {
        while let Some(transaction) = self.unacknowledged.pop() {
            self.write(transaction, tables);
        }
        self.unacknowledged.shrink();
    }
}
