//! Parsing of a head: start line and fields.

use std::borrow::Cow;
use std::mem::MaybeUninit;

use httparse::{Header, ParserConfig, Status};

use super::fields::{self, Fields, FramingFields};
use super::role::Role;
use super::start_line::{self, StartLine};

/// Longest request target kept; the byte counts are those of the wire all the same.
const TARGET_KEPT_MAX: usize = 8 * 1024;

/// Fields of a head that is parsed without allocation; one with more is read line by line.
const FIELDS_AT_ONCE: usize = 96;

/// A parsed head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) start: Start,
    pub(super) minor_version: u8,
    pub(super) fields: Fields,
    pub(super) framing: FramingFields,
    /// Bytes from the start line to the empty line, both included.
    pub(super) bytes: usize,
    /// Lines were passed over that are no fields.
    pub(super) has_odd_lines: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Start {
    Request { method: Box<str>, target: Box<str> },
    Status(u16),
}

pub(super) enum Parsed {
    Whole(Box<Head>),
    Partial,
    Malformed,
    Http2Preface,
}

/// Parses the head at the start of `bytes`, without copying them.
pub(super) fn parse(role: Role, bytes: &[u8]) -> Parsed {
    let at_once = match role {
        Role::Request => request(bytes),
        Role::Response => response(bytes),
    };
    let Ok(status) = at_once else {
        return leniently(role, bytes);
    };
    // The parser knows no limits of ours; where a head comes in pieces its start line is looked at first.
    match (role.start_line(bytes), status) {
        (StartLine::Absent, _) => Parsed::Malformed,
        (StartLine::Http2Preface, _) => Parsed::Http2Preface,
        (_, Status::Complete(head)) => Parsed::Whole(Box::new(head)),
        (_, Status::Partial) => Parsed::Partial,
    }
}

/// What can be said of a head of which only these first bytes were captured: its start line and the
/// fields that are whole.
pub(super) fn parse_broken_off(role: Role, bytes: &[u8]) -> Option<Box<Head>> {
    let lines = bytes.iter().rposition(|byte| *byte == b'\n')?;
    let mut text = bytes.get(..=lines)?.to_vec();
    text.extend_from_slice(b"\r\n");
    match parse(role, &text) {
        Parsed::Whole(head) => Some(head),
        Parsed::Partial | Parsed::Malformed | Parsed::Http2Preface => None,
    }
}

/// The length of the head if its empty line is in `bytes`, looking from `from` on only.
pub(super) fn length(bytes: &[u8], from: usize) -> Option<usize> {
    // The two line feeds may be three bytes apart: "\n\r\n".
    let from = from.saturating_sub(2);
    let tail = bytes.get(from..)?;
    let mut lines = tail
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'\n')
        .map(|(at, _)| at);
    let mut before = lines.next()?;
    for line in lines {
        match tail.get(before + 1..line) {
            Some([] | [b'\r']) => return Some(from + line + 1),
            _ => before = line,
        }
    }
    None
}

fn config() -> ParserConfig {
    let mut config = ParserConfig::default();
    // RFC 9112, section 5.2: a user agent replaces folds in responses by spaces.
    config.allow_obsolete_multiline_headers_in_responses(true);
    // RFC 9112, section 5.1: a proxy removes white space before the colon of a response's field.
    config.allow_spaces_after_header_name_in_responses(true);
    config
}

fn request(bytes: &[u8]) -> httparse::Result<Head> {
    let mut space = [const { MaybeUninit::<Header<'_>>::uninit() }; FIELDS_AT_ONCE];
    let mut parser = httparse::Request::new(&mut []);
    let status = config().parse_request_with_uninit_headers(&mut parser, bytes, &mut space)?;
    let Status::Complete(length) = status else {
        return Ok(Status::Partial);
    };
    let start = Start::Request {
        method: parser.method.unwrap_or_default().into(),
        target: fields::text(parser.path.unwrap_or_default().as_bytes(), TARGET_KEPT_MAX),
    };
    Ok(Status::Complete(head(
        start,
        parser.version.unwrap_or(1),
        parser.headers,
        length,
    )))
}

fn response(bytes: &[u8]) -> httparse::Result<Head> {
    let mut space = [const { MaybeUninit::<Header<'_>>::uninit() }; FIELDS_AT_ONCE];
    let mut parser = httparse::Response::new(&mut []);
    let status = config().parse_response_with_uninit_headers(&mut parser, bytes, &mut space)?;
    let Status::Complete(length) = status else {
        return Ok(Status::Partial);
    };
    let start = Start::Status(parser.code.unwrap_or_default());
    Ok(Status::Complete(head(
        start,
        parser.version.unwrap_or(1),
        parser.headers,
        length,
    )))
}

fn head(start: Start, minor_version: u8, headers: &[Header<'_>], bytes: usize) -> Head {
    let (mut fields, framing) = fields::read(headers);
    if let Start::Request { target, .. } = &start {
        // RFC 9112, section 3.2.2: the authority of an absolute target overrides Host.
        if let Some(authority) = authority_of(target) {
            fields.host = Some(authority.into());
        }
    }
    Head {
        start,
        minor_version,
        fields,
        framing,
        bytes,
        has_odd_lines: false,
    }
}

fn authority_of(target: &str) -> Option<&str> {
    let (scheme, rest) = target.split_once("://")?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return None;
    }
    let authority = rest.split(['/', '?', '#']).next()?;
    Some(
        authority
            .rsplit_once('@')
            .map_or(authority, |(_, host)| host),
    )
}

/// A head that is not as the grammar says, line by line: lines that are no fields are passed over,
/// so that one broken field does not hide a transaction.
fn leniently(role: Role, bytes: &[u8]) -> Parsed {
    match role.start_line(bytes) {
        StartLine::Absent => return Parsed::Malformed,
        StartLine::Http2Preface => return Parsed::Http2Preface,
        StartLine::Begun => return Parsed::Partial,
        StartLine::Whole => {}
    }
    let Some(length) = length(bytes, 0) else {
        return Parsed::Partial;
    };
    let mut lines = bytes
        .get(..length)
        .unwrap_or(&[])
        .split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let Some((start, minor_version)) = lines.next().and_then(|line| start(role, line)) else {
        return Parsed::Malformed;
    };
    let (lines, has_folds) = unfolded(lines.filter(|line| !line.is_empty()));
    let headers: Vec<Header<'_>> = lines.iter().filter_map(|line| field(line)).collect();
    let has_others =
        headers.len() < lines.len() || headers.iter().any(|header| !is_field_value(header.value));
    let mut head = head(start, minor_version, &headers, length);
    // A proxy unfolds responses, but no request may have folds (RFC 9112, section 5.2).
    head.has_odd_lines = has_others || (has_folds && role == Role::Request);
    Parsed::Whole(Box::new(head))
}

/// The lines of a head's fields, with a space for each fold (RFC 9112, section 5.2), and whether
/// there were any. Lines after the start line that begin with white space continue no field and are
/// passed over (RFC 9112, section 2.2).
fn unfolded<'a>(lines: impl Iterator<Item = &'a [u8]>) -> (Vec<Cow<'a, [u8]>>, bool) {
    let mut fields: Vec<Cow<'a, [u8]>> = Vec::new();
    let mut has_folds = false;
    for line in lines {
        if !matches!(line.first(), Some(b' ' | b'\t')) {
            fields.push(Cow::Borrowed(line));
            continue;
        }
        has_folds = true;
        if let Some(field) = fields.last_mut() {
            let field = field.to_mut();
            field.push(b' ');
            field.extend_from_slice(line.trim_ascii());
        }
    }
    (fields, has_folds)
}

/// No controls but the tab (RFC 9110, section 5.5).
fn is_field_value(value: &[u8]) -> bool {
    value
        .iter()
        .all(|byte| !byte.is_ascii_control() || *byte == b'\t')
}

fn start(role: Role, line: &[u8]) -> Option<(Start, u8)> {
    let mut words = line.split(|byte| *byte == b' ');
    let (first, second) = (words.next()?, words.next()?);
    let version = |word: &[u8]| word.last().map(|minor| minor.wrapping_sub(b'0'));
    match role {
        Role::Request => {
            let method = fields::text(first, TARGET_KEPT_MAX);
            let target = fields::text(second, TARGET_KEPT_MAX);
            Some((Start::Request { method, target }, version(words.next()?)?))
        }
        Role::Response => {
            let code = std::str::from_utf8(second).ok()?.trim_end().parse().ok()?;
            Some((Start::Status(code), version(first)?))
        }
    }
}

fn field(line: &[u8]) -> Option<Header<'_>> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let name = line.get(..colon)?;
    let is_name = !name.is_empty() && name.iter().all(|byte| start_line::is_token(*byte));
    let name = is_name.then(|| std::str::from_utf8(name).ok())??;
    Some(Header {
        name,
        value: line.get(colon + 1..)?.trim_ascii(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::fields::{ContentLength, TransferEncoding};
    use super::*;

    fn whole(role: Role, bytes: &[u8]) -> Option<Box<Head>> {
        match parse(role, bytes) {
            Parsed::Whole(head) => Some(head),
            Parsed::Partial | Parsed::Malformed | Parsed::Http2Preface => None,
        }
    }

    #[test]
    fn test_a_start_line_beyond_the_limits_is_none_though_the_parser_takes_it() {
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
    fn test_a_line_that_is_no_field_hides_neither_the_head_nor_its_other_fields() {
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
    fn test_a_broken_off_head_gives_what_is_whole() {
        let head = parse_broken_off(
            Role::Response,
            b"HTTP/1.1 404 Not Found\r\nServer: s\r\nContent-Le",
        );
        assert_eq!(head.and_then(|head| head.fields.server), Some("s".into()));
        assert!(parse_broken_off(Role::Response, b"HTTP/1.1 404 Not").is_none());
    }

    #[test]
    fn test_the_empty_line_is_found_wherever_the_search_goes_on() {
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
}
