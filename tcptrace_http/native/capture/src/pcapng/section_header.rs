//! Section header block (draft-ietf-opsawg-pcapng, section 4.1): byte order and version.

use crate::bytes::ByteOrder;

const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
/// Offset of the byte-order magic in the block.
const MAGIC_OFFSET: usize = 8;
/// Lengths: byte-order magic, version and section length.
const BODY_BYTES: usize = 16;
/// The only major version. All its minor versions are compatible.
const MAJOR_VERSION: u16 = 1;

/// Return the byte order of the new section, or None if the magic is invalid.
pub(super) fn byte_order(block: &[u8]) -> Option<ByteOrder> {
    [ByteOrder::Little, ByteOrder::Big]
        .into_iter()
        .find(|order| order.u32(block, MAGIC_OFFSET) == Some(BYTE_ORDER_MAGIC))
}

pub(super) fn no_byte_order(block: &[u8]) -> String {
    let found = ByteOrder::Big.u32(block, MAGIC_OFFSET).unwrap_or(0);
    format!("section header has byte-order magic {found:#010x}, not {BYTE_ORDER_MAGIC:#010x} in either byte order")
}

/// Check that the version is supported. The section length is not needed.
pub(super) fn check(byte_order: ByteOrder, body: &[u8]) -> Result<(), String> {
    if body.len() < BODY_BYTES {
        return Err(format!(
            "section header has a body of {} bytes, not {BODY_BYTES}",
            body.len()
        ));
    }
    match byte_order.u16(body, 4) {
        Some(MAJOR_VERSION) => Ok(()),
        version => Err(format!(
            "pcapng version {} is not supported, only {MAJOR_VERSION}",
            version.unwrap_or(0)
        )),
    }
}
