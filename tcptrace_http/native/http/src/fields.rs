//! The header fields that the analysis reads from a head.

use httparse::Header;

/// Maximum length of a kept field value. Common servers accept at most 8 KiB per line.
const VALUE_MAX: usize = 8 * 1024;

/// Field values for tables and reports. Values are cut at 8 KiB. Bytes that are not UTF-8 become U+FFFD,
/// because RFC 9110, section 5.5, defines no character set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    pub host: Option<Box<str>>,
    pub content_type: Option<Box<str>>,
    pub content_encoding: Option<Box<str>>,
    pub server: Option<Box<str>>,
    /// Request only: the page that contains the target (RFC 9110, section 10.1.3).
    pub referer: Option<Box<str>>,
    pub location: Option<Box<str>>,
    pub etag: Option<Box<str>>,
    pub last_modified: Option<Box<str>>,
    /// A list: the values of several fields, comma-separated (RFC 9110, section 5.3).
    pub cache_control: Option<Box<str>>,
    pub vary: Option<Box<str>>,
    pub accept_encoding: Option<Box<str>>,
    /// True with If-None-Match or If-Modified-Since (RFC 9110, section 13.1).
    pub is_conditional: bool,
    /// True if Expect is 100-continue (RFC 9110, section 10.1.1).
    pub expects_continue: bool,
    /// True with the field `Upgrade` (RFC 9110, section 7.8).
    pub has_upgrade: bool,
    /// True if `Upgrade` names HTTP/2 in clear text (RFC 7540, section 3.2).
    pub upgrades_to_http2: bool,
}

impl Fields {
    /// Take a field of an HTTP version without framing fields.
    pub fn take(&mut self, name: &str, value: &[u8]) {
        read_one(&Header { name, value }, self, &mut FramingFields::default());
    }
}

/// The content of Content-Length (RFC 9110, section 8.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ContentLength {
    #[default]
    Absent,
    Bytes(u64),
    /// Not a number, more than 64 bits, or several different numbers.
    Invalid,
}

/// The content of Transfer-Encoding (RFC 9112, section 6.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum TransferEncoding {
    #[default]
    Absent,
    /// `chunked` is the last coding.
    Chunked,
    /// Codings whose last one is not `chunked`.
    Other,
}

/// The fields that decide the end of a message and the persistence of the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FramingFields {
    pub(super) content_length: ContentLength,
    pub(super) transfer_encoding: TransferEncoding,
    /// True if `chunked` occurs more than once, which RFC 9112, section 6.1, forbids.
    pub(super) chunked_repeated: bool,
    pub(super) connection_close: bool,
    pub(super) connection_keep_alive: bool,
}

/// Read the fields of a head.
pub(super) fn read(headers: &[Header<'_>]) -> (Fields, FramingFields) {
    let mut fields = Fields::default();
    let mut framing = FramingFields::default();
    for header in headers {
        read_one(header, &mut fields, &mut framing);
    }
    (fields, framing)
}

fn read_one(header: &Header<'_>, fields: &mut Fields, framing: &mut FramingFields) {
    let is = |name: &str| header.name.eq_ignore_ascii_case(name);
    // The length of the name is compared first, because most fields match none of these names.
    let slot = match header.name.len() {
        4 if is("host") => &mut fields.host,
        4 if is("etag") => &mut fields.etag,
        4 if is("vary") => return add(&mut fields.vary, header.value),
        6 if is("expect") => {
            fields.expects_continue |= header
                .value
                .trim_ascii()
                .eq_ignore_ascii_case(b"100-continue");
            return;
        }
        6 if is("server") => &mut fields.server,
        7 if is("referer") => &mut fields.referer,
        8 if is("location") => &mut fields.location,
        7 if is("upgrade") => {
            fields.has_upgrade = true;
            fields.upgrades_to_http2 |=
                members(header.value).any(|it| it.eq_ignore_ascii_case(b"h2c"));
            return;
        }
        10 if is("connection") => return read_connection(header.value, framing),
        12 if is("content-type") => &mut fields.content_type,
        13 if is("last-modified") => &mut fields.last_modified,
        13 if is("cache-control") => return add(&mut fields.cache_control, header.value),
        13 if is("if-none-match") => {
            fields.is_conditional = true;
            return;
        }
        14 if is("content-length") => return read_content_length(header.value, framing),
        15 if is("accept-encoding") => return add(&mut fields.accept_encoding, header.value),
        16 if is("content-encoding") => &mut fields.content_encoding,
        17 if is("if-modified-since") => {
            fields.is_conditional = true;
            return;
        }
        17 if is("transfer-encoding") => return read_transfer_encoding(header.value, framing),
        _ => return,
    };
    // A single-valued field occurs twice. The first value is kept.
    if slot.is_none() {
        *slot = Some(text(header.value.trim_ascii(), VALUE_MAX));
    }
}

/// Append a field to earlier fields of the same name. Together they form one list (RFC 9110, section 5.3).
fn add(slot: &mut Option<Box<str>>, value: &[u8]) {
    let more = text(value.trim_ascii(), VALUE_MAX);
    *slot = Some(match slot.take() {
        None => more,
        Some(before) if before.len().saturating_add(more.len()) > VALUE_MAX => before,
        Some(before) => format!("{before}, {more}").into(),
    });
}

/// Convert bytes to text, cut at `limit` bytes. A fold (a line end and the whitespace after it) becomes one
/// space (RFC 9112, section 5.2).
pub(super) fn text(bytes: &[u8], limit: usize) -> Box<str> {
    let bytes = bytes.get(..limit).unwrap_or(bytes);
    if bytes.contains(&b'\n') {
        let lines: Vec<&[u8]> = bytes
            .split(|byte| *byte == b'\n')
            .map(<[u8]>::trim_ascii)
            .collect();
        return String::from_utf8_lossy(&lines.join(&b' ')).into();
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => String::from_utf8_lossy(bytes).into(),
    }
}

/// Return the members of a comma-separated list, without empty ones (RFC 9110, section 5.6.1).
fn members(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value
        .split(|byte| *byte == b',')
        .map(<[u8]>::trim_ascii)
        .filter(|member| !member.is_empty())
}

fn read_connection(value: &[u8], framing: &mut FramingFields) {
    for option in members(value) {
        framing.connection_close |= option.eq_ignore_ascii_case(b"close");
        framing.connection_keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
    }
}

/// Read a Content-Length. Identical repeated values count as one, in one field or in several (RFC 9112,
/// section 6.3).
fn read_content_length(value: &[u8], framing: &mut FramingFields) {
    let mut found = false;
    for member in members(value) {
        found = true;
        framing.content_length = match (framing.content_length, decimal(member)) {
            (ContentLength::Absent, Some(bytes)) => ContentLength::Bytes(bytes),
            (ContentLength::Bytes(before), Some(bytes)) if before == bytes => {
                ContentLength::Bytes(bytes)
            }
            (ContentLength::Absent | ContentLength::Bytes(_) | ContentLength::Invalid, _) => {
                ContentLength::Invalid
            }
        };
    }
    if !found {
        framing.content_length = ContentLength::Invalid;
    }
}

/// Parse `1*DIGIT` (RFC 9110, section 8.6): no sign, no space, and here at most 64 bits.
fn decimal(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0_u64, |value, byte| {
        let digit = byte
            .is_ascii_digit()
            .then(|| u64::from(byte.wrapping_sub(b'0')))?;
        value.checked_mul(10)?.checked_add(digit)
    })
}

/// Read a Transfer-Encoding. Several fields form one list (RFC 9110, section 5.3). `identity`, HTTP/1.1's
/// former word for "no coding", is ignored. Servers that still send it mean no coding.
fn read_transfer_encoding(value: &[u8], framing: &mut FramingFields) {
    for coding in members(value) {
        if coding.eq_ignore_ascii_case(b"identity") {
            continue;
        }
        let is_chunked = coding.eq_ignore_ascii_case(b"chunked");
        if is_chunked && framing.transfer_encoding == TransferEncoding::Chunked {
            framing.chunked_repeated = true;
        }
        framing.transfer_encoding = if is_chunked {
            TransferEncoding::Chunked
        } else {
            TransferEncoding::Other
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framing(headers: &[(&str, &str)]) -> FramingFields {
        let headers: Vec<Header<'_>> = headers
            .iter()
            .map(|(name, value)| Header {
                name,
                value: value.as_bytes(),
            })
            .collect();
        read(&headers).1
    }

    fn content_length(values: &[&str]) -> ContentLength {
        let headers: Vec<_> = values
            .iter()
            .map(|value| ("Content-Length", *value))
            .collect();
        framing(&headers).content_length
    }

    #[test]
    fn test_identical_content_lengths_count_as_one() {
        // RFC 9112, section 6.3, item 5.
        assert_eq!(content_length(&["5"]), ContentLength::Bytes(5));
        assert_eq!(content_length(&["5, 5"]), ContentLength::Bytes(5));
        assert_eq!(content_length(&["5", "5"]), ContentLength::Bytes(5));
        assert_eq!(
            content_length(&["18446744073709551615"]),
            ContentLength::Bytes(u64::MAX)
        );
    }

    #[test]
    fn test_other_content_lengths_are_invalid() {
        for values in [
            &["5, 6"][..],
            &["5", "6"],
            &["-1"],
            &["+1"],
            &["0x10"],
            &["1 2"],
            &[""],
            &["18446744073709551616"],
            &["5", "6", "5"],
        ] {
            assert_eq!(content_length(values), ContentLength::Invalid, "{values:?}");
        }
    }

    #[test]
    fn test_the_last_transfer_coding_decides() {
        // RFC 9112, section 6.3, item 4.
        let of = |value| framing(&[("transfer-encoding", value)]).transfer_encoding;
        assert_eq!(of("Chunked"), TransferEncoding::Chunked);
        assert_eq!(of("gzip, chunked"), TransferEncoding::Chunked);
        assert_eq!(of("chunked, gzip"), TransferEncoding::Other);
        assert_eq!(of("xchunked"), TransferEncoding::Other);
        assert_eq!(of("identity"), TransferEncoding::Absent);
        assert!(
            framing(&[
                ("Transfer-Encoding", "chunked"),
                ("TRANSFER-ENCODING", "chunked")
            ])
            .chunked_repeated
        );
    }

    #[test]
    fn test_several_fields_are_one_list_and_validators_are_noticed() {
        let of = |pairs: &[(&str, &str)]| {
            let headers: Vec<Header<'_>> = pairs
                .iter()
                .map(|(name, value)| Header {
                    name,
                    value: value.as_bytes(),
                })
                .collect();
            read(&headers).0
        };
        let fields = of(&[
            ("Cache-Control", "private"),
            ("cache-control", "max-age=3 "),
        ]);
        assert_eq!(fields.cache_control.as_deref(), Some("private, max-age=3"));
        assert!(of(&[("If-None-Match", "\"x\"")]).is_conditional);
        assert!(of(&[("if-modified-since", "x")]).is_conditional);
        assert!(!of(&[("If-Match", "x"), ("If-Range", "x")]).is_conditional);
        assert!(of(&[("Expect", " 100-Continue")]).expects_continue);
        assert!(!of(&[("Expect", "200-ok")]).expects_continue);
    }

    #[test]
    fn test_long_and_foreign_values_are_kept_bounded() {
        let long = vec![b'a'; VALUE_MAX * 2];
        let headers = [
            Header {
                name: "Host",
                value: b"\xffx",
            },
            Header {
                name: "SERVER",
                value: &long,
            },
            Header {
                name: "Host",
                value: b"second",
            },
        ];
        let fields = read(&headers).0;
        assert_eq!(fields.host.as_deref(), Some("\u{fffd}x"));
        assert_eq!(fields.server.map(|value| value.len()), Some(VALUE_MAX));
    }
}
