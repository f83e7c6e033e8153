//! Decryption secrets block (draft-ietf-opsawg-pcapng, section 4.7). Its secrets serve the packets after it.
//! If the whole file can be read in advance (`every_key_log`), they also serve earlier packets.

use trace_model::AnomalyKind;

use super::MAX_BLOCK_BYTES;
use crate::bytes::ByteOrder;
use crate::emitter::Emitter;

/// Type and length of the secrets.
const FIXED_BYTES: usize = 8;
/// A key log of TLS, in the format of RFC 9850.
const TLS_KEY_LOG: u32 = 0x544c_534b;

/// Find the key log in a block. Return None if the secrets belong to another protocol.
pub(super) fn key_log(byte_order: ByteOrder, body: &[u8]) -> Result<Option<&[u8]>, String> {
    let (Some(secrets_type), Some(length), Some(rest)) = (
        byte_order.u32(body, 0),
        byte_order.u32(body, 4),
        body.get(FIXED_BYTES..),
    ) else {
        return Err(format!(
            "decryption secrets have a body of {} bytes, not {FIXED_BYTES}",
            body.len()
        ));
    };
    let secrets = usize::try_from(length).ok().and_then(|end| rest.get(..end));
    let secrets = secrets
        .ok_or_else(|| format!("decryption secrets of {length} bytes extend past their block"))?;
    Ok(Some(secrets).filter(|_| secrets_type == TLS_KEY_LOG))
}

/// Report a block that is too long to read.
pub(super) fn report_too_long(length: u32, offset: u64, emitter: &mut Emitter) {
    emitter
        .notices
        .report(AnomalyKind::LimitReached, None, Some(offset), || {
            format!("secrets of {length} bytes skipped: at most {MAX_BLOCK_BYTES} are read")
        });
}
