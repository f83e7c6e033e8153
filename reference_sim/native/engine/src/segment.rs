//! A TCP segment on its way, without its bytes.

pub use trace_model::flags;

/// Blocks of a SACK option: three fit beside timestamps (RFC 2018, section 3).
pub const SACK_BLOCKS: usize = 3;

/// Numbers are offsets in the sender's stream: the SYN is 0, the first byte 1. They are 64 bits
/// wide and never wrap; a tap makes sequence numbers of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    pub seq: u64,
    /// Of the other direction; meaningless without the ACK flag.
    pub ack: u64,
    pub payload: u32,
    /// Bits of [`flags`].
    pub flags: u16,
    /// The offered window in bytes, as the peer will understand it: a multiple of the scale.
    pub window: u32,
    pub options: Options,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    pub mss: Option<u16>,
    pub window_scale: Option<u8>,
    pub sack_permitted: bool,
    /// Left and right edges; (0, 0) is no block.
    pub sack: [(u64, u64); SACK_BLOCKS],
    /// Value and echo reply.
    pub timestamps: Option<(u32, u32)>,
    /// T/TCP's connection count (RFC 1644), for it to be seen on the wire.
    pub connection_count: Option<u32>,
}

impl Segment {
    #[must_use]
    pub fn has(&self, bits: u16) -> bool {
        self.flags & bits == bits
    }

    /// The first offset after the segment; SYN and FIN count one each (RFC 9293, section 3.4).
    #[must_use]
    pub fn end(&self) -> u64 {
        let controls = u64::from(self.has(flags::SYN)) + u64::from(self.has(flags::FIN));
        self.seq + u64::from(self.payload) + controls
    }

    pub fn sack_blocks(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.options
            .sack
            .iter()
            .copied()
            .filter(|block| *block != (0, 0))
    }

    /// Bytes of the IP packet: 20 of IPv4, 20 of TCP, the options in words of four, the payload.
    #[must_use]
    pub fn packet_bytes(&self) -> u32 {
        40 + self.options.bytes() + self.payload
    }
}

impl Options {
    /// As they stand in the header, padded to whole words.
    #[must_use]
    pub fn bytes(&self) -> u32 {
        let blocks = self.sack.iter().filter(|block| **block != (0, 0)).count() as u32;
        let parts = [
            if self.mss.is_some() { 4 } else { 0 },
            if self.window_scale.is_some() { 3 } else { 0 },
            if self.sack_permitted { 2 } else { 0 },
            if blocks > 0 { 2 + 8 * blocks } else { 0 },
            if self.timestamps.is_some() { 10 } else { 0 },
            if self.connection_count.is_some() {
                6
            } else {
                0
            },
        ];
        parts.iter().sum::<u32>().next_multiple_of(4)
    }
}
