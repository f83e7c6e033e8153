use super::super::fields::{ContentLength, TransferEncoding};
use super::*;

fn whole(role: Role, bytes: &[u8]) -> Option<Box<Head>> {
    match parse(role, bytes) {
        Parsed::Whole(head) => Some(head),
        Parsed::Partial | Parsed::Malformed | Parsed::Http2Preface => None,
    }
}

#[test]
fn test_a_start_line_beyond_the_limits_is_rejected() {
    let method = "A".repeat(65);
    let request = format!("{method} / HTTP/1.1\r\n\r\n");
    assert!(whole(Role::Request, request.as_bytes()).is_none());
    assert!(whole(Role::Response, b"HTTP/1.1 000 OK\r\n\r\n").is_none());
}

#[test]
fn test_a_request_gives_its_start_line_and_fields() {
    let head = whole(
        Role::Request,
        b"POST /a?b HTTP/1.1\r\nHost: h:8080\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\nabc",
    );
    let head = head.map(|head| {
        (
            head.start,
            head.bytes,
            head.fields.host,
            head.framing.content_length,
        )
    });
    assert_eq!(
        head,
        Some((
            Start::Request {
                method: "POST".into(),
                target: "/a?b".into()
            },
            77,
            Some("h:8080".into()),
            ContentLength::Bytes(3)
        ))
    );
}

#[test]
fn test_bare_line_feeds_end_lines() {
    // RFC 9112, section 2.2.
    let head = whole(Role::Response, b"HTTP/1.0 200\nContent-Length: 5\n\nhello");
    assert_eq!(
        head.map(|head| (head.start, head.bytes)),
        Some((Start::Status(200), 32))
    );
}

#[test]
fn test_folds_of_responses_are_one_value() {
    // RFC 9112, section 5.2.
    let head = whole(
        Role::Response,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip,\r\n chunked\r\n\r\n",
    );
    assert_eq!(
        head.map(|head| head.framing.transfer_encoding),
        Some(TransferEncoding::Chunked)
    );
}

#[test]
fn test_folds_of_requests_are_one_value_and_odd() {
    let head = whole(
        Role::Request,
        b"POST / HTTP/1.1\r\n X: y\r\nHost:\r\n h\r\nTransfer-Encoding: gzip,\r\n\tchunked\r\n\r\n",
    );
    let head = head.map(|head| {
        (
            head.has_odd_lines,
            head.fields.host,
            head.framing.transfer_encoding,
        )
    });
    assert_eq!(
        head,
        Some((true, Some("h".into()), TransferEncoding::Chunked))
    );
}

#[test]
fn test_a_fold_in_a_shown_value_is_a_space() {
    let head = whole(
        Role::Response,
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html;\r\n\tcharset=x\r\n\r\n",
    );
    assert_eq!(
        head.and_then(|head| head.fields.content_type),
        Some("text/html; charset=x".into())
    );
}

#[test]
fn test_the_authority_of_an_absolute_target_overrides_host() {
    let head = whole(
        Role::Request,
        b"GET http://u@a:81/x HTTP/1.1\r\nHost: b\r\n\r\n",
    );
    assert_eq!(head.and_then(|head| head.fields.host), Some("a:81".into()));
}

#[test]
fn test_a_broken_line_hides_neither_the_head_nor_other_fields() {
    for odd in [
        "no field at all",
        "Name With Space: x",
        "\x01: x",
        "X: \x01",
    ] {
        for (role, start) in [
            (Role::Request, "GET /\u{e9} HTTP/1.1"),
            (Role::Response, "HTTP/1.1 200 OK"),
        ] {
            let text = format!("{start}\r\n{odd}\r\nContent-Length: 7\r\n\r\nrest");
            let head = whole(role, text.as_bytes());
            assert_eq!(
                head.map(|head| (head.has_odd_lines, head.framing.content_length, head.bytes)),
                Some((true, ContentLength::Bytes(7), text.len() - 4)),
                "{text}"
            );
        }
    }
}

#[test]
fn test_more_fields_than_usual_are_all_read() {
    let mut text = b"HTTP/1.1 200 OK\r\n".to_vec();
    for _ in 0..FIELDS_AT_ONCE {
        text.extend_from_slice(b"X: y\r\n");
    }
    text.extend_from_slice(b"Content-Length: 7\r\n\r\n");
    let head = whole(Role::Response, &text);
    assert_eq!(
        head.map(|head| (head.framing.content_length, head.has_odd_lines)),
        Some((ContentLength::Bytes(7), false))
    );
}

#[test]
fn test_a_truncated_head_gives_its_whole_fields() {
    let head = parse_broken_off(
        Role::Response,
        b"HTTP/1.1 404 Not Found\r\nServer: s\r\nContent-Le",
    );
    assert_eq!(head.and_then(|head| head.fields.server), Some("s".into()));
}

#[test]
fn test_a_truncated_start_line_gives_its_captured_part() {
    let start = |role, bytes| parse_broken_off(role, bytes).map(|head| head.start);
    assert_eq!(
        start(Role::Response, b"HTTP/1.1 404 Not"),
        Some(Start::Status(404))
    );
    assert_eq!(start(Role::Response, b"HTTP/1.1 40"), None);
    let request = Start::Request {
        method: "GET".into(),
        target: "/a?b=".into(),
    };
    assert_eq!(start(Role::Request, b"GET /a?b="), Some(request));
    assert_eq!(start(Role::Request, b"USER anonymous"), None);
    assert_eq!(start(Role::Request, b"OPTIONS rtsp://h/a RTSP/1"), None);
}

#[test]
fn test_the_empty_line_is_found_from_every_search_position() {
    for text in ["a\r\n\r\n", "a\n\n", "a\r\n\n", "a\n\r\n"] {
        for from in 0..text.len() {
            assert_eq!(
                length(text.as_bytes(), from),
                Some(text.len()),
                "{text:?} from {from}"
            );
        }
        assert_eq!(
            length(text.get(..text.len() - 1).unwrap_or("").as_bytes(), 0),
            None
        );
    }
}
