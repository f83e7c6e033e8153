//! TLS records: the five-byte header of each record (RFC 8446, section 5.1).

use tcptrace_http_messages::Direction;
use trace_model::Mark;

use crate::bytes::Bytes;

pub(crate) const HEADER_BYTES: usize = 5;
/// Maximum ciphertext length of TLS 1.2 (RFC 5246, section 6.2.3). TLS 1.3 has a lower maximum.
const FRAGMENT_MAX: u16 = (1 << 14) + 2048;
/// The major version of all versions up to TLS 1.3. The minor version is at most 4.
const MAJOR: u8 = 3;
const MINOR_MAX: u8 = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ContentType {
    ChangeCipherSpec = 20,
    Alert = 21,
    Handshake = 22,
    ApplicationData = 23,
    Heartbeat = 24,
}

impl ContentType {
    pub(crate) fn of(byte: u8) -> Option<Self> {
        match byte {
            20 => Some(ContentType::ChangeCipherSpec),
            21 => Some(ContentType::Alert),
            22 => Some(ContentType::Handshake),
            23 => Some(ContentType::ApplicationData),
            24 => Some(ContentType::Heartbeat),
            _ => None,
        }
    }
}

/// The header of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub content: ContentType,
    /// The version as sent. TLS 1.3 sends 1.2.
    pub version: u16,
    /// Length after the header.
    pub length: u16,
}

impl Header {
    /// Parse the header at the front of `bytes`. Return None if the bytes are no header.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Header> {
        let mut bytes = Bytes(bytes);
        let content = ContentType::of(bytes.u8()?)?;
        let version = bytes.u16()?;
        let [major, minor] = version.to_be_bytes();
        let is_version = major == MAJOR && minor <= MINOR_MAX;
        let length = bytes.u16()?;
        let is_length = (1..=FRAGMENT_MAX).contains(&length);
        (is_version && is_length).then_some(Header {
            content,
            version,
            length,
        })
    }

    /// Return the length of the record, header included.
    #[must_use]
    pub fn record_bytes(self) -> usize {
        usize::from(self.length).saturating_add(HEADER_BYTES)
    }
}

/// A record with a complete header.
#[derive(Clone, Copy, Debug)]
pub struct Begun {
    pub header: Header,
    /// Stream offset of the first byte.
    pub start: u64,
    /// The packet that carried the first byte.
    pub first: Mark,
    /// Number of bytes of the other direction that this packet acknowledged.
    pub peer_acked: Option<u64>,
}

/// A record whose bytes were all delivered, or are known to be missing.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    pub direction: Direction,
    pub begun: Begun,
    /// The latest packet that carried a byte of the record.
    pub last: Mark,
    /// The bytes after the header. None if bytes are missing or not wanted.
    pub bytes: Option<&'a [u8]>,
    /// True if the whole record was captured.
    pub is_complete: bool,
}
