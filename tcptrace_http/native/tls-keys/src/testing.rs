//! Helpers for the tests of several modules.

/// Parse hexadecimal digits, with optional whitespace between them.
pub(crate) fn bytes(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect();
    let pairs = digits
        .chunks_exact(2)
        .map(|pair| std::str::from_utf8(pair).unwrap());
    pairs
        .map(|pair| u8::from_str_radix(pair, 16).unwrap())
        .collect()
}
