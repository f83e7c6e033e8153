//! The requests of a visit: their order, their connections and their text.

use std::sync::Arc;

use super::{fetches, Browser, Current};
use crate::app::exchange::{Exchange, ExchangeId};
use crate::app::http_text::{self, Head, Template};
use crate::app::pool::{Limits, Outgoing, Place};
use crate::app::request::{connection_field, transaction};
use crate::app::Network;
use crate::scenario::{Origin, Plan};
use crate::stack::Nanoseconds;
use crate::truth::RetrievalRow;

impl Browser {
    /// Send every sendable request, in the order in which the requests became due.
    pub(super) fn dispatch(&mut self, network: &mut dyn Network) {
        loop {
            self.place_requests(network);
            let written = self.pool.flush(network);
            if written.is_empty() {
                return;
            }
            self.on_written(network, &written);
        }
    }

    /// Assign a connection to each sendable request.
    fn place_requests(&mut self, network: &mut dyn Network) {
        let scenario = Arc::clone(&self.scenario);
        let mut position = 0;
        // True once no connection takes a request without a lane.
        let mut are_full = false;
        while let Some(current) = &mut self.current {
            let Some((fetch, wanted)) = current.queue.get(position).copied() else {
                return;
            };
            let Some(plan) = scenario.plans.get(current.progress.plan as usize) else {
                return;
            };
            let lane = plan
                .fetches
                .get(fetch as usize)
                .and_then(|fetch| fetch.lane);
            if are_full && lane.is_none() {
                position += 1;
                continue;
            }
            let index = match self.pool.place(lane, &limits(plan)) {
                Place::Nowhere => {
                    are_full |= lane.is_none();
                    position += 1;
                    continue;
                }
                Place::Open(index) => index,
                Place::New => {
                    let index = self.pool.open(network, lane);
                    let channel = self.pool.at(index);
                    self.alive.extend(channel.map(|channel| channel.connection));
                    index
                }
            };
            current.queue.remove(position);
            note_start(network, self.index, current);
            if let Some(request) = self.outgoing(network, plan, fetch, index, wanted) {
                if let Some(current) = &mut self.current {
                    current.progress.on_connected(fetch);
                }
                let written = self.pool.ask(network, index, request);
                self.on_written(network, &written);
            }
        }
    }

    /// Return the request of a fetch, for the connection at this pool index.
    fn outgoing(
        &mut self,
        network: &mut dyn Network,
        plan: &Plan,
        number: u32,
        index: usize,
        wanted: Nanoseconds,
    ) -> Option<Outgoing> {
        let scenario = Arc::clone(&self.scenario);
        let terms = scenario.browsers.get(self.index)?;
        let progress = &self.current.as_ref()?.progress;
        let page = scenario.pages.get(progress.page as usize)?;
        let fetch = plan.fetches.get(number as usize)?;
        let lane = self.pool.at(index)?.lane;
        let is_last = !plan.persistent
            || (plan.closes_with_last
                && !plan.keeps_connections
                && !progress.needs(&plan.fetches, lane, number));
        let to_proxy = matches!(terms.origin, Origin::Proxy(_));
        let key = (progress.page, progress.plan, number);
        let template = self
            .requests
            .entry(key)
            .or_insert_with(|| Arc::new(Template::request(page, fetch, to_proxy)));
        let head = Head::new(
            template,
            0,
            &http_text::Terms {
                version: terms.http_version,
                connection: connection_field(terms.http_version, is_last),
                clock: 0,
                min_bytes: terms.min_request_bytes,
            },
        );
        let exchange = network.exchanges().add(Exchange {
            browser: self.index as u32,
            visit: progress.visit,
            page: progress.page,
            plan: progress.plan,
            fetch: number,
            sizes: Arc::clone(&progress.sizes),
            version: terms.http_version,
            wants_keep_alive: !is_last,
            row: usize::MAX,
            response: None,
        });
        Some(Outgoing {
            exchange,
            head,
            split: fetch
                .split_after
                .map(|bytes| (u64::from(bytes), fetch.split_gap_ns)),
            is_last,
            row: transaction(
                (self.index as u32, progress.visit, number),
                page,
                fetch,
                wanted,
                to_proxy,
            ),
        })
    }

    /// Handle requests that were written.
    pub(super) fn on_written(&mut self, network: &mut dyn Network, written: &[ExchangeId]) {
        let scenario = Arc::clone(&self.scenario);
        for id in written {
            let Some(fetch) = network.exchanges().get(*id).map(|exchange| exchange.fetch) else {
                continue;
            };
            let Some(current) = &mut self.current else {
                return;
            };
            let fetches = fetches(&scenario, current.progress.plan);
            let released = current.progress.on_requested(fetches, fetch);
            self.release(network, released);
        }
    }
}

fn limits(plan: &Plan) -> Limits {
    Limits {
        connections: plan.connections,
        persistent: plan.persistent,
        pipelining: plan.pipelining,
    }
}

/// Record the start of a visit at its first write.
fn note_start(network: &mut dyn Network, browser: usize, current: &mut Current) {
    if current.row.is_some() {
        return;
    }
    let start = network.now();
    let retrievals = &mut network.truth().retrievals;
    current.row = Some(retrievals.add(RetrievalRow {
        client: browser as u32,
        is_transfer: false,
        visit: current.progress.visit,
        start,
        end: None,
        bytes: 0,
    }));
}
