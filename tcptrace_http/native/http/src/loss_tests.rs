//! Exchanges with loss. No loss gives a request the response of another request.
use trace_model::AnomalyKind;

use super::script::{Script, CLIENT, SERVER};
use super::Transaction;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

fn get(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: h\r\n\r\n")
}

#[test]
fn test_bytes_missing_in_a_body_with_a_length_keep_the_framing() {
    let mut script = Script::new();
    script
        .client(get("/a"))
        .server("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhe");
    script
        .lose(SERVER, 5)
        .server("llo")
        .client(get("/b"))
        .server(OK);
    assert_eq!(script.pairs(), ["GET /a 200", "GET /b 200"]);
    assert_eq!(
        (
            script.response(0).missing_bytes,
            script.response(0).body.bytes
        ),
        (5, 10)
    );
    assert_eq!(script.anomalies(), [AnomalyKind::MissingData]);
}

#[test]
fn test_bytes_missing_within_one_chunk_keep_the_framing() {
    let mut script = Script::new();
    script
        .client(get("/a"))
        .server("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\nab");
    script
        .lose(SERVER, 6)
        .server("\r\n0\r\n\r\n")
        .client(get("/b"))
        .server(OK);
    assert_eq!(script.pairs(), ["GET /a 200", "GET /b 200"]);
    assert_eq!(script.response(0).missing_bytes, 6);
}

#[test]
fn test_bytes_missing_over_chunks_end_the_message_and_the_next_one_is_found() {
    let mut script = Script::new();
    script
        .client(get("/a"))
        .server("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\nab");
    script
        .lose(SERVER, 20)
        .server("cd\r\n0\r\n\r\n")
        .client(get("/b"))
        .server(OK);
    script.client(get("/c")).server(OK);
    assert_eq!(script.pairs(), ["GET /a 200*", "GET /b 200", "GET /c 200"]);
    let after_loss: Vec<bool> = script
        .out
        .transactions
        .iter()
        .map(|it| it.paired_after_loss)
        .collect();
    assert_eq!(after_loss, [false, true, false]);
    assert_eq!(script.anomalies(), [AnomalyKind::MissingData]);
}

#[test]
fn test_bytes_missing_in_a_body_until_close_are_counted() {
    let mut script = Script::new();
    script
        .client(get("/a"))
        .server("HTTP/1.0 200 OK\r\n\r\nab")
        .lose(SERVER, 6)
        .server("cd")
        .close();
    assert_eq!(script.pairs(), ["GET /a 200"]);
    assert_eq!(
        (
            script.response(0).body.bytes,
            script.response(0).missing_bytes
        ),
        (10, 6)
    );
}

#[test]
fn test_a_lost_response_leaves_its_request_alone_and_the_next_pair_whole() {
    let mut script = Script::new();
    script
        .client(get("/a"))
        .lose(SERVER, 43)
        .client(get("/b"))
        .server(OK)
        .client(get("/c"))
        .server(OK);
    assert_eq!(script.pairs(), ["GET /a -", "GET /b 200", "GET /c 200"]);
}

#[test]
fn test_a_lost_request_leaves_its_response_alone_and_the_next_pair_whole() {
    let mut script = Script::new();
    script
        .lose(CLIENT, 28)
        .server(OK)
        .client(get("/b"))
        .server(OK)
        .client(get("/c"))
        .server(OK);
    assert_eq!(script.pairs(), ["- 200", "GET /b 200", "GET /c 200"]);
}

#[test]
fn test_an_unknown_loss_of_requests_needs_several_alternations() {
    let mut script = Script::new();
    script.lose(CLIENT, 500).server(OK);
    for target in ["/a", "/b", "/c", "/d"] {
        script.client(get(target)).server(OK);
    }
    assert_eq!(
        script.pairs(),
        [
            "- 200",
            "GET /a -",
            "- 200",
            "GET /b -",
            "- 200",
            "GET /c 200",
            "GET /d 200"
        ]
    );
}

#[test]
fn test_a_pipelining_client_is_not_paired_after_a_loss() {
    let mut script = Script::new();
    script
        .client(get("/a") + &get("/b"))
        .lose(SERVER, 43)
        .server(OK);
    script.client(get("/c")).server(OK).close();
    assert_eq!(
        script
            .pairs()
            .iter()
            .filter(|pair| pair.contains("GET") && pair.contains("200"))
            .count(),
        0
    );
    assert_eq!(script.pairs().len(), 5);
}

#[test]
fn test_a_capture_that_starts_in_a_body_begins_with_the_next_exchange() {
    let mut script = Script::new();
    script
        .server("middle of a body")
        .server("and its end")
        .client(get("/a"))
        .server(OK);
    script.client(get("/b")).server(OK);
    assert_eq!(script.pairs(), ["GET /a 200", "GET /b 200"]);
    assert!(script.anomalies().is_empty());
}

#[test]
fn test_a_start_line_inside_a_segment_is_not_searched_for() {
    let mut script = Script::new();
    script
        .server("middle HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n")
        .close();
    assert!(script.pairs().is_empty());
}

#[test]
fn test_a_partial_head_still_answers() {
    let mut script = Script::new();
    script
        .client(get("/a"))
        .server("HTTP/1.1 404 Not Found\r\nServer: s\r\nX: ")
        .lose(SERVER, 10);
    script.server("rest").client(get("/b")).server(OK);
    assert_eq!(script.pairs(), ["GET /a 404*", "GET /b 200"]);
    assert_eq!(script.response(0).missing_bytes, 10);
}

#[test]
fn test_request_lines_cut_by_a_snap_length_are_partial_requests() {
    let mut script = Script::new();
    for n in 0..20 {
        script
            .client(format!("GET /{n}/a/long/targ"))
            .lose(CLIENT, 400)
            .server(format!("HTTP/1.1 200 OK\r\nServer: {n}\r\nDate"))
            .lose(SERVER, 900);
    }
    script.close();
    let pairs = script.pairs();
    let whole = |n: &usize| pairs.contains(&format!("GET /{n}/a/long/targ* 200*"));
    assert!(
        whole(&0) && (0..20).filter(whole).count() >= 18,
        "{pairs:?}"
    );
    let requests = pairs.iter().filter(|pair| pair.starts_with("GET")).count();
    assert_eq!(requests, 20);
    assert_eq!(script.request(0).missing_bytes, 400);
}

#[test]
fn test_the_cut_lines_of_other_protocols_are_no_requests() {
    for line in [
        "USER anonymo",
        "RETR /a/file",
        "OPTIONS rtsp://h/a RTS",
        "REGISTER sip:h",
        "get key",
        "\x16\x03\x01\x02\0",
    ] {
        let mut script = Script::new();
        script.client(line).lose(CLIENT, 400).client(line).close();
        assert!(
            script.pairs().is_empty() && !script.connection.is_http(),
            "{line}"
        );
    }
}

#[test]
fn test_body_bytes_that_resemble_a_cut_request_are_no_request() {
    // The search follows a loss and whole segments follow, so no segment was cut.
    let mut script = Script::new();
    script
        .client("POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabc")
        .lose(CLIENT, 300)
        .client("GET /not/a/request")
        .client("PUT /nor/this b HTTP/1.1\r\n\r\n")
        .client("GET /nor/that")
        .client(get("/b"))
        .close();
    assert_eq!(script.pairs(), ["POST /a* -", "GET /b -"]);
}

#[test]
fn test_a_headers_only_capture_pairs_most_of_a_plain_flow() {
    // A snap length cuts every head after its start line.
    let mut script = Script::new();
    for n in 0..20 {
        script
            .client(format!("GET /{n} HTTP/1.1\r\nHost"))
            .lose(CLIENT, 400);
        script
            .server(format!("HTTP/1.1 200 OK\r\nServer: {n}\r\nDate"))
            .lose(SERVER, 900);
    }
    script.close();
    let paired = |transaction: &&Transaction| {
        let (Some(request), Some(response)) = (&transaction.request, &transaction.response) else {
            return false;
        };
        let target = request.target.as_deref().unwrap();
        assert_eq!(target.strip_prefix('/'), response.fields.server.as_deref());
        true
    };
    assert!(
        script.out.transactions.iter().filter(paired).count() >= 18,
        "{:?}",
        script.pairs()
    );
}

/// Return two requests, the second without its response. That response is lost, and so are `lost` bytes of
/// later requests. The response that follows belongs to the lost bytes and acknowledges them before their
/// loss is known.
fn lost_in_both_directions(lost: usize) -> Script {
    let known = get("/a").len() + get("/b").len();
    let mut script = Script::new();
    script.client(get("/a")).server(OK).client(get("/b"));
    script
        .lose(SERVER, OK.len() as u64)
        .segment(SERVER, OK.as_ref(), Some((known + lost) as u64));
    script.lose(CLIENT, lost as u64);
    script
}

#[test]
fn test_a_lost_request_and_previous_response_cost_no_acknowledged_pair() {
    let mut script = lost_in_both_directions(get("/c").len());
    script
        .client(get("/d"))
        .server(OK)
        .client(get("/e"))
        .server(OK);
    assert_eq!(
        script.pairs(),
        [
            "GET /a 200",
            "- 200",
            "GET /b -",
            "GET /d 200",
            "GET /e 200"
        ]
    );
}

#[test]
fn test_two_requests_can_be_lost_with_one_response() {
    let mut script = lost_in_both_directions(2 * get("/c").len());
    script.client(get("/d")).server(OK);
    assert_eq!(script.pairs()[..3], ["GET /a 200", "- 200", "GET /b -"]);
    assert!(!script.pairs().contains(&"GET /d 200".to_string()));
}
