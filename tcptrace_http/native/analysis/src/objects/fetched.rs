//! Earlier 200 responses, with which later ones are compared.

use trace_model::rows::{BodyRow, TransactionRow};

/// An earlier 200 response.
#[derive(Debug)]
pub(super) struct Seen {
    flow: u32,
    transaction: u32,
    frame: u64,
    pub(super) time_ns: i64,
    pub(super) digest: u64,
    body_bytes: u64,
    has_validator: bool,
    no_store: bool,
    /// By which URL, and its text.
    pub(super) url: u64,
    shown: String,
}

/// What is remembered of the responses of one URL. Of a client that asks for it on several connections at
/// once, the latest response is not complete when the next request is sent, but one before it is.
#[derive(Debug)]
pub(super) struct Fetched {
    latest: Seen,
    /// One that was complete before a later request was sent.
    settled: Option<Box<Seen>>,
    /// One that becomes it with the next request that is sent after it was complete.
    next: Option<Box<Seen>>,
}

impl Fetched {
    pub(super) fn new(first: Seen) -> Fetched {
        Fetched {
            latest: first,
            settled: None,
            next: None,
        }
    }

    /// A late response that was complete at this time, and whether it is the latest of all.
    pub(super) fn before(&mut self, time_ns: i64) -> Option<(&Seen, bool)> {
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

    /// Another response of this URL, which was asked for at this time.
    pub(super) fn push(&mut self, seen: Seen, request_time: i64) {
        let before = Box::new(std::mem::replace(&mut self.latest, seen));
        if before.time_ns <= request_time {
            self.settled = Some(before);
            self.next = None;
        } else if self.next.is_none() {
            self.next = Some(before);
        }
    }
}

impl Seen {
    pub(super) fn of(row: &TransactionRow, body: &BodyRow, url: u64, shown: String) -> Seen {
        Seen {
            flow: body.flow,
            transaction: body.transaction,
            frame: body.response_last_frame,
            time_ns: body.response_last_time,
            digest: body.body_digest,
            body_bytes: body.body_bytes,
            has_validator: row.etag.is_some() || row.last_modified.is_some(),
            no_store: row.cache_control.as_deref().is_some_and(forbids_to_store),
            url,
            shown,
        }
    }

    pub(super) fn tell_as_previous(&self, row: &mut BodyRow) {
        row.previous_flow = Some(self.flow);
        row.previous_transaction = Some(self.transaction);
        row.previous_frame = Some(self.frame);
        row.previous_time = Some(self.time_ns);
        row.previous_has_validator = Some(self.has_validator);
        row.previous_no_store = Some(self.no_store);
        row.is_unchanged =
            Some(self.digest == row.body_digest && self.body_bytes == row.body_bytes);
    }

    pub(super) fn tell_as_twin(&self, row: &mut BodyRow) {
        row.twin_flow = Some(self.flow);
        row.twin_transaction = Some(self.transaction);
        row.twin_frame = Some(self.frame);
        row.twin_url = Some(self.shown.clone());
    }
}

/// Whether Cache-Control has `no-store` (RFC 9111, section 5.2.2.5).
fn forbids_to_store(cache_control: &str) -> bool {
    let mut directives = cache_control.split(',');
    directives.any(|it| it.trim().eq_ignore_ascii_case("no-store"))
}
