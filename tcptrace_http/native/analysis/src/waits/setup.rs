//! The handshake of a flow, as far as it was seen.

use trace_model::rows::Cause;

use super::partition::{Moment, Partition, SEEN};

/// The handshake as far as it was seen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Setup {
    /// The first SYN of the client.
    pub(super) begun: Option<Moment>,
    /// The last SYN or SYN-ACK that was sent again.
    pub(super) resent: Option<Moment>,
    has_syn_ack: bool,
    /// The client's ACK of the SYN-ACK.
    pub(super) done: Option<Moment>,
    /// How long after the SYN-ACK it came, and what payload it brought.
    answer: Option<(i64, u32)>,
    /// How long after that its first data came, which it had not brought, and how much.
    asked: Option<(i64, u32)>,
}

impl Setup {
    pub fn syn(&mut self, at: Moment, is_syn_ack: bool) {
        let is_again = if is_syn_ack {
            std::mem::replace(&mut self.has_syn_ack, true)
        } else {
            self.begun.is_some()
        };
        if is_again && self.done.is_none() {
            self.resent = Some(at);
        } else if !is_syn_ack {
            self.begun.get_or_insert(at);
        }
    }

    /// The client's ACK of the SYN-ACK, which came so long after that and brought so much payload.
    pub fn done(&mut self, at: Moment, answer: Option<(i64, u32)>) {
        if self.done.is_none() {
            self.done = Some(at);
            self.answer = answer;
        }
    }

    /// How long after the SYN-ACK its first ACK came, and what payload that brought.
    #[must_use]
    pub fn answer(&self) -> Option<(i64, u32)> {
        self.answer
    }

    /// The client's first data came.
    pub fn asked(&mut self, time_ns: i64, bytes: u32) {
        let was_bare = matches!(self.answer, Some((_, 0)));
        if let Some(done) = self.done.filter(|_| was_bare && self.asked.is_none()) {
            self.asked = Some((time_ns.saturating_sub(done.time_ns), bytes));
        }
    }

    /// How long after the first ACK of the SYN-ACK, which was bare, the client's first data came, and how much.
    #[must_use]
    pub fn first_data(&self) -> Option<(i64, u32)> {
        self.asked
    }

    pub fn begun(&self) -> Option<Moment> {
        self.begun
    }

    pub fn resent(&self) -> Option<Moment> {
        self.resent
    }

    pub fn done_at(&self) -> Option<Moment> {
        self.done
    }

    /// Whether a SYN or a SYN-ACK was sent again.
    #[must_use]
    pub fn was_resent(&self) -> bool {
        self.resent.is_some()
    }

    /// Its share of a transaction that opened the connection.
    pub(super) fn give(&self, partition: &mut Partition) {
        if let Some(resent) = self.resent {
            partition.until(resent, Cause::SetupSynRetransmission, SEEN);
        }
        if let Some(done) = self.done {
            partition.until(done, Cause::SetupHandshake, SEEN);
        }
    }
}
