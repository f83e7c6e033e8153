//! Transactions that are complete, but whose last byte the client has not acknowledged yet.

use std::collections::VecDeque;

use trace_model::rows::{TransactionRow, TransactionsTable};
use trace_model::Packet;

use crate::bounded::Rows;

/// Transactions whose last ACK is awaited; a client that acknowledges nothing must not cost memory.
const UNACKNOWLEDGED_MAX: usize = 1024;

#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) row: TransactionRow,
    /// Where its response lies in the server's stream.
    pub(super) response: Option<(u64, u64)>,
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

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Takes one more, and gives the oldest if there are too many.
    pub(super) fn push(
        &mut self,
        row: TransactionRow,
        response: Option<(u64, u64)>,
    ) -> Option<Waiting> {
        self.held_bytes = self.held_bytes.saturating_add(bytes_of(&row));
        self.queue.push_back(Waiting { row, response });
        if self.queue.len() > UNACKNOWLEDGED_MAX {
            self.pop()
        } else {
            None
        }
    }

    /// The next transaction whose last byte is acknowledged, now that `acked` bytes of the server are.
    pub(super) fn acknowledged(&mut self, packet: &Packet<'_>, acked: u64) -> Option<Waiting> {
        let front = self.queue.front_mut()?;
        match front.response {
            Some((_, end)) if end > acked => return None,
            Some(_) => {
                front.row.last_ack_frame = Some(packet.frame);
                front.row.last_ack_time = Some(packet.time_ns);
            }
            None => {}
        }
        self.pop()
    }

    /// Gives the memory back.
    pub(super) fn shrink(&mut self) {
        self.queue.shrink_to_fit();
    }

    pub(super) fn pop(&mut self) -> Option<Waiting> {
        let oldest = self.queue.pop_front()?;
        self.held_bytes = self.held_bytes.saturating_sub(bytes_of(&oldest.row));
        Some(oldest)
    }
}

fn bytes_of(row: &TransactionRow) -> u64 {
    TransactionsTable::bytes_of(row) as u64
}
