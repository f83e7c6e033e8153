//! What is fuzzed, and what must hold whatever the bytes.
//!
//! Each module has one function `run`, which panics where something does not hold. The libFuzzer
//! binaries beside this crate call it, and so does the test that replays the corpora every day.

#![forbid(unsafe_code)]

pub mod decoder;
pub mod end_to_end;
pub mod http;
pub mod http2;
pub mod mutation;
pub mod numbers;
pub mod reassembler;
mod sealed;
pub mod tls;
pub mod tls_keys;

/// A target by its name, which is also that of its corpus.
pub type Target = (&'static str, fn(&[u8]));

pub const TARGETS: &[Target] = &[
    ("decoder", decoder::run),
    ("end_to_end", end_to_end::run),
    ("http", http::run),
    ("http2", http2::run),
    ("reassembler", reassembler::run),
    ("tls", tls::run),
    ("tls_keys", tls_keys::run),
];
