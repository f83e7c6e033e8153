//! Judgement over all flows: repeated URLs and bodies, followed redirects, compressible bodies, and waits for
//! 100 (Continue).
//!
//! Theory of operation. An analyzer passes on each finished [`Exchange`]. The exchanges arrive in the order
//! of the frames that finished them. The rows therefore depend neither on the number of analyzers nor on the
//! chunks of the capture. The memory is bounded: the least recently requested entries are dropped and then
//! count as new. Bodies are kept as digests. Only short texts are kept, for measurement with real coders.

mod awaited;
mod fetched;
mod measured;
mod rows;
mod texts;
mod url;

use lru::LruCache;
use trace_model::column::Columns;
use trace_model::rows::{BodiesTable, ExpectationsTable, RedirectsTable, TransactionRow};
use xxhash_rust::xxh3::xxh3_64;

use crate::bounded::BoundedTable;
use crate::exchange::{is_object, is_redirect, Details, Exchange};
use awaited::WaitingRedirects;
use fetched::{EarlierResponse, UrlHistory};
use measured::TextSizes;
use rows::{body, expectation, redirect};
use texts::Texts;
use url::Url;

/// Maximum number of URLs and bodies in memory, at about 200 to 600 bytes each.
///
/// A person or a program requests fewer URLs before a repetition.
const REMEMBERED_MAX: usize = 32_768;
/// Maximum number of characters of a URL for display.
const SHOWN_MAX: usize = 128;
#[derive(Debug)]
pub struct Objects {
    bodies: BoundedTable<BodiesTable>,
    redirects: BoundedTable<RedirectsTable>,
    expectations: BoundedTable<ExpectationsTable>,
    /// Latest 200 responses by client, URL and content coding.
    by_url: LruCache<u64, UrlHistory>,
    /// First 200 response by client and body.
    by_body: LruCache<u64, EarlierResponse>,
    /// Waiting redirects by client and target URL.
    awaited: WaitingRedirects,
    texts: Texts,
    measured: TextSizes,
    /// True if a URL or body was dropped.
    has_forgotten: bool,
}

impl Default for Objects {
    fn default() -> Self {
        Objects {
            bodies: BoundedTable::default(),
            redirects: BoundedTable::default(),
            expectations: BoundedTable::default(),
            by_url: LruCache::unbounded(),
            by_body: LruCache::unbounded(),
            awaited: WaitingRedirects::default(),
            texts: Texts::default(),
            measured: TextSizes::default(),
            has_forgotten: false,
        }
    }
}

impl Objects {
    /// Take the next exchanges of all analyzers, with the flow numbers of the capture.
    ///
    /// The exchanges follow those of earlier calls.
    pub fn take(&mut self, mut exchanges: Vec<Exchange>) {
        exchanges.sort_by_key(|it| (it.frame, it.flow, it.transaction));
        for exchange in exchanges {
            self.note(exchange);
        }
    }

    /// Take the tables, which are then empty.
    pub fn tables(&mut self) -> [(&'static str, Columns); 3] {
        [
            ("bodies", self.bodies.take().into_columns()),
            ("redirects", self.redirects.take().into_columns()),
            ("expectations", self.expectations.take().into_columns()),
        ]
    }

    /// Return the tables that may lack rows: a limit was reached, or an earlier entry was dropped.
    #[must_use]
    pub fn cut(&self) -> Vec<&'static str> {
        let is_cut = [
            (
                "bodies",
                self.bodies.is_cut() || self.has_forgotten || self.measured.is_spent(),
            ),
            (
                "redirects",
                self.redirects.is_cut() || self.awaited.is_cut(),
            ),
            ("expectations", self.expectations.is_cut()),
        ];
        let cut = is_cut.into_iter().filter(|(_, is_cut)| *is_cut);
        cut.map(|(name, _)| name).collect()
    }

    /// Return the messages about omitted rows.
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

    /// Add the row of the redirect that this request follows, and return the start of its chain.
    fn follow(&mut self, exchange: &Exchange, url: &Url) -> Option<(u32, u32)> {
        let time = exchange.request_time;
        let key = key(exchange, url.text().as_bytes());
        let mut found = self.awaited.followed(key, time)?;
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
        self.awaited
            .put(key(exchange, next.text().as_bytes()), waiting);
    }

    /// Compare a body with the client's earlier bodies.
    fn object(&mut self, exchange: &Exchange, url: &Url, details: Details) {
        let Some(mut found) = body(exchange, url, &details) else {
            return;
        };
        let text = details.noted.text.as_deref().map(Vec::as_slice);
        let coding = found.content_encoding.as_deref().unwrap_or_default();
        let by_url = key(exchange, format!("{}\0{coding}", url.text()).as_bytes());
        let digest = found.body_digest.to_le_bytes();
        let by_body = key(exchange, &[digest, found.body_bytes.to_le_bytes()].concat());
        let time = found.request_time;
        let previous = self.by_url.peek_mut(&by_url);
        let previous = previous.and_then(|it| it.before(time));
        let twin = self.by_body.get(&by_body);
        let twin = twin.filter(|it| it.time_ns <= time && it.url != by_url);
        let is_identity = matches!(coding, "" | "identity");
        let sizes = text
            .filter(|_| is_identity)
            .and_then(|text| self.measured.compressed(found.body_digest, text));
        // Only the latest text is kept.
        let delta = previous
            .filter(|(it, is_latest)| *is_latest && it.digest != found.body_digest)
            .and_then(|_| Some((self.texts.get(by_url)?, text?)))
            .and_then(|(before, now)| self.measured.delta(coding, before, now));
        let previous = previous.map(|(it, _)| it);
        let is_unchanged = previous.is_some_and(|it| it.digest == found.body_digest);
        let is_notable = is_unchanged || delta.is_some() || twin.is_some() || sizes.is_some();
        if let Some(previous) = previous {
            previous.fill_previous(&mut found);
        }
        if let Some(twin) = twin {
            twin.fill_twin(&mut found);
        }
        if let Some((gzip, zstd)) = sizes {
            found.gzip_bytes = Some(gzip);
            found.zstd_bytes = Some(zstd);
        }
        found.delta_bytes = delta;
        if is_notable {
            self.bodies.push(&found);
        }
        let seen = |shown| EarlierResponse::of(&details.row, &found, by_url, shown);
        if !self.by_body.contains(&by_body) {
            let first = seen(url.shown());
            self.has_forgotten |= remember(&mut self.by_body, by_body, first);
        }
        let seen = seen(String::new());
        match self.by_url.get_mut(&by_url) {
            Some(fetched) => fetched.push(seen, time),
            None => {
                self.has_forgotten |= remember(&mut self.by_url, by_url, UrlHistory::new(seen));
            }
        }
        if let Some(text) = details.noted.text {
            self.texts.put(by_url, text);
        }
    }
}

/// Return a key that is unique per client.
fn key(exchange: &Exchange, what: &[u8]) -> u64 {
    let client = exchange.client.octets;
    xxh3_64(&[client.as_slice(), what].concat())
}

/// Insert a value, and return whether another value was dropped.
fn remember<T>(memory: &mut LruCache<u64, T>, key: u64, value: T) -> bool {
    memory.put(key, value);
    let is_full = memory.len() > REMEMBERED_MAX;
    if is_full {
        memory.pop_lru();
    }
    is_full
}

/// Return the start of a text for display.
fn cut(text: &str) -> String {
    text.chars().take(SHOWN_MAX).collect()
}
