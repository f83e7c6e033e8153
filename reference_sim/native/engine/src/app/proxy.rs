//! A proxy that splits connections: requests come in by one stack and go out by another.
//!
//! Responses are passed on as they come (cut through). With a `prefetch_plan` the page is fetched
//! as soon as its base document is asked for: base document first, and each object once what the
//! plan has it wait for has come here. Requests of the browser find their responses here, or on
//! their way, or wait until the proxy has found them ("the NOC has already received the web-page
//! [...], it knows the exact number of objects embedded": Bhalekar 2003, section 4.7).

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::answer::{self, Answer};
use super::browser::{connection_field, transaction};
use super::exchange::{Exchange, ExchangeId, Response};
use super::http_text::{clock, Head, Template, Terms};
use super::plan::Progress;
use super::pool::{self, Limits, Outgoing, Place, Pool};
use super::server;
use super::{AppId, Application, Content, End, Happening, Network};
use crate::scenario::{self, Fetch, HttpVersion, Scenario};
use crate::truth::Side;

/// What it adds to a response (RFC 9110, section 7.6.3).
const VIA: &str = "Via: 1.1 hub";
/// Requests outstanding on a connection to the server.
const PIPELINING: u32 = 1;

/// A proxy of the scenario.
pub struct Proxy {
    app: AppId,
    scenario: Arc<Scenario>,
    index: usize,
    pool: Pool,
    browsers: BTreeMap<u32, Inbound>,
    /// By the number of the exchange with the server.
    fetched: BTreeMap<ExchangeId, Fetched>,
    /// Requests to the server that wait for a connection.
    waiting: VecDeque<ExchangeId>,
    /// What was asked for before it was wanted.
    prefetched: BTreeMap<Wanted, ExchangeId>,
    /// The last visit of each browser for which that was done, or is being done.
    visits: BTreeMap<u32, Prefetch>,
    requests: BTreeMap<(u32, u32, u32), Arc<Template>>,
    answers: BTreeMap<(u32, u32, u32), Answer>,
}

/// Browser, visit and objects.
type Wanted = (u32, u32, Vec<u32>);

/// How far a page has come here that is fetched before its objects are asked for.
#[derive(Debug)]
struct Prefetch {
    progress: Progress,
    /// The exchanges with the server, one a fetch of the plan.
    upstream: Vec<ExchangeId>,
}

/// A connection from a browser.
#[derive(Debug, Default)]
struct Inbound {
    /// The browser's exchanges in order, with those that they are answered from.
    queue: VecDeque<(ExchangeId, ExchangeId)>,
    /// Of the first of them: bytes of its body that were passed on, once its head was.
    passed_on: Option<u64>,
    is_closed: bool,
    peer_closed: bool,
}

/// A response from the server, as far as it has come.
struct Fetched {
    exchange: Exchange,
    wanted: u64,
    response: Option<Response>,
    body: Vec<Content>,
    has_head: bool,
    body_received: u64,
    /// The browser's connection that waits for it.
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

    /// A browser's request has come.
    fn requested(&mut self, network: &mut dyn Network, connection: u32, id: ExchangeId) {
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

    /// Begins with the plan's fetches, once a visit; what the last visit left is forgotten.
    fn prefetch(&mut self, network: &mut dyn Network, exchange: &Exchange) {
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

    /// Puts in the queue what its page's progress has released.
    fn go_on(&mut self, browser: u32, release: impl FnOnce(&mut Progress) -> Vec<u32>) {
        let Some(prefetch) = self.visits.get_mut(&browser) else {
            return;
        };
        for fetch in release(&mut prefetch.progress) {
            let upstream = prefetch.upstream.get(fetch as usize);
            self.waiting.extend(upstream);
        }
    }

    /// The browser and the fetch that this exchange with the server was made for beforehand.
    fn prefetch_of(&self, id: ExchangeId) -> Option<(u32, u32)> {
        let exchange = &self.fetched.get(&id)?.exchange;
        let upstream = &self.visits.get(&exchange.browser)?.upstream;
        let is_of = upstream.get(exchange.fetch as usize) == Some(&id);
        is_of.then_some((exchange.browser, exchange.fetch))
    }

    /// Nobody wants this response any more: what the plan has wait for it need not.
    fn give_up(&mut self, id: ExchangeId) {
        if let Some((browser, fetch)) = self.prefetch_of(id) {
            self.completed(browser, fetch);
        }
        self.fetched.remove(&id);
    }

    fn completed(&mut self, browser: u32, fetch: u32) {
        let scenario = Arc::clone(&self.scenario);
        self.go_on(browser, |progress| {
            let fetches = fetches_of(&scenario, progress.plan);
            progress.completed(fetches, fetch)
        });
    }

    /// Makes a request to the server on behalf of a browser's.
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

    /// Sends what can be sent to the server.
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
            self.asked(id);
        }
    }

    fn asked(&mut self, id: ExchangeId) {
        let scenario = Arc::clone(&self.scenario);
        if let Some((browser, fetch)) = self.prefetch_of(id) {
            self.go_on(browser, |progress| {
                let fetches = fetches_of(&scenario, progress.plan);
                progress.requested(fetches, fetch)
            });
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

    /// More of the server's stream has come.
    fn received(&mut self, network: &mut dyn Network, connection: u32, total: u64) {
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
            self.came(network, id, response, total);
        }
    }

    fn came(&mut self, network: &mut dyn Network, id: ExchangeId, response: Response, total: u64) {
        let Some(fetched) = self.fetched.get_mut(&id) else {
            return;
        };
        fetched.response = Some(response);
        fetched.has_head |= response.received(total) >= response.head_bytes;
        fetched.body_received = fetched.body_received.max(response.body_received(total));
        let (body, inbound) = (fetched.body_received, fetched.inbound);
        let is_whole = fetched.has_head && body == response.body_bytes;
        if let Some((browser, fetch)) = self.prefetch_of(id) {
            self.progressed(browser, fetch, body, is_whole);
        }
        if let Some(inbound) = inbound {
            self.pass_on(network, inbound);
        }
        self.dispatch(network);
    }

    fn progressed(&mut self, browser: u32, fetch: u32, body: u64, is_whole: bool) {
        let scenario = Arc::clone(&self.scenario);
        self.go_on(browser, |progress| {
            let fetches = fetches_of(&scenario, progress.plan);
            progress.received(fetches, fetch, body)
        });
        if is_whole {
            self.completed(browser, fetch);
        }
    }

    /// All of a response from the server has come.
    fn fetched(&mut self, network: &mut dyn Network, connection: u32, id: ExchangeId) {
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
            self.came(network, id, response, total);
        }
        self.dispatch(network);
    }

    /// Writes to a browser what has come for it.
    fn pass_on(&mut self, network: &mut dyn Network, connection: u32) {
        while self.pass_on_first(network, connection) {}
        let Some(inbound) = self.browsers.get_mut(&connection) else {
            return;
        };
        if inbound.peer_closed && inbound.queue.is_empty() {
            inbound.close(network, connection);
        }
    }

    /// Whether the first response is through, and another one may follow.
    fn pass_on_first(&mut self, network: &mut dyn Network, connection: u32) -> bool {
        let Some(inbound) = self.browsers.get_mut(&connection) else {
            return false;
        };
        let Some((id, upstream)) = inbound.queue.front().copied() else {
            return false;
        };
        let Some(asked) = network.exchanges().get(id).cloned() else {
            // The browser gave it up.
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
        self.note_passed_on(network, connection, to, is_whole, !asked.wants_keep_alive);
        if is_whole {
            self.fetched.remove(&upstream);
        }
        is_whole
    }

    /// The head of the response to a browser, which is noted as begun.
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

    fn note_passed_on(
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

    /// A connection to the server can carry nothing more: what waited on it is asked for again.
    fn lost(&mut self, network: &mut dyn Network, connection: u32) {
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
        what: Happening,
    ) {
        match what {
            Happening::Accepted => {
                self.browsers.insert(connection, Inbound::default());
            }
            Happening::Message { message } => {
                self.requested(network, connection, ExchangeId::of(message));
            }
            Happening::PeerClosed => {
                if let Some(inbound) = self.browsers.get_mut(&connection) {
                    inbound.peer_closed = true;
                }
                self.pass_on(network, connection);
            }
            Happening::Closed | Happening::Failed => {
                let inbound = self.browsers.remove(&connection).unwrap_or_default();
                for (_, upstream) in inbound.queue {
                    self.give_up(upstream);
                }
                self.dispatch(network);
            }
            _ => {}
        }
    }

    fn happened_with_server(
        &mut self,
        network: &mut dyn Network,
        connection: u32,
        what: Happening,
    ) {
        match what {
            Happening::Connected => {
                self.pool.connected(network, connection);
            }
            Happening::Received { total } => self.received(network, connection, total),
            Happening::Message { message } => {
                self.fetched(network, connection, ExchangeId::of(message));
            }
            Happening::PeerClosed | Happening::Closed | Happening::Failed => {
                self.lost(network, connection);
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

impl Application for Proxy {
    fn start(&mut self, network: &mut dyn Network) {
        if let Some(terms) = self.terms() {
            network.listen(self.app, terms.node, terms.port, terms.stack);
        }
    }

    fn woken(&mut self, _network: &mut dyn Network, _token: u64) {}

    fn happened(&mut self, network: &mut dyn Network, at: End, what: Happening) {
        match at.side {
            Side::Server => self.happened_with_browser(network, at.connection, what),
            Side::Client => self.happened_with_server(network, at.connection, what),
        }
    }

    fn is_done(&self) -> bool {
        true
    }
}

/// An exchange that nobody waits for any more.
fn forget(network: &mut dyn Network, id: ExchangeId) {
    if let Some(exchange) = network.exchanges().remove(id) {
        network.truth().transactions.over(exchange.row);
    }
}
