//! Detection of HTTP/1.x by the first bytes of a message, on any port.

mod loose;

pub(super) use loose::{cut_parts, is_perhaps_cut, is_registered, parts};

/// Maximum length of a method. The longest registered one is UPDATEREDIRECTREF, with 17 characters. The limit
/// stops the collection of text protocols without line ends.
const METHOD_MAX: usize = 64;

/// Maximum length of a request target. RFC 9112, section 3, recommends at least 8000 bytes. Servers with a
/// configurable limit stop at 64 KiB.
const TARGET_MAX: usize = 64 * 1024;

/// The class of a candidate message's first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StartLine {
    /// A whole start line of HTTP/1.0 or HTTP/1.1.
    Whole,
    /// A possible beginning of a start line.
    Begun,
    /// The connection preface of HTTP/2 (RFC 9113, section 3.4).
    Http2Preface,
    /// Not HTTP/1.x.
    Absent,
}

/// Classify a request line. Lines that break the grammar and that servers still answer are accepted.
pub(super) fn request_line(bytes: &[u8]) -> StartLine {
    match strict_request_line(bytes) {
        StartLine::Absent => loose::request_line(without_empty_lines(bytes)),
        other => other,
    }
}

/// Classify by RFC 9112, section 3: `method SP request-target SP HTTP-version`.
pub(super) fn strict_request_line(bytes: &[u8]) -> StartLine {
    let line = without_empty_lines(bytes);
    let method = line
        .iter()
        .take(METHOD_MAX + 1)
        .take_while(|byte| is_token(**byte))
        .count();
    let Some(after_method) = line.get(method) else {
        return if method > METHOD_MAX {
            StartLine::Absent
        } else {
            StartLine::Begun
        };
    };
    if method == 0 || method > METHOD_MAX || *after_method != b' ' {
        return StartLine::Absent;
    }
    let target_on = line.get(method + 1..).unwrap_or(&[]);
    let Some(target) = target_on
        .iter()
        .take(TARGET_MAX + 1)
        .position(|byte| !is_target(*byte))
    else {
        return if target_on.len() > TARGET_MAX {
            StartLine::Absent
        } else {
            StartLine::Begun
        };
    };
    if target == 0 || target_on.get(target) != Some(&b' ') {
        return StartLine::Absent;
    }
    let version_on = target_on.get(target + 1..).unwrap_or(&[]);
    if line.get(..method) == Some(b"PRI") && target_on.get(..target) == Some(b"*") {
        match matches_start(version_on, b"HTTP/2.0\r\n") {
            StartLine::Whole => return StartLine::Http2Preface,
            StartLine::Begun => return StartLine::Begun,
            // In HTTP/1.x, PRI is a request with a method of that name.
            StartLine::Absent | StartLine::Http2Preface => {}
        }
    }
    version_and_line_end(version_on)
}

/// Classify by RFC 9112, section 4: `HTTP-version SP status-code SP [ reason-phrase ]`. In practice, a line
/// without a reason phrase also omits the second space.
pub(super) fn status_line(bytes: &[u8]) -> StartLine {
    let line = without_empty_lines(bytes);
    let pattern: [fn(u8) -> bool; 13] = [
        |byte| byte == b'H',
        |byte| byte == b'T',
        |byte| byte == b'T',
        |byte| byte == b'P',
        |byte| byte == b'/',
        |byte| byte == b'1',
        |byte| byte == b'.',
        is_minor_version,
        |byte| byte == b' ',
        |byte| matches!(byte, b'1'..=b'9'),
        |byte| byte.is_ascii_digit(),
        |byte| byte.is_ascii_digit(),
        |byte| matches!(byte, b' ' | b'\r' | b'\n'),
    ];
    if line.iter().zip(pattern).any(|(byte, fits)| !fits(*byte)) {
        StartLine::Absent
    } else if line.len() < pattern.len() {
        StartLine::Begun
    } else {
        StartLine::Whole
    }
}

/// Return the bytes after leading empty lines, which a reader ignores before a start line (RFC 9112, section
/// 2.2).
fn without_empty_lines(bytes: &[u8]) -> &[u8] {
    let empty = bytes
        .iter()
        .take_while(|byte| matches!(byte, b'\r' | b'\n'))
        .count();
    bytes.get(empty..).unwrap_or(&[])
}

fn version_and_line_end(bytes: &[u8]) -> StartLine {
    const NAME: &[u8] = b"HTTP/1.";
    match matches_start(bytes, NAME) {
        StartLine::Whole => {}
        other => return other,
    }
    match bytes.get(NAME.len()) {
        None => return StartLine::Begun,
        Some(minor) if is_minor_version(*minor) => {}
        Some(_) => return StartLine::Absent,
    }
    match (bytes.get(NAME.len() + 1), bytes.get(NAME.len() + 2)) {
        (None, _) | (Some(b'\r'), None) => StartLine::Begun,
        // A bare line feed can end a line (RFC 9112, section 2.2).
        (Some(b'\n'), _) | (Some(b'\r'), Some(b'\n')) => StartLine::Whole,
        _ => StartLine::Absent,
    }
}

fn matches_start(bytes: &[u8], expected: &[u8]) -> StartLine {
    if bytes.starts_with(expected) {
        StartLine::Whole
    } else if expected.starts_with(bytes) {
        StartLine::Begun
    } else {
        StartLine::Absent
    }
}

/// Return true for 0 and 1, the only published minor versions of major version 1.
fn is_minor_version(byte: u8) -> bool {
    matches!(byte, b'0' | b'1')
}

/// Return true for a `tchar` of RFC 9110, section 5.6.2.
pub(super) fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Return true for any byte except whitespace and controls. Real targets also contain bytes above 127.
fn is_target(byte: u8) -> bool {
    byte > b' ' && byte != 0x7f
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_any_token_is_a_method_when_the_version_is_http_1() {
        for line in [
            "GET / HTTP/1.1\r\n",
            "get / HTTP/1.0\r\n",
            "PROPFIND /dav/ HTTP/1.1\r\n",
            "NOTIFY * HTTP/1.1\r\n",
            "M-SEARCH * HTTP/1.1\n",
            "CONNECT example.org:443 HTTP/1.1\r\n",
            "\r\n\r\nGET / HTTP/1.1\r\n",
        ] {
            assert_eq!(request_line(line.as_bytes()), StartLine::Whole, "{line}");
        }
    }

    #[test]
    fn test_other_protocols_are_not_http() {
        for line in [
            "OPTIONS rtsp://h/s RTSP/1.0\r\n",
            "INVITE sip:a@b SIP/2.0\r\n",
            "EHLO mail.example.org\r\n",
            "SSH-2.0-OpenSSH_9.6\r\n",
            "GET /\r\n",
            "GET / HTTP/2.0\r\n",
            "GET / HTTP/1.7\r\n",
            "GET / HTTP/1.1x\r\n",
            " GET / HTTP/1.1\r\n",
            "\x16\x03\x01\x02\x00",
            "ICY 200 OK\r\n",
            "USER anonymous\r\n",
        ] {
            assert_eq!(request_line(line.as_bytes()), StartLine::Absent, "{line}");
        }
        for line in [
            "ICY 200 OK\r\n",
            "RTSP/1.0 200 OK\r\n",
            "SIP/2.0 200 OK\r\n",
            "220 smtp\r\n",
        ] {
            assert_eq!(status_line(line.as_bytes()), StartLine::Absent, "{line}");
        }
        assert_eq!(status_line(b"HTTP/1.1 2x0 OK"), StartLine::Absent);
        assert_eq!(status_line(b"HTTP/1.1 000 OK"), StartLine::Absent);
    }

    #[test]
    fn test_every_prefix_of_a_start_line_could_become_one() {
        for line in ["GET /a?b=c HTTP/1.1\r\n", "PRI * HTTP/2.0\r\n"] {
            for cut in 1..line.len() {
                let prefix = line.get(..cut).unwrap_or("");
                assert_eq!(
                    request_line(prefix.as_bytes()),
                    StartLine::Begun,
                    "{prefix}"
                );
            }
        }
        let line = b"HTTP/1.1 200 ";
        for cut in 1..line.len() {
            assert_eq!(
                status_line(line.get(..cut).unwrap_or(b"")),
                StartLine::Begun
            );
        }
        assert_eq!(status_line(line), StartLine::Whole);
    }

    #[test]
    fn test_a_missing_reason_phrase_is_a_status_line() {
        assert_eq!(status_line(b"HTTP/1.1 200\r\n"), StartLine::Whole);
        assert_eq!(status_line(b"HTTP/1.0 404\n"), StartLine::Whole);
    }

    #[test]
    fn test_the_http_2_preface_is_recognised() {
        assert_eq!(
            request_line(b"PRI * HTTP/2.0\r\n\r\nSM"),
            StartLine::Http2Preface
        );
    }

    #[test]
    fn test_the_method_of_the_http_2_preface_is_any_method_in_http_1() {
        assert_eq!(request_line(b"PRI * HT"), StartLine::Begun);
        assert_eq!(request_line(b"PRI * HTTP/1.0\r\n"), StartLine::Whole);
    }

    #[test]
    fn test_endless_methods_and_targets_are_abandoned() {
        assert_eq!(request_line(&[b'A'; METHOD_MAX + 1]), StartLine::Absent);
        let mut long = b"GET ".to_vec();
        long.resize(TARGET_MAX + 10, b'/');
        assert_eq!(request_line(&long), StartLine::Absent);
    }
}
