//! Earlier 200 responses, for comparison with later ones.

use trace_model::rows::{BodyRow, TransactionRow};

/// Earlier 200 response.
#[derive(Debug)]
pub(super) struct EarlierResponse {
    flow: u32,
    transaction: u32,
    frame: u64,
    pub(super) time_ns: i64,
    pub(super) digest: u64,
    body_bytes: u64,
    has_validator: bool,
    no_store: bool,
    /// Key of the URL, and its text.
    pub(super) url: u64,
    shown: String,
}

/// Earlier responses of one URL.
///
/// If a client requests the URL on several connections at once, the latest response is incomplete at the next
/// request. An earlier response is complete.
#[derive(Debug)]
pub(super) struct UrlHistory {
    latest: EarlierResponse,
    /// Response that was complete before a later request was sent.
    settled: Option<Box<EarlierResponse>>,
    /// Response that becomes `settled` with the first request after its completion.
    next: Option<Box<EarlierResponse>>,
}

impl UrlHistory {
    pub(super) fn new(first: EarlierResponse) -> UrlHistory {
        UrlHistory {
            latest: first,
            settled: None,
            next: None,
        }
    }

    /// Return a late response that was complete at this time, and whether it is the latest.
    pub(super) fn before(&mut self, time_ns: i64) -> Option<(&EarlierResponse, bool)> {
        if self.latest.time_ns <= time_ns {
            return Some((&self.latest, true));
        }
        if let Some(next) = self.next.take_if(|it| it.time_ns <= time_ns) {
            self.settled = Some(next);
        }
        let settled = self.settled.as_deref();
        settled
            .filter(|it| it.time_ns <= time_ns)
            .map(|it| (it, false))
    }

    /// Add a response of this URL, whose request was sent at `request_time`.
    pub(super) fn push(&mut self, seen: EarlierResponse, request_time: i64) {
        let before = Box::new(std::mem::replace(&mut self.latest, seen));
        if before.time_ns <= request_time {
            self.settled = Some(before);
            self.next = None;
        } else if self.next.is_none() {
            self.next = Some(before);
        }
    }
}

impl EarlierResponse {
    pub(super) fn of(
        row: &TransactionRow,
        body: &BodyRow,
        url: u64,
        shown: String,
    ) -> EarlierResponse {
        EarlierResponse {
            flow: body.flow,
            transaction: body.transaction,
            frame: body.response_last_frame,
            time_ns: body.response_last_time,
            digest: body.body_digest,
            body_bytes: body.body_bytes,
            has_validator: row.etag.is_some() || row.last_modified.is_some(),
            no_store: row.cache_control.as_deref().is_some_and(has_no_store),
            url,
            shown,
        }
    }

    pub(super) fn fill_previous(&self, row: &mut BodyRow) {
        row.previous_flow = Some(self.flow);
        row.previous_transaction = Some(self.transaction);
        row.previous_frame = Some(self.frame);
        row.previous_time = Some(self.time_ns);
        row.previous_has_validator = Some(self.has_validator);
        row.previous_no_store = Some(self.no_store);
        row.is_unchanged =
            Some(self.digest == row.body_digest && self.body_bytes == row.body_bytes);
    }

    pub(super) fn fill_twin(&self, row: &mut BodyRow) {
        row.twin_flow = Some(self.flow);
        row.twin_transaction = Some(self.transaction);
        row.twin_frame = Some(self.frame);
        row.twin_url = Some(self.shown.clone());
    }
}

/// Return whether Cache-Control has `no-store` (RFC 9111, section 5.2.2.5).
fn has_no_store(cache_control: &str) -> bool {
    let mut directives = cache_control.split(',');
    directives.any(|it| it.trim().eq_ignore_ascii_case("no-store"))
}
