//! Complete transactions that wait for the client's last ACK, or for more evidence about their path.

use std::collections::VecDeque;

use tcptrace_http_messages::StreamFacts;
use trace_model::rows::{TransactionRow, TransactionsTable};
use trace_model::Packet;

use crate::bounded::Rows;
use crate::recoveries::Span;

/// Maximum number of transactions that wait for their last ACK: a client without ACKs must not cost memory.
const UNACKNOWLEDGED_MAX: usize = 1024;

/// Completeness of a transaction's messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Completeness {
    pub(super) request: bool,
    pub(super) response: bool,
}

#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) row: TransactionRow,
    pub(super) whole: Completeness,
    /// Offsets of the messages in their streams.
    pub(super) request: Option<Span>,
    pub(super) response: Option<Span>,
    /// Facts of an HTTP/2 stream.
    pub(super) stream: Option<Box<StreamFacts>>,
}

#[derive(Debug, Default)]
pub(super) struct PendingTransactions {
    /// Transactions that wait for their last ACK, boxed: a row takes more than a kilobyte, and a queue
    /// allocates four.
    queue: VecDeque<Box<Waiting>>,
    /// Earlier transactions that are acknowledged and not explained yet.
    unexplained: VecDeque<Box<Waiting>>,
    held_bytes: u64,
}

impl PendingTransactions {
    /// Return the memory of the rows.
    #[inline]
    pub(super) fn held_bytes(&self) -> u64 {
        self.held_bytes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.unexplained.is_empty()
    }

    /// Add a transaction, and return the oldest if there are too many.
    pub(super) fn push(
        &mut self,
        (row, whole): (TransactionRow, Completeness),
        (request, response): (Option<Span>, Option<Span>),
        stream: Option<Box<StreamFacts>>,
    ) -> Option<Box<Waiting>> {
        let stream_bytes = stream.as_deref().map_or(0, StreamFacts::held_bytes);
        self.held_bytes = self
            .held_bytes
            .saturating_add(bytes_of(&row))
            .saturating_add(stream_bytes);
        let is_acknowledged = row.last_ack_time.is_some() && self.queue.is_empty();
        let queue = if is_acknowledged {
            &mut self.unexplained
        } else {
            &mut self.queue
        };
        queue.push_back(Box::new(Waiting {
            row,
            whole,
            request,
            response,
            stream,
        }));
        if self.queue.len() > UNACKNOWLEDGED_MAX {
            self.pop()
        } else {
            None
        }
    }

    /// Take an ACK of the server's data up to `ack`.
    pub(super) fn acknowledged(&mut self, packet: &Packet<'_>, ack: i64) {
        let is_acknowledged = |waiting: &Waiting| waiting.response.is_none_or(|it| it.end <= ack);
        while self.queue.front().is_some_and(|it| is_acknowledged(it)) {
            let Some(mut waiting) = self.queue.pop_front() else {
                return;
            };
            if waiting.response.is_some() {
                waiting.row.last_ack_frame = Some(packet.frame);
                waiting.row.last_ack_time = Some(packet.time_ns);
            }
            self.unexplained.push_back(waiting);
        }
    }

    /// Return the oldest acknowledged transaction, if there are more than `most`.
    pub(super) fn pop_acknowledged(&mut self, most: usize) -> Option<Box<Waiting>> {
        if self.unexplained.len() > most {
            self.pop()
        } else {
            None
        }
    }

    /// Return the request or the response that contains the offset.
    pub(super) fn span_at(&self, is_request: bool, offset: i64) -> Option<Span> {
        let spans = self.queue.iter().rev().filter_map(|waiting| {
            if is_request {
                waiting.request
            } else {
                waiting.response
            }
        });
        let mut spans = spans.filter(|span| (span.start..span.end).contains(&offset));
        spans.next()
    }

    /// Return the waiting transactions in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Waiting> {
        self.unexplained.iter().chain(&self.queue).map(Box::as_ref)
    }

    /// Release unused memory.
    pub(super) fn shrink(&mut self) {
        self.queue.shrink_to_fit();
        self.unexplained.shrink_to_fit();
    }

    pub(super) fn pop(&mut self) -> Option<Box<Waiting>> {
        let oldest = self.unexplained.pop_front();
        let oldest = oldest.or_else(|| self.queue.pop_front())?;
        let stream_bytes = oldest.stream.as_deref().map_or(0, StreamFacts::held_bytes);
        let bytes = bytes_of(&oldest.row).saturating_add(stream_bytes);
        self.held_bytes = self.held_bytes.saturating_sub(bytes);
        Some(oldest)
    }
}

fn bytes_of(row: &TransactionRow) -> u64 {
    TransactionsTable::bytes_of(row) as u64
}
