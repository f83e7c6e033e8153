//! A writer of pcapng files (draft-ietf-opsawg-pcapng).

use crate::wire;

mod block {
    pub const SECTION_HEADER: u32 = 0x0A0D_0D0A;
    pub const INTERFACE_DESCRIPTION: u32 = 1;
    pub const ENHANCED_PACKET: u32 = 6;
}

mod option {
    pub const END: u16 = 0;
    pub const INTERFACE_NAME: u16 = 2;
    pub const TIMESTAMP_RESOLUTION: u16 = 9;
}

/// The byte order of this number in the file shows the file's byte order.
const BYTE_ORDER_MAGIC: u32 = 0x1A2B_3C4D;
const LENGTH_UNKNOWN: u64 = u64::MAX;
/// Timestamp unit: 10^-9 s.
const NANOSECONDS: u8 = 9;
/// Length of the type, the length, and the repeated length after the body.
const BLOCK_OVERHEAD: usize = 12;

/// Return a file of one section with one interface. Each frame has its time since the epoch, which is not
/// negative.
pub fn file<'a>(interface: &str, frames: impl Iterator<Item = (i64, &'a [u8])>) -> Vec<u8> {
    let mut file = Vec::new();
    block(&mut file, block::SECTION_HEADER, |body| {
        body.extend_from_slice(&BYTE_ORDER_MAGIC.to_le_bytes());
        // Version 1.0.
        body.extend_from_slice(&[1, 0, 0, 0]);
        body.extend_from_slice(&LENGTH_UNKNOWN.to_le_bytes());
    });
    block(&mut file, block::INTERFACE_DESCRIPTION, |body| {
        body.extend_from_slice(&wire::LINK_TYPE.to_le_bytes());
        // Reserved bytes, then a snap length of 0 for no limit.
        body.extend_from_slice(&[0; 6]);
        write_option(body, option::INTERFACE_NAME, interface.as_bytes());
        write_option(body, option::TIMESTAMP_RESOLUTION, &[NANOSECONDS]);
        write_option(body, option::END, &[]);
    });
    for (time_ns, frame) in frames {
        block(&mut file, block::ENHANCED_PACKET, |body| {
            let time = time_ns.max(0).unsigned_abs();
            let length = frame.len() as u32;
            for word in [0, (time >> 32) as u32, time as u32, length, length] {
                body.extend_from_slice(&word.to_le_bytes());
            }
            body.extend_from_slice(frame);
        });
    }
    file
}

fn block(file: &mut Vec<u8>, kind: u32, write: impl FnOnce(&mut Vec<u8>)) {
    let mut body = Vec::new();
    write(&mut body);
    pad(&mut body);
    let length = (body.len() + BLOCK_OVERHEAD) as u32;
    file.extend_from_slice(&kind.to_le_bytes());
    file.extend_from_slice(&length.to_le_bytes());
    file.append(&mut body);
    file.extend_from_slice(&length.to_le_bytes());
}

fn write_option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    let value = value.get(..usize::from(u16::MAX)).unwrap_or(value);
    body.extend_from_slice(&code.to_le_bytes());
    body.extend_from_slice(&(value.len() as u16).to_le_bytes());
    body.extend_from_slice(value);
    pad(body);
}

/// Pad to whole words. The body of a block starts at a word.
fn pad(body: &mut Vec<u8>) {
    body.resize(body.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_their_length_at_both_ends_and_whole_words() {
        let file = file("client", [(1_i64 << 33, &b"12345"[..])].into_iter());
        let mut rest = &file[..];
        let mut kinds = Vec::new();
        while !rest.is_empty() {
            let word = |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().unwrap());
            let length = word(4) as usize;
            assert_eq!(length % 4, 0);
            assert_eq!(word(length - 4) as usize, length);
            kinds.push(word(0));
            rest = &rest[length..];
        }
        let expected = [
            block::SECTION_HEADER,
            block::INTERFACE_DESCRIPTION,
            block::ENHANCED_PACKET,
        ];
        assert_eq!(kinds, expected);
        assert_eq!(file[file.len() - 12..file.len() - 4], *b"12345\0\0\0");
    }
}
