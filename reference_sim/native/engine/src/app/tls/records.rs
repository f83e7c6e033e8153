//! The record layer: real headers, and opaque bytes of the correct length in place of ciphertext.

use crate::app::body::{Body, BodyKind};
use crate::app::Content;
use crate::tls::TlsVersion;
use crate::truth::Side;

pub(super) const CHANGE_CIPHER_SPEC: u8 = 20;
pub(super) const HANDSHAKE: u8 = 22;
pub(super) const APPLICATION_DATA: u8 = 23;
/// Version of every record except a first ClientHello's, for compatibility with middleboxes (RFC 8446,
/// section 5.1).
pub(super) const LEGACY_VERSION: u16 = 0x0303;
/// Maximum data of a record (RFC 8446, section 5.1).
const RECORD_DATA: usize = 1 << 14;
/// Start of the drawn bytes of hellos, beyond all stream offsets.
const DRAWN: u64 = 1 << 60;

/// A writer of records from an offset of one direction's stream.
pub(super) struct Records {
    version: TlsVersion,
    /// Seed of the connection, equal on both sides.
    seed: u64,
    side: Side,
    offset: u64,
    drawn: u64,
    parts: Vec<Content>,
}

impl Records {
    pub(super) fn new(version: TlsVersion, seed: u64, side: Side, offset: u64) -> Self {
        Records {
            version,
            seed,
            side,
            offset,
            drawn: 0,
            parts: Vec::new(),
        }
    }

    /// Write clear-text records, as many as the data needs.
    pub(super) fn clear(&mut self, kind: u8, data: &[u8]) {
        for data in data.chunks(RECORD_DATA) {
            self.header(kind, data.len() as u64);
            self.offset += data.len() as u64;
            self.parts.push(Content::Text(data.into()));
        }
    }

    /// Write encrypted records of `data` bytes, at most `most` bytes each. TLS 1.3 hides their type (RFC
    /// 8446, section 5.2).
    pub(super) fn sealed(&mut self, kind: u8, data: u64, most: u64) {
        let kind = match self.version {
            TlsVersion::Tls12 => kind,
            TlsVersion::Tls13 => APPLICATION_DATA,
        };
        let mut left = data;
        while left > 0 {
            let data = left.min(most.max(1));
            left -= data;
            let bytes = data + self.version.overhead();
            self.header(kind, bytes);
            let from = self.offset;
            self.offset += bytes;
            let body = self.noise();
            self.parts.push(Content::Body { body, from, bytes });
        }
    }

    /// Write an encrypted handshake message.
    pub(super) fn sealed_message(&mut self, bytes: u64) {
        self.sealed(HANDSHAKE, bytes, RECORD_DATA as u64);
    }

    pub(super) fn change_cipher_spec(&mut self) {
        self.clear(CHANGE_CIPHER_SPEC, &[1]);
    }

    /// Return bytes unique to this call.
    pub(super) fn draw(&mut self, bytes: u64) -> Vec<u8> {
        let from = DRAWN + (self.offset << 16) + self.drawn;
        self.drawn += bytes;
        let mut drawn = Vec::new();
        self.noise().copy(from, from + bytes, &mut drawn);
        drawn
    }

    /// Return bytes that both sides of the connection know.
    pub(super) fn shared(&self, bytes: u64) -> Vec<u8> {
        let mut shared = Vec::new();
        noise(self.seed).copy(DRAWN, DRAWN + bytes, &mut shared);
        shared
    }

    /// Return the offset of the next record.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    pub(super) fn into_parts(self) -> Vec<Content> {
        self.parts
    }

    fn header(&mut self, kind: u8, bytes: u64) {
        let [high, low] = LEGACY_VERSION.to_be_bytes();
        let [upper, lower] = (bytes as u16).to_be_bytes();
        let header = [kind, high, low, upper, lower];
        self.offset += header.len() as u64;
        self.parts.push(Content::Text(header.as_slice().into()));
    }

    fn noise(&self) -> Body {
        noise(match self.side {
            Side::Client => self.seed.wrapping_add(1),
            Side::Server => self.seed.wrapping_add(2),
        })
    }
}

fn noise(seed: u64) -> Body {
    Body {
        seed,
        kind: BodyKind::Binary,
        total: u64::MAX,
    }
}
