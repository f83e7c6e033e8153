//! The writes of applications and their times, over pipes with a delay of 50 ms and unlimited rate.

mod closing;
mod proxies;
mod retrievals;
mod secured;
mod transfers;
mod writes;

use super::test_network::*;
use crate::scenario::*;
use crate::truth::Side;

const SECOND: u64 = 1000 * MS;
const RTT: u64 = 2 * DELAY;
const FOREVER: u64 = u64::MAX;

fn with_plan(change: impl FnOnce(&mut Plan)) -> Scenario {
    let mut scenario = scenario();
    change(&mut scenario.plans[0]);
    scenario
}

fn persistent(pipelining: u32) -> Scenario {
    with_plan(|plan| {
        plan.persistent = true;
        plan.pipelining = pipelining;
        plan.connections = Some(1);
    })
}

fn text(pipes: &Pipes, connection: u32, side: Side) -> String {
    String::from_utf8_lossy(pipes.text(connection, side)).into_owned()
}

/// Split a stream of responses into heads and bodies by Content-Length.
fn responses(mut stream: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut responses = Vec::new();
    while !stream.is_empty() {
        let end = stream
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .unwrap()
            + 4;
        let head = String::from_utf8(stream[..end].to_vec()).unwrap();
        let field = head
            .lines()
            .find_map(|line| line.strip_prefix("Content-Length:"));
        let length = field.map_or(0, |value| value.trim().parse().unwrap());
        responses.push((head, stream[end..end + length].to_vec()));
        stream = &stream[end + length..];
    }
    responses
}
