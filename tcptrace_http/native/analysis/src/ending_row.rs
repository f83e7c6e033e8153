//! Row of a flow in the endings table: the way in which the server failed its client.

use trace_model::rows::{Ending, EndingRow};
use trace_model::Mark;

use crate::flow::{Close, FailedTransaction, Flow};

/// Return the row of `flow` if the server failed its client; a capture that ends early is no failure.
#[must_use]
pub fn ending_row(flow: &Flow) -> Option<EndingRow> {
    match flow.usage.failed_transaction.as_deref() {
        Some(failed_transaction) => failed_row(flow, failed_transaction),
        None => refused_row(flow).or_else(|| unconnected_row(flow)),
    }
}

/// Return the row of a connection with several SYNs and no handshake.
fn unconnected_row(flow: &Flow) -> Option<EndingRow> {
    let handshake = flow.setup.handshake();
    let (begun, resent) = (handshake.begun?, handshake.resent?);
    let is_silent = flow.client_half().unique_bytes == 0 && flow.server_half().unique_bytes == 0;
    let mark = Mark {
        frame: resent.frame,
        time_ns: resent.time_ns,
    };
    let last = Close {
        mark,
        by_client: false,
        is_reset: false,
        client_acked: 0,
    };
    let is_unconnected = handshake.done.is_none() && is_silent && flow.closing.first.is_none();
    is_unconnected.then(|| EndingRow {
        kind: Ending::Unconnected,
        first_frame: begun.frame,
        start: begun.time_ns,
        ..row(flow, last)
    })
}

fn refused_row(flow: &Flow) -> Option<EndingRow> {
    let reset = flow
        .closing
        .first
        .filter(|it| it.is_reset && !it.by_client)?;
    let is_refused = flow.client_half().has_syn
        && !flow.server_half().has_syn
        && flow.server_half().unique_bytes == 0
        && flow.client_half().unique_bytes == 0;
    is_refused.then(|| EndingRow {
        kind: Ending::Refused,
        first_frame: flow.begun.frame,
        start: flow.begun.time_ns,
        ..row(flow, reset)
    })
}

fn failed_row(flow: &Flow, failed_transaction: &FailedTransaction) -> Option<EndingRow> {
    let closing = flow.closing;
    let (kind, close) = match failed_transaction.response {
        None => (Ending::Unanswered, closing.server?),
        Some(_) => {
            let server_fin = closing.server.filter(|it| !it.is_reset);
            match (server_fin, closing.reset) {
                (Some(fin), Some(reset)) if reset.mark.frame < fin.mark.frame => {
                    (Ending::ResetInResponse, reset)
                }
                // Bytes beyond the missing end show malformed framing, not a truncated response.
                (Some(_), _) if has_more_data(flow, failed_transaction) => return None,
                (Some(fin), _) => (Ending::TruncatedResponse, fin),
                (None, reset) => (Ending::ResetInResponse, reset?),
            }
        }
    };
    let (request, response) = (
        failed_transaction.request.as_deref(),
        failed_transaction.response.as_deref(),
    );
    let first = request.or(response)?.first;
    let before_ns = failed_transaction.response_before_ns;
    Some(EndingRow {
        kind,
        transaction: failed_transaction.index,
        method: request
            .and_then(|it| it.method.as_deref())
            .map(String::from),
        target: request
            .and_then(|it| it.target.as_deref())
            .map(String::from),
        first_frame: first.frame,
        start: first.time_ns,
        response_first_frame: response.map(|it| it.first.frame),
        request_acknowledged: request.is_some_and(|it| close.client_acked > it.start),
        pipelined: failed_transaction.pipelined,
        idle: before_ns.map(|before| first.time_ns.saturating_sub(before)),
        body_bytes: response.map(|it| it.body.bytes),
        announced_bytes: response.and_then(|it| it.body.content_length),
        ..row(flow, close)
    })
}

/// Return whether the server sent more than the known part of the incomplete response.
fn has_more_data(flow: &Flow, failed_transaction: &FailedTransaction) -> bool {
    let known = failed_transaction.response.as_deref().map(|it| it.end);
    known.is_some_and(|end| end < flow.server_half().unique_bytes)
}

/// Return the columns common to all kinds.
fn row(flow: &Flow, close: Close) -> EndingRow {
    EndingRow {
        flow: flow.id.number,
        close_frame: close.mark.frame,
        close_time: close.mark.time_ns,
        reset_frame: flow.closing.reset.map(|it| it.mark.frame),
        by_client: close.by_client,
        answered: flow.usage.answered,
        unanswered: flow.usage.unanswered,
        ..EndingRow::default()
    }
}
