//! What the clients asked for, over all flows: URLs and bodies fetched again, redirects that were
//! followed, bodies that a coder would have made smaller, and waits for 100 (Continue).
//!
//! Theory of operation. An analyzer hands on each finished [`Exchange`]. They come here one by one in
//! the order of the frames at which they were finished, whatever number of analyzers there are and
//! however the capture was cut, so that the rows depend on neither. What is remembered of them is
//! bounded: what was not asked for longest is forgotten, and then counts as never seen. Bodies are
//! remembered by their digests; only short texts are kept, for real coders to measure.

mod measured;
mod texts;
mod url;

use lru::LruCache;
use trace_model::column::Columns;
use trace_model::rows::{
    BodiesTable, BodyRow, ExpectationRow, ExpectationsTable, RedirectRow, RedirectsTable,
    TransactionRow,
};
use xxhash_rust::xxh3::xxh3_64;

use crate::bounded::Bounded;
use crate::exchange::{is_object, is_redirect, Details, Exchange};
use measured::Measured;
use texts::Texts;
use url::Url;

/// URLs and bodies that are remembered, some 200 bytes each: more than a person or a program asks for
/// before it asks for one of them again.
const REMEMBERED_MAX: usize = 32_768;
/// Redirects that wait to be followed, with their URLs: many more than clients follow within two seconds.
const REDIRECTS_MAX: usize = 1024;
/// Characters of a URL that is remembered to be shown.
const SHOWN_MAX: usize = 128;
/// A client that follows a redirect does so at once: after a name lookup, and a handshake that may
/// have lost its SYN (one second, RFC 6298, section 2.1).
const FOLLOWED_WITHIN_NS: i64 = 2_000_000_000;
/// A body that comes sooner after its head did not wait: programs write both one after the other.
const CONTINUE_WAIT_MIN_NS: i64 = 1_000_000;

/// An earlier 200 response.
#[derive(Debug)]
struct Seen {
    flow: u32,
    transaction: u32,
    frame: u64,
    time_ns: i64,
    digest: u64,
    body_bytes: u64,
    has_validator: bool,
    no_store: bool,
    /// By which URL, and its text.
    url: u64,
    shown: String,
}

/// A redirect that may be followed.
#[derive(Debug)]
struct Redirect {
    row: RedirectRow,
    response_first_ns: i64,
}

#[derive(Debug)]
pub struct Objects {
    bodies: Bounded<BodiesTable>,
    redirects: Bounded<RedirectsTable>,
    expectations: Bounded<ExpectationsTable>,
    /// The latest 200 by client, URL and content coding.
    by_url: LruCache<u64, Seen>,
    /// The first 200 by client and body.
    by_body: LruCache<u64, Seen>,
    /// By client and the URL that is to be asked for.
    awaited: LruCache<u64, Redirect>,
    texts: Texts,
    measured: Measured,
}

impl Default for Objects {
    fn default() -> Self {
        Objects {
            bodies: Bounded::default(),
            redirects: Bounded::default(),
            expectations: Bounded::default(),
            by_url: LruCache::unbounded(),
            by_body: LruCache::unbounded(),
            awaited: LruCache::unbounded(),
            texts: Texts::default(),
            measured: Measured::default(),
        }
    }
}

impl Objects {
    /// Takes the next exchanges of all analyzers, which follow those taken before. Their flows have
    /// the numbers of the capture.
    pub fn take(&mut self, mut exchanges: Vec<Exchange>) {
        exchanges.sort_by_key(|it| (it.frame, it.flow, it.transaction));
        for exchange in exchanges {
            self.note(exchange);
        }
    }

    /// The tables, which are empty from now on.
    pub fn tables(&mut self) -> [(&'static str, Columns); 3] {
        [
            ("bodies", self.bodies.take().into_columns()),
            ("redirects", self.redirects.take().into_columns()),
            ("expectations", self.expectations.take().into_columns()),
        ]
    }

    /// What to say of rows that were left out.
    #[must_use]
    pub fn complaints(&self) -> Vec<String> {
        let complaints = [
            self.bodies.complaint(),
            self.redirects.complaint(),
            self.expectations.complaint(),
        ];
        complaints.into_iter().flatten().collect()
    }

    fn note(&mut self, mut exchange: Exchange) {
        let details = exchange.details.take();
        if details.is_none() && self.awaited.is_empty() {
            return;
        }
        let url = Url::of(&exchange);
        let followed = self.follow(&exchange, &url);
        let Some(details) = details else { return };
        if details.row.expects_continue {
            if let Some(row) = expectation(&exchange, &url, &details) {
                self.expectations.push(&row);
            }
        }
        if is_redirect(&details.row) {
            self.await_request(&exchange, &url, &details.row, followed);
        }
        if is_object(&details.row) {
            self.object(&exchange, &url, *details);
        }
    }

    /// Makes a row of the redirect that this request follows, and gives where its chain began.
    fn follow(&mut self, exchange: &Exchange, url: &Url) -> Option<(u32, u32)> {
        let key = key(exchange, url.text().as_bytes());
        let redirect = self.awaited.peek(&key)?;
        let time = exchange.request_time;
        if time < redirect.response_first_ns {
            return None;
        }
        let mut found = self.awaited.pop(&key)?.row;
        if time.saturating_sub(found.response_last_time) > FOLLOWED_WITHIN_NS {
            return None;
        }
        found.next_flow = exchange.flow;
        found.next_transaction = exchange.transaction;
        found.next_host.clone_from(&url.host);
        found.next_target.clone_from(&url.target);
        found.next_request_frame = exchange.request_frame;
        found.next_opened_time = exchange.opened_ns;
        found.next_request_time = time;
        self.redirects.push(&found);
        Some((found.first_flow, found.first_transaction))
    }

    fn await_request(
        &mut self,
        exchange: &Exchange,
        url: &Url,
        row: &TransactionRow,
        followed: Option<(u32, u32)>,
    ) {
        let location = row.location.as_deref().unwrap_or_default();
        let waiting = redirect(exchange, url, row, followed);
        let (Some(next), Some(waiting)) = (url.joined(location), waiting) else {
            return;
        };
        remember(
            &mut self.awaited,
            key(exchange, next.text().as_bytes()),
            waiting,
            REDIRECTS_MAX,
        );
    }

    /// Compares a body with those that the client had before.
    fn object(&mut self, exchange: &Exchange, url: &Url, details: Details) {
        let Some(mut found) = body(exchange, url, &details) else {
            return;
        };
        let text = details.noted.text.as_deref().map(Vec::as_slice);
        let coding = found.content_encoding.as_deref().unwrap_or_default();
        let by_url = key(exchange, format!("{}\0{coding}", url.text()).as_bytes());
        let digest = found.body_digest.to_le_bytes();
        let by_body = key(exchange, &[digest, found.body_bytes.to_le_bytes()].concat());
        let is_before = |seen: &&Seen| seen.time_ns <= found.request_time;
        let previous = self.by_url.peek(&by_url).filter(is_before);
        let twin = self.by_body.get(&by_body).filter(is_before);
        let twin = twin.filter(|twin| twin.url != by_url);
        let is_identity = matches!(coding, "" | "identity");
        let sizes = text
            .filter(|_| is_identity)
            .and_then(|text| self.measured.compressed(found.body_digest, text));
        let delta = previous
            .filter(|it| it.digest != found.body_digest)
            .and_then(|_| Some((self.texts.get(by_url)?, text?)))
            .and_then(|(before, now)| self.measured.delta(coding, before, now));
        let is_unchanged = previous.is_some_and(|it| it.digest == found.body_digest);
        let is_notable = is_unchanged || delta.is_some() || twin.is_some() || sizes.is_some();
        if let Some(previous) = previous {
            previous.tell_as_previous(&mut found);
        }
        if let Some(twin) = twin {
            twin.tell_as_twin(&mut found);
        }
        if let Some((gzip, zstd)) = sizes {
            found.gzip_bytes = Some(gzip);
            found.zstd_bytes = Some(zstd);
        }
        found.delta_bytes = delta;
        if is_notable {
            self.bodies.push(&found);
        }
        let seen = |shown| Seen::of(&details.row, &found, by_url, shown);
        if !self.by_body.contains(&by_body) {
            remember(
                &mut self.by_body,
                by_body,
                seen(url.shown()),
                REMEMBERED_MAX,
            );
        }
        remember(
            &mut self.by_url,
            by_url,
            seen(String::new()),
            REMEMBERED_MAX,
        );
        if let Some(text) = details.noted.text {
            self.texts.put(by_url, text);
        }
    }
}

impl Seen {
    fn of(row: &TransactionRow, body: &BodyRow, url: u64, shown: String) -> Seen {
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

    fn tell_as_previous(&self, row: &mut BodyRow) {
        row.previous_flow = Some(self.flow);
        row.previous_transaction = Some(self.transaction);
        row.previous_frame = Some(self.frame);
        row.previous_time = Some(self.time_ns);
        row.previous_has_validator = Some(self.has_validator);
        row.previous_no_store = Some(self.no_store);
        row.is_unchanged =
            Some(self.digest == row.body_digest && self.body_bytes == row.body_bytes);
    }

    fn tell_as_twin(&self, row: &mut BodyRow) {
        row.twin_flow = Some(self.flow);
        row.twin_transaction = Some(self.transaction);
        row.twin_frame = Some(self.frame);
        row.twin_url = Some(self.shown.clone());
    }
}

/// What is the same for one client.
fn key(exchange: &Exchange, what: &[u8]) -> u64 {
    let client = exchange.client.octets;
    xxh3_64(&[client.as_slice(), what].concat())
}

fn remember<T>(memory: &mut LruCache<u64, T>, key: u64, value: T, most: usize) {
    memory.put(key, value);
    if memory.len() > most {
        memory.pop_lru();
    }
}

/// Whether Cache-Control has `no-store` (RFC 9111, section 5.2.2.5).
fn forbids_to_store(cache_control: &str) -> bool {
    let mut directives = cache_control.split(',');
    directives.any(|it| it.trim().eq_ignore_ascii_case("no-store"))
}

/// The start of a text that is remembered only to be shown.
fn cut(text: &str) -> String {
    text.chars().take(SHOWN_MAX).collect()
}

/// The columns that a body has by itself.
fn body(exchange: &Exchange, url: &Url, details: &Details) -> Option<BodyRow> {
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

/// First to last byte of a response, of each pause no more than a round trip and a half.
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

fn redirect(
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

/// The row of a request whose body came a while after its head.
fn expectation(exchange: &Exchange, url: &Url, details: &Details) -> Option<ExpectationRow> {
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
