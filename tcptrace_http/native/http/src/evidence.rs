//! Evidence that two messages belong together, and evidence that a client pipelines.

use super::exchange::{RequestFacts, ResponseFacts};
use super::slot::{Lost, Slot};

/// Return true if the response can answer the request.
///
/// A server has the request's head before it responds, so every segment of the response acknowledges that
/// head. Without acknowledgments, the order of the packets decides.
pub(super) fn is_possible_answer(request: &RequestFacts, response: &ResponseFacts) -> bool {
    match response.acked {
        Some(acked) => acked >= request.head_end,
        None => response.first.frame >= request.first.frame,
    }
}

/// Return true if the client had received everything before the response when it sent the request.
pub(super) fn is_sent_when_idle(request: &RequestFacts, response: &ResponseFacts) -> bool {
    request.seen >= response.sequence_start && is_possible_answer(request, response)
}

/// Return true if the client sent this request while a request in `slots` was unanswered.
///
/// `server_next` is the number of delivered server bytes. A client that acknowledged more can have received a
/// response that is not delivered yet.
pub(super) fn is_pipelined<'a>(
    request: &RequestFacts,
    slots: impl Iterator<Item = &'a Slot>,
    server_next: u64,
) -> bool {
    let mut is_in_step = true;
    let mut is_outstanding = false;
    for slot in slots {
        // A client that received nothing between two requests had no response to the first.
        let seen = match slot {
            Slot::Lost(Lost::Requests { seen, .. }) => {
                is_in_step = false;
                *seen
            }
            Slot::Lost(Lost::Responses { .. } | Lost::Order) => {
                is_in_step = false;
                continue;
            }
            Slot::Exchange(exchange) => match exchange.request {
                Some(earlier) if exchange.response_message.is_none() => {
                    is_outstanding = true;
                    earlier.seen
                }
                Some(_) | None => continue,
            },
        };
        if request.seen <= seen {
            return true;
        }
    }
    is_in_step && is_outstanding && request.seen <= server_next
}

/// Return true if the response certainly answers a request that was sent with no response outstanding. The
/// evidence is the queue before the request, and the shortest request of the flow. At most as many requests,
/// seen or lost, were sent before it as responses came.
pub(super) fn is_order_certain<'a>(
    before: impl Iterator<Item = &'a Slot>,
    request: &RequestFacts,
    response: &ResponseFacts,
    shortest_request: u64,
) -> bool {
    let mut lost_requests: Option<u64> = None;
    let (mut unanswered, mut lost_responses) = (0_u64, 0_u64);
    for slot in before {
        match slot {
            Slot::Lost(Lost::Requests {
                start,
                end,
                is_within,
                ..
            }) => {
                let lost = end.unwrap_or(request.start).saturating_sub(*start);
                let most = lost.checked_div(shortest_request).unwrap_or(u64::MAX);
                if *is_within && most > 0 {
                    return false;
                }
                lost_requests = Some(lost_requests.unwrap_or(0).saturating_add(most));
            }
            Slot::Lost(Lost::Responses { is_within }) => {
                lost_responses = lost_responses.saturating_add(u64::from(!is_within));
            }
            Slot::Lost(Lost::Order) => return false,
            Slot::Exchange(exchange) if exchange.is_doubtful => return false,
            Slot::Exchange(exchange) => {
                let is_unanswered = exchange.awaits_response();
                unanswered = unanswered.saturating_add(u64::from(is_unanswered));
            }
        }
    }
    let Some(lost_requests) = lost_requests else {
        // No request was lost and none was pipelined, so this request followed the response to the previous
        // one.
        return unanswered <= 1;
    };
    // A response that answers no seen request, sent when the server had all bytes before this request.
    let answers_lost = response.prior.is_some_and(|prior| {
        prior.end == response.sequence_start
            && !prior.is_paired
            && prior.acked.is_some_and(|acked| acked >= request.start)
    });
    let answered = lost_responses.saturating_add(u64::from(answers_lost));
    unanswered.saturating_add(lost_requests) <= answered
}
