//! Parsing of a head: start line and fields.

use std::borrow::Cow;
use std::mem::MaybeUninit;

use httparse::{Header, ParserConfig, Status};

use super::fields::{self, Fields, FramingFields};
use super::role::Role;
use super::start_line::{self, StartLine};

/// Maximum length of a kept request target. Byte counts are always those of the wire.
pub(super) const TARGET_KEPT_MAX: usize = 8 * 1024;

/// Maximum number of fields parsed without allocation. A head with more fields is parsed line by line.
const FIELDS_AT_ONCE: usize = 96;

/// A parsed head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) start: Start,
    pub(super) minor_version: u8,
    pub(super) fields: Fields,
    pub(super) framing: FramingFields,
    /// Number of bytes from the start line to the empty line, both included.
    pub(super) bytes: usize,
    /// True if lines that are no fields were skipped.
    pub(super) has_odd_lines: bool,
    /// True if the request line breaks the grammar.
    pub(super) is_loose: bool,
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

/// Parse the head at the start of `bytes`, without copies.
pub(super) fn parse(role: Role, bytes: &[u8]) -> Parsed {
    let at_once = match role {
        Role::Request => request(bytes),
        Role::Response => response(bytes),
    };
    let Ok(status) = at_once else {
        return leniently(role, bytes);
    };
    // The parser does not know this module's limits. The start line of a partial head is checked first.
    match (role.start_line(bytes), status) {
        (StartLine::Absent, _) => Parsed::Malformed,
        (StartLine::Http2Preface, _) => Parsed::Http2Preface,
        (_, Status::Complete(head)) => Parsed::Whole(Box::new(head)),
        (_, Status::Partial) => Parsed::Partial,
    }
}

/// Parse a head of which only these first bytes were captured. The result has the captured part of the start
/// line, and the whole fields.
pub(super) fn parse_broken_off(role: Role, bytes: &[u8]) -> Option<Box<Head>> {
    let text = match bytes.iter().rposition(|byte| *byte == b'\n') {
        Some(end) => [bytes.get(..=end)?, b"\r\n"].concat(),
        None => match role {
            Role::Request => {
                let (method, target, minor) = start_line::cut_parts(bytes)?;
                [method, b" ", target, b" HTTP/1.", minor, b"\r\n\r\n"].concat()
            }
            Role::Response => [bytes, b"\r\n\r\n"].concat(),
        },
    };
    match parse(role, &text) {
        Parsed::Whole(head) => Some(head),
        Parsed::Partial | Parsed::Malformed | Parsed::Http2Preface => None,
    }
}

/// Return the length of the head if its empty line is in `bytes`. The search starts at `from`.
pub(super) fn length(bytes: &[u8], from: usize) -> Option<usize> {
    // The two line feeds can span three bytes: "\n\r\n".
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
    // RFC 9112, section 5.2: a user agent replaces folds in responses with spaces.
    config.allow_obsolete_multiline_headers_in_responses(true);
    // RFC 9112, section 5.1: a proxy removes whitespace before the colon of a response field.
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
        is_loose: false,
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

/// Parse a head that breaks the grammar, line by line. Lines that are no fields are skipped, so one broken
/// field does not hide a transaction.
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
    // A proxy unfolds responses. A request must not have folds (RFC 9112, section 5.2).
    head.has_odd_lines = has_others || (has_folds && role == Role::Request);
    head.is_loose =
        role == Role::Request && start_line::strict_request_line(bytes) != StartLine::Whole;
    Parsed::Whole(Box::new(head))
}

/// Return the field lines of a head, with a space for each fold (RFC 9112, section 5.2), and whether folds
/// occurred. Lines with leading whitespace directly after the start line continue no field. They are skipped
/// (RFC 9112, section 2.2).
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

/// Return true if a value has no control character except the tab (RFC 9110, section 5.5).
fn is_field_value(value: &[u8]) -> bool {
    value
        .iter()
        .all(|byte| !byte.is_ascii_control() || *byte == b'\t')
}

fn start(role: Role, line: &[u8]) -> Option<(Start, u8)> {
    match role {
        Role::Request => {
            let (method, target, minor_version) = start_line::parts(line)?;
            let method = fields::text(method, TARGET_KEPT_MAX);
            let target = fields::text(target, TARGET_KEPT_MAX);
            Some((Start::Request { method, target }, minor_version))
        }
        Role::Response => {
            let mut words = line.split(|byte| *byte == b' ');
            let (version, code) = (words.next()?, words.next()?);
            let code = std::str::from_utf8(code).ok()?.trim_end().parse().ok()?;
            Some((Start::Status(code), version.last()?.wrapping_sub(b'0')))
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
mod tests;
