//! Nodes, links, taps, and the paths between all hosts that communicate.

use std::collections::BTreeSet;

use super::check::{at_least, at_most, each, index, probability, require, time, Check};
use super::limits::{MAX_BYTES, MAX_NODES, MAX_RATE_BPS, MAX_RATE_WITHOUT_DELAY_BPS};
use crate::route::Routes;
use crate::scenario::{Link, Loss, Origin, Queue, Scenario, Tap};

pub(super) fn nodes(scenario: &Scenario) -> Check {
    at_least("nodes", scenario.nodes.len() as u64, 1)?;
    at_most("nodes", scenario.nodes.len() as u64, MAX_NODES)?;
    let mut known = BTreeSet::new();
    each("nodes", &scenario.nodes, |at, node| {
        let [a, b, c, d] = node.address;
        require(
            node.address != [0; 4],
            format_args!("{at}.address"),
            format_args!("{a}.{b}.{c}.{d} is not a host address"),
        )
    })?;
    for (number, node) in scenario.nodes.iter().enumerate() {
        let [a, b, c, d] = node.address;
        require(
            known.insert(node.address),
            format_args!("nodes[{number}].address"),
            format_args!("{a}.{b}.{c}.{d} is also the address of another node"),
        )?;
    }
    Ok(())
}

pub(super) fn link(at: &str, link: &Link, scenario: &Scenario) -> Check {
    let nodes = scenario.nodes.len();
    index(format_args!("{at}.from"), link.from, nodes, "node")?;
    index(format_args!("{at}.to"), link.to, nodes, "node")?;
    require(
        link.from != link.to,
        format_args!("{at}.to"),
        format_args!("{} is the start of the link", link.to),
    )?;
    if let Some(rate) = link.rate_bps {
        at_least(format_args!("{at}.rate_bps"), rate, 1)?;
        at_most(format_args!("{at}.rate_bps"), rate, MAX_RATE_BPS)?;
    }
    time(format_args!("{at}.delay_ns"), link.delay_ns)?;
    let takes_time = |rate| rate <= MAX_RATE_WITHOUT_DELAY_BPS;
    require(
        link.delay_ns > 0 || link.rate_bps.is_some_and(takes_time),
        format_args!("{at}.delay_ns"),
        "the link takes no time; set a delay, or a rate of at most 320 Gb/s",
    )?;
    if let Queue::Bytes(limit) = link.queue {
        at_most(format_args!("{at}.queue.limit"), limit, MAX_BYTES)?;
    }
    if let Queue::Codel(limits) = link.queue {
        at_least(format_args!("{at}.queue.limit"), limits.packets.into(), 1)?;
        require(
            !link.opens_at_once,
            format_args!("{at}.opens_at_once"),
            "a queue with CoDel holds every packet; give the link a drop-tail queue",
        )?;
    }
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
        Loss::Numbered { .. } | Loss::DataSegments { .. } | Loss::Segments { .. } => Ok(()),
    }
}

pub(super) fn tap(at: &str, tap: &Tap, scenario: &Scenario) -> Check {
    match *tap {
        Tap::Node(node) => index(at, node, scenario.nodes.len(), "node"),
        Tap::Link(link) => index(at, link, scenario.links.len(), "link"),
    }
}

/// Check that communicating hosts have a path in both directions.
pub(super) fn paths(scenario: &Scenario) -> Check {
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
        format_args!("{from} is the node of its peer; connections inside a node are not supported"),
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
