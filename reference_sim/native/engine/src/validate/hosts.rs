//! The communicating hosts: servers, proxies, browsers and transfers.

use std::collections::BTreeSet;

use super::check::{
    at_least, at_most, each, index, largest, law_of_time, optional, optional_time, require, time,
    Check,
};
use super::limits::{
    MAX_BYTES, MAX_CHAIN_BYTES, MAX_FRAME_BYTES, MAX_HEAD_BYTES, MAX_HELLO_BYTES, MAX_RECORD_BYTES,
    MAX_TICKETS, MAX_TICKET_BYTES, MAX_WINDOW, MAX_WRITES, MIN_CHAIN_BYTES,
};
use super::text;
use crate::http2::{Http2, FIRST_CONNECTION_WINDOW};
use crate::scenario::{Browser, Origin, Proxy, Scenario, Server, Transfer};
use crate::tls::{Tls, TlsVersion};

/// Check all hosts.
pub(super) fn hosts(scenario: &Scenario) -> Check {
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
    })
}

fn not_both_none(duration: Option<u64>, forever: bool, path: &str) -> Check {
    require(
        !forever || duration.is_some(),
        format_args!("{path}.forever"),
        "the repetition never ends; set duration_ns in the scenario",
    )
}

fn server(at: &str, server: &Server, scenario: &Scenario) -> Check {
    host(at, ("node", server.node), ("stack", server.stack), scenario)?;
    at_least(format_args!("{at}.port"), server.port.into(), 1)?;
    law_of_time(format_args!("{at}.processing"), &server.processing)?;
    text::line(&format!("{at}.product"), &server.product)?;
    writes(at, server, scenario)?;
    at_most(
        format_args!("{at}.min_head_bytes"),
        server.min_head_bytes.into(),
        MAX_HEAD_BYTES,
    )?;
    time(format_args!("{at}.writes.gap_ns"), server.writes.gap_ns)?;
    if let Some(limits) = &server.keep_alive {
        optional(
            format_args!("{at}.keep_alive.max_requests"),
            limits.max_requests,
        )?;
        optional_time(
            format_args!("{at}.keep_alive.timeout_ns"),
            limits.timeout_ns,
        )?;
    }
    let tls = server.tls.as_ref();
    tls.map_or(Ok(()), |it| secured(&format!("{at}.tls"), it))?;
    let terms = server.http2.as_ref();
    terms.map_or(Ok(()), |it| http2(&format!("{at}.http2"), it))
}

fn http2(at: &str, http2: &Http2) -> Check {
    let first = u64::from(FIRST_CONNECTION_WINDOW);
    let numbers = [
        ("stream_window", http2.stream_window, 1, MAX_WINDOW),
        (
            "connection_window",
            http2.connection_window,
            first,
            MAX_WINDOW,
        ),
        ("frame_bytes", http2.frame_bytes, 1, MAX_FRAME_BYTES),
    ];
    for (name, number, least, most) in numbers {
        at_least(format_args!("{at}.{name}"), number.into(), least)?;
        at_most(format_args!("{at}.{name}"), number.into(), most)?;
    }
    Ok(())
}

fn secured(at: &str, tls: &Tls) -> Check {
    require(
        !tls.early_data || (tls.resumed && tls.version == TlsVersion::Tls13),
        format_args!("{at}.early_data"),
        "early data needs version 1.3 and resumption",
    )?;
    let numbers = [
        ("hello_bytes", tls.hello_bytes, 0, MAX_HELLO_BYTES),
        (
            "chain_bytes",
            tls.chain_bytes,
            MIN_CHAIN_BYTES,
            MAX_CHAIN_BYTES,
        ),
        ("tickets", tls.tickets, 0, MAX_TICKETS),
        ("ticket_bytes", tls.ticket_bytes, 1, MAX_TICKET_BYTES),
        ("record_bytes", tls.record_bytes, 1, MAX_RECORD_BYTES),
    ];
    for (name, number, least, most) in numbers {
        at_least(format_args!("{at}.{name}"), number.into(), least)?;
        at_most(format_args!("{at}.{name}"), number.into(), most)?;
    }
    time(format_args!("{at}.processing_ns"), tls.processing_ns)
}

/// Check the writes of the largest possible response.
fn writes(at: &str, server: &Server, scenario: &Scenario) -> Check {
    let Some(bytes) = server.writes.chunk_bytes else {
        return Ok(());
    };
    let path = format!("{at}.writes.chunk_bytes");
    at_least(&path, bytes, 1)?;
    let bodies = scenario
        .pages
        .iter()
        .map(|page| page.objects.iter().map(|object| largest(&object.size)));
    // A bundle has all objects of a page.
    let most = bodies.map(Iterator::sum::<u64>).max().unwrap_or(0);
    require(
        most / bytes < MAX_WRITES,
        path,
        format_args!("a response of {most} bytes takes more than {MAX_WRITES} writes"),
    )
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
    let server = scenario.servers.get(proxy.server as usize);
    require(
        server.is_none_or(|server| server.tls.is_none()),
        format_args!("{at}.server"),
        "a proxy connects to servers in clear text, but this server has TLS",
    )?;
    require(
        server.is_none_or(|server| server.http2.is_none()),
        format_args!("{at}.server"),
        "a proxy connects to servers by HTTP/1, but this server has HTTP/2",
    )?;
    at_least(format_args!("{at}.port"), proxy.port.into(), 1)?;
    optional(
        format_args!("{at}.upstream_connections"),
        proxy.upstream_connections,
    )?;
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

/// Check that each server's or proxy's port has one listener.
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
            format_args!("another server or proxy listens on port {port} of node {node}"),
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
    law_of_time(format_args!("{at}.think"), &browser.think)?;
    if let Some(step) = browser.waits_for_close_ns {
        at_least(format_args!("{at}.waits_for_close_ns"), step, 1)?;
        time(format_args!("{at}.waits_for_close_ns"), step)?;
    }
    at_most(
        format_args!("{at}.min_request_bytes"),
        browser.min_request_bytes.into(),
        MAX_HEAD_BYTES,
    )?;
    if let Some(reading) = &browser.reading {
        time(format_args!("{at}.reading.pause_ns"), reading.pause_ns)?;
    }
    not_both_none(scenario.duration_ns, browser.forever, at)?;
    at_least(format_args!("{at}.visits"), browser.visits.len() as u64, 1)?;
    let mut known = BTreeSet::new();
    for (number, visit) in browser.visits.iter().enumerate() {
        let at = format!("{at}.visits[{number}]");
        let (pages, plans) = (scenario.pages.len(), scenario.plans.len());
        index(format_args!("{at}.page"), visit.page, pages, "page")?;
        index(format_args!("{at}.plan"), visit.plan, plans, "plan")?;
        if let Some(think) = visit.think_ns {
            time(format_args!("{at}.think_ns"), think)?;
        }
        if known.insert((visit.page, visit.plan)) {
            fetched(&at, visit.page, visit.plan, scenario)?;
        }
    }
    Ok(())
}

/// Check that the objects of a plan exist on the page.
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
                    "pages[{page}] has no object {object}, which plans[{plan}].fetches[{number}] fetches"
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
    each(&format!("{at}.files"), &transfer.files, |at, bytes| {
        at_most(at, *bytes, MAX_BYTES)
    })?;
    not_both_none(scenario.duration_ns, transfer.forever, at)
}
