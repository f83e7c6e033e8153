//! A running scenario: the world and its applications.

use std::sync::Arc;

use crate::app::browser::Browser;
use crate::app::http2::Http2Server;
use crate::app::proxy::Proxy;
use crate::app::server::Server;
use crate::app::tls::Secured;
use crate::app::transfer::Transfer;
use crate::app::{AppId, Application, Network};
use crate::scenario::Scenario;
use crate::stack::Nanoseconds;
use crate::tap::Tap;
use crate::tls::Tls;
use crate::truth::Truth;
use crate::validate::{self, ScenarioFault};
use crate::world::{Notice, World};

/// The result of a simulation.
#[derive(Debug)]
pub struct Outcome {
    pub truth: Truth,
    /// The taps, in the scenario's order.
    pub taps: Vec<Tap>,
}

/// An application that can move between threads.
pub type BoxedApplication = Box<dyn Application + Send + Sync>;

pub struct Simulation {
    world: World,
    applications: Vec<BoxedApplication>,
    duration: Option<Nanoseconds>,
    is_over: bool,
}

/// Run a scenario to its end.
///
/// # Errors
/// The first invalid item of the scenario.
pub fn run(scenario: &Arc<Scenario>) -> Result<Outcome, ScenarioFault> {
    let mut simulation = Simulation::new(scenario)?;
    simulation.step_until(Nanoseconds::MAX);
    Ok(simulation.finish())
}

impl Simulation {
    /// Start the applications of a scenario.
    ///
    /// # Errors
    /// The first invalid item of the scenario.
    pub fn new(scenario: &Arc<Scenario>) -> Result<Self, ScenarioFault> {
        Self::with(scenario, applications(scenario))
    }

    /// Start these applications, which can be absent from the scenario.
    ///
    /// # Errors
    /// The first invalid item of the scenario.
    pub fn with(
        scenario: &Arc<Scenario>,
        applications: Vec<BoxedApplication>,
    ) -> Result<Self, ScenarioFault> {
        validate::validate(scenario)?;
        let mut simulation = Simulation {
            world: World::new(scenario, applications.len() as u32),
            applications,
            duration: scenario.duration_ns,
            is_over: false,
        };
        for application in &mut simulation.applications {
            application.start(&mut simulation.world);
            simulation.world.drive_called();
        }
        simulation.tell();
        Ok(simulation)
    }

    /// Run until this time or the end. Return true if events remain.
    pub fn step_until(&mut self, time: Nanoseconds) -> bool {
        let end = self.duration.unwrap_or(validate::LAST_TIME);
        let until = time.min(end);
        while self.world.next_time().is_some_and(|next| next <= until) {
            self.world.step();
            self.tell();
            if self.is_done() {
                self.is_over = true;
                return false;
            }
        }
        self.is_over = self.world.next_time().is_none_or(|next| next > end);
        !self.is_over
    }

    /// Handle at most `events` events. Return true if events remain.
    pub fn step(&mut self, events: u64) -> bool {
        let last = self.events().saturating_add(events);
        let end = self.duration.unwrap_or(validate::LAST_TIME);
        while self.events() < last {
            if self.world.next_time().is_none_or(|next| next > end) || self.is_done() {
                self.is_over = true;
                return false;
            }
            self.world.step();
            self.tell();
        }
        true
    }

    /// Return the number of handled events.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.world.fabric().truth.events
    }

    #[must_use]
    pub fn now(&self) -> Nanoseconds {
        self.world.now()
    }

    #[must_use]
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Return the truth and the captures so far.
    #[must_use]
    pub fn finish(mut self) -> Outcome {
        if let Some(duration) = self.duration.filter(|_| self.is_over) {
            if !self.is_done() {
                self.world.advance_to(duration);
            }
        }
        self.world.finish();
        let fabric = self.world.into_fabric();
        Outcome {
            truth: fabric.truth,
            taps: fabric.taps,
        }
    }

    /// Deliver events to the applications, and drive the ends that they call.
    fn tell(&mut self) {
        loop {
            while let Some((app, notice)) = self.world.notice() {
                let Some(application) = self.applications.get_mut(app.0 as usize) else {
                    continue;
                };
                match notice {
                    Notice::Woken { token } => application.woken(&mut self.world, token),
                    Notice::Happened { at, what } => {
                        application.on_event(&mut self.world, at, what);
                    }
                }
            }
            if !self.world.drive_called() {
                return;
            }
        }
    }

    /// Return true if no remaining event can have a visible effect.
    fn is_done(&self) -> bool {
        self.world.is_quiet() && self.applications.iter().all(|it| it.is_done())
    }
}

/// Return the applications of a scenario in number order: servers, proxies, browsers, transfers.
pub(crate) fn applications(scenario: &Arc<Scenario>) -> Vec<BoxedApplication> {
    let mut made: Vec<BoxedApplication> = Vec::new();
    let next = |made: &Vec<BoxedApplication>| AppId(made.len() as u32);
    for (index, server) in scenario.servers.iter().enumerate() {
        let app = next(&made);
        let http1 = Server::new(app, scenario, index);
        let plain: BoxedApplication = match server.http2 {
            Some(terms) => Box::new(Http2Server::new(http1, terms)),
            None => Box::new(http1),
        };
        made.push(secured(app, plain, scenario, server.secured(), ""));
    }
    for index in 0..scenario.proxies.len() {
        made.push(Box::new(Proxy::new(next(&made), scenario, index)));
    }
    for (index, browser) in scenario.browsers.iter().enumerate() {
        let app = next(&made);
        let plain = Box::new(Browser::new(app, scenario, index));
        let name = scenario.server_name_of(browser);
        made.push(secured(
            app,
            plain,
            scenario,
            scenario.tls_of(browser),
            name,
        ));
    }
    for index in 0..scenario.transfers.len() {
        made.push(Box::new(Transfer::new(next(&made), scenario, index)));
    }
    made
}

/// Return the application, with TLS around it if its connections use TLS.
fn secured(
    app: AppId,
    plain: BoxedApplication,
    scenario: &Scenario,
    tls: Option<Tls>,
    server_name: &str,
) -> BoxedApplication {
    match tls {
        Some(tls) => Box::new(Secured::new(app, plain, tls, scenario.seed, server_name)),
        None => plain,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{json, Value};

    use super::*;
    use crate::testing;
    use crate::truth::{Drop, Side};

    fn run_document(document: Value) -> Outcome {
        run(&Arc::new(testing::scenario(document))).unwrap()
    }

    #[test]
    fn a_fetched_page_ends_the_simulation() {
        let outcome = run_document(testing::document());
        let truth = outcome.truth;
        assert_eq!(truth.transactions.len(), 2);
        assert!(truth
            .transactions
            .iter()
            .all(|row| row.response_last_received.is_some()));
        assert_eq!(truth.connections.len(), 1);
        assert!(truth.connections[0].closed.is_some());
        assert_eq!(truth.retrievals.len(), 1);
        assert!(truth.packets.iter().all(|row| row.received.is_some()));
    }

    #[test]
    fn the_handshake_takes_the_links_time() {
        let truth = run_document(testing::document()).truth;
        // A SYN has 40 bytes, 20 bytes of options and 14 bytes of framing: 592 us per link.
        let one_way = 2 * (592_000 + 10_000_000);
        assert_eq!(truth.packets[0].received, Some(one_way));
        assert_eq!(truth.connections[0].established, Some(2 * one_way));
    }

    #[test]
    fn equal_seeds_give_equal_bytes_and_other_seeds_differ() {
        let mut document = testing::document();
        document["taps"] = json!([{"kind": "node", "index": 0}]);
        let capture = |document: &Value| run_document(document.clone()).taps[0].pcap().to_vec();
        let first = capture(&document);
        assert_eq!(capture(&document), first);
        document["seed"] = json!(2);
        assert_ne!(capture(&document), first);
    }

    #[test]
    fn taps_and_rows_do_not_change_the_simulation() {
        let mut document = testing::document();
        let all = run_document(document.clone()).truth;
        document["record"] =
            json!({"packets": false, "windows": false, "queues": false, "limits": false});
        document["taps"] = json!([{"kind": "link", "index": 1}, {"kind": "node", "index": 1}]);
        let few = run_document(document).truth;
        assert_eq!((few.packets.len(), few.hops.len()), (0, 0));
        assert_eq!(
            (few.windows.len(), few.queues.len(), few.limits.len()),
            (0, 0, 0)
        );
        assert_eq!(few.transactions, all.transactions);
        assert_eq!((few.events, few.end), (all.events, all.end));
    }

    #[test]
    fn steps_of_any_size_equal_one_run() {
        let scenario = Arc::new(testing::scenario(testing::document()));
        let whole = run(&scenario).unwrap().truth;
        let mut by_events = Simulation::new(&scenario).unwrap();
        while by_events.step(7) {}
        assert_eq!(by_events.finish().truth, whole);
        let mut by_time = Simulation::new(&scenario).unwrap();
        let mut until = 0;
        while by_time.step_until(until) {
            until += 33_000_000;
        }
        assert_eq!(by_time.finish().truth, whole);
    }

    #[test]
    fn taps_at_both_ends_see_the_packets_of_the_truth() {
        let mut document = testing::document();
        document["taps"] = json!([{"kind": "node", "index": 0}, {"kind": "node", "index": 2}]);
        document["links"][2]["loss"] = json!([{"kind": "data-segments", "segments": [3]}]);
        let outcome = run_document(document);
        let packets = &outcome.truth.packets;
        let lost = packets.iter().filter(|row| row.received.is_none()).count();
        assert_eq!(lost, 1);
        let drops: Vec<_> = outcome
            .truth
            .hops
            .iter()
            .filter_map(|row| row.drop)
            .collect();
        assert_eq!(drops, [Drop::Scripted]);
        assert_eq!(outcome.taps[1].len(), packets.len());
        assert_eq!(outcome.taps[0].len(), packets.len() - 1);
        assert_eq!(
            packets.iter().filter(|row| row.is_retransmission).count(),
            1
        );
    }

    #[test]
    fn a_page_completes_despite_drops_of_a_full_queue() {
        let mut document = testing::document();
        document["links"][3]["queue"] = json!({"kind": "packets", "limit": 2});
        document["links"][3]["rate_bps"] = json!(100_000);
        let truth = run_document(document).truth;
        assert!(truth
            .hops
            .iter()
            .any(|row| row.drop == Some(Drop::QueueFull)));
        assert!(truth
            .queues
            .iter()
            .filter(|row| row.link == 3)
            .all(|row| row.packets <= 2));
        assert!(truth.retrievals[0].end.is_some());
    }

    #[test]
    fn a_reader_is_notified_of_a_complete_message() {
        let truth = run_document(testing::document()).truth;
        let row = &truth.transactions[0];
        let end = row.response_offset.unwrap() + row.response_head_bytes + row.response_body_bytes;
        let last = truth.packets.iter().find(|packet| {
            packet.side == Side::Server && packet.seq + u64::from(packet.payload) == end
        });
        assert_eq!(row.response_last_received, last.unwrap().received);
    }

    /// Return memory figures: the maximum or the final count of each kind of object.
    fn most(document: &Value, seconds: u64) -> [usize; 5] {
        let mut document = document.clone();
        document["duration_ns"] = json!(seconds * 1_000_000_000);
        document["browsers"][0]["forever"] = json!(true);
        document["record"] = json!({"transactions": false, "packets": false, "windows": false,
            "queues": false, "limits": false});
        let scenario = Arc::new(testing::scenario(document));
        let mut simulation = Simulation::new(&scenario).unwrap();
        simulation.step_until(u64::MAX);
        let world = simulation.world();
        let truth = &world.fabric().truth;
        assert!(truth.totals.retrievals > seconds / 8);
        // Timers of finished connections expire within a minute.
        assert!(world.fabric().events.len() < 100);
        [
            world.most_connections(),
            world.fabric().most_in_flight(),
            truth.connections.held().min(2),
            truth.transactions.held().min(3),
            truth.retrievals.held().min(2),
        ]
    }

    #[test]
    fn memory_is_flat_in_simulated_time() {
        let document = testing::document();
        let later = most(&document, 3000);
        assert_eq!(later[..2], most(&document, 300)[..2]);
        // At most one visit is under way.
        assert!(later[2] < 2 && later[3] < 3 && later[4] < 2, "{later:?}");
    }

    #[test]
    fn totals_equal_the_rows() {
        let truth = run_document(testing::document()).truth;
        let mut document = testing::document();
        document["record"] = json!({"transactions": false, "packets": false, "windows": false,
            "queues": false, "limits": false});
        let few = run_document(document).truth;
        assert_eq!((few.totals, few.events), (truth.totals, truth.events));
        assert_eq!(few.retrievals.held(), 0);
        let row = &truth.retrievals[0];
        assert_eq!(truth.totals.retrieved_bytes, row.bytes);
        assert_eq!(truth.totals.retrieval_time, row.end.unwrap() - row.start);
    }

    #[test]
    fn an_invalid_scenario_names_the_item_and_the_reason() {
        let cases = [
            ("/links/2/to", json!(9), "links[2].to: 9 is not a node (there are 3)"),
            ("/links/0/rate_bps", json!(0), "links[0].rate_bps: 0 is below the minimum of 1"),
            ("/servers/0/stack", json!(1), "servers[0].stack: 1 is not a stack (there are 1)"),
            (
                "/browsers/0/node",
                json!(2),
                "browsers[0].node: 2 is the node of its peer; connections inside a node are not supported",
            ),
            (
                "/plans/0/fetches/0/after",
                json!({"kind": "complete", "fetch": 1}),
                "plans[0].fetches[0].after: the fetch waits for itself through other fetches",
            ),
            (
                "/plans/0/fetches/1/objects",
                json!([2]),
                "browsers[0].visits[0].page: pages[0] has no object 2, which plans[0].fetches[1] fetches",
            ),
            (
                "/browsers/0/forever",
                json!(true),
                "browsers[0].forever: the repetition never ends; set duration_ns in the scenario",
            ),
            (
                "/links/3/from",
                json!(2),
                "browsers[0].node: no path of links leads from node 2 (server) to node 0 (client)",
            ),
        ];
        for (pointer, value, expected) in cases {
            let mut document = testing::document();
            *document.pointer_mut(pointer).unwrap() = value;
            if pointer == "/links/3/from" {
                document["links"][3]["to"] = json!(1);
            }
            let fault = run(&Arc::new(testing::scenario(document))).unwrap_err();
            assert_eq!(fault.to_string(), expected);
        }
    }
}
