//! The bytes of bodies: a pure function of the request, so any range can be generated.

/// The format of a body's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyKind {
    /// Lines of HTML.
    Html,
    Gif,
    Png,
    /// A JPEG file without a picture.
    Jpeg,
    /// A gzip stream of lines of HTML.
    Gzip,
    /// Arbitrary bytes.
    Binary,
}

/// A body of `total` bytes. `seed` distinguishes bodies of equal kind and length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Body {
    pub seed: u64,
    pub kind: BodyKind,
    pub total: u64,
}

/// A GIF of one pixel, up to its data: header, two colours, descriptor, code size.
const GIF_START: [u8; 30] =
    *b"GIF89a\x01\0\x01\0\x80\0\0\xff\xff\xff\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02";
/// The codes of one pixel: clear, 0, end (GIF89a, appendix F). Decoders ignore the bytes after them.
const GIF_CODES: [u8; 2] = [0x44, 0x01];
/// The end of the data sub-blocks, then the trailer.
const GIF_END: [u8; 2] = [0, b';'];
/// A sub-block has a length byte and at most 255 bytes.
const GIF_BLOCK: u64 = 256;
const GIF_OVERHEAD: u64 = GIF_START.len() as u64 + GIF_END.len() as u64;
/// Length of the shortest image body.
pub const MIN_GIF_BYTES: u64 = GIF_OVERHEAD + 1 + GIF_CODES.len() as u64;

/// Signature, header and data of one grey pixel (PNG specification, third edition, section 5). A chunk of a
/// private type follows, which decoders skip, then the end.
const PNG_START: [u8; 58] = *b"\x89PNG\x0d\x0a\x1a\x0a\x00\x00\x00\x0dIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00:~\x9bU\x00\x00\x00\x0dIDATx\x01\x01\x02\x00\xfd\xff\x00\x00\x00\x02\x00\x01~\x05\x0d\xd2";
const PNG_FILLER: [u8; 4] = *b"fiLl";
const PNG_END: [u8; 12] = *b"\x00\x00\x00\x00IEND\xaeB`\x82";
/// Offset of the filler chunk's data: after its length and type.
const PNG_FILLER_START: u64 = PNG_START.len() as u64 + 8;
const PNG_FILLER_END: u64 = 4 + PNG_END.len() as u64;
pub const MIN_PNG_BYTES: u64 = PNG_FILLER_START + PNG_FILLER_END;

/// Start of image and the JFIF segment (ITU-T T.871, section 10). Comments follow, then the end.
const JPEG_START: [u8; 20] =
    *b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00";
const JPEG_END: [u8; 2] = [0xff, 0xd9];
const JPEG_COMMENT: [u8; 2] = [0xff, 0xfe];
/// Length of a comment's marker and length field.
const COMMENT_HEADER: u64 = 4;
/// Maximum length of a comment with its header. Comment data is text.
const COMMENT: u64 = 2 + 65_535;
const JPEG_OVERHEAD: u64 = JPEG_START.len() as u64 + JPEG_END.len() as u64;
pub const MIN_JPEG_BYTES: u64 = JPEG_OVERHEAD + COMMENT_HEADER;

/// Magic, deflate, no flags, no time, no extra flags, unknown system (RFC 1952, section 2.3).
const GZIP_START: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
/// Final flag and type, length, complement of the length (RFC 1951, section 3.2.4).
const STORED_HEADER: u64 = 5;
const STORED_BLOCK: u64 = STORED_HEADER + 65_535;
/// CRC-32 and length of the text.
const GZIP_END: u64 = 8;
/// Length of the shortest gzip stream with stored blocks.
pub const MIN_GZIP_BYTES: u64 = GZIP_START.len() as u64 + STORED_HEADER + GZIP_END;

/// Bytes per line of text, line end included.
const LINE: u64 = 64;

impl Body {
    /// Append the bytes [from, to).
    pub fn copy(&self, from: u64, to: u64, out: &mut Vec<u8>) {
        let to = to.min(self.total);
        if from >= to {
            return;
        }
        let trailer = match self.kind {
            BodyKind::Gzip => self.gzip_trailer(to),
            BodyKind::Png => self.png_trailer(to),
            _ => [0; 8],
        };
        if self.kind == BodyKind::Binary {
            return self.copy_noise(from, to, out);
        }
        out.extend((from..to).map(|offset| self.byte(offset, &trailer)));
    }

    /// Append the bytes word by word, equal to the bytewise result. Most of a capture consists of these
    /// bytes.
    fn copy_noise(&self, from: u64, to: u64, out: &mut Vec<u8>) {
        let mut at = from;
        while at < to {
            let word = mixed(self.seed ^ mixed(at / 8)).to_le_bytes();
            let within = (at % 8) as usize;
            let end = word.len().min(within + (to - at) as usize);
            out.extend_from_slice(word.get(within..end).unwrap_or(&[]));
            at += (end - within) as u64;
        }
    }

    fn byte(&self, offset: u64, trailer: &[u8; 8]) -> u8 {
        match self.kind {
            BodyKind::Html => self.text(offset),
            BodyKind::Gif if self.total >= MIN_GIF_BYTES => self.gif(offset),
            BodyKind::Gzip if self.total >= MIN_GZIP_BYTES => self.gzip(offset, trailer),
            BodyKind::Png if self.total >= MIN_PNG_BYTES => self.png(offset, trailer),
            BodyKind::Jpeg if self.total >= MIN_JPEG_BYTES => self.jpeg(offset),
            _ => self.noise(offset),
        }
    }

    fn noise(&self, offset: u64) -> u8 {
        let word = mixed(self.seed ^ mixed(offset / 8));
        (word >> (8 * (offset % 8))) as u8
    }

    /// Return a byte of lines with lowercase letters and spaces between tags.
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

    fn png(&self, offset: u64, trailer: &[u8; 8]) -> u8 {
        if let Some(byte) = PNG_START.get(offset as usize) {
            return *byte;
        }
        if offset < PNG_FILLER_START {
            let length = (self.total - MIN_PNG_BYTES) as u32;
            let mut start = length.to_be_bytes().into_iter().chain(PNG_FILLER);
            return start.nth(offset as usize - PNG_START.len()).unwrap_or(0);
        }
        match offset.checked_sub(self.total - PNG_FILLER_END) {
            Some(index) => {
                let mut end = trailer.iter().take(4).chain(&PNG_END);
                end.nth(index as usize).copied().unwrap_or(0)
            }
            None => self.noise(offset),
        }
    }

    /// Return the CRC of the filler chunk, if the range up to `to` needs it.
    fn png_trailer(&self, to: u64) -> [u8; 8] {
        let mut trailer = [0; 8];
        if self.total < MIN_PNG_BYTES || to <= self.total - PNG_FILLER_END {
            return trailer;
        }
        let data = (PNG_FILLER_START..self.total - PNG_FILLER_END).map(|offset| self.noise(offset));
        let crc = PNG_FILLER.into_iter().chain(data).fold(!0, crc32_step);
        for (to, from) in trailer.iter_mut().zip((!crc).to_be_bytes()) {
            *to = from;
        }
        trailer
    }

    fn jpeg(&self, offset: u64) -> u8 {
        if let Some(byte) = JPEG_START.get(offset as usize) {
            return *byte;
        }
        if let Some(index) = offset.checked_sub(self.total - JPEG_END.len() as u64) {
            return JPEG_END.get(index as usize).copied().unwrap_or(0);
        }
        let at = offset - JPEG_START.len() as u64;
        let block = Block::at(at, self.total - JPEG_OVERHEAD, COMMENT, COMMENT_HEADER - 1);
        // The length includes its own field and excludes the marker.
        let [high, low] = ((block.bytes - 2) as u16).to_be_bytes();
        let [first, second] = JPEG_COMMENT;
        match block.within {
            0 => first,
            1 => second,
            2 => high,
            3 => low,
            _ => self.text(offset),
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

    /// Return CRC and length of the stored bytes, if the range up to `to` needs them.
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

/// A block of a range, and a position inside the block.
struct Block {
    bytes: u64,
    is_last: bool,
    within: u64,
}

impl Block {
    /// Return the block at an offset of `total` bytes in blocks of `size`. If the last block would have at
    /// most `least` bytes, the first block is shortened by `least` instead.
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

/// Return the finalizer of SplitMix64 (Steele, Lea, Flood 2014).
fn mixed(word: u64) -> u64 {
    let word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// Update the CRC of RFC 1952, section 8, with one byte.
fn crc32_step(crc: u32, byte: u8) -> u32 {
    (0..8).fold(crc ^ u32::from(byte), |crc, _| {
        (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(kind: BodyKind, total: u64) -> Vec<u8> {
        let mut out = Vec::new();
        let seed = 9;
        Body { seed, kind, total }.copy(0, total, &mut out);
        out
    }

    #[test]
    fn test_any_range_is_part_of_the_whole() {
        for kind in [
            BodyKind::Html,
            BodyKind::Gif,
            BodyKind::Png,
            BodyKind::Jpeg,
            BodyKind::Gzip,
            BodyKind::Binary,
        ] {
            for total in [0, 1, 14, 60, 1000, 70_001] {
                let all = bytes(kind, total);
                assert_eq!(all.len() as u64, total);
                for from in (0..total).step_by(997) {
                    let mut out = Vec::new();
                    let to = (from + 1460).min(total);
                    let seed = 9;
                    Body { seed, kind, total }.copy(from, to, &mut out);
                    assert_eq!(out, all[from as usize..to as usize]);
                }
            }
        }
    }

    #[test]
    fn test_images_of_any_length_are_whole_gifs() {
        for total in MIN_GIF_BYTES..1200 {
            let gif = bytes(BodyKind::Gif, total);
            assert!(gif.starts_with(b"GIF89a"));
            let mut at = GIF_START.len();
            while gif[at] != 0 {
                at += 1 + usize::from(gif[at]);
            }
            assert_eq!(gif[at..], GIF_END, "{total}");
        }
    }

    #[test]
    fn test_png_files_are_chunks_with_their_checksums() {
        for total in MIN_PNG_BYTES..400 {
            let png = bytes(BodyKind::Png, total);
            let (mut at, mut types) = (8, Vec::new());
            while at < png.len() {
                let word = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
                let end = at + 8 + word(at) as usize;
                let crc = png[at + 4..end].iter().copied().fold(!0, crc32_step);
                assert_eq!(word(end), !crc, "{total}");
                types.push(png[at + 4..at + 8].to_vec());
                at = end + 4;
            }
            assert_eq!(types, [b"IHDR", b"IDAT", b"fiLl", b"IEND"]);
        }
    }

    #[test]
    fn test_jpeg_files_are_segments_to_their_end() {
        let long = MIN_JPEG_BYTES + COMMENT;
        for total in (MIN_JPEG_BYTES..300).chain(long - 9..long + 9) {
            let jpeg = bytes(BodyKind::Jpeg, total);
            let mut at = 2;
            while jpeg[at + 1] != 0xd9 {
                assert_eq!(jpeg[at], 0xff, "{total}");
                at += 2 + usize::from(u16::from_be_bytes([jpeg[at + 2], jpeg[at + 3]]));
            }
            assert_eq!(at + 2, jpeg.len());
        }
    }

    #[test]
    fn test_gzip_streams_of_any_length_are_whole() {
        let block = STORED_BLOCK;
        let start = MIN_GZIP_BYTES;
        for total in (start..start + 200).chain(start + block - 9..start + block + 9) {
            let gzip = bytes(BodyKind::Gzip, total);
            let (mut at, mut data, mut is_last) = (GZIP_START.len(), Vec::new(), false);
            while !is_last {
                is_last = gzip[at] == 1;
                let length = u16::from_le_bytes([gzip[at + 1], gzip[at + 2]]);
                assert_eq!(!length, u16::from_le_bytes([gzip[at + 3], gzip[at + 4]]));
                data.extend(&gzip[at + 5..at + 5 + usize::from(length)]);
                at += 5 + usize::from(length);
            }
            let crc = !data.iter().fold(!0, |crc, byte| crc32_step(crc, *byte));
            let end = [crc.to_le_bytes(), (data.len() as u32).to_le_bytes()].concat();
            assert_eq!(gzip[at..], end, "{total}");
        }
    }

    #[test]
    fn test_text_consists_of_lines() {
        let text = bytes(BodyKind::Html, 1000);
        assert!(text
            .iter()
            .all(|byte| *byte == b'\n' || (b' '..=b'z').contains(byte)));
        assert_eq!(text.last(), Some(&b'\n'));
        assert_eq!(text.iter().filter(|byte| **byte == b'\n').count(), 16);
    }
}
