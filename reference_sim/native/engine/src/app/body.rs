//! The bytes of bodies: a pure function of what is asked for, so that any stretch can be made.

/// What the bytes look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyKind {
    /// Lines of HTML.
    Html,
    /// A GIF.
    Image,
    /// A gzip stream of lines of HTML.
    Gzip,
    /// Any bytes.
    Binary,
}

/// A body of `total` bytes; `seed` tells it from others of its kind and length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Body {
    pub seed: u64,
    pub kind: BodyKind,
    pub total: u64,
}

/// A GIF of one pixel without its data: header, two colours, descriptor, code size.
const GIF_START: [u8; 30] =
    *b"GIF89a\x01\0\x01\0\x80\0\0\xff\xff\xff\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02";
/// One pixel's codes: clear, 0, end (GIF89a, appendix F); decoders ignore what follows.
const GIF_CODES: [u8; 2] = [0x44, 0x01];
/// The end of the data sub-blocks, and the trailer.
const GIF_END: [u8; 2] = [0, b';'];
/// Sub-blocks have a length byte and at most 255 bytes.
const GIF_BLOCK: u64 = 256;
const GIF_OVERHEAD: u64 = GIF_START.len() as u64 + GIF_END.len() as u64;
/// A shorter body is no image.
pub const MIN_IMAGE_BYTES: u64 = GIF_OVERHEAD + 1 + GIF_CODES.len() as u64;

/// Magic, deflate, no flags, no time, no extra flags, system unknown (RFC 1952, section 2.3).
const GZIP_START: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
/// Final flag and type, length, its complement (RFC 1951, section 3.2.4).
const STORED_HEADER: u64 = 5;
const STORED_BLOCK: u64 = STORED_HEADER + 65_535;
/// CRC-32 and length.
const GZIP_END: u64 = 8;
/// A shorter body is no gzip stream with stored blocks.
pub const MIN_GZIP_BYTES: u64 = GZIP_START.len() as u64 + STORED_HEADER + GZIP_END;

/// Bytes of a line of text, its end included.
const LINE: u64 = 64;

impl Body {
    /// Appends the bytes [from, to).
    pub fn copy(&self, from: u64, to: u64, out: &mut Vec<u8>) {
        let to = to.min(self.total);
        let trailer = match self.kind {
            BodyKind::Gzip => self.gzip_trailer(to),
            _ => [0; 8],
        };
        out.extend((from..to).map(|offset| self.byte(offset, &trailer)));
    }

    fn byte(&self, offset: u64, trailer: &[u8; 8]) -> u8 {
        match self.kind {
            BodyKind::Html => self.text(offset),
            BodyKind::Image if self.total >= MIN_IMAGE_BYTES => self.gif(offset),
            BodyKind::Gzip if self.total >= MIN_GZIP_BYTES => self.gzip(offset, trailer),
            BodyKind::Image | BodyKind::Gzip | BodyKind::Binary => self.noise(offset),
        }
    }

    fn noise(&self, offset: u64) -> u8 {
        let word = mixed(self.seed ^ mixed(offset / 8));
        (word >> (8 * (offset % 8))) as u8
    }

    /// Lines of small letters and blanks between tags.
    fn text(&self, offset: u64) -> u8 {
        let (start, end): (&[u8], &[u8]) = (b"<p>", b"</p>\n");
        let column = offset % LINE;
        let from_end = LINE - column;
        let is_last_line = offset - column + LINE > self.total;
        if is_last_line {
            return if offset + 1 == self.total {
                b'\n'
            } else {
                b' '
            };
        }
        if let Some(byte) = start.get(column as usize) {
            return *byte;
        }
        if let Some(byte) = (end.len() as u64)
            .checked_sub(from_end)
            .and_then(|index| end.get(index as usize))
        {
            return *byte;
        }
        match self.noise(offset) % 32 {
            letter @ 0..=25 => b'a' + letter,
            _ => b' ',
        }
    }

    fn gif(&self, offset: u64) -> u8 {
        if let Some(byte) = GIF_START.get(offset as usize) {
            return *byte;
        }
        let from_end = self.total - offset;
        if let Some(byte) = (GIF_END.len() as u64)
            .checked_sub(from_end)
            .and_then(|index| GIF_END.get(index as usize))
        {
            return *byte;
        }
        let blocks = self.total - GIF_OVERHEAD;
        let at = offset - GIF_START.len() as u64;
        let block = Block::at(at, blocks, GIF_BLOCK, 1);
        match block.within {
            0 => (block.bytes - 1) as u8,
            _ => match GIF_CODES.get((at - 1) as usize) {
                Some(code) => *code,
                None => self.noise(offset),
            },
        }
    }

    fn gzip(&self, offset: u64, trailer: &[u8; 8]) -> u8 {
        if let Some(byte) = GZIP_START.get(offset as usize) {
            return *byte;
        }
        if let Some(index) = offset.checked_sub(self.total - GZIP_END) {
            return trailer.get(index as usize).copied().unwrap_or(0);
        }
        let blocks = self.total - GZIP_END - GZIP_START.len() as u64;
        let at = offset - GZIP_START.len() as u64;
        let block = Block::at(at, blocks, STORED_BLOCK, STORED_HEADER - 1);
        let length = (block.bytes - STORED_HEADER) as u16;
        match block.within {
            0 => u8::from(block.is_last),
            1 => length.to_le_bytes()[0],
            2 => length.to_le_bytes()[1],
            3 => (!length).to_le_bytes()[0],
            4 => (!length).to_le_bytes()[1],
            _ => self.text(offset),
        }
    }

    /// Of the stored bytes, if the stretch up to `to` needs it.
    fn gzip_trailer(&self, to: u64) -> [u8; 8] {
        let mut trailer = [0; 8];
        if self.total < MIN_GZIP_BYTES || to <= self.total - GZIP_END {
            return trailer;
        }
        let start = GZIP_START.len() as u64;
        let blocks = self.total - GZIP_END - start;
        let stored = (start..self.total - GZIP_END).filter(|offset| {
            Block::at(offset - start, blocks, STORED_BLOCK, STORED_HEADER - 1).within
                >= STORED_HEADER
        });
        let (crc, length) = stored.fold((!0_u32, 0_u32), |(crc, length), offset| {
            (crc32_step(crc, self.text(offset)), length.wrapping_add(1))
        });
        let words = (!crc).to_le_bytes().into_iter().chain(length.to_le_bytes());
        for (to, from) in trailer.iter_mut().zip(words) {
            *to = from;
        }
        trailer
    }
}

/// One of the blocks that a stretch of bytes is made of, and a place in it.
struct Block {
    bytes: u64,
    is_last: bool,
    within: u64,
}

impl Block {
    /// The block at an offset of `total` bytes in blocks of `size`. A last block of no more than
    /// `least` bytes would be none: the first one is that much shorter instead.
    fn at(offset: u64, total: u64, size: u64, least: u64) -> Block {
        let is_short = (1..=least).contains(&(total % size));
        let first = if is_short && total > size {
            size - least
        } else {
            size.min(total)
        };
        if offset < first {
            return Block {
                bytes: first,
                is_last: first == total,
                within: offset,
            };
        }
        let start = first + (offset - first) / size * size;
        Block {
            bytes: size.min(total - start),
            is_last: total - start <= size,
            within: offset - start,
        }
    }
}

/// The finalizer of SplitMix64 (Steele, Lea, Flood 2014).
fn mixed(word: u64) -> u64 {
    let word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// One byte of the CRC of RFC 1952, section 8.
fn crc32_step(crc: u32, byte: u8) -> u32 {
    (0..8).fold(crc ^ u32::from(byte), |crc, _| {
        (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg())
    })
}
