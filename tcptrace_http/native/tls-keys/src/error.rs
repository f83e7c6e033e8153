//! Reasons why records stay closed.

use std::fmt;

/// A connection with no openable record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unsupported {
    /// The number of a cipher suite, possibly one of another version.
    Suite(u16),
    Version(u16),
}

/// The reason why a record stays closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenError {
    /// The key log has no secret for this part of the connection yet.
    NoSecret,
    /// The secrets belong to another connection, or the record is damaged.
    WrongKey,
    /// The vector of a TLS 1.0 record is in the previous record, which is missing.
    NoVector,
    /// The record is not protected, or exceeds the maximum length.
    NotProtected,
    /// Too many consecutive records had a wrong key, so this direction is abandoned.
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
            OpenError::NotProtected => "this is not a protected record",
            OpenError::GivenUp => "the keys opened none of the latest records",
        })
    }
}

impl std::error::Error for Unsupported {}
impl std::error::Error for OpenError {}
