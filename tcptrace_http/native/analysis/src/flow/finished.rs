//! Finished transactions become rows, once what they waited for can be told.

use tcptrace_http_messages::{Message, Transaction};
use trace_model::rows::{Direction, TransactionRow};
use trace_model::Packet;

use super::recover::span_of;
use super::unacknowledged::Waiting;
use super::Flow;
use crate::exchange::{is_notable, Details, Exchange, Noted};
use crate::finished_message::FinishedMessage;
use crate::tables::Tables;
use crate::transaction_row::{link_rows, transaction_row};
use crate::waits::{Moment, Waits};

/// Transactions of which is told later what they waited for, as how slow their path is, or that a window is shared, shows
/// in the next ones: what the first exchanges of a connection ask for is short.
const UNTOLD_MAX: usize = 4;

/// A longer URL is not compared with others: the longest that browsers and caches agree on (it is what
/// sitemaps.org allows), and copies of longer ones cost too much where nobody answers them.
const URL_COMPARED_MAX: usize = 2048;

impl Flow {
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

    pub(super) fn finished(&mut self, mut transaction: Transaction, tables: &mut Tables) {
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
        // The response has shown how slow the link is that the request went over as well.
        let full_bytes = self.segment_size.full();
        let waits = self.waits.as_deref();
        let there_ns = waits.map_or(0, |it| it.response_takes_ns(full_bytes));
        if let Some((request, pauses)) = request.zip(self.request_pauses.as_mut()) {
            pauses.link_there_is((there_ns, full_bytes));
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
        if self.record.is_some() {
            self.write_explained(transaction, tables);
            return;
        }
        let Waiting {
            mut row, response, ..
        } = transaction;
        let path = self.quickest_path();
        let sharing = self.sharing();
        let (_, lacks_acks) = self.lacks_pure_acks();
        let is_own = self.server_half().numbering.counter_is_own();
        let (is_shared, goes_elsewhere) = (sharing.is_shared, sharing.goes_elsewhere || !is_own);
        let (link, phases) = (sharing.link, sharing.phases);
        let waits = self.waits.get_or_insert_with(|| {
            let time_ns = row.request_time.or(row.response_first_time).unwrap_or(0);
            let frame = row.request_frame.or(row.response_first_frame).unwrap_or(0);
            Box::new(Waits::new(Moment { time_ns, frame }, true))
        });
        waits.link_is(link);
        waits.window_was_largest(phases, path);
        if is_shared {
            waits.windows_are_shared();
        }
        if goes_elsewhere {
            waits.packets_go_elsewhere();
        }
        waits.server_acks_are_missing(lacks_acks);
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
