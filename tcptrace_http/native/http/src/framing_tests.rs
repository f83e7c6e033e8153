//! Ends of messages in whole exchanges: RFC 9112, section 6.3, tunnels and broken framing.
use trace_model::AnomalyKind;

use super::script::{Script, CLIENT, SERVER};
use super::{End, Framing};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

fn get(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: h\r\n\r\n")
}

#[test]
fn test_a_body_until_close_is_complete_at_fin_and_not_at_reset_or_the_end_of_the_capture() {
    // RFC 9112, section 8.
    for (end, complete) in [
        (End::Fin, true),
        (End::Reset, false),
        (End::EndOfCapture, false),
    ] {
        let mut script = Script::new();
        script
            .client(get("/"))
            .server("HTTP/1.0 200 OK\r\n\r\nbody")
            .end(SERVER, end);
        assert_eq!(script.response(0).complete, complete, "{end:?}");
        assert_eq!(script.response(0).body.framing, Framing::UntilClose);
        assert_eq!(script.response(0).body.bytes, 4);
    }
}

#[test]
fn test_a_body_cut_by_the_close_is_incomplete() {
    // RFC 9112, section 8: for Content-Length and for chunked.
    for fields in ["Content-Length: 50", "Transfer-Encoding: chunked"] {
        let mut script = Script::new();
        script
            .client(get("/"))
            .server(format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\n5\r\nabc"))
            .close();
        assert_eq!(script.pairs(), ["GET / 200*"]);
    }
}

#[test]
fn test_chunked_bodies_are_counted_decoded_and_on_the_wire() {
    let mut script = Script::new();
    script
        .client("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n")
        .server("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nab")
        .server("cd\r\n0\r\n\r\n");
    assert_eq!(script.pairs(), ["POST / 200"]);
    let response = script.response(0);
    assert_eq!((response.body.bytes, response.body.wire_bytes), (4, 14));
    assert_eq!(response.body.framing, Framing::Chunked);
    assert_eq!(script.request(0).body.framing, Framing::Chunked);
}

#[test]
fn test_head_204_and_304_have_no_body() {
    // RFC 9112, section 6.3, item 1.
    let mut script = Script::new();
    script
        .client("HEAD /a HTTP/1.1\r\n\r\n")
        .server("HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n")
        .client(get("/b"))
        .server("HTTP/1.1 304 Not Modified\r\nContent-Length: 999\r\n\r\n")
        .client(get("/c"))
        .server("HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n")
        .client(get("/d"))
        .server(OK);
    assert_eq!(
        script.pairs(),
        ["HEAD /a 200", "GET /b 304", "GET /c 204", "GET /d 200"]
    );
    assert_eq!(script.response(0).body.content_length, Some(999));
    assert_eq!(script.response(0).body.bytes, 0);
}

#[test]
fn test_connect_with_2xx_opens_a_tunnel_that_is_not_read() {
    // RFC 9112, section 6.3, item 2.
    let mut script = Script::new();
    script
        .client("CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n")
        .client("\x16\x03\x01 sent ahead")
        .server("HTTP/1.1 200 Established\r\nContent-Length: 5\r\n\r\n")
        .client(get("/inside"))
        .server(OK)
        .close();
    assert_eq!(script.pairs(), ["CONNECT h:443 200"]);
    assert_eq!(script.response(0).body.framing, Framing::Tunnel);
    assert!(script.anomalies().is_empty());
    assert!(script.connection.is_opaque(CLIENT) && script.connection.is_opaque(SERVER));
}

#[test]
fn test_http_inside_a_tunnel_is_read() {
    for byte_by_byte in [false, true] {
        let mut script = Script::new();
        script.byte_by_byte = byte_by_byte;
        script
            .client("CONNECT h:80 HTTP/1.1\r\nHost: h\r\n\r\n")
            .server("HTTP/1.1 200 Established\r\n\r\n");
        for target in ["/a", "/b"] {
            script.client(get(target)).server(OK);
        }
        script.close();
        assert_eq!(
            script.pairs(),
            ["CONNECT h:80 200", "GET /a 200", "GET /b 200"]
        );
        assert!(script.anomalies().is_empty());
    }
}

#[test]
fn test_another_protocol_inside_a_tunnel_is_not_read() {
    let tls = "\x16\x03\x01\x02\0\x01";
    for (first, other) in [
        (CLIENT, tls),
        (CLIENT, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        (CLIENT, "EHLO h\r\n"),
        (SERVER, "220 h ESMTP\r\n"),
        (SERVER, "SSH-2.0-OpenSSH_9.6\r\n"),
    ] {
        for split in [false, true] {
            let mut script = Script::new();
            script
                .client("CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n")
                .server("HTTP/1.1 200 Established\r\n\r\n");
            assert!(!script.connection.is_opaque(CLIENT));
            script.byte_by_byte = split;
            script.segment(first, other.as_bytes(), None);
            assert!(script.connection.is_opaque(CLIENT) && script.connection.is_opaque(SERVER));
            script.client(get("/inside")).server(OK).close();
            assert_eq!(script.pairs(), ["CONNECT h:443 200"], "{other}");
            assert!(script.anomalies().is_empty(), "{other}");
        }
    }
}

#[test]
fn test_a_tunnel_whose_first_bytes_are_missing_is_not_read() {
    let mut script = Script::new();
    script
        .client("CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n")
        .server("HTTP/1.1 200 Established\r\n\r\n")
        .lose(CLIENT, 9);
    assert!(script.connection.is_opaque(CLIENT) && script.connection.is_opaque(SERVER));
}

#[test]
fn test_http_continues_after_a_refused_connect() {
    let mut script = Script::new();
    script
        .client("CONNECT h:443 HTTP/1.1\r\n\r\n")
        .server("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 5\r\n\r\nhello")
        .client("CONNECT h:443 HTTP/1.1\r\nProxy-Authorization: x\r\n\r\n")
        .server("HTTP/1.1 200 OK\r\n\r\n");
    assert_eq!(script.pairs(), ["CONNECT h:443 407", "CONNECT h:443 200"]);
}

#[test]
fn test_an_upgrade_is_complete_and_then_opaque() {
    // RFC 9110, section 7.8.
    let mut script = Script::new();
    script
        .client("GET /ws HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        .server("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n\x01\x02")
        .client("\x01\x02")
        .close();
    assert_eq!(script.pairs(), ["GET /ws 101"]);
    assert!(script.out.transactions[0].is_complete() && script.anomalies().is_empty());
}

#[test]
fn test_an_upgrade_that_the_server_ignores_changes_nothing() {
    let mut script = Script::new();
    let upgrade = "GET /a HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n";
    script.client(upgrade).server(OK).client(upgrade).server(OK);
    assert_eq!(script.pairs(), ["GET /a 200", "GET /a 200"]);
}

#[test]
fn test_the_http_2_preface_makes_the_flow_opaque() {
    let mut script = Script::new();
    script
        .client("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        .server(OK)
        .client(get("/"))
        .close();
    assert!(script.pairs().is_empty() && !script.connection.is_http());
    assert!(script.connection.is_opaque(SERVER));
}

#[test]
fn test_ambiguous_framing_is_reported_and_resolved_in_rule_order() {
    // RFC 9112, section 6.3, items 3 to 5.
    let mut script = Script::new();
    script
        .client(get("/a"))
        .server(
            "HTTP/1.1 200 OK\r\nContent-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        )
        .client(get("/b"))
        .server("HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello")
        .client(get("/c"))
        .server("HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello")
        .close();
    assert_eq!(script.pairs(), ["GET /a 200", "GET /b 200", "GET /c 200"]);
    assert_eq!(script.anomalies(), [AnomalyKind::AmbiguousFraming; 2]);
    assert_eq!(script.response(2).body.framing, Framing::UntilClose);
}

#[test]
fn test_a_request_without_a_known_end_is_followed_by_a_search() {
    let mut script = Script::new();
    script
        .client("POST /a HTTP/1.1\r\nContent-Length: 5, 6\r\n\r\nGET / HTTP/1.1\r\n\r\n")
        .server("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        .client(get("/b"))
        .close();
    assert_eq!(script.pairs(), ["POST /a* 400", "GET /b -"]);
    assert_eq!(script.anomalies(), [AnomalyKind::AmbiguousFraming]);
}

#[test]
fn test_a_broken_chunk_is_an_anomaly_and_the_next_message_is_found() {
    let mut script = Script::new();
    script
        .client(get("/a"))
        .server("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000000\r\nxyz")
        .client(get("/b"))
        .server(OK);
    assert_eq!(script.pairs(), ["GET /a 200*", "GET /b 200"]);
    assert_eq!(script.anomalies(), [AnomalyKind::MalformedHttp]);
}

#[test]
fn test_bytes_after_a_response_are_reported_once() {
    let mut script = Script::new();
    script
        .client(get("/a"))
        .server(OK.to_string() + "junk")
        .server("more junk");
    script
        .client(get("/b"))
        .server(OK)
        .client(get("/c"))
        .server(OK.to_string() + "junk");
    assert_eq!(script.pairs(), ["GET /a 200", "GET /b 200", "GET /c 200"]);
    assert_eq!(script.anomalies(), [AnomalyKind::MalformedHttp]);
}
