//! Rows of the judgement over all flows, with the columns of a single exchange.

use trace_model::rows::{BodyRow, ExpectationRow, RedirectRow, TransactionRow};

use super::url::Url;
use crate::exchange::{Details, Exchange};

/// Shortest time between head and body that counts as a wait: programs write both in sequence.
const CONTINUE_WAIT_MIN_NS: i64 = 1_000_000;

/// Redirect that a request may follow.
#[derive(Debug)]
pub(super) struct Redirect {
    pub(super) row: RedirectRow,
    pub(super) response_first_ns: i64,
}

/// Return the columns of a single body.
pub(super) fn body(exchange: &Exchange, url: &Url, details: &Details) -> Option<BodyRow> {
    let row = &details.row;
    Some(BodyRow {
        flow: exchange.flow,
        transaction: exchange.transaction,
        client: exchange.client.text(),
        host: url.host.clone(),
        target: url.target.clone(),
        request_frame: exchange.request_frame,
        response_last_frame: row.response_last_frame?,
        request_time: exchange.request_time,
        response_first_time: row.response_first_time?,
        response_last_time: row.response_last_time?,
        response_header_bytes: row.response_header_bytes?,
        body_bytes: row.response_body_bytes?,
        content_type: row.content_type.clone(),
        content_encoding: row.content_encoding.clone(),
        accept_encoding: row.accept_encoding.clone(),
        is_conditional: row.is_conditional,
        body_digest: row.body_digest?,
        rtt: details.rtt_ns,
        segment_bytes: details.segment_bytes,
        transfer: transfer_ns(row, details)?,
        ..BodyRow::default()
    })
}

/// Return the transfer time of a response; a pause counts at most one and a half round trips.
fn transfer_ns(row: &TransactionRow, details: &Details) -> Option<i64> {
    let took = row
        .response_last_time?
        .saturating_sub(row.response_first_time?);
    let rtt = details.rtt_ns.unwrap_or(0);
    let of_pace = rtt.saturating_add(rtt / 2);
    let beyond = details.noted.pauses_ns.iter();
    let beyond = beyond.map(|pause| pause.saturating_sub(of_pace).max(0));
    Some(
        took.saturating_sub(beyond.fold(0, i64::saturating_add))
            .max(0),
    )
}

pub(super) fn redirect(
    exchange: &Exchange,
    url: &Url,
    row: &TransactionRow,
    followed: Option<(u32, u32)>,
) -> Option<Redirect> {
    let (first_flow, first_transaction) = followed.unwrap_or((exchange.flow, exchange.transaction));
    Some(Redirect {
        response_first_ns: row.response_first_time?,
        row: RedirectRow {
            flow: exchange.flow,
            transaction: exchange.transaction,
            client: exchange.client.text(),
            method: row.method.clone()?,
            status: row.status?,
            host: url.host.clone(),
            target: url.target.clone(),
            request_frame: exchange.request_frame,
            opened_time: exchange.opened_ns,
            request_time: exchange.request_time,
            response_last_time: row.response_last_time?,
            first_flow,
            first_transaction,
            ..RedirectRow::default()
        },
    })
}

/// Return the row of a request whose body followed its head late.
pub(super) fn expectation(
    exchange: &Exchange,
    url: &Url,
    details: &Details,
) -> Option<ExpectationRow> {
    let (row, noted) = (&details.row, &details.noted);
    let (head, body) = (noted.head_last?, noted.body_first?);
    if body.time_ns.saturating_sub(head.time_ns) < CONTINUE_WAIT_MIN_NS {
        return None;
    }
    Some(ExpectationRow {
        flow: exchange.flow,
        transaction: exchange.transaction,
        client: exchange.client.text(),
        host: url.host.clone(),
        target: url.target.clone(),
        method: row.method.clone()?,
        status: row.status,
        head_frame: head.frame,
        head_time: head.time_ns,
        body_frame: body.frame,
        body_time: body.time_ns,
        body_bytes: row.request_body_bytes?,
        continue_frame: noted.continue_first.map(|it| it.frame),
        continue_time: noted.continue_first.map(|it| it.time_ns),
        final_time: row.response_first_time,
        end_time: row.response_last_time,
        rtt: details.rtt_ns,
        server_path_rtt: details.server_path_rtt_ns,
    })
}
