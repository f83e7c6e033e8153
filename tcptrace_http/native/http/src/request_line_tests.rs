//! First requests and request lines from real captures.
use trace_model::AnomalyKind;

use super::script::Script;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

fn get(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: h\r\n\r\n")
}

#[test]
fn test_request_lines_that_break_the_grammar_are_requests_and_the_next_pair_is_whole() {
    for (line, shown) in [
        ("GET /Hello Arkime HTTP/1.0", "GET /Hello Arkime 200"),
        ("GET  /a  HTTP/1.1", "GET /a 200"),
        ("GET\t/a\tb\tHTTP/1.1", "GET /a\tb 200"),
        ("GET HTTP/1.1", "GET  200"),
        ("get /a HTTP/1.1", "get /a 200"),
    ] {
        for byte_by_byte in [false, true] {
            let mut script = Script::new();
            script.byte_by_byte = byte_by_byte;
            script
                .client(format!("{line}\r\nHost: h\r\n\r\n"))
                .server(OK);
            script.client(get("/b")).server(OK);
            assert_eq!(script.pairs(), [shown, "GET /b 200"]);
            assert_eq!(script.anomalies(), [AnomalyKind::MalformedHttp], "{line}");
            assert_eq!(script.request(0).fields.host.as_deref(), Some("h"));
        }
    }
}

#[test]
fn test_a_target_of_64_kib_is_a_request_whose_target_is_cut() {
    for byte_by_byte in [false, true] {
        let target = format!("/{}", "a".repeat(64 * 1024 - 1));
        let mut script = Script::new();
        script.client(get(&target)).server(OK);
        script.byte_by_byte = byte_by_byte;
        script.client(get("/b")).server(OK);
        let kept = &target[..8 * 1024];
        assert_eq!(
            script.pairs(),
            [format!("GET {kept} 200"), "GET /b 200".into()]
        );
        assert_eq!(script.anomalies(), [AnomalyKind::LimitReached]);
    }
}

#[test]
fn test_a_proxy_header_before_the_first_request_is_skipped() {
    let binary = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\x0a\0\0\x01\x0a\0\0\x02\x9c\x40\0\x50";
    for header in [
        &b"PROXY TCP4 10.0.0.1 10.0.0.2 40000 80\r\n"[..],
        b"PROXY UNKNOWN\r\n",
        binary,
    ] {
        for alone in [false, true] {
            let mut script = Script::new();
            if alone {
                script.client(header).client(get("/a"));
            } else {
                script.client([header, get("/a").as_bytes()].concat());
            }
            script.server(OK).client(get("/b")).server(OK);
            assert_eq!(script.pairs(), ["GET /a 200", "GET /b 200"]);
            assert_eq!(script.request(0).start, header.len() as u64);
            assert!(script.anomalies().is_empty());
        }
    }
}

#[test]
fn test_a_proxy_header_before_another_protocol_or_after_a_request_is_no_part_of_http() {
    let header = "PROXY TCP4 10.0.0.1 10.0.0.2 40000 25\r\n";
    let mut script = Script::new();
    script
        .client(header)
        .server("220 h ESMTP\r\n")
        .client("EHLO a\r\n");
    script.close();
    assert!(script.pairs().is_empty() && script.anomalies().is_empty());
    let mut script = Script::new();
    script.client(get("/a")).server(OK).client(header).close();
    assert_eq!(script.pairs(), ["GET /a 200"]);
    assert_eq!(script.anomalies(), [AnomalyKind::MalformedHttp]);
}
