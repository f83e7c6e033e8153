//! Exchanges without loss: framing, pairing, tunnels and other protocols.
use trace_model::AnomalyKind;

use super::script::{Script, CLIENT, SERVER};
use super::{Connection, Direction, End, Mark, Output};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const EMPTY: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

fn get(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: h\r\n\r\n")
}

#[test]
fn test_a_persistent_connection_gives_its_transactions_in_order() {
    let mut script = Script::new();
    script
        .client(get("/a"))
        .server(OK)
        .client(get("/b"))
        .server(EMPTY);
    assert_eq!(script.pairs(), ["GET /a 200", "GET /b 200"]);
    let indexes: Vec<u64> = script.out.transactions.iter().map(|it| it.index).collect();
    assert_eq!(indexes, [0, 1]);
    assert!(script
        .out
        .transactions
        .iter()
        .all(|it| !it.pipelined && it.is_complete()));
    let response = script.response(0);
    assert_eq!(
        (response.start, response.end, response.header_bytes),
        (0, 43, 38)
    );
    assert_eq!(
        (response.body.bytes, response.body.content_length),
        (5, Some(5))
    );
    assert!(response.keep_alive && script.connection.is_http());
    assert_eq!(script.connection.response_start(), Some(43));
}

#[test]
fn test_pipelined_requests_are_answered_in_order() {
    // RFC 9112, section 9.3.2.
    let mut script = Script::new();
    script
        .client(get("/a") + &get("/b") + &get("/c"))
        .server(OK.to_string() + EMPTY)
        .server(OK);
    assert_eq!(script.pairs(), ["GET /a 200", "GET /b 200", "GET /c 200"]);
    let pipelined: Vec<bool> = script
        .out
        .transactions
        .iter()
        .map(|it| it.pipelined)
        .collect();
    assert_eq!(pipelined, [false, true, true]);
}

#[test]
fn test_marks_are_of_the_packets_that_carried_the_bytes() {
    let mut script = Script::new();
    script.client("GET / HT").client("TP/1.1\r\n\r\n");
    script
        .server("HTTP/1.1 200 OK\r\nContent-")
        .server("Length: 5\r\n\r\nhe")
        .server("llo");
    let frames = |message: &super::Message| {
        (
            message.first.frame,
            message.head_last.frame,
            message.last.frame,
        )
    };
    assert_eq!(frames(script.request(0)), (1, 2, 2));
    assert_eq!(frames(script.response(0)), (3, 4, 5));
}

#[test]
fn test_the_last_packet_of_a_message_is_the_latest_captured() {
    let mut connection = Connection::new();
    let mut out = Output::default();
    let mark = |frame| Mark { frame, time_ns: 0 };
    connection.data(CLIENT, 0, get("/").as_bytes(), mark(1), Some(0), &mut out);
    let (head, body) = OK.as_bytes().split_at(40);
    connection.data(SERVER, 0, head, mark(9), Some(27), &mut out);
    connection.data(SERVER, 40, body, mark(5), Some(27), &mut out);
    assert_eq!(out.transactions[0].response.as_ref().unwrap().last.frame, 9);
}

#[test]
fn test_byte_by_byte_is_the_same_as_whole() {
    let run = |byte_by_byte| {
        let mut script = Script::new();
        script.byte_by_byte = byte_by_byte;
        script
            .client(get("/a") + "\r\n" + &get("/b"))
            .server("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n".to_string() + OK)
            .server("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x\r\nabc\r\n0\r\nT: u\r\n\r\n")
            .client("POST /c HTTP/1.1\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
            .server("HTTP/1.1 100 Continue\r\n\r\n")
            .client("abc")
            .server("HTTP/1.1 204 No Content\nContent-Length: 7\n\n")
            .client("HEAD /d HTTP/1.1\r\nBroken field\r\n\r\n")
            .server("HTTP/1.1 200 OK\r\nContent-Length: 7\r\nX: a\r\n b\r\n\r\n")
            .client("GET /e HTTP/1.0\r\n\r\n")
            .server("HTTP/1.0 200\r\n\r\nuntil the close")
            .close();
        (script.out.transactions, script.out.anomalies)
    };
    let whole = run(false);
    assert_eq!(whole.0.len(), 5);
    assert_eq!(whole, run(true));
}

#[test]
fn test_interim_responses_are_counted_and_answer_nothing() {
    // RFC 9110, section 15.2.
    let mut script = Script::new();
    script
        .client("POST /a HTTP/1.1\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
        .server("HTTP/1.1 100 Continue\r\n\r\n")
        .client("abc")
        .server("HTTP/1.1 103 Early Hints\r\nContent-Length: 9\r\n\r\n")
        .server(OK);
    assert_eq!(script.pairs(), ["POST /a 200"]);
    let interim = script.out.transactions[0].interim.unwrap();
    assert_eq!(
        (interim.count, interim.status, interim.first.frame),
        (2, 100, 2)
    );
    assert_eq!(script.response(0).start, 72);
}

#[test]
fn test_a_response_before_the_request_is_complete_answers_it() {
    // RFC 9112, section 9.3: the head was acknowledged, the body was not.
    let mut script = Script::new();
    script
        .client("POST /big HTTP/1.1\r\nContent-Length: 100\r\n\r\n12345")
        .server("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        .end(SERVER, End::Fin)
        .client("67890")
        .end(CLIENT, End::Reset);
    assert_eq!(script.pairs(), ["POST /big* 413"]);
    assert!(!script.response(0).keep_alive);
    assert_eq!(script.request(0).body.bytes, 10);
}

#[test]
fn test_an_early_response_keeps_the_order() {
    let mut script = Script::new();
    script
        .client("POST /a HTTP/1.1\r\nContent-Length: 10\r\n\r\n12345")
        .server(OK)
        .client("67890".to_string() + &get("/b"))
        .server(EMPTY);
    assert_eq!(script.pairs(), ["POST /a 200", "GET /b 200"]);
}

#[test]
fn test_requests_without_responses_are_handed_out_when_the_server_ends() {
    let mut script = Script::new();
    script
        .client(get("/a") + &get("/b"))
        .server(OK)
        .end(SERVER, End::Reset);
    assert_eq!(script.pairs(), ["GET /a 200", "GET /b -"]);
}

#[test]
fn test_one_side_alone_gives_half_transactions() {
    let mut server = Script::new();
    let mut client = Script::new();
    for request in 1..=40_u64 {
        server.segment(SERVER, OK.as_bytes(), Some(request * 30));
        client.segment(CLIENT, get("/a").as_bytes(), Some((request - 1) * 43));
    }
    // The transactions are output before the end.
    assert!(server.out.transactions.len() >= 20 && client.out.transactions.len() >= 20);
    server.close();
    client.close();
    assert_eq!(server.pairs(), vec!["- 200"; 40]);
    assert_eq!(client.pairs(), vec!["GET /a -"; 40]);
    assert!(server.anomalies().is_empty() && client.anomalies().is_empty());
}

#[test]
fn test_responses_to_head_are_framed_without_their_requests() {
    let mut script = Script::new();
    for request in 1..=3_u64 {
        script.segment(
            SERVER,
            b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n",
            Some(request * 30),
        );
    }
    script.segment(SERVER, OK.as_bytes(), Some(120)).close();
    assert_eq!(script.pairs(), vec!["- 200"; 4]);
}

#[test]
fn test_a_response_that_was_delivered_before_its_request_waits_for_it() {
    let mut script = Script::new();
    script.segment(SERVER, OK.as_bytes(), Some(27));
    assert!(script.pairs().is_empty());
    script.segment(CLIENT, get("/").as_bytes(), Some(0));
    assert_eq!(script.pairs(), ["GET / 200"]);
    script.segment(
        SERVER,
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n",
        Some(47),
    );
    script.segment(CLIENT, b"HEAD / HTTP/1.1\r\n\r\n\r\n", Some(43));
    script.client(get("/b")).server(OK);
    assert_eq!(script.pairs(), ["GET / 200", "HEAD / 200", "GET /b 200"]);
}

#[test]
fn test_a_response_that_had_not_seen_the_request_does_not_answer_it() {
    // A 408 that crosses the next request on the path.
    let timeout = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let mut script = Script::new();
    script.client(get("/a")).server(OK).client(get("/b"));
    script.segment(SERVER, timeout, Some(28)).close();
    assert_eq!(script.pairs(), ["GET /a 200", "- 408", "GET /b -"]);
    assert!(script.anomalies().is_empty());
}

#[test]
fn test_without_acknowledgments_the_order_of_packets_decides() {
    let mut script = Script::new();
    script
        .segment(SERVER, OK.as_bytes(), None)
        .segment(CLIENT, get("/a").as_bytes(), None);
    script.segment(SERVER, EMPTY.as_bytes(), None);
    assert_eq!(script.pairs(), ["- 200", "GET /a 200"]);
}

#[test]
fn test_other_protocols_give_nothing_and_keep_nothing() {
    for (client, server) in [
        ("\x16\x03\x01\x02\x00\x01", "\x16\x03\x03"),
        ("SSH-2.0-OpenSSH_9.6\r\n", "SSH-2.0-OpenSSH_9.2\r\n"),
        ("EHLO a\r\n", "220 mail.example.org ESMTP\r\n"),
        (
            "OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n",
            "RTSP/1.0 200 OK\r\n\r\n",
        ),
        ("REGISTER sip:h SIP/2.0\r\n\r\n", "SIP/2.0 200 OK\r\n\r\n"),
    ] {
        let mut script = Script::new();
        for _ in 0..200 {
            script.client(client).server(server);
        }
        assert!(script.connection.is_opaque(CLIENT) && script.connection.is_opaque(SERVER));
        script.client(get("/")).server(OK).close();
        assert!(
            !script.connection.is_http() && script.pairs().is_empty(),
            "{client}"
        );
        assert!(script.anomalies().is_empty() && script.connection.response_start().is_none());
    }
}

#[test]
fn test_an_icy_response_leaves_the_request_unanswered() {
    let mut script = Script::new();
    script
        .client("GET /radio HTTP/1.0\r\n\r\n")
        .server("ICY 200 OK\r\n\r\n\x01\x02")
        .close();
    assert_eq!(script.pairs(), ["GET /radio -"]);
    assert_eq!(script.anomalies(), [AnomalyKind::MalformedHttp]);
}

#[test]
fn test_http_is_found_with_either_side_as_client() {
    let mut script = Script::new();
    script
        .segment(SERVER, get("/a").as_bytes(), Some(0))
        .segment(CLIENT, OK.as_bytes(), Some(28));
    assert_eq!(script.pairs(), ["GET /a 200"]);
    assert!(script.connection.roles_are_reversed());
    let mut joined = Script::new();
    joined
        .client("middle of a body")
        .client(OK)
        .server(get("/b"));
    assert!(joined.connection.roles_are_reversed());
    assert_eq!(joined.close().pairs(), ["- 200", "GET /b -"]);
}

#[test]
fn test_an_endless_head_is_abandoned() {
    let mut script = Script::new();
    script.client("GET / HTTP/1.1\r\nHost: h\r\n");
    for _ in 0..300 {
        script.client(format!("X: {}\r\n", "y".repeat(1000)));
    }
    script.client("\r\n").client(get("/b")).close();
    assert!(script.pairs().is_empty());
    assert_eq!(script.anomalies(), [AnomalyKind::LimitReached]);
}

#[test]
fn test_an_endless_pipeline_is_bounded() {
    let mut script = Script::new();
    for _ in 0..5000 {
        script.client(get("/a"));
    }
    assert!(script.out.transactions.len() > 3900);
    assert_eq!(script.anomalies(), [AnomalyKind::LimitReached]);
    script.close();
    assert_eq!(script.out.transactions.len(), 5000);
}

#[test]
fn test_bytes_given_twice_are_read_once() {
    let mut connection = Connection::new();
    let mut out = Output::default();
    let request = get("/a");
    let (first, _) = request.as_bytes().split_at(10);
    connection.data(
        Direction::ClientToServer,
        0,
        first,
        Mark::default(),
        None,
        &mut out,
    );
    connection.data(
        Direction::ClientToServer,
        0,
        request.as_bytes(),
        Mark::default(),
        None,
        &mut out,
    );
    connection.data(
        Direction::ClientToServer,
        3,
        &request.as_bytes()[3..9],
        Mark::default(),
        None,
        &mut out,
    );
    connection.end(
        Direction::ServerToClient,
        End::Fin,
        Mark::default(),
        &mut out,
    );
    assert_eq!(out.transactions.len(), 1);
    assert!(out.transactions[0].request.as_ref().unwrap().complete && out.anomalies.is_empty());
}
