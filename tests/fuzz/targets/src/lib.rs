//! The fuzz targets and their invariants for all inputs.
//!
//! Each module has one function `run`, which panics on a violated invariant. The libFuzzer binaries beside
//! this crate call `run`, and so does the daily test that replays the corpora.

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

/// A target under its name, which is also its corpus's name.
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
