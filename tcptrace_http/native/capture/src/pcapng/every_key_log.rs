//! The key logs of a whole file, at any position. A live writer adds key logs after the packets that they
//! decrypt.

use std::io::{self, Read, Seek, SeekFrom};

use zeroize::Zeroizing;

use super::{
    decryption_secrets, is_pcapng, section_header, wrong_length, DECRYPTION_SECRETS, HEADER_BYTES,
    MAX_BLOCK_BYTES, MIN_BLOCK_BYTES, TRAILER_BYTES,
};

/// Bytes per read. Ordinary packets are read rather than skipped, because more calls would cost more time.
const WINDOW_BYTES: usize = 64 * 1024;

type Start = [u8; MIN_BLOCK_BYTES as usize];

/// Pass each key log of a pcapng file to `take`. A file of another format has none. The reader of the packets
/// reports damage of the file.
pub fn each_key_log<F: Read + Seek>(file: &mut F, mut take: impl FnMut(&[u8])) -> io::Result<()> {
    let mut window = Window {
        file,
        bytes: Zeroizing::new(vec![0; WINDOW_BYTES]),
        filled: 0,
        offset: 0,
    };
    let mut byte_order = None;
    let mut offset = 0_u64;
    while let Some(start) = window.start_of_block(offset)? {
        let is_section = is_pcapng(&start);
        if is_section {
            byte_order = section_header::byte_order(&start);
        }
        let Some(order) = byte_order else {
            return Ok(());
        };
        let block_type = order.u32(&start, 0).unwrap_or(0);
        let length = order.u32(&start, 4).unwrap_or(0);
        if wrong_length(block_type, length).is_some() {
            return Ok(());
        }
        if block_type == DECRYPTION_SECRETS && length <= MAX_BLOCK_BYTES {
            let block = window.block(offset, length)?;
            let end = block.len().saturating_sub(TRAILER_BYTES);
            let body = block.get(HEADER_BYTES..end).unwrap_or_default();
            if let Ok(Some(text)) = decryption_secrets::key_log(order, body) {
                take(text);
            }
        }
        offset = offset.saturating_add(u64::from(length));
    }
    Ok(())
}

/// A part of the file.
struct Window<'a, F> {
    file: &'a mut F,
    bytes: Zeroizing<Vec<u8>>,
    filled: usize,
    /// Offset in the file of the window's first byte.
    offset: u64,
}

impl<F: Read + Seek> Window<'_, F> {
    /// Return the first bytes of a block, or None at the end of the file.
    fn start_of_block(&mut self, offset: u64) -> io::Result<Option<Start>> {
        if let Some(start) = self.found(offset) {
            return Ok(Some(start));
        }
        self.file.seek(SeekFrom::Start(offset))?;
        (self.offset, self.filled) = (offset, 0);
        while self.filled < MIN_BLOCK_BYTES as usize {
            let room = self.bytes.get_mut(self.filled..).unwrap_or_default();
            let count = self.file.read(room)?;
            if count == 0 {
                return Ok(None);
            }
            self.filled = self.filled.saturating_add(count);
        }
        Ok(self.found(offset))
    }

    fn found(&self, offset: u64) -> Option<Start> {
        let at = usize::try_from(offset.checked_sub(self.offset)?).ok()?;
        let filled = self.bytes.get(..self.filled)?;
        filled.get(at..)?.first_chunk().copied()
    }

    /// Return a whole block.
    fn block(&mut self, offset: u64, length: u32) -> io::Result<Zeroizing<Vec<u8>>> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let mut block = Zeroizing::new(vec![0; length]);
        self.file.seek(SeekFrom::Start(offset))?;
        self.file.read_exact(&mut block)?;
        Ok(block)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::bytes::ByteOrder::{self, Big, Little};
    use crate::testing::Bytes;

    const TLS: u32 = 0x544c_534b;

    fn found(file: &[u8]) -> Vec<Vec<u8>> {
        let mut texts = Vec::new();
        drop(each_key_log(&mut Cursor::new(file), |text| {
            texts.push(text.to_vec());
        }));
        texts
    }

    fn section(order: ByteOrder) -> Bytes {
        Bytes::new(order).section(order).interface(101, &[])
    }

    #[test]
    fn test_key_logs_of_all_sections_are_found_before_and_after_packets() {
        let packet = vec![0; 3 * WINDOW_BYTES];
        let mut file = section(Little)
            .secrets(TLS, b"first")
            .enhanced(0, 1, &packet);
        file = file.secrets(TLS, b"second").secrets(0x5353_484b, b"of SSH");
        let other = section(Big).enhanced(0, 1, &packet).block(0xbad, b"custom");
        let other = other.secrets(TLS, &[b'x'; 2 * WINDOW_BYTES]);
        let bytes = [file.bytes, other.bytes].concat();
        let expected = [
            b"first".to_vec(),
            b"second".to_vec(),
            vec![b'x'; 2 * WINDOW_BYTES],
        ];
        assert_eq!(found(&bytes), expected);
        // A truncated block gives no key log.
        assert_eq!(found(bytes.get(..bytes.len() - 20).unwrap()), expected[..2]);
    }

    #[test]
    fn test_blocks_can_cross_windows_anywhere() {
        for length in 0..80 {
            let mut file = section(Little);
            for _ in 0..WINDOW_BYTES / 40 {
                file = file.enhanced(0, 1, &[0; 80][..length]);
            }
            let file = file.secrets(TLS, b"behind");
            assert_eq!(found(&file.bytes), [b"behind"], "{length}");
        }
    }

    #[test]
    fn test_another_format_and_a_wrong_length_end_the_search() {
        let pcap = Bytes::pcap(Little, 0xa1b2_c3d4, 1).secrets(TLS, b"no block");
        assert!(found(&pcap.bytes).is_empty());
        let broken = section(Little).u32(6).u32(13).secrets(TLS, b"behind");
        assert!(found(&broken.bytes).is_empty());
        assert!(found(b"").is_empty());
    }
}
