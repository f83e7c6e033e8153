//! The writes of a server for a response.

use super::*;

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
