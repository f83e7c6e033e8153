//! The pairing of responses with requests.
//!
//! Theory of operation. Responses come in the order of their requests (RFC 9112, section 9.3), so a queue is
//! enough while every message is seen. A marker in the queue shows where messages can be lost. Before the
//! marker, pairing by order holds. After the marker, counting proves nothing, because the number of lost
//! messages is unknown. The order resumes at a request that the client sent after it had received all server
//! bytes. Two conditions apply: the client never pipelined, and one of two further proofs exists. The first
//! proof is a lost part too small for another message. The second proof is a repeated alternation of requests
//! and responses. Until then, requests and responses are output unpaired.

mod hand_out;

use std::collections::VecDeque;

use trace_model::AnomalyKind;

use super::evidence::{is_pipelined, is_possible_answer, is_sent_when_idle};
use super::exchange::{Exchange, PriorResponse, RequestFacts, ResponseFacts};
use super::framing::MethodKind;
use super::message::{Interim, Message};
use super::slot::{Lost, Slot};
use super::{Mark, Output};

/// Maximum number of kept exchanges. Pipelining clients send tens of requests ahead, load generators send
/// hundreds.
const OUTSTANDING_MAX: usize = 1024;

/// Maximum number of responses that wait for a request which is acknowledged and not delivered. The same
/// limit holds for requests that wait for such responses. A larger number means a capture of one direction.
const ONE_SIDED_MAX: usize = 16;

#[derive(Debug, Default)]
pub(super) struct Pairing {
    pub(super) slots: VecDeque<Slot>,
    next_index: u64,
    pub(super) pipelining_seen: bool,
    /// Alternations since the order was lost.
    pub(super) alternations: u32,
    /// Consecutive requests sent with no response outstanding, with no loss between them that could hold
    /// another request.
    pub(super) idle_exchanges: u32,
    pub(super) shortest_request: Option<u64>,
    /// Number of server bytes that the client had received at its latest request.
    last_seen: u64,
    /// The final response under delivery, with its preceding interim responses.
    current: Option<(ResponseFacts, Option<Interim>)>,
    prior: Option<PriorResponse>,
    /// End of the latest response that answers a seen request.
    answered_to: u64,
    client_ended: bool,
    server_ended: bool,
    limit_reported: bool,
    /// Memory of the finished messages in `slots`.
    message_bytes: u64,
}

impl Pairing {
    /// Take a request with a complete head. Return the start of the response that waited for it.
    ///
    /// `server_next` is the number of delivered server bytes.
    pub(super) fn request(
        &mut self,
        facts: RequestFacts,
        server_next: u64,
        out: &mut Output,
    ) -> Option<u64> {
        let length = facts.head_end.saturating_sub(facts.start);
        self.shortest_request = Some(self.shortest_request.map_or(length, |it| it.min(length)));
        for slot in &mut self.slots {
            if let Slot::Lost(Lost::Requests {
                end: end @ None, ..
            }) = slot
            {
                *end = Some(facts.start);
            }
        }
        self.slots.retain(|slot| !slot.is_too_short_for_request());
        let pipelined =
            facts.seen < self.answered_to || is_pipelined(&facts, self.slots.iter(), server_next);
        self.pipelining_seen |= pipelined;
        self.last_seen = facts.seen;
        if let Some(answer) = self.answer_waiting_for(&facts, pipelined, out) {
            return Some(answer);
        }
        let is_doubtful = !self.is_in_step();
        let exchange = Exchange {
            request: Some(facts),
            pipelined,
            is_doubtful,
            ..Exchange::default()
        };
        self.slots.push_back(Slot::Exchange(Box::new(exchange)));
        self.bound(&facts, server_next, out);
        None
    }

    /// Take a final response with a complete head. Return the method of its request, if known.
    ///
    /// `client_next` is the number of delivered client bytes.
    pub(super) fn response(
        &mut self,
        mut facts: ResponseFacts,
        interim: Option<Interim>,
        client_next: u64,
        out: &mut Output,
    ) -> Option<MethodKind> {
        facts.prior = self.prior;
        self.current = Some((facts, interim));
        let Some(first) = self.slots.iter().position(Slot::is_unanswered_or_lost) else {
            self.await_request(facts, interim, client_next, out);
            return None;
        };
        let Some(Slot::Exchange(exchange)) = self.slots.get_mut(first) else {
            return self.response_after_loss(facts, interim, client_next, out);
        };
        let request = exchange.request?;
        // In step, all earlier requests have responses. The response can then answer a head of which the
        // server had only a part.
        let had_part = facts.acked.is_some_and(|acked| acked > request.start);
        if had_part || is_possible_answer(&request, &facts) {
            exchange.response = Some(facts);
            exchange.interim = interim;
            self.record_idle(is_sent_when_idle(&request, &facts));
            return Some(request.kind);
        }
        None
    }

    pub(super) fn request_finished(&mut self, message: Box<Message>, out: &mut Output) {
        let start = message.start;
        let exchange = self.exchanges_mut().rev().find(|exchange| {
            exchange
                .request
                .is_some_and(|request| request.start == start)
        });
        match exchange {
            Some(exchange) => {
                let bytes = message.held_bytes();
                exchange.request_message = Some(message);
                self.message_bytes = self.message_bytes.saturating_add(bytes);
            }
            None => {
                let alone = Exchange {
                    request_message: Some(message),
                    ..Exchange::default()
                };
                self.emit(alone, out);
            }
        }
        self.flush(out);
    }

    pub(super) fn response_finished(&mut self, message: Box<Message>, out: &mut Output) {
        let start = message.start;
        let (acked, interim) = match self.current.take() {
            Some((facts, interim)) => (facts.acked, interim),
            None => (None, None),
        };
        let end = message.end;
        let exchange = self.exchanges_mut().find(|exchange| {
            exchange
                .response
                .is_some_and(|response| response.start == start)
        });
        let is_paired = exchange
            .as_ref()
            .is_some_and(|exchange| exchange.request.is_some());
        match exchange {
            Some(exchange) => {
                let bytes = message.held_bytes();
                exchange.response_message = Some(message);
                self.message_bytes = self.message_bytes.saturating_add(bytes);
            }
            None => {
                let alone = Exchange {
                    response_message: Some(message),
                    interim,
                    ..Exchange::default()
                };
                self.emit(alone, out);
            }
        }
        self.prior = Some(PriorResponse {
            end,
            acked,
            is_paired,
        });
        if is_paired {
            self.answered_to = end;
        }
        self.flush(out);
    }

    /// Mark a loss of requests from `start`. With `is_within`, the lost bytes can also belong to the previous
    /// request.
    pub(super) fn lost_requests(&mut self, start: u64, is_within: bool, out: &mut Output) {
        if !is_within {
            self.idle_exchanges = 0;
        }
        if !is_within || self.is_in_step() {
            self.alternations = 0;
        }
        let at = self
            .slots
            .iter()
            .position(Slot::awaits_request)
            .unwrap_or(self.slots.len());
        let is_known = at.checked_sub(1).and_then(|before| self.slots.get(before));
        if !is_known.is_some_and(Slot::is_open_loss_of_requests) {
            // A response sent before the server had any of the lost bytes answers none of them.
            let answered = self
                .prior
                .filter(|prior| prior.acked.is_some_and(|acked| acked <= start));
            let seen = answered.map_or(self.last_seen, |prior| prior.end.max(self.last_seen));
            self.slots.insert(
                at,
                Slot::Lost(Lost::Requests {
                    start,
                    end: None,
                    seen,
                    is_within,
                }),
            );
        }
        self.flush(out);
    }

    /// Mark a loss of responses to unanswered requests. With `is_within`, the lost bytes can also belong to
    /// the previous response.
    pub(super) fn lost_responses(&mut self, is_within: bool, out: &mut Output) {
        if self.is_in_step() {
            self.alternations = 0;
        }
        let at = self
            .slots
            .iter()
            .position(Slot::is_unanswered_or_lost)
            .unwrap_or(self.slots.len());
        if !matches!(
            self.slots.get(at),
            Some(Slot::Lost(Lost::Responses { .. } | Lost::Order))
        ) {
            self.slots
                .insert(at, Slot::Lost(Lost::Responses { is_within }));
        }
        self.flush(out);
    }

    /// Return true if a request for a tunnel or another protocol waits for its response.
    pub(super) fn awaits_tunnel(&self) -> bool {
        self.slots
            .iter()
            .filter_map(Slot::exchange)
            .any(|exchange| {
                exchange.awaits_response()
                    && exchange.request.is_some_and(|request| request.wants_tunnel)
            })
    }

    pub(super) fn client_ended(&mut self, out: &mut Output) {
        self.client_ended = true;
        self.flush(out);
    }

    /// End the server direction. `interim` has the interim responses without a final one.
    pub(super) fn server_ended(&mut self, interim: Option<Interim>, out: &mut Output) {
        if let Some(Slot::Exchange(exchange)) =
            self.slots.iter_mut().find(|it| it.is_unanswered_or_lost())
        {
            exchange.interim = interim;
        }
        self.server_ended = true;
        self.flush(out);
    }

    /// Return the start offsets of the oldest request and the oldest response that are not yet output.
    pub(super) fn oldest(&self) -> (Option<u64>, Option<u64>) {
        let held = || self.slots.iter().filter_map(Slot::exchange);
        let current = self.current.map(|(facts, _)| facts.sequence_start);
        let requests = held().filter_map(|it| it.request).map(|it| it.start);
        let responses = held().filter_map(|it| it.response);
        let responses = responses.map(|it| it.sequence_start).chain(current);
        (requests.min(), responses.min())
    }

    /// Return the memory of the queue.
    pub(super) fn held_bytes(&self) -> u64 {
        let slot = size_of::<Slot>().saturating_add(size_of::<Exchange>());
        let slots = self.slots.len().saturating_mul(slot) as u64;
        slots.saturating_add(self.message_bytes)
    }

    fn exchanges_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut Exchange> {
        self.slots.iter_mut().filter_map(Slot::exchange_mut)
    }

    pub(super) fn is_in_step(&self) -> bool {
        !self.slots.iter().any(Slot::is_lost)
    }

    pub(super) fn exchange_at(&mut self, at: usize) -> Option<&mut Exchange> {
        self.slots.get_mut(at)?.exchange_mut()
    }

    pub(super) fn record_idle(&mut self, is_quiet: bool) {
        self.idle_exchanges = if is_quiet {
            self.idle_exchanges.saturating_add(1)
        } else {
            0
        };
    }

    /// Keep a response whose segment acknowledged requests that are not delivered yet.
    pub(super) fn await_request(
        &mut self,
        facts: ResponseFacts,
        interim: Option<Interim>,
        client_next: u64,
        out: &mut Output,
    ) {
        if self.client_ended || self.pipelining_seen && !self.is_in_step() {
            return;
        }
        if facts.acked.is_none_or(|acked| acked <= client_next) {
            return;
        }
        let exchange = Exchange {
            response: Some(facts),
            interim,
            ..Exchange::default()
        };
        self.slots.push_back(Slot::Exchange(Box::new(exchange)));
        let waiting = self
            .slots
            .iter()
            .filter(|slot| slot.awaits_request())
            .count();
        if waiting > ONE_SIDED_MAX {
            if let Some(at) = self.slots.iter().position(Slot::awaits_request) {
                self.hand_out(at, out);
            }
        }
    }

    /// Keep the queue within its limit.
    fn bound(&mut self, facts: &RequestFacts, server_next: u64, out: &mut Output) {
        let is_one_sided =
            facts.seen > server_next && self.prior.is_none() && self.current.is_none();
        let limit = if is_one_sided {
            ONE_SIDED_MAX
        } else {
            OUTSTANDING_MAX
        };
        if self.slots.len() <= limit {
            return;
        }
        if !is_one_sided && !self.limit_reported {
            self.limit_reported = true;
            let detail = format!(
                "more than {limit} requests without a response; the earliest are left unpaired"
            );
            out.notice(AnomalyKind::LimitReached, facts.first, detail);
        }
        let Some(at) = self.slots.iter().position(Slot::is_unanswered_or_lost) else {
            return;
        };
        if self.slots.get(at).is_some_and(Slot::is_lost) {
            self.hand_out(at.saturating_add(1), out);
        } else {
            self.hand_out(at, out);
            self.slots.insert(at, Slot::Lost(Lost::Order));
        }
    }
}

/// Return the facts by which a response with this head is paired.
pub(super) fn response_facts(
    start: u64,
    interim: Option<Interim>,
    first: Mark,
    acked: Option<u64>,
) -> ResponseFacts {
    let sequence_start = interim.map_or(start, |interim| interim.start);
    ResponseFacts {
        start,
        sequence_start,
        first,
        acked,
        prior: None,
    }
}
