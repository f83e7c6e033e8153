//! Texts that go into message heads unchanged: no character ends a line or a word.

use super::check::{require, Check};

/// Check a method (RFC 9110, section 5.6.2).
pub(super) fn token(path: &str, text: &str) -> Check {
    let is_sign = |byte: u8| b"!#$%&'*+-.^_`|~".contains(&byte);
    let is_token = text
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || is_sign(byte));
    require(
        is_token && !text.is_empty(),
        path,
        format_args!("{text:?} is not a token of letters, digits and signs"),
    )
}

/// Check a target or a host: visible characters without whitespace (RFC 9112, section 3.2).
pub(super) fn word(path: &str, text: &str) -> Check {
    require(
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic()),
        path,
        format_args!("{text:?} is not a word of visible ASCII characters"),
    )
}

/// Check a field value, or a whole field (RFC 9110, section 5.5).
pub(super) fn line(path: &str, text: &str) -> Check {
    let is_text = |byte: u8| byte.is_ascii_graphic() || byte == b' ' || byte == b'\t';
    require(
        !text.is_empty() && text.bytes().all(is_text),
        path,
        format_args!("{text:?} is not a line of ASCII text"),
    )
}

/// Check a field with its name: `Accept: text/html`.
pub(super) fn field(path: &str, text: &str) -> Check {
    line(path, text)?;
    let (name, _) = text.split_once(':').unwrap_or(("", ""));
    token(path, name)
}
