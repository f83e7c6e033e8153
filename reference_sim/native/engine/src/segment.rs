//! A TCP segment in flight, without its bytes.

pub use trace_model::flags;

use crate::stack::Nanoseconds;

/// Maximum header length beyond the first 20 bytes (RFC 9293, section 3.1: the data offset).
pub const MAX_OPTION_BYTES: u32 = 40;
/// Maximum number of SACK blocks: three fit beside timestamps (RFC 2018, section 3).
pub const SACK_BLOCKS: usize = 3;

/// A segment with offsets in the sender's stream: the SYN is 0, the first byte 1. Offsets have 64 bits and
/// never wrap. A tap converts them to sequence numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    pub seq: u64,
    /// Offset in the other direction. Without the ACK flag the field has no meaning.
    pub ack: u64,
    pub payload: u32,
    /// Bits of [`flags`].
    pub flags: u16,
    /// The advertised window in bytes after scaling: a multiple of the scale.
    pub window: u32,
    pub options: Options,
    /// Sending time, not present on the wire. Packets of ns-2 carry it to their receivers.
    pub sent: Nanoseconds,
    /// True if the FIN precedes data to be retransmitted. BayFullTcp accepts this FIN.
    pub has_early_fin: bool,
    /// The ECN field of the IP header.
    pub ecn: Ecn,
}

/// The ECN field of an IP header (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    #[default]
    NotCapable,
    /// ECT(0): the transport supports ECN.
    Capable,
    /// CE: a queue on the path was long.
    Congested,
}

impl Ecn {
    #[must_use]
    pub fn bits(self) -> u8 {
        match self {
            Ecn::NotCapable => 0,
            Ecn::Capable => 0b10,
            Ecn::Congested => 0b11,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    pub mss: Option<u16>,
    pub window_scale: Option<u8>,
    pub sack_permitted: bool,
    /// Left and right edges. (0, 0) is no block.
    pub sack: [(u64, u64); SACK_BLOCKS],
    /// Value and echo reply.
    pub timestamps: Option<(u32, u32)>,
    /// Connection count of T/TCP (RFC 1644), shown on the wire.
    pub connection_count: Option<u32>,
    /// The TCP Fast Open option (RFC 7413, section 2), on SYNs only.
    pub fast_open: Option<Cookie>,
}

/// The content of a Fast Open option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cookie {
    /// A request for a cookie.
    Wanted,
    /// A cookie of eight bytes, as in Linux.
    Of(u64),
}

impl Cookie {
    /// Return the length of the cookie itself.
    #[must_use]
    pub fn bytes(self) -> u8 {
        match self {
            Cookie::Wanted => 0,
            Cookie::Of(_) => 8,
        }
    }
}

impl Segment {
    #[must_use]
    pub fn has(&self, bits: u16) -> bool {
        self.flags & bits == bits
    }

    /// Return the first offset after the segment. SYN and FIN count one each (RFC 9293, section 3.4).
    #[must_use]
    pub fn end(&self) -> u64 {
        let controls = u64::from(self.has(flags::SYN)) + u64::from(self.has(flags::FIN));
        self.seq + u64::from(self.payload) + controls
    }

    pub fn sack_blocks(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.options.sack_blocks()
    }

    /// Return the length of the IP packet: 20 bytes of IPv4, 20 of TCP, padded options, and payload.
    #[must_use]
    pub fn packet_bytes(&self) -> u32 {
        40 + self.options.bytes() + self.payload
    }
}

impl Options {
    pub fn sack_blocks(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.sack.iter().copied().filter(|block| *block != (0, 0))
    }

    /// Return the length of the options in the header. Each option starts at a word boundary, as in 4.4BSD
    /// and Linux. Timestamps leave room for "SACK permitted".
    #[must_use]
    pub fn bytes(&self) -> u32 {
        let blocks = self.sack.iter().filter(|block| **block != (0, 0)).count() as u32;
        let word = |is_there: bool| if is_there { 4 } else { 0 };
        word(self.mss.is_some())
            + word(self.window_scale.is_some())
            + if self.timestamps.is_some() {
                12
            } else {
                word(self.sack_permitted)
            }
            + 2 * word(self.connection_count.is_some())
            + match self.fast_open {
                None => 0,
                Some(Cookie::Wanted) => 4,
                Some(Cookie::Of(_)) => 12,
            }
            + if blocks > 0 { 4 + 8 * blocks } else { 0 }
    }

    /// Drop the last SACK blocks if other options use their room (RFC 2018, section 3).
    pub fn drop_blocks_without_room(&mut self) {
        while self.bytes() > MAX_OPTION_BYTES {
            let mut blocks = self.sack.iter_mut().rev();
            match blocks.find(|block| **block != (0, 0)) {
                Some(last) => *last = (0, 0),
                None => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_the_room_that_other_options_leave() {
        let blocks = [(7, 8), (5, 6), (3, 4)];
        let mut options = Options {
            sack: blocks,
            timestamps: Some((1, 1)),
            ..Options::default()
        };
        options.drop_blocks_without_room();
        assert_eq!((options.sack, options.bytes()), (blocks, 40));
        options.connection_count = Some(1);
        options.drop_blocks_without_room();
        assert_eq!(options.sack, [(7, 8), (5, 6), (0, 0)]);
        assert_eq!(options.bytes(), 40);
    }
}
