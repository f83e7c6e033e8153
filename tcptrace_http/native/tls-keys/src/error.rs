//! Why records stay closed.

use std::fmt;

/// A connection whose records cannot be opened at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unsupported {
    /// The number of a cipher suite, which may be one of another version.
    Suite(u16),
    Version(u16),
}

/// A record that was not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenError {
    /// The key log has no secret of this connection, or none of this part of it (yet).
    NoSecret,
    /// The secrets are those of another connection, or the record is damaged.
    WrongKey,
    /// The vector of a TLS 1.0 record is in the record before, which is missing.
    NoVector,
    /// The record is no protected one, or longer than any.
    NotProtected,
    /// Too many records in a row had a wrong key: this direction is not tried any more.
    GivenUp,
}

impl fmt::Display for Unsupported {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unsupported::Suite(number) => {
                write!(formatter, "cipher suite 0x{number:04x} cannot be decrypted")
            }
            Unsupported::Version(number) => {
                write!(formatter, "TLS version 0x{number:04x} cannot be decrypted")
            }
        }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            OpenError::NoSecret => "the key log has no secret for this record",
            OpenError::WrongKey => "the keys do not open this record",
            OpenError::NoVector => "the initialization vector is in a missing record",
            OpenError::NotProtected => "this is no protected record",
            OpenError::GivenUp => "the keys opened none of the last records",
        })
    }
}

impl std::error::Error for Unsupported {}
impl std::error::Error for OpenError {}
