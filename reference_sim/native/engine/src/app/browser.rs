//! A browser: visits pages, and fetches each by its plan.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::exchange::{Exchange, ExchangeId};
use super::http_text::{request_target, ConnectionField, Head, Template};
use super::plan::Progress;
use super::pool::{Limits, Outgoing, Place, Pool};
use super::{http_text, pool, AppId, Application, End, Happening, Network, Token};
use crate::scenario::{self, Fetch, HttpVersion, Origin, Page, Plan, Scenario};
use crate::stack::Nanoseconds;
use crate::truth::{RetrievalRow, TransactionRow};

/// Kinds of timers: the next visit is due; a fetch is wanted; reading goes on.
const VISIT: u8 = 0;
const WANTED: u8 = 1;
const READING: u8 = 2;
/// A request that got nothing at all on so many connections is given up.
const MAX_TRIES: u32 = 5;

/// A browser of the scenario.
pub struct Browser {
    app: AppId,
    scenario: Arc<Scenario>,
    index: usize,
    pool: Pool,
    requests: BTreeMap<(u32, u32, u32), Arc<Template>>,
    /// Visits that began.
    visits: u32,
    current: Option<Current>,
    /// Connections that are not closed yet.
    alive: BTreeSet<u32>,
    /// The next visit is due, and waits for them to close.
    waits_for_close: bool,
    is_over: bool,
}

/// The visit that goes on.
struct Current {
    progress: Progress,
    /// Fetches that wait for a connection, and since when they were wanted.
    queue: VecDeque<(u32, Nanoseconds)>,
    /// Row of the truth's retrievals, once something was sent.
    row: Option<usize>,
    bytes: u64,
    /// When the last response came.
    end: Nanoseconds,
    tries: BTreeMap<u32, u32>,
    has_failed: bool,
}

impl Browser {
    #[must_use]
    pub fn new(app: AppId, scenario: &Arc<Scenario>, index: usize) -> Self {
        Browser {
            app,
            scenario: Arc::clone(scenario),
            index,
            pool: Pool::new(pool_terms(app, scenario, index)),
            requests: BTreeMap::new(),
            visits: 0,
            current: None,
            alive: BTreeSet::new(),
            waits_for_close: false,
            is_over: false,
        }
    }

    fn wake(&self, network: &mut dyn Network, at: Nanoseconds, kind: u8, number: u32) {
        let token = Token {
            kind,
            count: self.visits,
            number,
        };
        network.wake(self.app, at, token.pack());
    }

    /// The visit that is next, if there is one.
    fn next_visit(&self, terms: &scenario::Browser) -> Option<scenario::Visit> {
        let number = self.visits as usize;
        let count = terms.visits.len();
        if count == 0 || (number >= count && !terms.forever) {
            return None;
        }
        terms.visits.get(number % count).copied()
    }

    fn begin(&mut self, network: &mut dyn Network) {
        let scenario = Arc::clone(&self.scenario);
        let Some(terms) = scenario.browsers.get(self.index) else {
            return;
        };
        let Some(visit) = self.next_visit(terms) else {
            self.is_over = true;
            self.pool.close_all(network);
            return;
        };
        let page = scenario.pages.get(visit.page as usize);
        let random = network.random(self.app);
        let objects = page.map_or(&[][..], |page| &page.objects);
        let sizes = objects
            .iter()
            .map(|object| random.draw(&object.size))
            .collect();
        let fetches = fetches(&scenario, visit.plan);
        let mut progress = Progress::new(visit.page, visit.plan, self.visits, sizes, fetches);
        let released = progress.start(fetches);
        self.visits += 1;
        self.current = Some(Current {
            progress,
            queue: VecDeque::new(),
            row: None,
            bytes: 0,
            end: network.now(),
            tries: BTreeMap::new(),
            has_failed: false,
        });
        let now = network.now();
        if let Some(current) = &mut self.current {
            current
                .queue
                .extend(released.into_iter().map(|fetch| (fetch, now)));
        }
        self.dispatch(network);
        self.finish_if_done(network);
    }

    /// These fetches are known: they are wanted after the time that parsing and thinking take.
    fn release(&mut self, network: &mut dyn Network, released: Vec<u32>) {
        let scenario = Arc::clone(&self.scenario);
        let Some(terms) = scenario.browsers.get(self.index) else {
            return;
        };
        for fetch in released {
            let mut delay = terms.parse_ns;
            if terms.thinks_before_fetches {
                delay += network.random(self.app).draw(&terms.think);
            }
            let now = network.now();
            if delay > 0 {
                self.wake(network, now + delay, WANTED, fetch);
            } else if let Some(current) = &mut self.current {
                current.queue.push_back((fetch, now));
            }
        }
    }

    /// Sends what can be sent, in the order in which it was wanted.
    fn dispatch(&mut self, network: &mut dyn Network) {
        let scenario = Arc::clone(&self.scenario);
        let mut position = 0;
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
            let index = match self.pool.place(lane, &limits(plan)) {
                Place::Nowhere => {
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
                    current.progress.took(fetch);
                }
                let written = self.pool.ask(network, index, request);
                self.written(network, &written);
            }
        }
    }

    /// The request of a fetch, for the connection at this index of the pool.
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

    /// These requests were written.
    fn written(&mut self, network: &mut dyn Network, written: &[ExchangeId]) {
        let scenario = Arc::clone(&self.scenario);
        for id in written {
            let Some(fetch) = network.exchanges().get(*id).map(|exchange| exchange.fetch) else {
                continue;
            };
            let Some(current) = &mut self.current else {
                return;
            };
            let fetches = fetches(&scenario, current.progress.plan);
            let released = current.progress.requested(fetches, fetch);
            self.release(network, released);
        }
    }

    fn received(&mut self, network: &mut dyn Network, connection: u32, total: u64) {
        let scenario = Arc::clone(&self.scenario);
        let (Some(channel), Some(current)) = (self.pool.get_mut(connection), &mut self.current)
        else {
            return;
        };
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
                released.extend(current.progress.received(fetches, exchange.fetch, body));
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

    /// All of a response has come.
    fn answered(&mut self, network: &mut dyn Network, connection: u32, id: ExchangeId) {
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
        self.completed(network, &scenario, exchange.fetch);
    }

    fn completed(&mut self, network: &mut dyn Network, scenario: &Scenario, fetch: u32) {
        let Some(current) = &mut self.current else {
            return;
        };
        let fetches = fetches(scenario, current.progress.plan);
        let released = current.progress.completed(fetches, fetch);
        self.release(network, released);
        self.dispatch(network);
        self.finish_if_done(network);
    }

    fn finish_if_done(&mut self, network: &mut dyn Network) {
        if !self
            .current
            .as_ref()
            .is_some_and(|current| current.progress.is_done())
        {
            return;
        }
        let scenario = Arc::clone(&self.scenario);
        let (Some(current), Some(terms)) = (self.current.take(), scenario.browsers.get(self.index))
        else {
            return;
        };
        if let Some(row) = current.row {
            let end = (!current.has_failed).then_some(current.end);
            network.truth().retrieved(row, end, current.bytes);
        }
        let plan = scenario.plans.get(current.progress.plan as usize);
        if !plan.is_some_and(|plan| plan.keeps_connections) {
            self.pool.close_all(network);
        }
        let Some(next) = self.next_visit(terms) else {
            self.is_over = true;
            self.pool.close_all(network);
            return;
        };
        let think = next
            .think_ns
            .unwrap_or_else(|| network.random(self.app).draw(&terms.think));
        let at = network.now() + think;
        self.wake(network, at, VISIT, 0);
    }

    /// A connection can carry nothing more: what waited on it goes on another one.
    fn lost(&mut self, network: &mut dyn Network, connection: u32) {
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
                current.progress.lost(exchange.fetch);
                current.queue.push_front((exchange.fetch, network.now()));
            } else {
                current.has_failed = true;
                given_up.push(exchange.fetch);
            }
        }
        let scenario = Arc::clone(&self.scenario);
        for fetch in given_up {
            self.completed(network, &scenario, fetch);
        }
        self.dispatch(network);
    }

    fn closed(&mut self, network: &mut dyn Network, connection: u32) {
        self.alive.remove(&connection);
        let scenario = Arc::clone(&self.scenario);
        let terms = scenario.browsers.get(self.index);
        let step = terms.and_then(|terms| terms.waits_for_close_ns);
        if self.waits_for_close && self.alive.is_empty() {
            self.waits_for_close = false;
            let now = network.now();
            let at = now.next_multiple_of(step.unwrap_or(1).max(1));
            self.wake(network, at, VISIT, 0);
        }
    }

    fn visit_due(&mut self, network: &mut dyn Network) {
        let terms = self.scenario.browsers.get(self.index);
        let waits = terms.is_some_and(|terms| terms.waits_for_close_ns.is_some());
        if waits && !self.alive.is_empty() {
            self.waits_for_close = true;
        } else {
            self.begin(network);
        }
    }
}

fn pool_terms(app: AppId, scenario: &Scenario, index: usize) -> pool::Terms {
    let browser = scenario.browsers.get(index);
    let (node, stack) = browser.map_or((0, 0), |browser| (browser.node, browser.stack));
    let to = browser.and_then(|browser| match browser.origin {
        Origin::Server(server) => {
            let server = scenario.servers.get(server as usize)?;
            Some((server.node, server.port))
        }
        Origin::Proxy(proxy) => {
            let proxy = scenario.proxies.get(proxy as usize)?;
            Some((proxy.node, proxy.port))
        }
    });
    let (to_node, to_port) = to.unwrap_or((0, 0));
    pool::Terms::new(scenario, app, (node, stack), (to_node, to_port))
}

fn fetches(scenario: &Scenario, plan: u32) -> &[Fetch] {
    let plan = scenario.plans.get(plan as usize);
    plan.map_or(&[], |plan| &plan.fetches)
}

fn limits(plan: &Plan) -> Limits {
    Limits {
        connections: plan.connections,
        persistent: plan.persistent,
        pipelining: plan.pipelining,
    }
}

/// What a request says of its connection: HTTP/1.0 closes without a word, HTTP/1.1 persists.
pub(super) fn connection_field(version: HttpVersion, is_last: bool) -> ConnectionField {
    match (version, is_last) {
        (HttpVersion::Http10, true) => ConnectionField::Absent,
        (_, false) => ConnectionField::KeepAlive,
        (HttpVersion::Http11, true) => ConnectionField::Close,
    }
}

/// The first thing of a visit goes out now.
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

/// What is known of a transaction before its request is written; it is of a browser, a visit
/// and a fetch.
pub(super) fn transaction(
    (browser, visit, number): (u32, u32, u32),
    page: &Page,
    fetch: &Fetch,
    wanted: Nanoseconds,
    to_proxy: bool,
) -> TransactionRow {
    let first = fetch.objects.first();
    let object = first.and_then(|object| page.objects.get(*object as usize));
    TransactionRow {
        connection: 0,
        index: 0,
        browser,
        visit,
        fetch: number,
        method: fetch.method.clone(),
        target: object.map_or_else(String::new, |object| request_target(page, object, to_proxy)),
        status: object.map_or(0, |object| object.status),
        request_bytes: 0,
        response_head_bytes: 0,
        response_body_bytes: 0,
        request_offset: 0,
        response_offset: None,
        wanted,
        written: 0,
        request_first_sent: None,
        request_received: None,
        response_written: None,
        response_first_received: None,
        response_last_received: None,
    }
}

impl Application for Browser {
    fn start(&mut self, network: &mut dyn Network) {
        let start = self
            .scenario
            .browsers
            .get(self.index)
            .map_or(0, |terms| terms.start_ns);
        self.wake(network, start, VISIT, 0);
    }

    fn woken(&mut self, network: &mut dyn Network, token: u64) {
        let token = Token::unpack(token);
        match token.kind {
            VISIT => self.visit_due(network),
            WANTED => {
                let now = network.now();
                if let Some(current) = &mut self.current {
                    current.queue.push_back((token.number, now));
                }
                self.dispatch(network);
            }
            _ => {
                if let Some(channel) = self.pool.get(token.number) {
                    network.read(channel.end(), true);
                }
            }
        }
    }

    fn happened(&mut self, network: &mut dyn Network, at: End, what: Happening) {
        let connection = at.connection;
        match what {
            Happening::Received { total } => self.received(network, connection, total),
            Happening::Message { message } => {
                self.answered(network, connection, ExchangeId::of(message));
            }
            Happening::Connected => {
                let written = self.pool.connected(network, connection);
                self.written(network, &written);
                self.dispatch(network);
            }
            Happening::PeerClosed => self.lost(network, connection),
            Happening::Closed | Happening::Failed => {
                self.lost(network, connection);
                self.closed(network, connection);
            }
            Happening::Accepted | Happening::Written => {}
        }
    }

    fn is_done(&self) -> bool {
        self.is_over && self.alive.is_empty()
    }
}
