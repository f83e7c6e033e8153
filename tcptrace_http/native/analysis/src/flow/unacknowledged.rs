//! Transactions that are complete, but whose last byte the client has not acknowledged yet.

use std::collections::VecDeque;

use trace_model::rows::TransactionRow;
use trace_model::Packet;

use crate::bounded::{Bounded, Rows};
use crate::recoveries::Span;
use trace_model::rows::TransactionsTable;

/// Transactions whose last ACK is awaited; a client that acknowledges nothing must not cost memory.
const UNACKNOWLEDGED_MAX: usize = 1024;

#[derive(Debug)]
struct Waiting {
    row: TransactionRow,
    request: Option<Span>,
    response: Option<Span>,
}

#[derive(Debug, Default)]
pub(super) struct Unacknowledged {
    queue: VecDeque<Waiting>,
    held_bytes: u64,
}

impl Unacknowledged {
    /// Memory that the rows take.
    #[inline]
    pub(super) fn held_bytes(&self) -> u64 {
        self.held_bytes
    }

    pub(super) fn push(
        &mut self,
        row: TransactionRow,
        request: Option<Span>,
        response: Option<Span>,
        rows: &mut Bounded<TransactionsTable>,
    ) {
        self.held_bytes = self.held_bytes.saturating_add(bytes_of(&row));
        self.queue.push_back(Waiting {
            row,
            request,
            response,
        });
        if self.queue.len() > UNACKNOWLEDGED_MAX {
            self.pop(rows);
        }
    }

    /// Writes the transactions whose last byte is acknowledged, now that the server's data up to `ack` is.
    pub(super) fn acknowledged(
        &mut self,
        packet: &Packet<'_>,
        ack: i64,
        rows: &mut Bounded<TransactionsTable>,
    ) {
        while let Some(front) = self.queue.front_mut() {
            match front.response {
                Some(response) if response.end > ack => return,
                Some(_) => {
                    front.row.last_ack_frame = Some(packet.frame);
                    front.row.last_ack_time = Some(packet.time_ns);
                }
                None => {}
            }
            self.pop(rows);
        }
    }

    /// The message that has the offset: a request, or else a response.
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

    /// Writes all of them, and gives the memory back.
    pub(super) fn flush(&mut self, rows: &mut Bounded<TransactionsTable>) {
        while !self.queue.is_empty() {
            self.pop(rows);
        }
        self.queue = VecDeque::new();
    }

    pub(super) fn shrink(&mut self) {
        self.queue.shrink_to_fit();
    }

    fn pop(&mut self, rows: &mut Bounded<TransactionsTable>) {
        if let Some(oldest) = self.queue.pop_front() {
            self.held_bytes = self.held_bytes.saturating_sub(bytes_of(&oldest.row));
            rows.push(&oldest.row);
        }
    }
}

fn bytes_of(row: &TransactionRow) -> u64 {
    TransactionsTable::bytes_of(row) as u64
}
