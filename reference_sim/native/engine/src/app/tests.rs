//! What applications write and when, over pipes with a delay of 50 ms and no rate.

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

/// Heads and bodies of a stream of responses, as Content-Length cuts them.
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

#[test]
fn test_each_object_has_its_connection_without_persistence() {
    let pipes = run(&scenario(), FOREVER);
    assert_eq!(pipes.opened(), [0, 2 * RTT, 2 * RTT, 2 * RTT]);
    for (connection, size) in [6651, 3883, 1866, 1128].into_iter().enumerate() {
        let all = responses(pipes.text(connection as u32, Side::Server));
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].1.len(), size);
        assert!(all[0].0.contains("Connection: close\r\n"), "{}", all[0].0);
    }
}

#[test]
fn test_retrieval_lasts_from_first_syn_to_last_byte() {
    let pipes = run(&scenario(), FOREVER);
    let row = &pipes.truth_now().retrievals[0];
    assert_eq!((row.start, row.end), (0, Some(4 * RTT)));
    let rows = answered(&pipes);
    let bytes: u64 = rows
        .iter()
        .map(|row| row.response_head_bytes + row.response_body_bytes)
        .sum();
    assert_eq!(row.bytes, bytes);
    assert_eq!(
        rows.iter().map(|row| row.response_body_bytes).sum::<u64>(),
        13_528
    );
}

#[test]
fn test_every_moment_of_a_transaction_is_in_the_truth() {
    let mut scenario = persistent(1);
    scenario.servers[0].processing = constant(30 * MS);
    let pipes = run(&scenario, FOREVER);
    let row = &pipes.truth_now().transactions[1];
    let begin = 2 * RTT + 30 * MS;
    assert_eq!((row.connection, row.index, row.fetch), (0, 1, 1));
    assert_eq!(
        (row.method.as_str(), row.target.as_str()),
        ("GET", "/1.gif")
    );
    assert_eq!((row.wanted, row.written), (begin, begin));
    assert_eq!(row.request_first_sent, Some(begin));
    assert_eq!(row.request_received, Some(begin + DELAY));
    assert_eq!(row.response_written, Some(begin + DELAY + 30 * MS));
    assert_eq!(row.response_first_received, Some(begin + RTT + 30 * MS));
    assert_eq!(row.response_last_received, Some(begin + RTT + 30 * MS));
    let first = &pipes.truth_now().transactions[0];
    assert_eq!(row.request_offset, 1 + first.request_bytes);
    let before = first.response_head_bytes + first.response_body_bytes;
    assert_eq!(row.response_offset, Some(1 + before));
}

#[test]
fn test_parallel_connections_are_no_more_than_the_plan_has() {
    let scenario = with_plan(|plan| plan.connections = Some(2));
    let pipes = run(&scenario, FOREVER);
    assert_eq!(pipes.opened(), [0, 2 * RTT, 2 * RTT, 4 * RTT]);
}

#[test]
fn test_one_persistent_connection_takes_a_round_trip_for_each_object() {
    let pipes = run(&persistent(1), FOREVER);
    assert_eq!(pipes.opened(), [0]);
    assert_eq!(pipes.truth_now().retrievals[0].end, Some(5 * RTT));
    assert_eq!(responses(pipes.text(0, Side::Server)).len(), 4);
}

#[test]
fn test_pipelined_requests_share_a_round_trip() {
    let pipes = run(&persistent(3), FOREVER);
    assert_eq!(pipes.opened(), [0]);
    assert_eq!(pipes.truth_now().retrievals[0].end, Some(3 * RTT));
    let times: Vec<u64> = answered(&pipes).iter().map(|row| row.written).collect();
    assert_eq!(times, [RTT, 2 * RTT, 2 * RTT, 2 * RTT]);
}

#[test]
fn test_pipelined_responses_are_processed_one_after_the_other() {
    let mut scenario = persistent(3);
    scenario.servers[0].processing = constant(10 * MS);
    let pipes = run(&scenario, FOREVER);
    let rows = answered(&pipes);
    let times: Vec<u64> = rows
        .iter()
        .map(|row| row.response_written.unwrap())
        .collect();
    let second = 2 * RTT + 10 * MS + DELAY + 10 * MS;
    assert_eq!(times[1..], [second, second + 10 * MS, second + 20 * MS]);
}

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
fn test_what_a_closing_server_left_unanswered_goes_on_a_new_connection() {
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
fn test_a_visit_with_a_pause_of_its_own_takes_none_of_the_browsers() {
    let mut scenario = persistent(1);
    scenario.plans[0].keeps_connections = true;
    scenario.servers[0].keep_alive = Some(KeepAlive {
        max_requests: None,
        timeout_ns: None,
    });
    scenario.browsers[0].visits = vec![FIRST; 3];
    scenario.browsers[0].visits[1].think_ns = Some(0);
    scenario.browsers[0].think = constant(4 * SECOND);
    let pipes = run(&scenario, FOREVER);
    let retrievals = &pipes.truth_now().retrievals;
    let pauses: Vec<u64> = retrievals
        .windows(2)
        .map(|two| two[1].start - two[0].end.expect("it came"))
        .collect();
    assert_eq!(pauses, [0, 4 * SECOND]);
}

#[test]
fn test_a_request_under_way_when_the_server_closes_is_sent_again() {
    let mut scenario = persistent(1);
    scenario.plans[0].keeps_connections = true;
    scenario.servers[0].keep_alive = Some(KeepAlive {
        max_requests: None,
        timeout_ns: Some(SECOND),
    });
    scenario.browsers[0].visits = vec![FIRST; 2];
    // The request is written when the close is on its way.
    scenario.browsers[0].think = constant(SECOND - DELAY / 2);
    let pipes = run(&scenario, FOREVER);
    assert_eq!(pipes.opened().len(), 2);
    assert_eq!(answered(&pipes).len(), 8);
    assert_eq!(pipes.truth_now().transactions.len(), 9);
}

#[test]
fn test_think_comes_before_each_fetch_of_a_serial_client() {
    let mut scenario = with_plan(|plan| {
        plan.connections = Some(1);
        for number in 1..4 {
            plan.fetches[number].after = After::Complete {
                fetch: number as u32 - 1,
            };
        }
    });
    scenario.browsers[0].think = constant(SECOND);
    scenario.browsers[0].thinks_before_fetches = true;
    let pipes = run(&scenario, FOREVER);
    let step = SECOND + 2 * RTT;
    assert_eq!(pipes.opened(), [0, step, 2 * step, 3 * step]);
    assert!(answered(&pipes)
        .iter()
        .all(|row| row.written - row.wanted == RTT));
}

#[test]
fn test_the_next_visit_waits_for_the_close_at_whole_multiples() {
    let mut scenario = persistent(1);
    scenario.browsers[0].visits = vec![FIRST; 2];
    scenario.browsers[0].waits_for_close_ns = Some(70 * MS);
    let pipes = run(&scenario, FOREVER);
    // All is there after 5 round trips; the close takes another one: 600 ms, looked for at 630.
    assert_eq!(pipes.opened(), [0, 630 * MS]);
}

#[test]
fn test_objects_are_asked_for_when_their_part_of_the_base_document_has_come() {
    let mut scenario = persistent(3);
    scenario.servers[0].writes = Writes {
        head_alone: true,
        chunk_bytes: Some(1000),
        gap_ns: 20 * MS,
    };
    scenario.browsers[0].parse_ns = MS;
    for (number, bytes) in [(1, 1), (2, 1000), (3, 1001)] {
        scenario.plans[0].fetches[number].after = After::Bytes { fetch: 0, bytes };
    }
    let pipes = run(&scenario, FOREVER);
    let times: Vec<u64> = answered(&pipes).iter().map(|row| row.wanted).collect();
    let first_chunk = 2 * RTT + 21 * MS;
    assert_eq!(times, [0, first_chunk, first_chunk, first_chunk + 20 * MS]);
}

#[test]
fn test_a_fetch_may_follow_the_request_of_another() {
    let mut scenario = persistent(4);
    for number in 1..4 {
        scenario.plans[0].fetches[number].after = After::Requested { fetch: 0 };
    }
    let pipes = run(&scenario, FOREVER);
    assert_eq!(pipes.truth_now().retrievals[0].end, Some(2 * RTT));
}

#[test]
fn test_fetches_with_a_lane_stay_on_its_connection() {
    let mut scenario = persistent(1);
    scenario.plans[0].connections = Some(2);
    for (number, lane) in [(0, 0), (1, 1), (2, 0), (3, 0)] {
        scenario.plans[0].fetches[number].lane = Some(lane);
    }
    let pipes = run(&scenario, FOREVER);
    let lanes: Vec<u32> = pipes
        .truth_now()
        .transactions
        .iter()
        .map(|row| row.connection)
        .collect();
    assert_eq!(lanes.len(), 4);
    let mut by_fetch: Vec<(u32, u32)> = answered(&pipes)
        .iter()
        .map(|row| (row.fetch, row.connection))
        .collect();
    by_fetch.sort_unstable();
    assert_eq!(by_fetch, [(0, 0), (1, 1), (2, 0), (3, 0)]);
}

#[test]
fn test_writes_follow_the_servers_pattern() {
    let mut scenario = persistent(1);
    scenario.plans[0].fetches.truncate(1);
    let sizes = |scenario: &Scenario| {
        let pipes = run(scenario, FOREVER);
        let head = pipes.truth_now().transactions[0].response_head_bytes;
        let calls = pipes.calls(0, Side::Server).to_vec();
        (
            head,
            calls.iter().map(|(_, bytes)| *bytes).collect::<Vec<u64>>(),
        )
    };
    let (head, calls) = sizes(&scenario);
    assert_eq!(calls, [head + 6651]);
    scenario.servers[0].writes.chunk_bytes = Some(4096);
    let (head, calls) = sizes(&scenario);
    assert_eq!(calls, [4096, head + 2555]);
    scenario.servers[0].writes.head_alone = true;
    let (head, calls) = sizes(&scenario);
    assert_eq!(calls, [head, 4096, 2555]);
}

#[test]
fn test_a_split_request_is_two_writes_with_a_gap() {
    let mut scenario = persistent(1);
    scenario.browsers[0].min_request_bytes = 400;
    scenario.plans[0].fetches.truncate(1);
    scenario.plans[0].fetches[0].split_after = Some(256);
    scenario.plans[0].fetches[0].split_gap_ns = 5 * MS;
    let pipes = run(&scenario, FOREVER);
    assert_eq!(
        pipes.calls(0, Side::Client),
        [(RTT, 256), (RTT + 5 * MS, 144)]
    );
    assert_eq!(
        pipes.truth_now().transactions[0].request_received,
        Some(RTT + 5 * MS + DELAY)
    );
}

#[test]
fn test_sizes_with_heads_are_exactly_those_of_whole_responses() {
    let mut scenario = persistent(1);
    scenario.servers[0].sizes_include_heads = true;
    for size in (300..1500).chain([9999, 10_000, 10_240, 100_233]) {
        for object in &mut scenario.pages[0].objects {
            object.size = constant(size);
        }
        let pipes = run(&scenario, FOREVER);
        for row in answered(&pipes) {
            assert_eq!(row.response_head_bytes + row.response_body_bytes, size);
        }
        let all = responses(pipes.text(0, Side::Server));
        assert_eq!(all.len(), 4, "heads say how long bodies are");
    }
}

#[test]
fn test_a_response_smaller_than_its_head_is_its_head() {
    let mut scenario = persistent(1);
    scenario.servers[0].sizes_include_heads = true;
    scenario.servers[0].min_head_bytes = 400;
    scenario.pages[0].objects[0].size = constant(40);
    scenario.pages[0].objects[1].size = constant(300);
    let pipes = run(&scenario, FOREVER);
    let rows = answered(&pipes);
    assert_eq!(rows[0].response_body_bytes, 0);
    assert!((100..250).contains(&rows[0].response_head_bytes));
    assert_eq!(
        (rows[1].response_head_bytes, rows[1].response_body_bytes),
        (300, 0)
    );
    assert_eq!(
        (rows[2].response_head_bytes, rows[2].response_body_bytes),
        (400, 1466)
    );
    assert_eq!(responses(pipes.text(0, Side::Server)).len(), 4);
}

#[test]
fn test_heads_are_padded_to_their_least_size() {
    let natural = answered(&run(&persistent(1), FOREVER))[0].request_bytes as u32;
    for least in natural - 3..natural + 40 {
        let mut scenario = persistent(1);
        scenario.browsers[0].min_request_bytes = least;
        scenario.servers[0].min_head_bytes = least + 100;
        let pipes = run(&scenario, FOREVER);
        let row = answered(&pipes)[0];
        assert_eq!(row.request_bytes, u64::from(least.max(natural)));
        assert_eq!(row.response_head_bytes, u64::from(least + 100));
        let (head, body) = &responses(pipes.text(0, Side::Server))[0];
        assert_eq!(
            (head.len() as u64, body.len()),
            (row.response_head_bytes, 6651)
        );
        let request = text(&pipes, 0, Side::Client);
        assert!(request[..row.request_bytes as usize].ends_with("\r\n\r\n"));
    }
}

#[test]
fn test_segment_filled_responses_are_whole_segments_and_an_exact_rest() {
    let mut scenario = persistent(1);
    scenario.servers[0].sizes_include_heads = true;
    scenario.plans[0].fetches = vec![
        fetch(&[0], After::Start),
        fetch(&[1, 2, 3], After::Complete { fetch: 0 }),
    ];
    scenario.plans[0].fetches[0].whole_segments = true;
    let pipes = run(&scenario, FOREVER);
    let sizes: Vec<u64> = answered(&pipes)
        .iter()
        .map(|row| row.response_head_bytes + row.response_body_bytes)
        .collect();
    assert_eq!(sizes, [7300, 6877]);
}

#[test]
fn test_a_bundle_is_a_multipart_body_of_its_objects() {
    let mut scenario = persistent(1);
    scenario.plans[0].fetches = vec![fetch(&[1, 2, 3], After::Start)];
    let pipes = run(&scenario, FOREVER);
    let all = responses(pipes.text(0, Side::Server));
    let (head, body) = &all[0];
    let boundary = head
        .split_once("boundary=")
        .unwrap()
        .1
        .split("\r\n")
        .next()
        .unwrap();
    let delimiter = format!("--{boundary}");
    let starts: Vec<usize> = (0..body.len())
        .filter(|at| body[*at..].starts_with(delimiter.as_bytes()))
        .collect();
    assert_eq!(starts.len(), 4);
    assert!(body.ends_with(format!("\r\n{delimiter}--\r\n").as_bytes()));
    for (part, size) in starts.windows(2).zip([3883, 1866, 1128]) {
        let part = &body[part[0]..part[1] - 2];
        let start = part
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .unwrap()
            + 4;
        assert_eq!(part.len() - start, size);
        assert!(part[start..].starts_with(b"GIF89a") && part.ends_with(b";"));
    }
}

#[test]
fn test_statuses_without_a_body_have_none() {
    for status in [204, 304] {
        let mut scenario = persistent(1);
        scenario.pages[0].objects[0].status = status;
        scenario.pages[0].objects[0].request_fields =
            vec!["If-Modified-Since: Fri, 01 May 1998 00:00:00 GMT".into()];
        scenario.pages[0].objects[0].response_fields = vec!["ETag: \"1\"".into()];
        let pipes = run(&scenario, FOREVER);
        let (head, body) = &responses(pipes.text(0, Side::Server))[0];
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")) && body.is_empty());
        assert!(head.contains("\r\nETag: \"1\"\r\n") && !head.contains("Content-"));
        assert!(text(&pipes, 0, Side::Client).contains("\r\nIf-Modified-Since: Fri"));
        assert_eq!(responses(pipes.text(0, Side::Server)).len(), 4);
    }
}

#[test]
fn test_a_slow_reader_pauses_once_in_each_response() {
    let mut scenario = persistent(1);
    scenario.browsers[0].reading = Some(SlowReading {
        after_bytes: 1000,
        pause_ns: SECOND,
    });
    scenario.servers[0].writes.chunk_bytes = Some(1500);
    scenario.servers[0].writes.gap_ns = MS;
    let pipes = run(&scenario, FOREVER);
    // 6651, 3883 and 1866 bytes have more to come behind the first chunk; what comes is in
    // order at the client long before it is read.
    let rows = answered(&pipes);
    assert_eq!(rows[1].wanted, 2 * RTT + SECOND);
    assert_eq!(rows[0].response_last_received, Some(2 * RTT + 4 * MS));
}

#[test]
fn test_sizes_are_drawn_anew_at_each_visit_and_the_same_from_the_same_seed() {
    let mut scenario = persistent(1);
    scenario.browsers[0].visits = vec![FIRST; 5];
    scenario.pages[0].objects[0].size = Law::Pareto {
        scale: 1000.0,
        shape: 0.91,
        max: 15_000,
    };
    let pages = |pipes: &Pipes| -> Vec<u64> {
        let rows = answered(pipes);
        let bases = rows.iter().filter(|row| row.fetch == 0);
        bases.map(|row| row.response_body_bytes).collect()
    };
    let sizes = pages(&run(&scenario, FOREVER));
    assert_eq!(sizes, pages(&run(&scenario, FOREVER)));
    assert_eq!(sizes.len(), 5);
    let mut different = sizes.clone();
    different.dedup();
    assert_eq!(different.len(), 5, "{sizes:?}");
}

#[test]
fn test_a_browser_that_goes_on_forever_is_stopped_by_time_alone() {
    let mut scenario = persistent(1);
    scenario.browsers[0].forever = true;
    scenario.browsers[0].think = constant(SECOND);
    let pipes = run(&scenario, 10 * SECOND);
    assert_eq!(pipes.truth_now().retrievals.len(), 7);
    let visits: Vec<u32> = pipes
        .truth_now()
        .retrievals
        .iter()
        .map(|row| row.visit)
        .collect();
    assert_eq!(visits, [0, 1, 2, 3, 4, 5, 6]);
}

fn with_transfers(control: bool, files: &[u64]) -> Scenario {
    let mut scenario = scenario();
    scenario.browsers.clear();
    scenario.transfers = vec![Transfer {
        node: 0,
        stack: 0,
        server_node: 1,
        server_stack: 0,
        start_ns: 0,
        files: files.into(),
        forever: false,
        control,
        waits_for_replies: false,
        one_connection: false,
    }];
    scenario
}

#[test]
fn test_bare_transfers_have_a_connection_for_each_file() {
    let pipes = run(&with_transfers(false, &[1_000_000, 5]), FOREVER);
    assert_eq!(pipes.opened(), [0, RTT]);
    assert_eq!(pipes.text(0, Side::Server).len(), 1_000_000);
    let ends: Vec<_> = pipes
        .truth_now()
        .retrievals
        .iter()
        .map(|row| row.end)
        .collect();
    assert_eq!(ends, [Some(RTT), Some(2 * RTT)]);
}

#[test]
fn test_one_connection_carries_all_files_one_after_the_other() {
    let mut scenario = with_transfers(false, &[1000, 2000, 3000]);
    scenario.transfers[0].one_connection = true;
    let pipes = run(&scenario, FOREVER);
    assert_eq!(pipes.opened(), [0]);
    assert_eq!(pipes.text(0, Side::Server).len(), 6000);
    assert_eq!(pipes.truth_now().retrievals.len(), 3);
}

#[test]
fn test_ftp_takes_three_round_trips_to_the_first_file_and_two_to_the_next() {
    let pipes = run(&with_transfers(true, &[10_000, 20_000]), FOREVER);
    let rows = &pipes.truth_now().retrievals;
    let times: Vec<u64> = rows
        .iter()
        .map(|row| row.end.unwrap() - row.start)
        .collect();
    assert_eq!(times, [3 * RTT, 2 * RTT]);
    assert!(rows.iter().all(|row| row.is_transfer));
    // The server opens the data connections.
    assert_eq!(pipes.text(1, Side::Client).len(), 10_000);
    assert_eq!(pipes.text(2, Side::Client).len(), 20_000);
    let http = run(&scenario(), FOREVER);
    assert_eq!(answered(&http)[0].response_last_received, Some(2 * RTT));
}

#[test]
fn test_an_ftp_client_that_waits_for_replies_takes_a_round_trip_for_each_command() {
    let mut scenario = with_transfers(true, &[10_000]);
    scenario.transfers[0].waits_for_replies = true;
    let pipes = run(&scenario, FOREVER);
    let commands = text(&pipes, 0, Side::Client);
    assert_eq!(
        commands.lines().collect::<Vec<_>>(),
        [
            "USER anonymous",
            "PASS guest@",
            "TYPE I",
            "PORT 10,0,0,1,78,32",
            "RETR file-0.bin",
            "QUIT"
        ]
    );
    let replies = text(&pipes, 0, Side::Server);
    let codes: Vec<&str> = replies.lines().map(|line| &line[..3]).collect();
    assert_eq!(
        codes,
        ["220", "331", "230", "200", "200", "150", "226", "221"]
    );
    // The greeting comes with the end of the handshake here; five commands; the data connection.
    let row = &pipes.truth_now().retrievals[0];
    assert_eq!(row.end, Some(RTT + 4 * RTT + DELAY + RTT + DELAY));
}

#[test]
fn test_transfers_with_one_server_are_all_served() {
    for control in [false, true] {
        let mut scenario = with_transfers(control, &[10_000, 20_000]);
        let other = Transfer {
            node: 2,
            files: vec![7, 8, 9],
            ..scenario.transfers[0].clone()
        };
        scenario.transfers.push(other);
        let pipes = run(&scenario, FOREVER);
        let mut files: Vec<(u32, u64)> = pipes
            .truth_now()
            .retrievals
            .iter()
            .filter(|row| row.end.is_some())
            .map(|row| (row.client, row.bytes))
            .collect();
        files.sort_unstable();
        assert_eq!(files, [(0, 10_000), (0, 20_000), (1, 7), (1, 8), (1, 9)]);
    }
}

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
fn test_a_proxy_passes_responses_on_as_they_come() {
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
    // Connection 1 goes on to the server: what its server wrote came to the browser in as many
    // pieces, a delay later.
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
fn test_the_body_through_a_proxy_is_that_of_the_server() {
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
fn test_a_prefetching_proxy_has_the_objects_when_they_are_asked_for() {
    let end = |prefetch| {
        run(&with_proxy(prefetch), FOREVER).truth_now().retrievals[0]
            .end
            .unwrap()
    };
    // Without: 2 and 2 round trips to the hub, a handshake behind it, and one round trip there
    // for each of the four on its only connection.
    assert_eq!(end(false), 2 * RTT + RTT + RTT + 2 * RTT + 3 * RTT);
    assert_eq!(end(true), 2 * RTT + RTT + RTT + 2 * RTT + RTT);
}

#[test]
fn test_a_prefetching_proxy_asks_for_what_it_has_found_only() {
    let mut scenario = with_proxy(true);
    scenario.proxies[0].upstream_connections = None;
    scenario.proxies[0].upstream_persistent = false;
    scenario.proxies[0].prefetch_plan = Some(1);
    // The browser knows all beforehand, the proxy's plan has the objects wait for the base document.
    scenario.plans.push(scenario.plans[0].clone());
    for fetch in &mut scenario.plans[0].fetches {
        fetch.after = After::Start;
    }
    let pipes = run(&scenario, FOREVER);
    // Four connections to the proxy; its first to the server with the first request; the other
    // three when the base document has come.
    let asked = RTT + DELAY;
    let found = asked + 2 * RTT;
    assert_eq!(pipes.opened(), [0, 0, 0, 0, asked, found, found, found]);
    let end = found + 2 * RTT + DELAY;
    assert_eq!(pipes.truth_now().retrievals[0].end, Some(end));
}
