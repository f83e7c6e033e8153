//! The row of a transaction in the transactions table.

use trace_model::rows::{Framing as FramingWord, TransactionRow};

use crate::http::{Framing, Message, Transaction};

/// Transaction `index` of `flow`; its last ACK is filled in when it comes.
#[must_use]
pub fn transaction_row(flow: u32, index: u32, transaction: &Transaction) -> TransactionRow {
    let (request, response) = (transaction.request.as_deref(), transaction.response.as_deref());
    let text = |value: &Option<Box<str>>| value.as_deref().map(str::to_owned);
    let either = request.or(response);
    TransactionRow {
        flow,
        index,
        method: request.and_then(|it| text(&it.method)),
        target: request.and_then(|it| text(&it.target)),
        host: request.and_then(|it| text(&it.fields.host)),
        version: either.map(|it| format!("HTTP/1.{}", it.minor_version)),
        status: response.and_then(|it| it.status),
        request_frame: request.map(|it| it.first.frame),
        request_last_frame: request.map(|it| it.last.frame),
        response_first_frame: response.map(|it| it.first.frame),
        response_last_frame: response.map(|it| it.last.frame),
        request_time: request.map(|it| it.first.time_ns),
        request_last_time: request.map(|it| it.last.time_ns),
        response_first_time: response.map(|it| it.first.time_ns),
        response_last_time: response.map(|it| it.last.time_ns),
        last_ack_frame: None,
        last_ack_time: None,
        request_header_bytes: request.map(|it| it.header_bytes),
        request_body_bytes: request.map(|it| it.body_bytes),
        response_header_bytes: response.map(|it| it.header_bytes),
        response_body_bytes: response.map(|it| it.body_bytes),
        response_wire_bytes: response.map(|it| it.header_bytes.saturating_add(it.body_wire_bytes)),
        response_framing: response.map(|it| framing_word(it.framing)),
        content_type: response.and_then(|it| text(&it.fields.content_type)),
        content_encoding: response.and_then(|it| text(&it.fields.content_encoding)),
        server_software: response.and_then(|it| text(&it.fields.server)),
        interim_responses: transaction.interim.map_or(0, |interim| interim.count),
        reused_connection: index > 0,
        pipelined: transaction.pipelined,
        missing_bytes: missing(request).saturating_add(missing(response)),
        complete: transaction.is_complete(),
    }
}

fn missing(message: Option<&Message>) -> u64 {
    message.map_or(0, |it| it.missing_bytes)
}

fn framing_word(framing: Framing) -> FramingWord {
    match framing {
        Framing::NoBody => FramingWord::None,
        Framing::ContentLength(_) => FramingWord::ContentLength,
        Framing::Chunked => FramingWord::Chunked,
        Framing::UntilClose => FramingWord::UntilClose,
        Framing::Tunnel => FramingWord::Tunnel,
        Framing::Unknown => FramingWord::Unknown,
    }
}
