//! Request lines that break the grammar and that servers still answer.
//!
//! Whitespace in or around a target, or an absent target, also occurs in many other text protocols. Only a
//! registered method and the version at the end identify HTTP.

use super::{is_target, StartLine, TARGET_MAX};

/// Registered methods (RFC 9110, section 9.3; RFC 5789; RFC 4918, section 9; RFC 3253, section 3.6; RFC 5323).
#[rustfmt::skip]
const REGISTERED: [&[u8]; 18] = [
    b"GET", b"HEAD", b"POST", b"PUT", b"DELETE", b"CONNECT", b"OPTIONS", b"TRACE", b"PATCH", b"PROPFIND",
    b"PROPPATCH", b"MKCOL", b"COPY", b"MOVE", b"LOCK", b"UNLOCK", b"REPORT", b"SEARCH",
];
/// Length of the longest listed method, PROPPATCH.
const LONGEST_METHOD_BYTES: usize = 9;
/// The version without its minor digit.
const VERSION: &[u8] = b"HTTP/1.";

/// Return true if a method is registered, in any case.
pub(in super::super) fn is_registered(method: &[u8]) -> bool {
    REGISTERED.iter().any(|it| it.eq_ignore_ascii_case(method))
}

pub(super) fn request_line(line: &[u8]) -> StartLine {
    if method_length(line).is_none() {
        return StartLine::Absent;
    }
    let reach = line.get(..TARGET_MAX).unwrap_or(line);
    let Some(end) = reach.iter().position(|byte| !is_text(*byte)) else {
        return if line.len() >= TARGET_MAX {
            StartLine::Absent
        } else {
            StartLine::Begun
        };
    };
    match line.get(end..) {
        Some([b'\r']) => StartLine::Begun,
        Some([b'\r', b'\n', ..] | [b'\n', ..]) if line.get(..end).and_then(parts).is_some() => {
            StartLine::Whole
        }
        _ => StartLine::Absent,
    }
}

/// Return method, target and minor version of a request line without its line end. The target is the text
/// between the other two, without surrounding whitespace.
pub(in super::super) fn parts(line: &[u8]) -> Option<(&[u8], &[u8], u8)> {
    let line = line.trim_ascii_end();
    let (before, version) = line.split_at_checked(line.len().checked_sub(VERSION.len() + 1)?)?;
    let minor_version = match version.strip_prefix(VERSION)? {
        b"0" => 0,
        b"1" => 1,
        _ => return None,
    };
    let (method, target) = before.split_at_checked(before.iter().position(is_blank)?)?;
    let is_apart = before.last().is_some_and(is_blank);
    is_apart.then(|| (method, target.trim_ascii(), minor_version))
}

/// Return method, target and minor version of a truncated request line. A missing minor version counts as
/// that of HTTP/1.1. The version is optional; the method must be registered and the target a path or a URL.
pub(in super::super) fn cut_parts(line: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (method, rest) = line.split_at_checked(method_length(line)?)?;
    let (before, last) = rest.split_at_checked(rest.iter().rposition(is_blank)?)?;
    let last = last.trim_ascii();
    let (target, minor_version) = match last.strip_prefix(VERSION) {
        Some(minor) => (before, minor),
        None if VERSION.starts_with(last) => (before, &b""[..]),
        None => (rest, &b""[..]),
    };
    let target = target.trim_ascii();
    let is_http = match method {
        b"CONNECT" => !target.is_empty(),
        _ => [&b"/"[..], b"http://", b"https://"]
            .iter()
            .any(|start| target.starts_with(start)),
    };
    let minor_version = minor_version.get(..1).unwrap_or(b"1");
    is_http.then_some((method, target, minor_version))
}

/// Return true if the bytes are a request line that is complete except for a possibly missing rest.
pub(in super::super) fn is_perhaps_cut(bytes: &[u8]) -> bool {
    cut_parts(bytes).is_some() && super::request_line(bytes) == StartLine::Begun
}

/// Return the length of the registered method at the start of a line, if whitespace follows it.
fn method_length(line: &[u8]) -> Option<usize> {
    let reach = line.get(..=LONGEST_METHOD_BYTES).unwrap_or(line);
    let length = reach.iter().position(is_blank)?;
    is_registered(line.get(..length)?).then_some(length)
}

fn is_text(byte: u8) -> bool {
    is_target(byte) || is_blank(&byte)
}

fn is_blank(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

#[cfg(test)]
mod tests {
    use super::super::request_line;
    use super::*;

    #[test]
    fn test_white_space_in_or_around_the_target_or_no_target_is_a_request() {
        for (line, method, target) in [
            ("GET /Hello Arkime HTTP/1.0", "GET", "/Hello Arkime"),
            ("GET  /a HTTP/1.1", "GET", "/a"),
            ("GET /a  HTTP/1.1", "GET", "/a"),
            ("GET\t/a\tHTTP/1.1", "GET", "/a"),
            ("POST /a\tb  c HTTP/1.1", "POST", "/a\tb  c"),
            ("get /a b HTTP/1.1", "get", "/a b"),
            ("PROPPATCH  /a HTTP/1.1 ", "PROPPATCH", "/a"),
            ("GET HTTP/1.1", "GET", ""),
            ("GET  HTTP/1.0", "GET", ""),
        ] {
            for end in ["\r\n", "\n"] {
                let whole = format!("{line}{end}");
                assert_eq!(request_line(whole.as_bytes()), StartLine::Whole, "{line}");
                for cut in 1..whole.len() {
                    assert_eq!(
                        request_line(&whole.as_bytes()[..cut]),
                        StartLine::Begun,
                        "{line} {cut}"
                    );
                }
            }
            let (found_method, found_target, _) = parts(line.as_bytes()).expect("a request line");
            assert_eq!(
                (found_method, found_target),
                (method.as_bytes(), target.as_bytes())
            );
        }
    }

    #[test]
    fn test_lines_of_other_protocols_are_no_loose_request_lines() {
        for line in [
            "PRIVMSG #web :GET / HTTP/1.1\r\n",
            "SET key GET / HTTP/1.1\r\n",
            "MAIL FROM:<a@b> SIZE=9 HTTP/1.1\r\n",
            "STOR my file HTTP/1.1\r\n",
            "get one two three\r\n",
            "GET /a b\r\n",
            "GET\r\n",
            "OPTIONS rtsp://h/a b RTSP/1.0\r\n",
            "OPTIONS  sip:a@b SIP/2.0\r\n",
            "GET /a bHTTP/1.1\r\n",
            "GET /a b HTTP/1.7\r\n",
            "GET /a b HTTP/2.0\r\n",
            "GET /a \0b HTTP/1.1\r\n",
            "GET /a\rb HTTP/1.1\r\n",
        ] {
            assert_eq!(request_line(line.as_bytes()), StartLine::Absent, "{line}");
        }
    }

    #[test]
    fn test_an_endless_loose_line_is_abandoned() {
        let mut line = b"GET ".to_vec();
        line.resize(TARGET_MAX - 1, b' ');
        assert_eq!(request_line(&line), StartLine::Begun);
        line.push(b' ');
        assert_eq!(request_line(&line), StartLine::Absent);
    }

    #[test]
    fn test_a_cut_line_of_a_registered_method_has_a_partial_target() {
        for (line, target) in [
            ("GET /a/long/pa", Some("/a/long/pa")),
            ("POST http://h/a", Some("http://h/a")),
            ("CONNECT h:44", Some("h:44")),
            ("GET /a b", Some("/a b")),
            ("GET /a HTT", Some("/a")),
            ("GET /a HTTP/1.", Some("/a")),
            ("GET /a HTTP/1.1", Some("/a")),
            ("GET /a HTTP/1.1\r", Some("/a")),
            ("GET /a ", Some("/a")),
            ("GET ", None),
            ("GET key", None),
            ("CONNECT ", None),
            ("OPTIONS rtsp://h/s", None),
            ("OPTIONS sip:a@b", None),
            ("USER anonymous", None),
            ("RETR /a", None),
        ] {
            let found = cut_parts(line.as_bytes()).map(|(_, target, _)| target);
            assert_eq!(found, target.map(str::as_bytes), "{line}");
        }
    }
}
