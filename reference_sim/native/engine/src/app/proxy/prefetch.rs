//! The proxy's prefetch of a page.

use std::sync::Arc;

use super::{fetches_of, Proxy};
use crate::app::exchange::{Exchange, ExchangeId};
use crate::app::plan::Progress;
use crate::app::Network;

/// The progress of a page that is fetched before its objects are requested.
#[derive(Debug)]
pub(super) struct Prefetch {
    pub(super) progress: Progress,
    /// The exchanges with the server, one per fetch of the plan.
    pub(super) upstream: Vec<ExchangeId>,
}

impl Proxy {
    /// Start the plan's fetches, once per visit. Leftovers of the previous visit are removed.
    pub(super) fn prefetch(&mut self, network: &mut dyn Network, exchange: &Exchange) {
        let scenario = Arc::clone(&self.scenario);
        let Some(number) = self.terms().and_then(|terms| terms.prefetch_plan) else {
            return;
        };
        let last = self.visits.get(&exchange.browser);
        if last.is_some_and(|last| last.progress.visit == exchange.visit) {
            return;
        }
        let fetched = &mut self.fetched;
        self.prefetched.retain(|wanted, upstream| {
            let is_left = wanted.0 == exchange.browser;
            if is_left {
                fetched.remove(upstream);
            }
            !is_left
        });
        let fetches = fetches_of(&scenario, number);
        let mut upstream = Vec::with_capacity(fetches.len());
        for (fetch, index) in fetches.iter().zip(0..) {
            let id = self.fetch(network, exchange, number, index);
            let key = (exchange.browser, exchange.visit, fetch.objects.clone());
            self.prefetched.insert(key, id);
            upstream.push(id);
        }
        let sizes = Arc::clone(&exchange.sizes);
        let progress = Progress::new(exchange.page, number, exchange.visit, sizes, fetches);
        self.visits
            .insert(exchange.browser, Prefetch { progress, upstream });
        self.go_on(exchange.browser, |progress| progress.start(fetches));
    }

    /// Queue the fetches that the page's progress released.
    pub(super) fn go_on(&mut self, browser: u32, release: impl FnOnce(&mut Progress) -> Vec<u32>) {
        let Some(prefetch) = self.visits.get_mut(&browser) else {
            return;
        };
        for fetch in release(&mut prefetch.progress) {
            let upstream = prefetch.upstream.get(fetch as usize);
            self.waiting.extend(upstream);
        }
    }

    /// Return the browser and the fetch for which this server exchange was created in advance.
    pub(super) fn prefetch_of(&self, id: ExchangeId) -> Option<(u32, u32)> {
        let exchange = &self.fetched.get(&id)?.exchange;
        let upstream = &self.visits.get(&exchange.browser)?.upstream;
        let is_of = upstream.get(exchange.fetch as usize) == Some(&id);
        is_of.then_some((exchange.browser, exchange.fetch))
    }

    /// Abandon an unwanted response. Fetches that depend on it are released.
    pub(super) fn give_up(&mut self, id: ExchangeId) {
        if let Some((browser, fetch)) = self.prefetch_of(id) {
            self.on_completed(browser, fetch);
        }
        self.fetched.remove(&id);
    }

    pub(super) fn on_completed(&mut self, browser: u32, fetch: u32) {
        let scenario = Arc::clone(&self.scenario);
        self.go_on(browser, |progress| {
            let fetches = fetches_of(&scenario, progress.plan);
            progress.on_completed(fetches, fetch)
        });
    }

    pub(super) fn on_requested(&mut self, id: ExchangeId) {
        let scenario = Arc::clone(&self.scenario);
        if let Some((browser, fetch)) = self.prefetch_of(id) {
            self.go_on(browser, |progress| {
                let fetches = fetches_of(&scenario, progress.plan);
                progress.on_requested(fetches, fetch)
            });
        }
    }

    pub(super) fn on_progress(&mut self, browser: u32, fetch: u32, body: u64, is_whole: bool) {
        let scenario = Arc::clone(&self.scenario);
        self.go_on(browser, |progress| {
            let fetches = fetches_of(&scenario, progress.plan);
            progress.on_received(fetches, fetch, body)
        });
        if is_whole {
            self.on_completed(browser, fetch);
        }
    }
}
