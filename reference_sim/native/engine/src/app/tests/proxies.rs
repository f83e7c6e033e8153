//! A proxy between browser and server.

use super::*;

fn with_proxy(prefetch: bool) -> Scenario {
    let mut scenario = scenario();
    scenario.browsers[0].origin = Origin::Proxy(0);
    scenario.proxies = vec![Proxy {
        node: 2,
        port: 3128,
        stack: 0,
        server: 0,
        upstream_stack: 0,
        upstream_connections: Some(1),
        upstream_persistent: true,
        prefetch_plan: prefetch.then_some(0),
    }];
    scenario
}

#[test]
fn test_a_proxy_forwards_responses_as_they_arrive() {
    let mut scenario = with_proxy(false);
    scenario.servers[0].writes = Writes {
        head_alone: true,
        chunk_bytes: Some(2000),
        gap_ns: 10 * MS,
    };
    let pipes = run(&scenario, FOREVER);
    let all = responses(pipes.text(0, Side::Server));
    assert_eq!(all[0].1.len(), 6651);
    assert!(all[0].0.contains("\r\nVia: 1.1 hub\r\n"));
    // Connection 1 leads to the server. The browser received the server's writes in the same number of
    // pieces, one delay later.
    let calls: Vec<u64> = pipes
        .calls(0, Side::Server)
        .iter()
        .map(|call| call.0)
        .collect();
    let first = pipes.calls(1, Side::Server)[0].0 + DELAY;
    let steps = [0, 10, 20, 30, 40].map(|step| first + step * MS);
    assert_eq!(calls, steps);
    assert!(text(&pipes, 0, Side::Client).starts_with("GET http://www.example.com/ HTTP/1.1\r\n"));
    assert!(text(&pipes, 1, Side::Client).starts_with("GET / HTTP/1.1\r\n"));
    assert!(pipes.truth_now().retrievals[0].end.is_some());
}

#[test]
fn test_the_body_through_a_proxy_equals_the_servers() {
    let pipes = run(&with_proxy(false), FOREVER);
    let from_server = responses(pipes.text(1, Side::Server));
    let mut bodies: Vec<Vec<u8>> = from_server.into_iter().map(|(_, body)| body).collect();
    let to_browser =
        [0, 2, 3, 4].map(|connection| responses(pipes.text(connection, Side::Server)).remove(0).1);
    let mut passed_on = to_browser.to_vec();
    bodies.sort();
    passed_on.sort();
    assert_eq!(passed_on, bodies);
}

#[test]
fn test_a_prefetching_proxy_has_the_objects_before_the_requests() {
    let end = |prefetch| {
        run(&with_proxy(prefetch), FOREVER).truth_now().retrievals[0]
            .end
            .unwrap()
    };
    // Without prefetch: 2 and 2 round trips to the hub, then one handshake. One round trip per object follows
    // on the only connection.
    assert_eq!(end(false), 2 * RTT + RTT + RTT + 2 * RTT + 3 * RTT);
    assert_eq!(end(true), 2 * RTT + RTT + RTT + 2 * RTT + RTT);
}

#[test]
fn test_a_prefetching_proxy_requests_only_discovered_objects() {
    let mut scenario = with_proxy(true);
    scenario.proxies[0].upstream_connections = None;
    scenario.proxies[0].upstream_persistent = false;
    scenario.proxies[0].prefetch_plan = Some(1);
    // The browser knows all objects in advance. In the proxy's plan the objects wait for the base document.
    scenario.plans.push(scenario.plans[0].clone());
    for fetch in &mut scenario.plans[0].fetches {
        fetch.after = After::Start;
    }
    let pipes = run(&scenario, FOREVER);
    // Four connections lead to the proxy. The first connection to the server opens with the first request,
    // the other three after the base document.
    let asked = RTT + DELAY;
    let found = asked + 2 * RTT;
    assert_eq!(pipes.opened(), [0, 0, 0, 0, asked, found, found, found]);
    let end = found + 2 * RTT + DELAY;
    assert_eq!(pipes.truth_now().retrievals[0].end, Some(end));
}
