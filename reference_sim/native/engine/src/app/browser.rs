//! A browser: visits pages, and fetches each page by its plan.

mod answers;
mod asking;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::exchange::ExchangeId;
use super::http_text::Template;
use super::plan::Progress;
use super::pool::Pool;
use super::{pool, AppEvent, AppId, Application, End, Network, Token};
use crate::scenario::{self, Fetch, Origin, Scenario};
use crate::stack::Nanoseconds;

/// Kinds of timers: the next visit is due, a fetch is due, reading resumes.
const VISIT: u8 = 0;
const WANTED: u8 = 1;
const READING: u8 = 2;

/// A browser of the scenario.
pub struct Browser {
    app: AppId,
    scenario: Arc<Scenario>,
    index: usize,
    pool: Pool,
    requests: BTreeMap<(u32, u32, u32), Arc<Template>>,
    /// Number of started visits.
    visits: u32,
    current: Option<Current>,
    /// Connections that are not closed yet.
    alive: BTreeSet<u32>,
    /// True if the next visit is due and waits for the connections to close.
    waits_for_close: bool,
    is_over: bool,
}

/// The current visit.
struct Current {
    progress: Progress,
    /// Fetches that wait for a connection, with the times at which they became due.
    queue: VecDeque<(u32, Nanoseconds)>,
    /// Row in the truth's retrievals, set at the first write.
    row: Option<usize>,
    bytes: u64,
    /// Arrival time of the last response.
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

    /// Return the next visit, if there is one.
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

    /// Release fetches: each becomes due after the time for parsing and thinking.
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
    let terms = pool::Terms::new(scenario, app, (node, stack), (to_node, to_port));
    let is_secured = browser.is_some_and(|browser| scenario.tls_of(browser).is_some());
    pool::Terms {
        // The TLS handshake comes first.
        writes_at_once: terms.writes_at_once && !is_secured,
        is_secured,
        http2: browser.and_then(|browser| scenario.http2_of(browser)),
        ..terms
    }
}

fn fetches(scenario: &Scenario, plan: u32) -> &[Fetch] {
    let plan = scenario.plans.get(plan as usize);
    plan.map_or(&[], |plan| &plan.fetches)
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

    fn on_event(&mut self, network: &mut dyn Network, at: End, what: AppEvent) {
        let connection = at.connection;
        match what {
            AppEvent::Received { total } => self.on_data(network, connection, total),
            AppEvent::Message { message } => {
                self.on_response(network, connection, ExchangeId::of(message));
            }
            AppEvent::Connected => {
                let written = self.pool.connected(network, connection);
                self.on_written(network, &written);
                self.dispatch(network);
            }
            AppEvent::PeerClosed => self.on_connection_lost(network, connection),
            AppEvent::Closed | AppEvent::Failed => {
                self.on_connection_lost(network, connection);
                self.closed(network, connection);
                network.exchanges().frames.forget(at);
            }
            AppEvent::Accepted | AppEvent::Written => {}
        }
    }

    fn is_done(&self) -> bool {
        self.is_over && self.alive.is_empty()
    }
}
