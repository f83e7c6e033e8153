//! A proxy that splits connections: requests arrive by one stack and leave by another.
//!
//! Responses are forwarded as they arrive (cut-through). With a `prefetch_plan`, the proxy fetches the page
//! as soon as a browser requests the base document. The base document comes first, then each object once its
//! condition in the plan is met at the proxy. A browser's request finds its response here or under way, or
//! waits until the proxy has fetched it ("the NOC has already received the web-page [...], it knows the exact
//! number of objects embedded": Bhalekar 2003, section 4.7).

mod passing_on;
mod prefetch;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use self::passing_on::Inbound;
use self::prefetch::Prefetch;
use super::answer::{self, Answer};
use super::exchange::{Exchange, ExchangeId, Response};
use super::http_text::{Head, Template, Terms};
use super::pool::{self, Limits, Outgoing, Place, Pool};
use super::request::{connection_field, transaction};
use super::{AppEvent, AppId, Application, Content, End, Network};
use crate::scenario::{self, Fetch, HttpVersion, Scenario};
use crate::truth::Side;

/// Maximum number of outstanding requests per connection to the server.
const PIPELINING: u32 = 1;

/// A proxy of the scenario.
pub struct Proxy {
    app: AppId,
    scenario: Arc<Scenario>,
    index: usize,
    pool: Pool,
    browsers: BTreeMap<u32, Inbound>,
    /// Responses by the number of the exchange with the server.
    fetched: BTreeMap<ExchangeId, Fetched>,
    /// Requests to the server that wait for a connection.
    waiting: VecDeque<ExchangeId>,
    /// Objects fetched before the browser requests them.
    prefetched: BTreeMap<Wanted, ExchangeId>,
    /// The last visit of each browser with a prefetch, finished or not.
    visits: BTreeMap<u32, Prefetch>,
    requests: BTreeMap<(u32, u32, u32), Arc<Template>>,
    answers: BTreeMap<(u32, u32, u32), Answer>,
}

/// Key of a prefetched response: browser, visit and objects.
type Wanted = (u32, u32, Vec<u32>);

/// The received part of a response from the server.
struct Fetched {
    exchange: Exchange,
    wanted: u64,
    response: Option<Response>,
    body: Vec<Content>,
    has_head: bool,
    body_received: u64,
    /// The browser's connection that waits for the response.
    inbound: Option<u32>,
}

impl Proxy {
    #[must_use]
    pub fn new(app: AppId, scenario: &Arc<Scenario>, index: usize) -> Self {
        let terms = scenario.proxies.get(index);
        let from = terms.map_or((0, 0), |terms| (terms.node, terms.upstream_stack));
        let server = terms.and_then(|terms| scenario.servers.get(terms.server as usize));
        let to = server.map_or((0, 0), |server| (server.node, server.port));
        Proxy {
            app,
            scenario: Arc::clone(scenario),
            index,
            pool: Pool::new(pool::Terms::new(scenario, app, from, to)),
            browsers: BTreeMap::new(),
            fetched: BTreeMap::new(),
            waiting: VecDeque::new(),
            prefetched: BTreeMap::new(),
            visits: BTreeMap::new(),
            requests: BTreeMap::new(),
            answers: BTreeMap::new(),
        }
    }

    fn terms(&self) -> Option<&scenario::Proxy> {
        self.scenario.proxies.get(self.index)
    }

    fn server(&self) -> Option<&scenario::Server> {
        self.scenario.servers.get(self.terms()?.server as usize)
    }

    /// Handle a browser's request.
    fn on_request(&mut self, network: &mut dyn Network, connection: u32, id: ExchangeId) {
        let scenario = Arc::clone(&self.scenario);
        let Some(exchange) = network.exchanges().get(id).cloned() else {
            return;
        };
        let objects = answer::fetch(&scenario, &exchange).map_or(&[][..], |fetch| &fetch.objects);
        if objects.contains(&0) {
            self.prefetch(network, &exchange);
        }
        let wanted = (exchange.browser, exchange.visit, objects.to_vec());
        let upstream = match self.prefetched.remove(&wanted) {
            Some(upstream) => upstream,
            None => {
                let upstream = self.fetch(network, &exchange, exchange.plan, exchange.fetch);
                self.waiting.push_back(upstream);
                upstream
            }
        };
        if let Some(fetched) = self.fetched.get_mut(&upstream) {
            fetched.inbound = Some(connection);
        }
        if let Some(inbound) = self.browsers.get_mut(&connection) {
            inbound.queue.push_back((id, upstream));
        }
        self.dispatch(network);
        self.pass_on(network, connection);
    }

    /// Create a request to the server on behalf of a browser.
    fn fetch(
        &mut self,
        network: &mut dyn Network,
        asked: &Exchange,
        plan: u32,
        fetch: u32,
    ) -> ExchangeId {
        let persistent = self.terms().is_some_and(|terms| terms.upstream_persistent);
        let exchange = Exchange {
            plan,
            fetch,
            wants_keep_alive: persistent,
            version: HttpVersion::Http11,
            row: usize::MAX,
            response: None,
            ..asked.clone()
        };
        let id = network.exchanges().add(exchange.clone());
        let fetched = Fetched {
            exchange,
            wanted: network.now(),
            response: None,
            body: Vec::new(),
            has_head: false,
            body_received: 0,
            inbound: None,
        };
        self.fetched.insert(id, fetched);
        id
    }

    /// Send every sendable request to the server.
    fn dispatch(&mut self, network: &mut dyn Network) {
        let Some(terms) = self.terms() else {
            return;
        };
        let limits = Limits {
            connections: terms.upstream_connections,
            persistent: terms.upstream_persistent,
            pipelining: PIPELINING,
        };
        while let Some(id) = self.waiting.front().copied() {
            if !self.fetched.contains_key(&id) {
                self.waiting.pop_front();
                forget(network, id);
                continue;
            }
            let index = match self.pool.place(None, &limits) {
                Place::Nowhere => return,
                Place::Open(index) => index,
                Place::New => self.pool.open(network, None),
            };
            self.waiting.pop_front();
            if let Some(request) = self.outgoing(id, !limits.persistent) {
                self.pool.ask(network, index, request);
            }
            self.on_requested(id);
        }
    }

    fn outgoing(&mut self, id: ExchangeId, is_last: bool) -> Option<Outgoing> {
        let scenario = Arc::clone(&self.scenario);
        let fetched = self.fetched.get(&id)?;
        let exchange = &fetched.exchange;
        let page = scenario.pages.get(exchange.page as usize)?;
        let fetch = answer::fetch(&scenario, exchange)?;
        let key = (exchange.page, exchange.plan, exchange.fetch);
        let template = self
            .requests
            .entry(key)
            .or_insert_with(|| Arc::new(Template::request(page, fetch, false)));
        let terms = Terms {
            version: exchange.version,
            connection: connection_field(exchange.version, is_last),
            clock: 0,
            min_bytes: 0,
        };
        let about = (exchange.browser, exchange.visit, exchange.fetch);
        Some(Outgoing {
            exchange: id,
            head: Head::new(template, 0, &terms),
            split: None,
            is_last,
            row: transaction(about, page, fetch, fetched.wanted, false),
        })
    }

    /// Handle more bytes of the server's stream.
    fn on_data(&mut self, network: &mut dyn Network, connection: u32, total: u64) {
        let ids: Vec<ExchangeId> = self.pool.get(connection).map_or_else(Vec::new, |channel| {
            channel.outstanding.iter().copied().collect()
        });
        for id in ids {
            let response = network
                .exchanges()
                .get(id)
                .and_then(|exchange| exchange.response);
            let Some(response) = response.filter(|response| response.received(total) > 0) else {
                return;
            };
            self.on_response_part(network, id, response, total);
        }
    }

    fn on_response_part(
        &mut self,
        network: &mut dyn Network,
        id: ExchangeId,
        response: Response,
        total: u64,
    ) {
        let Some(fetched) = self.fetched.get_mut(&id) else {
            return;
        };
        fetched.response = Some(response);
        fetched.has_head |= response.received(total) >= response.head_bytes;
        fetched.body_received = fetched.body_received.max(response.body_received(total));
        let (body, inbound) = (fetched.body_received, fetched.inbound);
        let is_whole = fetched.has_head && body == response.body_bytes;
        if let Some((browser, fetch)) = self.prefetch_of(id) {
            self.on_progress(browser, fetch, body, is_whole);
        }
        if let Some(inbound) = inbound {
            self.pass_on(network, inbound);
        }
        self.dispatch(network);
    }

    /// Handle a complete response from the server.
    fn on_fetched(&mut self, network: &mut dyn Network, connection: u32, id: ExchangeId) {
        let response = network
            .exchanges()
            .remove(id)
            .and_then(|exchange| exchange.response);
        if let Some(channel) = self.pool.get_mut(connection) {
            channel.answered += 1;
            channel.outstanding.retain(|other| *other != id);
            channel.is_spent |= response.is_some_and(|response| response.closes);
        }
        if let Some(response) = response {
            let total = response.offset + response.head_bytes + response.body_bytes - 1;
            self.on_response_part(network, id, response, total);
        }
        self.dispatch(network);
    }

    /// Handle a connection to the server that carries nothing more: its waiting requests are repeated.
    fn on_connection_lost(&mut self, network: &mut dyn Network, connection: u32) {
        let Some(mut channel) = self.pool.remove(connection) else {
            return;
        };
        channel.close(network);
        for id in channel.outstanding.iter().rev() {
            if self.fetched.contains_key(id) {
                if let Some(exchange) = network.exchanges().get_mut(*id) {
                    exchange.response = None;
                }
                self.waiting.push_front(*id);
            } else {
                forget(network, *id);
            }
        }
        self.dispatch(network);
    }

    fn happened_with_browser(
        &mut self,
        network: &mut dyn Network,
        connection: u32,
        what: AppEvent,
    ) {
        match what {
            AppEvent::Accepted => {
                self.browsers.insert(connection, Inbound::default());
            }
            AppEvent::Message { message } => {
                self.on_request(network, connection, ExchangeId::of(message));
            }
            AppEvent::PeerClosed => {
                if let Some(inbound) = self.browsers.get_mut(&connection) {
                    inbound.peer_closed = true;
                }
                self.pass_on(network, connection);
            }
            AppEvent::Closed | AppEvent::Failed => {
                let inbound = self.browsers.remove(&connection).unwrap_or_default();
                for (_, upstream) in inbound.queue {
                    self.give_up(upstream);
                }
                self.dispatch(network);
            }
            _ => {}
        }
    }

    fn happened_with_server(&mut self, network: &mut dyn Network, connection: u32, what: AppEvent) {
        match what {
            AppEvent::Connected => {
                self.pool.connected(network, connection);
            }
            AppEvent::Received { total } => self.on_data(network, connection, total),
            AppEvent::Message { message } => {
                self.on_fetched(network, connection, ExchangeId::of(message));
            }
            AppEvent::PeerClosed | AppEvent::Closed | AppEvent::Failed => {
                self.on_connection_lost(network, connection);
            }
            _ => {}
        }
    }
}

fn fetches_of(scenario: &Scenario, plan: u32) -> &[Fetch] {
    let plan = scenario.plans.get(plan as usize);
    plan.map_or(&[][..], |plan| &plan.fetches)
}

fn server_end(connection: u32) -> End {
    End {
        connection,
        side: Side::Server,
    }
}

impl Application for Proxy {
    fn start(&mut self, network: &mut dyn Network) {
        if let Some(terms) = self.terms() {
            network.listen(self.app, terms.node, terms.port, terms.stack);
        }
    }

    fn woken(&mut self, _network: &mut dyn Network, _token: u64) {}

    fn on_event(&mut self, network: &mut dyn Network, at: End, what: AppEvent) {
        match at.side {
            Side::Server => self.happened_with_browser(network, at.connection, what),
            Side::Client => self.happened_with_server(network, at.connection, what),
        }
    }

    fn is_done(&self) -> bool {
        true
    }
}

/// Remove an exchange without a waiting browser.
fn forget(network: &mut dyn Network, id: ExchangeId) {
    if let Some(exchange) = network.exchanges().remove(id) {
        network.truth().transactions.over(exchange.row);
    }
}
