//! A record as sent, and its plaintext.

/// The content type of records under TLS 1.3 protection (RFC 8446, section 5.2).
pub(crate) const APPLICATION_DATA: u8 = 23;

/// The longest fragment of a protected record (RFC 5246, section 6.2.3).
pub(crate) const FRAGMENT_MAX: usize = (1 << 14) + 2048;

/// A whole record from the wire.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    pub content_type: u8,
    pub version: u16,
    pub fragment: &'a [u8],
}

impl Record<'_> {
    /// Return the header, which is the additional data of TLS 1.3 (RFC 8446, section 5.2).
    pub(crate) fn header(&self) -> Option<[u8; 5]> {
        let [major, minor] = self.version.to_be_bytes();
        let [high, low] = u16::try_from(self.fragment.len()).ok()?.to_be_bytes();
        Some([self.content_type, major, minor, high, low])
    }

    /// Return the additional data of AEAD and MAC before TLS 1.3 (RFC 5246, sections 6.2.3.1 and 6.2.3.3).
    pub(crate) fn pseudo_header(&self, sequence: u64, length: usize) -> Option<[u8; 13]> {
        let [a, b, c, d, e, f, g, h] = sequence.to_be_bytes();
        let [major, minor] = self.version.to_be_bytes();
        let [high, low] = u16::try_from(length).ok()?.to_be_bytes();
        let content_type = self.content_type;
        Some([
            a,
            b,
            c,
            d,
            e,
            f,
            g,
            h,
            content_type,
            major,
            minor,
            high,
            low,
        ])
    }
}

/// The plaintext of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plain<'a> {
    /// The content type of the plaintext.
    pub content_type: u8,
    pub bytes: &'a [u8],
    /// True if the client sent the record before the ServerHello (0-RTT).
    pub is_early: bool,
}
