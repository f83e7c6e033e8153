//! File transfers, with and without FTP commands.

use super::*;

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
fn test_bare_transfers_have_a_connection_per_file() {
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
fn test_an_ftp_client_that_waits_for_replies_takes_a_round_trip_per_command() {
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
    // The greeting arrives with the end of the handshake here. Five commands and the data connection follow.
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
