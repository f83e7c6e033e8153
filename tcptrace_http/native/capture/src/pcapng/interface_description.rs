//! Interface description block (draft-ietf-opsawg-pcapng, section 4.2): link type and clock.

use trace_model::{AnomalyKind, LinkType};

use super::options::Options;
use crate::bytes::ByteOrder;
use crate::emitter::Emitter;
use crate::layers::Layers;
use crate::link_type::describe;
use crate::time::Clock;

/// Lengths: link type, a reserved field and the snap length.
const FIXED_BYTES: usize = 8;
const IF_TSRESOL: u16 = 9;
const IF_TSOFFSET: u16 = 14;

#[derive(Debug)]
pub(super) struct Interface {
    /// Number over all sections of the file.
    pub(super) number: u32,
    pub(super) link_type: LinkType,
    /// 0 if the interface has no snap length.
    pub(super) snap_length: u32,
    pub(super) clock: Clock,
    pub(super) is_supported: bool,
    /// True once the unsupported link type is reported.
    pub(super) is_reported: bool,
}

impl Interface {
    /// Parse the block. An error makes all later interface numbers unusable. A complaint concerns its options
    /// only.
    pub(super) fn read(
        byte_order: ByteOrder,
        body: &[u8],
        number: u32,
    ) -> Result<(Self, Option<String>), String> {
        let (Some(link_type), Some(snap_length), Some(options)) = (
            byte_order.u16(body, 0),
            byte_order.u32(body, 4),
            body.get(FIXED_BYTES..),
        ) else {
            return Err(format!(
                "interface description has a body of {} bytes, not {FIXED_BYTES}",
                body.len()
            ));
        };
        let link_type = LinkType(link_type);
        let mut interface = Interface {
            number,
            link_type,
            snap_length,
            clock: Clock::default(),
            is_supported: Layers::supports(link_type),
            is_reported: false,
        };
        let complaint = interface.read_options(byte_order, options);
        Ok((interface, complaint))
    }

    fn read_options(&mut self, byte_order: ByteOrder, bytes: &[u8]) -> Option<String> {
        let mut complaint = None;
        let mut options = Options::new(byte_order, bytes);
        for (code, value) in options.by_ref() {
            match (code, value) {
                (IF_TSRESOL, [resolution]) => self.clock.set_resolution(*resolution),
                (IF_TSOFFSET, [_, _, _, _, _, _, _, _]) => {
                    self.clock.set_offset(byte_order.i64(value, 0).unwrap_or(0));
                }
                (IF_TSRESOL | IF_TSOFFSET, _) => {
                    let length = value.len();
                    complaint = Some(format!(
                        "interface option {code} has {length} bytes, a wrong length; the option was ignored"
                    ));
                }
                _ => {}
            }
        }
        if options.is_overrun {
            complaint = Some(
                "an interface option extends past its block; this option and later ones were ignored"
                    .to_owned(),
            );
        }
        complaint
    }

    pub(super) fn report_unsupported(&self, emitter: &mut Emitter) {
        let (number, link_type) = (self.number, u32::from(self.link_type.0));
        let frame = emitter.provenance.packets.saturating_add(1);
        emitter.notices.report(AnomalyKind::UnsupportedLinkType, Some(frame), None, || {
            format!(
                "link type {} of interface {number} cannot be decoded; the interface's packets are only counted",
                describe(link_type)
            )
        });
    }
}
