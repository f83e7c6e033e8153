//! Whether a scenario can be: every index and every number of it is looked at before it runs.

use std::collections::BTreeSet;
use std::fmt::{self, Display};

use crate::route::Routes;
use crate::scenario::{
    After, Browser, Fetch, Law, Link, Loss, Origin, Page, Plan, Proxy, Scenario, Server, Tap,
    Transfer,
};
use crate::stack::{AckDelay, InitialWindow, Stack};

/// Something in a scenario that cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioFault {
    /// Where: `links[2].to`.
    pub path: String,
    pub what: String,
}

impl Display for ScenarioFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.path, self.what)
    }
}

impl std::error::Error for ScenarioFault {}

type Check = Result<(), ScenarioFault>;

/// The largest payload that an IPv4 packet can carry in a segment without options.
const MAX_MSS: u32 = 65_495;
/// The largest window that the header can tell without a scale (RFC 9293, section 3.1).
const MAX_SCALE: u8 = 14;
/// A frame that no link of ours has: it would be a mistake of units.
const MAX_FRAMING_BYTES: u32 = 1_000;
/// A thousand terabits a second: more would be a mistake of units.
const MAX_RATE_BPS: u64 = 1_000_000_000_000_000;
/// A year: what is longer would be a mistake of units, and sums of times must not overflow.
const MAX_TIME_NS: u64 = 366 * 24 * 3600 * 1_000_000_000;

/// Looks at everything that running a scenario relies on.
///
/// # Errors
/// The first thing that cannot be.
pub fn validate(scenario: &Scenario) -> Check {
    optional_time("duration_ns", scenario.duration_ns)?;
    at_most(
        "framing_bytes",
        scenario.framing_bytes.into(),
        MAX_FRAMING_BYTES.into(),
    )?;
    nodes(scenario)?;
    each("links", &scenario.links, |at, link| {
        self::link(at, link, scenario)
    })?;
    each("stacks", &scenario.stacks, stack)?;
    each("pages", &scenario.pages, page)?;
    each("plans", &scenario.plans, plan)?;
    each("servers", &scenario.servers, |at, it| {
        server(at, it, scenario)
    })?;
    each("proxies", &scenario.proxies, |at, it| {
        proxy(at, it, scenario)
    })?;
    listeners(scenario)?;
    each("browsers", &scenario.browsers, |at, it| {
        browser(at, it, scenario)
    })?;
    each("transfers", &scenario.transfers, |at, it| {
        transfer(at, it, scenario)
    })?;
    each("taps", &scenario.taps, |at, it| tap(at, it, scenario))?;
    paths(scenario)
}

fn fault(path: impl Display, what: impl Display) -> ScenarioFault {
    ScenarioFault {
        path: path.to_string(),
        what: what.to_string(),
    }
}

fn require(holds: bool, path: impl Display, what: impl Display) -> Check {
    if holds {
        Ok(())
    } else {
        Err(fault(path, what))
    }
}

fn each<T>(name: &str, things: &[T], check: impl Fn(&str, &T) -> Check) -> Check {
    for (number, thing) in things.iter().enumerate() {
        check(&format!("{name}[{number}]"), thing)?;
    }
    Ok(())
}

/// A reference to one of so many things.
fn index(path: impl Display, value: u32, count: usize, noun: &str) -> Check {
    require(
        (value as usize) < count,
        path,
        format_args!("{value} is not a {noun} (there are {count})"),
    )
}

fn at_least(path: impl Display, value: u64, least: u64) -> Check {
    let what = format_args!("{value} is below the least of {least}");
    require(value >= least, path, what)
}

fn at_most(path: impl Display, value: u64, most: u64) -> Check {
    let what = format_args!("{value} is above the most of {most}");
    require(value <= most, path, what)
}

fn time(path: impl Display, value: u64) -> Check {
    let what = format_args!("{value} ns is more than a year");
    require(value <= MAX_TIME_NS, path, what)
}

fn optional_time(path: impl Display, value: Option<u64>) -> Check {
    value.map_or(Ok(()), |value| time(path, value))
}

fn probability(path: impl Display, value: f64) -> Check {
    let what = format_args!("{value} is no probability: from 0 to 1");
    require((0.0..=1.0).contains(&value), path, what)
}

fn not_both_none(duration: Option<u64>, forever: bool, path: &str) -> Check {
    require(
        !forever || duration.is_some(),
        format_args!("{path}.forever"),
        "it never ends; the scenario needs a duration_ns",
    )
}

fn nodes(scenario: &Scenario) -> Check {
    at_least("nodes", scenario.nodes.len() as u64, 1)?;
    let mut known = BTreeSet::new();
    each("nodes", &scenario.nodes, |at, node| {
        let [a, b, c, d] = node.address;
        require(
            node.address != [0; 4],
            format_args!("{at}.address"),
            format_args!("{a}.{b}.{c}.{d} is no address of a host"),
        )
    })?;
    for (number, node) in scenario.nodes.iter().enumerate() {
        let [a, b, c, d] = node.address;
        require(
            known.insert(node.address),
            format_args!("nodes[{number}].address"),
            format_args!("{a}.{b}.{c}.{d} is the address of another node, too"),
        )?;
    }
    Ok(())
}

fn link(at: &str, link: &Link, scenario: &Scenario) -> Check {
    let nodes = scenario.nodes.len();
    index(format_args!("{at}.from"), link.from, nodes, "node")?;
    index(format_args!("{at}.to"), link.to, nodes, "node")?;
    require(
        link.from != link.to,
        format_args!("{at}.to"),
        format_args!("{} is where the link comes from", link.to),
    )?;
    if let Some(rate) = link.rate_bps {
        at_least(format_args!("{at}.rate_bps"), rate, 1)?;
        at_most(format_args!("{at}.rate_bps"), rate, MAX_RATE_BPS)?;
    }
    time(format_args!("{at}.delay_ns"), link.delay_ns)?;
    each(&format!("{at}.loss"), &link.loss, loss)
}

fn loss(at: &str, loss: &Loss) -> Check {
    match loss {
        Loss::BitErrors { rate } | Loss::Packets { rate } => {
            probability(format_args!("{at}.rate"), *rate)
        }
        Loss::Bursts {
            good_to_bad,
            bad_to_good,
            loss_in_good,
            loss_in_bad,
        } => {
            probability(format_args!("{at}.good_to_bad"), *good_to_bad)?;
            probability(format_args!("{at}.bad_to_good"), *bad_to_good)?;
            probability(format_args!("{at}.loss_in_good"), *loss_in_good)?;
            probability(format_args!("{at}.loss_in_bad"), *loss_in_bad)
        }
        Loss::Numbered { .. } | Loss::DataSegments { .. } => Ok(()),
    }
}

fn law(at: impl Display, law: &Law) -> Check {
    match *law {
        Law::Constant { .. } => Ok(()),
        Law::Uniform { low, high } => require(
            low <= high,
            format_args!("{at}.high"),
            format_args!("{high} is below the low of {low}"),
        ),
        Law::Exponential { mean } => positive(format_args!("{at}.mean"), mean),
        Law::Pareto { scale, shape, .. } => {
            positive(format_args!("{at}.scale"), scale)?;
            positive(format_args!("{at}.shape"), shape)
        }
    }
}

fn positive(path: impl Display, value: f64) -> Check {
    let what = format_args!("{value} is no positive number");
    require(value.is_finite() && value > 0.0, path, what)
}

fn stack(at: &str, stack: &Stack) -> Check {
    let path = |field: &str| format!("{at}.{field}");
    at_least(path("mss"), stack.mss.into(), 1)?;
    at_most(path("mss"), stack.mss.into(), MAX_MSS.into())?;
    if let Some(shift) = stack.window_scale {
        at_most(path("window_scale"), shift.into(), MAX_SCALE.into())?;
    }
    at_least(path("receive_buffer"), stack.receive_buffer, 1)?;
    at_least(path("send_buffer"), stack.send_buffer, 1)?;
    if let Some(segments) = stack.max_window_segments {
        at_least(path("max_window_segments"), segments.into(), 1)?;
    }
    if let InitialWindow::Segments(segments) = stack.initial_window {
        at_least(path("initial_window"), segments.into(), 1)?;
    }
    if let Some(bytes) = stack.write_step_bytes {
        at_least(path("write_step_bytes"), bytes.into(), 1)?;
    }
    at_least(path("acks.every"), stack.acks.every.into(), 1)?;
    match stack.acks.delay {
        AckDelay::Heartbeat { period_ns, .. } => {
            at_least(path("acks.delay.period_ns"), period_ns, 1)?;
            time(path("acks.delay.period_ns"), period_ns)?;
        }
        AckDelay::Timer { delay_ns } => time(path("acks.delay.delay_ns"), delay_ns)?,
    }
    time(path("time_wait_ns"), stack.time_wait_ns)?;
    retransmission(at, stack)
}

fn retransmission(at: &str, stack: &Stack) -> Check {
    let rules = &stack.retransmission;
    let path = |field: &str| format!("{at}.retransmission.{field}");
    at_least(path("initial_ns"), rules.initial_ns, 1)?;
    at_least(path("syn_initial_ns"), rules.syn_initial_ns, 1)?;
    at_least(path("max_ns"), rules.max_ns, rules.min_ns.max(1))?;
    at_least(
        path("duplicate_ack_threshold"),
        rules.duplicate_ack_threshold.into(),
        1,
    )?;
    let times = [
        ("initial_ns", rules.initial_ns),
        ("syn_initial_ns", rules.syn_initial_ns),
        ("max_ns", rules.max_ns),
        ("tick_ns", rules.tick_ns),
    ];
    times
        .iter()
        .try_for_each(|(name, ns)| time(path(name), *ns))
}

fn page(at: &str, page: &Page) -> Check {
    at_least(format_args!("{at}.objects"), page.objects.len() as u64, 1)?;
    each(&format!("{at}.objects"), &page.objects, |at, object| {
        law(format_args!("{at}.size"), &object.size)?;
        require(
            (100..=599).contains(&object.status),
            format_args!("{at}.status"),
            format_args!("{} is no status of HTTP: from 100 to 599", object.status),
        )?;
        time(format_args!("{at}.processing_ns"), object.processing_ns)
    })
}

fn plan(at: &str, plan: &Plan) -> Check {
    if let Some(connections) = plan.connections {
        at_least(format_args!("{at}.connections"), connections.into(), 1)?;
    }
    at_least(format_args!("{at}.pipelining"), plan.pipelining.into(), 1)?;
    at_least(format_args!("{at}.fetches"), plan.fetches.len() as u64, 1)?;
    for (number, fetch) in plan.fetches.iter().enumerate() {
        self::fetch(&format!("{at}.fetches[{number}]"), fetch, plan)?;
        let path = format!("{at}.fetches[{number}].after");
        require(
            reaches_start(number, plan),
            path,
            "it waits for itself, by way of others",
        )?;
    }
    Ok(())
}

fn fetch(at: &str, fetch: &Fetch, plan: &Plan) -> Check {
    require(
        !fetch.method.is_empty(),
        format_args!("{at}.method"),
        "a request has a method",
    )?;
    at_least(format_args!("{at}.objects"), fetch.objects.len() as u64, 1)?;
    if let Some(before) = before(fetch) {
        index(
            format_args!("{at}.after.fetch"),
            before,
            plan.fetches.len(),
            "fetch",
        )?;
    }
    if let (Some(lane), Some(connections)) = (fetch.lane, plan.connections) {
        index(
            format_args!("{at}.lane"),
            lane,
            connections as usize,
            "connection",
        )?;
    }
    if let Some(bytes) = fetch.split_after {
        at_least(format_args!("{at}.split_after"), bytes.into(), 1)?;
    }
    time(format_args!("{at}.split_gap_ns"), fetch.split_gap_ns)
}

/// The fetch that a fetch waits for.
fn before(fetch: &Fetch) -> Option<u32> {
    match fetch.after {
        After::Start => None,
        After::Complete { fetch } | After::Bytes { fetch, .. } | After::Requested { fetch } => {
            Some(fetch)
        }
    }
}

/// Each fetch waits for one other at most: the way back is a chain.
fn reaches_start(number: usize, plan: &Plan) -> bool {
    let mut at = plan.fetches.get(number);
    for _ in 0..=plan.fetches.len() {
        match at.map(before) {
            None | Some(None) => return true,
            Some(Some(before)) => at = plan.fetches.get(before as usize),
        }
    }
    false
}

fn server(at: &str, server: &Server, scenario: &Scenario) -> Check {
    host(at, ("node", server.node), ("stack", server.stack), scenario)?;
    at_least(format_args!("{at}.port"), server.port.into(), 1)?;
    law(format_args!("{at}.processing"), &server.processing)?;
    if let Some(bytes) = server.writes.chunk_bytes {
        at_least(format_args!("{at}.writes.chunk_bytes"), bytes, 1)?;
    }
    time(format_args!("{at}.writes.gap_ns"), server.writes.gap_ns)?;
    if let Some(limits) = &server.keep_alive {
        if let Some(requests) = limits.max_requests {
            at_least(
                format_args!("{at}.keep_alive.max_requests"),
                requests.into(),
                1,
            )?;
        }
        optional_time(
            format_args!("{at}.keep_alive.timeout_ns"),
            limits.timeout_ns,
        )?;
    }
    Ok(())
}

fn proxy(at: &str, proxy: &Proxy, scenario: &Scenario) -> Check {
    host(at, ("node", proxy.node), ("stack", proxy.stack), scenario)?;
    let stacks = scenario.stacks.len();
    index(
        format_args!("{at}.upstream_stack"),
        proxy.upstream_stack,
        stacks,
        "stack",
    )?;
    index(
        format_args!("{at}.server"),
        proxy.server,
        scenario.servers.len(),
        "server",
    )?;
    at_least(format_args!("{at}.port"), proxy.port.into(), 1)?;
    if let Some(connections) = proxy.upstream_connections {
        at_least(
            format_args!("{at}.upstream_connections"),
            connections.into(),
            1,
        )?;
    }
    if let Some(plan) = proxy.prefetch_plan {
        index(
            format_args!("{at}.prefetch_plan"),
            plan,
            scenario.plans.len(),
            "plan",
        )?;
    }
    Ok(())
}

/// Nobody else listens on the port of a server or proxy.
fn listeners(scenario: &Scenario) -> Check {
    let servers = scenario.servers.iter().map(|it| (it.node, it.port));
    let proxies = scenario.proxies.iter().map(|it| (it.node, it.port));
    let servers = servers.zip(0..).map(|(it, number)| (it, "servers", number));
    let proxies = proxies.zip(0..).map(|(it, number)| (it, "proxies", number));
    let mut known = BTreeSet::new();
    for ((node, port), name, number) in servers.chain(proxies) {
        require(
            known.insert((node, port)),
            format_args!("{name}[{number}].port"),
            format_args!("another one listens on port {port} of node {node}"),
        )?;
    }
    Ok(())
}

fn host(at: &str, node: (&str, u32), stack: (&str, u32), scenario: &Scenario) -> Check {
    let (nodes, stacks) = (scenario.nodes.len(), scenario.stacks.len());
    index(format_args!("{at}.{}", node.0), node.1, nodes, "node")?;
    index(format_args!("{at}.{}", stack.0), stack.1, stacks, "stack")
}

fn browser(at: &str, browser: &Browser, scenario: &Scenario) -> Check {
    host(
        at,
        ("node", browser.node),
        ("stack", browser.stack),
        scenario,
    )?;
    let path = format!("{at}.origin");
    match browser.origin {
        Origin::Server(server) => index(path, server, scenario.servers.len(), "server")?,
        Origin::Proxy(proxy) => index(path, proxy, scenario.proxies.len(), "proxy")?,
    }
    time(format_args!("{at}.start_ns"), browser.start_ns)?;
    time(format_args!("{at}.parse_ns"), browser.parse_ns)?;
    law(format_args!("{at}.think"), &browser.think)?;
    if let Some(step) = browser.waits_for_close_ns {
        at_least(format_args!("{at}.waits_for_close_ns"), step, 1)?;
        time(format_args!("{at}.waits_for_close_ns"), step)?;
    }
    if let Some(reading) = &browser.reading {
        time(format_args!("{at}.reading.pause_ns"), reading.pause_ns)?;
    }
    not_both_none(scenario.duration_ns, browser.forever, at)?;
    at_least(format_args!("{at}.visits"), browser.visits.len() as u64, 1)?;
    each(&format!("{at}.visits"), &browser.visits, |at, visit| {
        index(
            format_args!("{at}.page"),
            visit.page,
            scenario.pages.len(),
            "page",
        )?;
        index(
            format_args!("{at}.plan"),
            visit.plan,
            scenario.plans.len(),
            "plan",
        )?;
        fetched(at, visit.page, visit.plan, scenario)
    })
}

/// The objects that a plan fetches are those of the page.
fn fetched(at: &str, page: u32, plan: u32, scenario: &Scenario) -> Check {
    let objects = scenario
        .pages
        .get(page as usize)
        .map(|page| page.objects.len());
    let fetches = scenario.plans.get(plan as usize).map(|plan| &plan.fetches);
    for (number, fetch) in fetches.into_iter().flatten().enumerate() {
        for object in &fetch.objects {
            require(
                objects.is_some_and(|count| (*object as usize) < count),
                format_args!("{at}.page"),
                format_args!(
                    "pages[{page}] has no object {object}, which plans[{plan}].fetches[{number}] wants"
                ),
            )?;
        }
    }
    Ok(())
}

fn transfer(at: &str, transfer: &Transfer, scenario: &Scenario) -> Check {
    host(
        at,
        ("node", transfer.node),
        ("stack", transfer.stack),
        scenario,
    )?;
    let node = ("server_node", transfer.server_node);
    host(at, node, ("server_stack", transfer.server_stack), scenario)?;
    time(format_args!("{at}.start_ns"), transfer.start_ns)?;
    at_least(format_args!("{at}.files"), transfer.files.len() as u64, 1)?;
    not_both_none(scenario.duration_ns, transfer.forever, at)
}

fn tap(at: &str, tap: &Tap, scenario: &Scenario) -> Check {
    match *tap {
        Tap::Node(node) => index(at, node, scenario.nodes.len(), "node"),
        Tap::Link(link) => index(at, link, scenario.links.len(), "link"),
    }
}

/// Wherever there is talk, there is a way there and back.
fn paths(scenario: &Scenario) -> Check {
    let routes = Routes::new(scenario.nodes.len(), &scenario.links);
    let node_of = |origin| match origin {
        Origin::Server(server) => scenario.servers.get(server as usize).map(|it| it.node),
        Origin::Proxy(proxy) => scenario.proxies.get(proxy as usize).map(|it| it.node),
    };
    each("browsers", &scenario.browsers, |at, browser| {
        let to = node_of(browser.origin).unwrap_or(browser.node);
        way(&format!("{at}.node"), browser.node, to, scenario, &routes)
    })?;
    each("proxies", &scenario.proxies, |at, proxy| {
        let to = node_of(Origin::Server(proxy.server)).unwrap_or(proxy.node);
        way(&format!("{at}.node"), proxy.node, to, scenario, &routes)
    })?;
    each("transfers", &scenario.transfers, |at, it| {
        way(
            &format!("{at}.node"),
            it.node,
            it.server_node,
            scenario,
            &routes,
        )
    })
}

fn way(path: &str, from: u32, to: u32, scenario: &Scenario, routes: &Routes) -> Check {
    let name = |node: u32| {
        scenario
            .nodes
            .get(node as usize)
            .map_or("", |node| &node.name)
    };
    require(
        from != to,
        path,
        format_args!("{from} is the node of its peer; there are no connections inside a node"),
    )?;
    for (from, to) in [(from, to), (to, from)] {
        require(
            routes.next(from, to).is_some(),
            path,
            format_args!(
                "no path of links leads from node {from} ({}) to node {to} ({})",
                name(from),
                name(to)
            ),
        )?;
    }
    Ok(())
}
