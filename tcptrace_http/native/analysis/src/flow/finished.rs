//! Conversion of finished transactions to rows, once their waits can be explained.

use tcptrace_http_messages::{Message, Transaction};
use trace_model::rows::{Direction, TransactionRow};
use trace_model::Packet;

use super::recover::span_of;
use super::unacknowledged::Completeness;
use super::Flow;
use crate::documents::Document;
use crate::exchange::{is_notable, Details, Exchange, MessageNotes};
use crate::finished_message::FinishedMessage;
use crate::tables::Tables;
use crate::transaction_row::transaction_row;

/// IP and TCP headers without options.
const HEADER_BYTES: u32 = 40;
/// Maximum length of URLs that are compared: the length that all browsers and caches support (limit of
/// sitemaps.org).
///
/// Copies of longer URLs cost too much memory in captures without answers.
const URL_COMPARED_MAX: usize = 2048;

/// Number of acknowledged transactions whose explanation is delayed.
///
/// The following exchanges show the path's speed, and the first exchanges of a connection are short.
const UNEXPLAINED_MAX: usize = 4;

impl Flow {
    /// Convert finished transactions to rows, which wait for the client's last ACK.
    pub(super) fn collect(&mut self, tables: &mut Tables) {
        if tables.http_output.transactions.is_empty() && tables.http_output.anomalies.is_empty() {
            return;
        }
        let mut output = std::mem::take(&mut tables.http_output);
        for mut anomaly in output.anomalies.drain(..) {
            anomaly.flow = Some(self.id.number);
            tables.push_anomaly(anomaly);
        }
        for transaction in output.transactions.drain(..) {
            self.finished(transaction, tables);
        }
        tables.http_output = output;
    }

    pub(super) fn finished(&mut self, mut transaction: Transaction, tables: &mut Tables) {
        let index = self.usage.add(&transaction);
        let flow = self.id.number;
        let framed = |message: &Option<Box<Message>>, direction| {
            message.as_ref().map(|message| FinishedMessage {
                flow,
                transaction: index,
                direction,
                start: message.start,
                end: message.end,
                head_bytes: message.head_end.saturating_sub(message.start),
            })
        };
        let request = framed(&transaction.request, Direction::ClientToServer);
        let response = framed(&transaction.response, Direction::ServerToClient);
        let rtt_ns = self.path_rtt_ns();
        let client = self.client();
        let full_bytes = self.segment_size.full().saturating_add(HEADER_BYTES);
        let up_ns = self.service_ns(client, full_bytes);
        let down_ns = self.service_ns(client.other(), full_bytes);
        let messages = self.messages();
        let stream = transaction.stream.take();
        let is_alone = stream.is_none();
        if let Some(request) = request.as_ref().filter(|_| is_alone) {
            messages
                .requests
                .on_message_end(request, up_ns, &mut tables.of_flows.segmentation);
        }
        if let Some(response) = response.filter(|_| is_alone) {
            messages.responses.on_message_end(
                &response,
                down_ns,
                &mut tables.of_flows.segmentation,
            );
            messages
                .queues
                .on_response_end(response, rtt_ns, &mut tables.of_flows.queues);
        }
        let request = span_of(index, transaction.request.as_deref());
        let response = span_of(index, transaction.response.as_deref());
        self.place_recoveries(request, response);
        let noted = tables
            .exchanges
            .is_some()
            .then(|| MessageNotes::of(&mut transaction));
        let document = transaction.response.as_mut();
        if let Some(links) = document.and_then(|it| it.links.take()) {
            tables.of_flows.documents.push(Document {
                flow,
                transaction: index,
                links,
            });
        }
        let is_whole =
            |message: &Option<Box<Message>>| message.as_ref().is_some_and(|it| it.complete);
        let whole = Completeness {
            request: is_whole(&transaction.request),
            response: is_whole(&transaction.response),
        };
        let is_known_late = transaction.opaque.is_some();
        let mut row = transaction_row(self.id.number, index, transaction, stream.as_deref());
        if is_known_late && response.is_some_and(|it| it.end <= self.server_half().sequence.acked) {
            let acked = self.messages().acked;
            row.last_ack_frame = Some(acked.frame);
            row.last_ack_time = Some(acked.time_ns);
        }
        if let Some((exchanges, noted)) = tables.exchanges.as_mut().zip(noted) {
            exchanges.extend(self.exchange(tables.last_frame, &row, noted));
        }
        if let Some(oldest) = self
            .unacknowledged
            .push((row, whole), (request, response), stream)
        {
            self.write(oldest, tables);
        }
    }

    /// Return the transaction as an exchange, if its request is known.
    fn exchange(&self, frame: u64, row: &TransactionRow, noted: MessageNotes) -> Option<Exchange> {
        let texts = [&row.target, &row.location].into_iter().flatten();
        if texts.into_iter().any(|text| text.len() > URL_COMPARED_MAX) {
            return None;
        }
        let (client, server) = self.client_and_server();
        let details = is_notable(row).then(|| Details {
            row: row.clone(),
            rtt_ns: self.path_rtt_ns(),
            server_path_rtt_ns: self.client_half().rtt.path_ns,
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
            opened_ns: self.setup.syn_ns.filter(|_| !row.reused_connection),
            details: details.map(Box::new),
        })
    }

    /// Write the transactions whose last byte is now acknowledged.
    pub(super) fn flush_acknowledged(
        &mut self,
        packet: &Packet<'_>,
        ack: i64,
        tables: &mut Tables,
    ) {
        self.unacknowledged.acknowledged(packet, ack);
        // A finished connection gives no further evidence.
        let is_reported = tables.follows || self.is_over();
        let most = if is_reported { 0 } else { UNEXPLAINED_MAX };
        while let Some(transaction) = self.unacknowledged.pop_acknowledged(most) {
            self.write(transaction, tables);
        }
    }

    /// Write all transactions, with or without an ACK of their last byte.
    pub(super) fn flush_unacknowledged(&mut self, tables: &mut Tables) {
        while let Some(transaction) = self.unacknowledged.pop() {
            self.write(transaction, tables);
        }
        self.unacknowledged.shrink();
    }
}
