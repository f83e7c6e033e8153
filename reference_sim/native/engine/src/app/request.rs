//! The known fields of a request before its write, from a browser or a proxy.

use super::http_text::{request_target, ConnectionField};
use crate::scenario::{Fetch, HttpVersion, Page};
use crate::stack::Nanoseconds;
use crate::truth::TransactionRow;

/// Return the Connection field of a request. HTTP/1.0 closes and HTTP/1.1 persists without the field.
pub(super) fn connection_field(version: HttpVersion, is_last: bool) -> ConnectionField {
    match (version, is_last) {
        (HttpVersion::Http10, true) => ConnectionField::Absent,
        (_, false) => ConnectionField::KeepAlive,
        (HttpVersion::Http11, true) => ConnectionField::Close,
    }
}

/// Return the known fields of a transaction before its request is written, with its browser, visit and fetch.
pub(super) fn transaction(
    (browser, visit, number): (u32, u32, u32),
    page: &Page,
    fetch: &Fetch,
    wanted: Nanoseconds,
    to_proxy: bool,
) -> TransactionRow {
    let first = fetch.objects.first();
    let object = first.and_then(|object| page.objects.get(*object as usize));
    TransactionRow {
        connection: 0,
        index: 0,
        browser,
        visit,
        fetch: number,
        method: fetch.method.clone(),
        target: object.map_or_else(String::new, |object| request_target(page, object, to_proxy)),
        status: object.map_or(0, |object| object.status),
        request_bytes: 0,
        response_head_bytes: 0,
        response_body_bytes: 0,
        request_offset: 0,
        response_offset: None,
        wanted,
        written: 0,
        request_first_sent: None,
        request_received: None,
        response_written: None,
        response_first_received: None,
        response_last_received: None,
    }
}
