//! Resumption of the pairing after a loss.

use super::evidence::{is_order_certain, is_possible_answer, is_sent_when_idle};
use super::exchange::{RequestFacts, ResponseFacts};
use super::framing::MethodKind;
use super::message::Interim;
use super::pairing::Pairing;
use super::slot::{Lost, Slot};
use super::Output;

/// Number of alternations of one request and one response that restores the order. A single alternation also
/// occurs with a client that pipelines two requests.
const ALTERNATIONS_TO_RESUME: u32 = 3;

impl Pairing {
    pub(super) fn response_after_loss(
        &mut self,
        facts: ResponseFacts,
        interim: Option<Interim>,
        client_next: u64,
        out: &mut Output,
    ) -> Option<MethodKind> {
        let at = self.slots.iter().position(|slot| {
            let waiting = slot.exchange().filter(|it| it.awaits_response());
            waiting
                .and_then(|it| it.request)
                .is_some_and(|request| is_sent_when_idle(&request, &facts))
        });
        let Some(at) = at else {
            self.alternations = 0;
            self.record_idle(false);
            self.await_request(facts, interim, client_next, out);
            return None;
        };
        let request = self.exchange_at(at)?.request?;
        self.record_idle(true);
        if self.may_resume(at, &request, &facts) {
            self.give_up_before(at, out);
            self.alternations = 0;
            let exchange = self.exchange_at(0)?;
            exchange.response = Some(facts);
            exchange.interim = interim;
            exchange.paired_after_loss = true;
            return Some(request.kind);
        }
        self.alternations = self.alternations.saturating_add(1);
        self.give_up_before(at.saturating_add(1), out);
        self.slots.push_front(Slot::Lost(Lost::Order));
        None
    }

    /// Return true if the response certainly answers the request in slot `at`. The client sent that request
    /// after everything before the response had arrived.
    fn may_resume(&self, at: usize, request: &RequestFacts, response: &ResponseFacts) -> bool {
        if self.pipelining_seen {
            return false;
        }
        let before = self
            .slots
            .iter()
            .take(at)
            .filter(|slot| !slot.awaits_request());
        let shortest = self.shortest_request.unwrap_or_default();
        let is_clear = is_order_certain(before.clone(), request, response, shortest)
            || (self.idle_exchanges >= ALTERNATIONS_TO_RESUME
                && before.clone().all(Slot::is_loss_within));
        is_clear || self.alternations.saturating_add(1) >= ALTERNATIONS_TO_RESUME
    }

    /// Assign a waiting response to the request that it answers, and hand out waiting responses that answer
    /// none.
    pub(super) fn answer_waiting_for(
        &mut self,
        request: &RequestFacts,
        pipelined: bool,
        out: &mut Output,
    ) -> Option<u64> {
        while let Some(at) = self.slots.iter().position(Slot::awaits_request) {
            let response = self.exchange_at(at)?.response?;
            if !is_possible_answer(request, &response) {
                // The response does not answer a later request either.
                self.hand_out(at, out);
                continue;
            }
            if self.slots.iter().take(at).any(Slot::is_lost) {
                break;
            }
            let exchange = self.exchange_at(at)?;
            exchange.request = Some(*request);
            exchange.pipelined = pipelined;
            return Some(response.start);
        }
        // The last response sent before the request. Earlier ones answer earlier requests.
        let at = self.slots.iter().rposition(|slot| {
            let waiting = slot.exchange().filter(|it| it.awaits_request());
            waiting
                .and_then(|it| it.response)
                .is_some_and(|response| is_sent_when_idle(request, &response))
        })?;
        let response = self.exchange_at(at)?.response?;
        if !self.may_resume(self.slots.len(), request, &response) {
            return None;
        }
        // Requests in later slots came before this one and were not answered by the bytes after it.
        let later: Vec<Slot> = self.slots.drain(at.saturating_add(1)..).collect();
        let found = self.slots.pop_back();
        self.give_up_before(self.slots.len(), out);
        let (waiting, earlier) = later
            .into_iter()
            .partition::<Vec<_>, _>(Slot::awaits_request);
        for slot in earlier {
            self.give_up(slot, out);
        }
        self.alternations = 0;
        self.slots.extend(found.into_iter().chain(waiting));
        let exchange = self.exchange_at(0)?;
        exchange.request = Some(*request);
        exchange.pipelined = pipelined;
        exchange.paired_after_loss = true;
        Some(response.start)
    }
}
