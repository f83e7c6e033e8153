//! The fetches of a browser and their times.

use super::*;

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
fn test_parallel_connections_stay_within_the_plan() {
    let scenario = with_plan(|plan| plan.connections = Some(2));
    let pipes = run(&scenario, FOREVER);
    assert_eq!(pipes.opened(), [0, 2 * RTT, 2 * RTT, 4 * RTT]);
}

#[test]
fn test_one_persistent_connection_takes_a_round_trip_per_object() {
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
fn test_a_visits_own_pause_replaces_the_browsers() {
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
    // The page is complete after 5 round trips, and the close takes another. The end is at 600 ms, and the
    // next check is at 630 ms.
    assert_eq!(pipes.opened(), [0, 630 * MS]);
}

#[test]
fn test_objects_are_requested_after_their_part_of_the_base_document() {
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
fn test_a_slow_reader_pauses_once_in_each_response() {
    let mut scenario = persistent(1);
    scenario.browsers[0].reading = Some(SlowReading {
        after_bytes: 1000,
        pause_ns: SECOND,
    });
    scenario.servers[0].writes.chunk_bytes = Some(1500);
    scenario.servers[0].writes.gap_ns = MS;
    let pipes = run(&scenario, FOREVER);
    // The responses of 6651, 3883 and 1866 bytes continue after the first chunk. The data is in order at the
    // client long before it is read.
    let rows = answered(&pipes);
    assert_eq!(rows[1].wanted, 2 * RTT + SECOND);
    assert_eq!(rows[0].response_last_received, Some(2 * RTT + 4 * MS));
}

#[test]
fn test_sizes_are_redrawn_at_each_visit_and_equal_for_equal_seeds() {
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
fn test_a_repeating_browser_stops_only_at_the_end_of_time() {
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
