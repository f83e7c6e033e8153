//! Hand-out from the queue: finished exchanges, and exchanges that no message can complete.

use super::{Pairing, Slot};
use crate::exchange::Exchange;
use crate::slot::Lost;
use crate::Output;

impl Pairing {
    /// Hand out all exchanges, because no message can follow.
    pub(crate) fn hand_out_all(&mut self, out: &mut Output) {
        self.give_up_before(self.slots.len(), out);
    }

    /// Hand out all exchanges except the one being answered, to free memory. Responses to the others can
    /// follow.
    pub(crate) fn hand_out_and_lose_order(&mut self, out: &mut Output) {
        let mut has_lost = false;
        for slot in std::mem::take(&mut self.slots) {
            let is_answered_now = slot
                .exchange()
                .is_some_and(|it| it.response.is_some() && it.response_message.is_none());
            if is_answered_now {
                self.slots.push_back(slot);
            } else {
                has_lost = true;
                self.give_up(slot, out);
            }
        }
        if has_lost {
            self.slots.push_back(Slot::Lost(Lost::Order));
        }
    }

    pub(crate) fn hand_out(&mut self, at: usize, out: &mut Output) {
        if let Some(slot) = self.slots.remove(at) {
            self.give_up(slot, out);
        }
    }

    pub(crate) fn give_up_before(&mut self, at: usize, out: &mut Output) {
        for _ in 0..at {
            if let Some(slot) = self.slots.pop_front() {
                self.give_up(slot, out);
            }
        }
    }

    pub(crate) fn give_up(&mut self, slot: Slot, out: &mut Output) {
        if let Slot::Exchange(exchange) = slot {
            self.message_bytes = self.message_bytes.saturating_sub(exchange.message_bytes());
            self.emit(*exchange, out);
        }
    }

    /// Hand out finished exchanges from the front.
    pub(super) fn flush(&mut self, out: &mut Output) {
        while let Some(front) = self.slots.front() {
            let is_lost = front.is_lost();
            // Nothing is paired after a permanent marker.
            let stays = is_lost && self.pipelining_seen && !self.server_ended;
            let at = usize::from(stays);
            let is_due = match self.slots.get(at) {
                None => false,
                Some(Slot::Lost(_)) => stays || self.server_ended,
                Some(Slot::Exchange(exchange)) => {
                    exchange.is_finished(self.client_ended || stays, self.server_ended || stays)
                }
            };
            if !is_due {
                break;
            }
            self.hand_out(at, out);
        }
    }

    pub(super) fn emit(&mut self, exchange: Exchange, out: &mut Output) {
        if let Some(transaction) = exchange.into_transaction(self.next_index) {
            self.next_index = self.next_index.saturating_add(1);
            out.transactions.push(transaction);
        }
    }
}
