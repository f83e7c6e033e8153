//! Enhanced, simple and obsolete packet blocks (draft-ietf-opsawg-pcapng, sections 4.3, 4.4 and
//! appendix A).

use crate::bytes::ByteOrder;

/// Length of the fields before the captured bytes, in an enhanced and in an obsolete packet block.
const FIXED_BYTES: usize = 20;
/// Length of the only field of a simple packet block: the length on the wire.
const SIMPLE_FIXED_BYTES: usize = 4;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct PacketBlock<'a> {
    /// Number of the interface in its section.
    pub(super) interface: u32,
    /// None for a simple packet block.
    pub(super) ticks: Option<u64>,
    pub(super) wire_bytes: u32,
    pub(super) bytes: &'a [u8],
}

impl<'a> PacketBlock<'a> {
    #[inline]
    pub(super) fn enhanced(byte_order: ByteOrder, body: &'a [u8]) -> Result<Self, String> {
        let interface = byte_order.u32(body, 0).unwrap_or(0);
        Self::with_time(byte_order, body, interface)
    }

    /// Parse an obsolete packet block. A 16-bit interface number and a drop count replace the enhanced
    /// block's 32-bit interface number.
    pub(super) fn obsolete(byte_order: ByteOrder, body: &'a [u8]) -> Result<Self, String> {
        let interface = byte_order.u16(body, 0).unwrap_or(0);
        Self::with_time(byte_order, body, interface.into())
    }

    #[inline]
    fn with_time(byte_order: ByteOrder, body: &'a [u8], interface: u32) -> Result<Self, String> {
        let (Some(fixed), Some(rest)) =
            (body.first_chunk::<FIXED_BYTES>(), body.get(FIXED_BYTES..))
        else {
            return Err(format!(
                "a packet block has a body of {} bytes, less than its {FIXED_BYTES} of fields",
                body.len()
            ));
        };
        let field = |at| byte_order.u32(fixed, at).unwrap_or(0);
        let captured = field(12);
        let bytes = usize::try_from(captured)
            .ok()
            .and_then(|captured| rest.get(..captured));
        let Some(bytes) = bytes else {
            return Err(format!(
                "a packet block declares {captured} captured bytes but holds {}",
                rest.len()
            ));
        };
        Ok(PacketBlock {
            interface,
            ticks: Some(u64::from(field(4)) << 32 | u64::from(field(8))),
            wire_bytes: field(16),
            bytes,
        })
    }

    /// Parse a simple packet block. Its packet belongs to the first interface, whose snap length gives the
    /// captured length.
    pub(super) fn simple(
        byte_order: ByteOrder,
        body: &'a [u8],
        snap_length: u32,
    ) -> Result<Self, String> {
        let (Some(wire_bytes), Some(rest)) =
            (byte_order.u32(body, 0), body.get(SIMPLE_FIXED_BYTES..))
        else {
            return Err("a simple packet block has no body".to_owned());
        };
        let limit = if snap_length == 0 {
            wire_bytes
        } else {
            wire_bytes.min(snap_length)
        };
        let captured = usize::try_from(limit).unwrap_or(usize::MAX).min(rest.len());
        Ok(PacketBlock {
            interface: 0,
            ticks: None,
            wire_bytes,
            bytes: rest.get(..captured).unwrap_or(&[]),
        })
    }
}
