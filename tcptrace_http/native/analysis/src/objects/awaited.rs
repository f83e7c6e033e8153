//! Redirects that wait for their next request, by client and target URL.

use std::collections::VecDeque;

use lru::LruCache;
use trace_model::rows::RedirectRow;

use super::rows::Redirect;

/// Maximum number of waiting redirects: far more than clients follow within two seconds.
const REDIRECTS_MAX: usize = 1024;
/// Longest time from a redirect to its next request.
///
/// A client follows at once, after a name lookup and a handshake. The handshake may lose its SYN (one second,
/// RFC 6298, section 2.1).
const FOLLOWED_WITHIN_NS: i64 = 2_000_000_000;

/// Waiting redirects; a client may be redirected to one URL several times before it follows.
#[derive(Debug)]
pub(super) struct WaitingRedirects {
    by_url: LruCache<u64, VecDeque<Redirect>>,
    count: usize,
    is_cut: bool,
}

impl Default for WaitingRedirects {
    fn default() -> Self {
        WaitingRedirects {
            by_url: LruCache::unbounded(),
            count: 0,
            is_cut: false,
        }
    }
}

impl WaitingRedirects {
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Return whether a redirect was dropped that a request could have followed.
    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
    }

    pub(super) fn put(&mut self, key: u64, redirect: Redirect) {
        let now = redirect.row.response_last_time;
        let waiting = self.by_url.get_or_insert_mut(key, VecDeque::new);
        let before = waiting.len();
        waiting.retain(|it| !is_late(it, now));
        waiting.push_back(redirect);
        let after = waiting.len();
        self.count = self.count.saturating_sub(before).saturating_add(after);
        while self.count > REDIRECTS_MAX && self.by_url.len() > 1 {
            let forgotten = self.by_url.pop_lru().map(|(_, waiting)| waiting);
            self.forget(forgotten.unwrap_or_default(), now);
        }
        if self.count > REDIRECTS_MAX {
            let first = self.by_url.get_mut(&key).and_then(VecDeque::pop_front);
            self.forget(first.into_iter().collect(), now);
        }
    }

    fn forget(&mut self, forgotten: VecDeque<Redirect>, now: i64) {
        self.count = self.count.saturating_sub(forgotten.len());
        self.is_cut |= forgotten.iter().any(|it| !is_late(it, now));
    }

    /// Remove and return the redirect that a request at this time follows.
    pub(super) fn followed(&mut self, key: u64, time: i64) -> Option<RedirectRow> {
        let waiting = self.by_url.peek_mut(&key)?;
        let first = waiting
            .iter()
            .position(|it| it.response_first_ns <= time && !is_late(it, time))?;
        let found = waiting.remove(first)?.row;
        self.count = self.count.saturating_sub(1);
        if waiting.is_empty() {
            self.by_url.pop(&key);
        }
        Some(found)
    }
}

/// Return whether a redirect is too old to be followed.
fn is_late(redirect: &Redirect, now: i64) -> bool {
    now.saturating_sub(redirect.row.response_last_time) > FOLLOWED_WITHIN_NS
}
