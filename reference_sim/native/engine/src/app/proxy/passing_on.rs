//! Forwarding of responses to browsers as they arrive.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{server_end, Proxy};
use crate::app::answer::{self, Answer};
use crate::app::exchange::{Exchange, ExchangeId, Response};
use crate::app::http_text::{clock, Terms};
use crate::app::{server, Content, Network};

/// The field that the proxy adds to a response (RFC 9110, section 7.6.3).
const VIA: &str = "Via: 1.1 hub";

/// A connection from a browser.
#[derive(Debug, Default)]
pub(super) struct Inbound {
    /// The browser's exchanges in order, each with the server exchange that answers it.
    pub(super) queue: VecDeque<(ExchangeId, ExchangeId)>,
    /// Forwarded body bytes of the first exchange, set once its head is forwarded.
    pub(super) passed_on: Option<u64>,
    pub(super) is_closed: bool,
    pub(super) peer_closed: bool,
}

impl Inbound {
    fn next(&mut self) {
        self.queue.pop_front();
        self.passed_on = None;
    }

    fn close(&mut self, network: &mut dyn Network, connection: u32) {
        if !self.is_closed {
            self.is_closed = true;
            network.close(server_end(connection));
        }
    }
}

impl Proxy {
    /// Write the received part of the responses to a browser.
    pub(super) fn pass_on(&mut self, network: &mut dyn Network, connection: u32) {
        while self.pass_on_first(network, connection) {}
        let Some(inbound) = self.browsers.get_mut(&connection) else {
            return;
        };
        if inbound.peer_closed && inbound.queue.is_empty() {
            inbound.close(network, connection);
        }
    }

    /// Forward the first response. Return true if it is complete and another one can follow.
    fn pass_on_first(&mut self, network: &mut dyn Network, connection: u32) -> bool {
        let Some(inbound) = self.browsers.get_mut(&connection) else {
            return false;
        };
        let Some((id, upstream)) = inbound.queue.front().copied() else {
            return false;
        };
        let Some(asked) = network.exchanges().get(id).cloned() else {
            // The browser abandoned the request.
            inbound.next();
            self.give_up(upstream);
            return true;
        };
        let Some(fetched) = self.fetched.get(&upstream) else {
            return false;
        };
        let Some(response) = fetched.response.filter(|_| fetched.has_head) else {
            return false;
        };
        let passed_on = inbound.passed_on;
        let to = fetched.body_received;
        let mut parts = Vec::new();
        if passed_on.is_none() {
            parts.extend(self.head(network, connection, id, &asked, upstream));
        }
        let body = self
            .fetched
            .get(&upstream)
            .map_or(&[][..], |fetched| &fetched.body);
        parts.extend(server::stretch(body, passed_on.unwrap_or(0), to));
        let is_whole = to == response.body_bytes;
        if !parts.is_empty() {
            let message = is_whole.then_some(id.response());
            network.write(server_end(connection), parts, message, 0);
        }
        self.record_forwarded(network, connection, to, is_whole, !asked.wants_keep_alive);
        if is_whole {
            self.fetched.remove(&upstream);
        }
        is_whole
    }

    /// Return the head of the response to a browser, and record the response's start.
    fn head(
        &mut self,
        network: &mut dyn Network,
        connection: u32,
        id: ExchangeId,
        asked: &Exchange,
        upstream: ExchangeId,
    ) -> Option<Content> {
        let scenario = Arc::clone(&self.scenario);
        let product = self.server()?.product.clone();
        let fetched = self.fetched.get_mut(&upstream)?;
        let body_bytes = fetched.response?.body_bytes;
        let exchange = &fetched.exchange;
        let key = (exchange.page, exchange.plan, exchange.fetch);
        let answer = self.answers.entry(key).or_insert_with(|| {
            let objects = answer::objects(&scenario, exchange);
            Answer::new(&objects, &product, scenario.epoch_ns, Some(VIA))
        });
        fetched.body = answer.contents(&scenario, exchange, body_bytes);
        let terms = Terms {
            version: asked.version,
            connection: server::connection_field(asked.version, asked.wants_keep_alive),
            clock: clock(scenario.epoch_ns, network.now()),
            min_bytes: 0,
        };
        let head = answer.plain_head(body_bytes, &terms);
        let response = Response {
            offset: network.write_offset(server_end(connection)),
            head_bytes: head.bytes(),
            body_bytes,
            closes: !asked.wants_keep_alive,
        };
        server::note_response(network, connection, id, response);
        Some(head.content())
    }

    fn record_forwarded(
        &mut self,
        network: &mut dyn Network,
        connection: u32,
        to: u64,
        is_whole: bool,
        closes: bool,
    ) {
        let Some(inbound) = self.browsers.get_mut(&connection) else {
            return;
        };
        inbound.passed_on = Some(to);
        if is_whole {
            inbound.next();
            if closes {
                inbound.close(network, connection);
            }
        }
    }
}
