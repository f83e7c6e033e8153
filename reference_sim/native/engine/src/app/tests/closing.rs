//! The closing end of a connection, and the time of the close.

use super::*;

#[test]
fn test_the_last_request_closes_where_the_plan_says_so() {
    let mut scenario = persistent(1);
    scenario.plans[0].closes_with_last = true;
    let pipes = run(&scenario, FOREVER);
    let requests = text(&pipes, 0, Side::Client);
    let fields: Vec<&str> = requests
        .lines()
        .filter_map(|line| line.strip_prefix("Connection: "))
        .collect();
    assert_eq!(fields, ["Keep-Alive", "Keep-Alive", "Keep-Alive", "close"]);
    let all = responses(pipes.text(0, Side::Server));
    let closes: Vec<bool> = all
        .iter()
        .map(|(head, _)| head.contains("Connection: close"))
        .collect();
    assert_eq!(closes, [false, false, false, true]);
}

#[test]
fn test_http_1_0_says_keep_alive_on_both_sides() {
    let mut scenario = persistent(1);
    scenario.browsers[0].http_version = HttpVersion::Http10;
    let pipes = run(&scenario, FOREVER);
    assert!(
        text(&pipes, 0, Side::Client).starts_with("GET / HTTP/1.0\r\nHost: www.example.com\r\n")
    );
    for (head, _) in responses(pipes.text(0, Side::Server)) {
        assert!(head.starts_with("HTTP/1.0 200 OK\r\nDate: Fri, 01 May 1998 00:00:00 GMT\r\n"));
        assert!(head.contains("\r\nConnection: Keep-Alive\r\n"));
    }
}

#[test]
fn test_requests_unanswered_by_a_closing_server_move_to_a_new_connection() {
    let mut scenario = persistent(3);
    scenario.servers[0].keep_alive = Some(KeepAlive {
        max_requests: Some(2),
        timeout_ns: None,
    });
    let pipes = run(&scenario, FOREVER);
    assert_eq!(pipes.opened().len(), 2);
    assert_eq!(answered(&pipes).len(), 4);
    assert_eq!(pipes.truth_now().transactions.len(), 6);
    assert_eq!(responses(pipes.text(0, Side::Server)).len(), 2);
    assert!(pipes.truth_now().retrievals[0].end.is_some());
}

#[test]
fn test_an_idle_connection_is_closed_by_its_servers_timeout() {
    let mut scenario = persistent(1);
    scenario.plans[0].keeps_connections = true;
    scenario.servers[0].keep_alive = Some(KeepAlive {
        max_requests: None,
        timeout_ns: Some(5 * SECOND),
    });
    scenario.browsers[0].visits = vec![FIRST; 3];
    scenario.browsers[0].think = constant(4 * SECOND);
    assert_eq!(run(&scenario, FOREVER).opened().len(), 1);
    scenario.browsers[0].think = constant(6 * SECOND);
    let pipes = run(&scenario, FOREVER);
    assert_eq!(
        pipes.opened(),
        [0, 5 * RTT + 6 * SECOND, 10 * RTT + 12 * SECOND]
    );
}

#[test]
fn test_a_request_in_flight_at_the_servers_close_is_repeated() {
    let mut scenario = persistent(1);
    scenario.plans[0].keeps_connections = true;
    scenario.servers[0].keep_alive = Some(KeepAlive {
        max_requests: None,
        timeout_ns: Some(SECOND),
    });
    scenario.browsers[0].visits = vec![FIRST; 2];
    // The request is written while the close is in flight.
    scenario.browsers[0].think = constant(SECOND - DELAY / 2);
    let pipes = run(&scenario, FOREVER);
    assert_eq!(pipes.opened().len(), 2);
    assert_eq!(answered(&pipes).len(), 8);
    assert_eq!(pipes.truth_now().transactions.len(), 9);
}
