//! Frame header (RFC 9113, section 4.1), and checks whether bytes are a frame header.

/// Length of a frame header (RFC 9113, section 4.1).
pub(crate) const HEADER_BYTES: usize = 9;
/// Length of the priority fields before the block of HEADERS (RFC 9113, section 6.2).
const PRIORITY_BYTES: usize = 5;
/// Default maximum frame payload (RFC 9113, section 4.2).
pub(crate) const FRAME_BYTES: u32 = 1 << 14;
/// Largest maximum frame payload that a receiver may allow.
pub(crate) const FRAME_BYTES_LIMIT: u32 = (1 << 24) - 1;

/// Frame types (RFC 9113, section 6; RFC 9218, section 7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Data,
    Headers,
    Priority,
    RstStream,
    Settings,
    PushPromise,
    Ping,
    Goaway,
    WindowUpdate,
    Continuation,
    PriorityUpdate,
    Other,
}

pub(crate) mod flags {
    /// Flag of SETTINGS and PING.
    pub const ACK: u8 = 0x1;
    pub const END_STREAM: u8 = 0x1;
    pub const END_HEADERS: u8 = 0x4;
    pub const PADDED: u8 = 0x8;
    pub const PRIORITY: u8 = 0x20;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) length: u32,
    pub(crate) kind: Kind,
    type_byte: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    is_reserved_set: bool,
}

impl Header {
    /// Parse the header at the start of `bytes`; `None` if there are too few bytes.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let [l0, l1, l2, type_byte, flags, s0, s1, s2, s3, ..] = *bytes else {
            return None;
        };
        let stream = u32::from_be_bytes([s0, s1, s2, s3]);
        Some(Header {
            length: u32::from_be_bytes([0, l0, l1, l2]),
            kind: kind_of(type_byte),
            type_byte,
            flags,
            stream: stream & 0x7fff_ffff,
            is_reserved_set: stream >> 31 != 0,
        })
    }

    pub(crate) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Return the length of the whole frame.
    pub(crate) fn frame_bytes(&self) -> u64 {
        u64::from(self.length).saturating_add(HEADER_BYTES as u64)
    }

    /// Return whether stream and length fit the frame type (RFC 9113, section 6); unknown types always fit.
    pub(crate) fn is_sound(&self) -> bool {
        let (length, is_connection) = (self.length, self.stream == 0);
        match self.kind {
            Kind::Data | Kind::Headers | Kind::Continuation => !is_connection,
            Kind::Priority => !is_connection && length == 5,
            Kind::RstStream => !is_connection && length == 4,
            Kind::Settings => is_connection && length.is_multiple_of(6),
            Kind::PushPromise => !is_connection && length > 4,
            Kind::Ping => is_connection && length == 8,
            Kind::Goaway => is_connection && length >= 8,
            Kind::WindowUpdate => length == 4,
            Kind::PriorityUpdate => is_connection && length >= 4,
            Kind::Other => true,
        }
    }

    /// Return whether arbitrary bytes are a plausible header: a known type, only flags of that type, at most
    /// `bytes_max`.
    pub(crate) fn is_plausible(&self, bytes_max: u32) -> bool {
        let known_flags = match self.kind {
            Kind::Data => 0x9,
            Kind::Headers => 0x2d,
            Kind::Settings | Kind::Ping => 0x1,
            Kind::PushPromise => 0xc,
            Kind::Continuation => 0x4,
            Kind::Other => return false,
            _ => 0,
        };
        // A run of zeros is no frame.
        let is_empty = match self.kind {
            Kind::Data => self.length == 0 && !self.has(flags::END_STREAM),
            Kind::Headers => self.length == 0,
            _ => false,
        };
        self.is_sound()
            && !is_empty
            && self.flags & !known_flags == 0
            && !self.is_reserved_set
            && self.length <= bytes_max
    }

    /// Return whether the frame has a fixed length on stream 0: only the stream number can refute it.
    pub(crate) fn has_fixed_length(&self) -> bool {
        matches!(self.kind, Kind::Ping | Kind::WindowUpdate) && self.stream == 0
    }
}

fn kind_of(type_byte: u8) -> Kind {
    match type_byte {
        0 => Kind::Data,
        1 => Kind::Headers,
        2 => Kind::Priority,
        3 => Kind::RstStream,
        4 => Kind::Settings,
        5 => Kind::PushPromise,
        6 => Kind::Ping,
        7 => Kind::Goaway,
        8 => Kind::WindowUpdate,
        9 => Kind::Continuation,
        0x10 => Kind::PriorityUpdate,
        _ => Kind::Other,
    }
}

/// Return whether the bytes behind the frame, if present, are a plausible header.
pub(crate) fn is_followed(header: &Header, bytes: &[u8], bytes_max: u32) -> bool {
    let length = usize::try_from(header.frame_bytes()).unwrap_or(usize::MAX);
    let behind = bytes.get(length..).and_then(Header::parse);
    behind.is_none_or(|next| next.is_plausible(bytes_max))
}

/// Number of consecutive frames that show HTTP/2 if the segment ends within the last frame.
const CHAIN_MIN: usize = 2;

/// Return whether a segment contains HTTP/2 frames of a connection without a captured start.
///
/// The segment must have several consecutive frames, or end with a frame.
#[must_use]
pub fn starts_like(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    let mut count = 0_usize;
    loop {
        let Some(header) = Header::parse(rest) else {
            return rest.is_empty() && count > 0 || count >= CHAIN_MIN;
        };
        if !header.is_plausible(FRAME_BYTES) {
            return false;
        }
        count = count.saturating_add(1);
        let length = usize::try_from(header.frame_bytes()).unwrap_or(usize::MAX);
        match rest.get(length..) {
            Some(behind) => rest = behind,
            None => return count >= CHAIN_MIN,
        }
    }
}

/// Last entries of HPACK's static table that begin a request (`:authority` to `:scheme`) or a response
/// (`:status`).
///
/// RFC 7541, appendix A, lists the table.
const LAST_OF_REQUESTS: u8 = 7;
const LAST_OF_RESPONSES: u8 = 14;

/// Return whether a segment that begins with HEADERS comes from the client; `None` if the first field is
/// ambiguous.
///
/// Pseudo-header fields come first, and a response has only one of them (RFC 9113, section 8.3).
#[must_use]
pub fn is_of_client(bytes: &[u8]) -> Option<bool> {
    let header = Header::parse(bytes)?;
    if header.kind != Kind::Headers || !starts_like(bytes) {
        return None;
    }
    let mut at = HEADER_BYTES;
    at = at.saturating_add(usize::from(header.has(flags::PADDED)));
    if header.has(flags::PRIORITY) {
        at = at.saturating_add(PRIORITY_BYTES);
    }
    let is_update = |byte: &&u8| **byte & 0xe0 == 0x20;
    let mut block = bytes.get(at..)?.iter();
    // The first bytes are the field's representation and the index of its name (RFC 7541, section 6).
    let first = *block.find(|byte| !is_update(byte))?;
    let index = match first {
        0x80.. => first & 0x7f,
        0x40.. => first & 0x3f,
        _ => first & 0x0f,
    };
    match index {
        1..=LAST_OF_REQUESTS => Some(true),
        8..=LAST_OF_RESPONSES => Some(false),
        _ => None,
    }
}

/// Return whether a server's first bytes are its SETTINGS (RFC 9113, section 3.4).
#[must_use]
pub fn starts_with_settings(bytes: &[u8]) -> bool {
    Header::parse(bytes).is_some_and(|header| {
        header.kind == Kind::Settings && header.flags == 0 && header.is_plausible(FRAME_BYTES)
    }) && starts_like(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PING: [u8; 17] = [0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];

    #[test]
    fn a_frame_that_ends_with_its_segment_shows_http2() {
        assert!(starts_like(&PING));
        assert!(!starts_like(&PING[..16]));
    }

    #[test]
    fn two_frames_show_http2_at_any_segment_end() {
        let two = [PING, PING].concat();
        assert!((26..=34).all(|end| starts_like(&two[..end])));
    }

    /// Return HEADERS with END_HEADERS on stream 5.
    fn headers(block: &[u8]) -> Vec<u8> {
        let length = u8::try_from(block.len()).unwrap();
        let header = [0, 0, length, 1, flags::END_HEADERS, 0, 0, 0, 5];
        [&header, block].concat()
    }

    #[test]
    fn first_field_of_a_header_block_shows_its_sender() {
        // GET, a literal :authority, :status 200, and a literal :status behind a table size update.
        let blocks: [(&[u8], Option<bool>); 5] = [
            (&[0x82, 0x87], Some(true)),
            (&[0x41, 1, b'a', 0x82], Some(true)),
            (&[0x88, 0x5f], Some(false)),
            (&[0x20, 0x48, 3, b'4', b'1', b'8'], Some(false)),
            (&[0xbe, 0x82], None),
        ];
        for (block, is_client) in blocks {
            assert_eq!(is_of_client(&headers(block)), is_client, "{block:?}");
        }
        assert_eq!(is_of_client(&PING), None);
    }

    #[test]
    fn text_and_zeros_are_no_frames() {
        assert!(!starts_like(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
        assert!(!starts_like(&[0; 100]));
        assert!(!starts_like(b""));
    }
}
