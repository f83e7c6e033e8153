//! Handling of responses, and of requests on a lost connection.

use std::sync::Arc;

use super::{fetches, Browser, READING};
use crate::app::exchange::ExchangeId;
use crate::app::http2::ResponsePart;
use crate::app::Network;
use crate::scenario::{self, Scenario};

/// Maximum number of connections without any response before a request is abandoned.
const MAX_TRIES: u32 = 5;

impl Browser {
    pub(super) fn on_data(&mut self, network: &mut dyn Network, connection: u32, total: u64) {
        let scenario = Arc::clone(&self.scenario);
        let (Some(channel), Some(current)) = (self.pool.get_mut(connection), &mut self.current)
        else {
            return;
        };
        if channel.http2.is_some() {
            let came = channel.read_frames(network, total);
            return self.on_frames(network, connection, &came);
        }
        let reading = scenario
            .browsers
            .get(self.index)
            .and_then(|terms| terms.reading);
        if !current.progress.waits_for_bytes() && reading.is_none() {
            return;
        }
        let fetches = fetches(&scenario, current.progress.plan);
        let (mut released, mut pause) = (Vec::new(), None);
        for id in &channel.outstanding {
            let Some(exchange) = network.exchanges().get(*id) else {
                break;
            };
            let Some(response) = exchange.response else {
                break;
            };
            let came = response.received(total);
            if came == 0 {
                break;
            }
            if came >= response.head_bytes {
                let body = response.body_received(total);
                released.extend(current.progress.on_received(fetches, exchange.fetch, body));
            }
            let is_due = |reading: &scenario::SlowReading| came >= reading.after_bytes;
            if channel.paused_in.is_none_or(|paused| paused < *id) {
                if let Some(reading) = reading.filter(is_due) {
                    channel.paused_in = Some(*id);
                    pause = Some(reading.pause_ns);
                }
            }
        }
        let end = channel.end();
        self.release(network, released);
        if let Some(pause) = pause {
            network.read(end, false);
            let at = network.now() + pause;
            self.wake(network, at, READING, connection);
        }
        self.dispatch(network);
    }

    /// Handle HTTP/2 response frames.
    fn on_frames(&mut self, network: &mut dyn Network, connection: u32, came: &[ResponsePart]) {
        let scenario = Arc::clone(&self.scenario);
        for part in came {
            let fetch = network.exchanges().get(part.exchange).map(|it| it.fetch);
            let (Some(fetch), Some(current)) = (fetch, &mut self.current) else {
                continue;
            };
            let fetches = fetches(&scenario, current.progress.plan);
            let released = current.progress.on_received(fetches, fetch, part.body);
            self.release(network, released);
            if part.is_over {
                self.on_response(network, connection, part.exchange);
            }
        }
        self.dispatch(network);
    }

    /// Handle a complete response.
    pub(super) fn on_response(
        &mut self,
        network: &mut dyn Network,
        connection: u32,
        id: ExchangeId,
    ) {
        let scenario = Arc::clone(&self.scenario);
        let Some(exchange) = network.exchanges().remove(id) else {
            return;
        };
        if let Some(channel) = self.pool.get_mut(connection) {
            channel.answered += 1;
            channel.outstanding.retain(|other| *other != id);
            channel.is_spent |= exchange.response.is_some_and(|response| response.closes);
        }
        let Some(current) = &mut self.current else {
            return;
        };
        let response = exchange.response;
        current.bytes += response.map_or(0, |response| response.head_bytes + response.body_bytes);
        let now = network.now();
        let rows = &mut network.truth().transactions;
        let came = rows
            .find(exchange.row)
            .and_then(|row| row.response_last_received)
            .unwrap_or(now);
        rows.over(exchange.row);
        current.end = current.end.max(came);
        self.on_completed(network, &scenario, exchange.fetch);
    }

    pub(super) fn on_completed(
        &mut self,
        network: &mut dyn Network,
        scenario: &Scenario,
        fetch: u32,
    ) {
        let Some(current) = &mut self.current else {
            return;
        };
        let fetches = fetches(scenario, current.progress.plan);
        let released = current.progress.on_completed(fetches, fetch);
        self.release(network, released);
        self.dispatch(network);
        self.finish_if_done(network);
    }

    /// Handle a connection that carries nothing more: its waiting requests move to another connection.
    pub(super) fn on_connection_lost(&mut self, network: &mut dyn Network, connection: u32) {
        let Some(mut channel) = self.pool.remove(connection) else {
            return;
        };
        channel.close(network);
        let mut given_up = Vec::new();
        for id in channel.outstanding.iter().rev() {
            let (Some(exchange), Some(current)) =
                (network.exchanges().remove(*id), &mut self.current)
            else {
                continue;
            };
            network.truth().transactions.over(exchange.row);
            let tries = current.tries.entry(exchange.fetch).or_insert(0);
            *tries += u32::from(channel.answered == 0);
            if *tries < MAX_TRIES {
                current.progress.on_lost(exchange.fetch);
                current.queue.push_front((exchange.fetch, network.now()));
            } else {
                current.has_failed = true;
                given_up.push(exchange.fetch);
            }
        }
        let scenario = Arc::clone(&self.scenario);
        for fetch in given_up {
            self.on_completed(network, &scenario, fetch);
        }
        self.dispatch(network);
    }
}
