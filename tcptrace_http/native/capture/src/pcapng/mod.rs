//! The pcapng format (draft-ietf-opsawg-pcapng).
//!
//! Theory of operation. A file is a sequence of blocks. Each block has its length before and after its body.
//! A section header block sets the byte order and clears all interfaces. Interface description blocks number
//! the interfaces of the section from 0, and packet blocks refer to these numbers. Blocks of other types are
//! skipped, and their bytes are not kept. A block with two equal lengths and an invalid body is skipped and
//! reported. With unequal lengths the start of the next block is unknown, and the reading ends.

mod decryption_secrets;
mod every_key_log;
mod interface_description;
mod options;
mod packet_block;
mod section_header;

use trace_model::{AnomalyKind, LinkType, PacketSink};

use crate::bytes::ByteOrder;
use crate::emitter::{Emitter, Record};
use crate::error::CaptureError;
use crate::progress::Progress;
use interface_description::Interface;
use packet_block::PacketBlock;

pub use every_key_log::each_key_log;

/// Block types (draft-ietf-opsawg-pcapng, section 11.1).
const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
const DECRYPTION_SECRETS: u32 = 10;

/// Blocks without a packet that Wireshark numbers as frames (wiretap, pcapng.c): a journal entry, custom
/// blocks, and sysdig system calls.
const SYSTEMD_JOURNAL: u32 = 9;
const CUSTOM: [u32; 2] = [0x0000_0bad, 0x4000_0bad];
const SYSDIG_EVENT: [u32; 6] = [0x204, 0x208, 0x216, 0x217, 0x221, 0x222];

/// Block type and block length.
const HEADER_BYTES: usize = 8;
/// The repeated block length.
const TRAILER_BYTES: usize = 4;
/// Header and trailer.
const MIN_BLOCK_BYTES: u32 = 12;
/// Padding unit of blocks.
const ALIGNMENT: u32 = 4;
/// Maximum size of a block that is read whole, as in libpcap (sf-pcapng.c, INITIAL_MAX_BLOCKSIZE). This size
/// is 60 times the longest packet and leaves room for options.
const MAX_BLOCK_BYTES: u32 = 16 * 1024 * 1024;
/// Maximum size of a skipped block, larger than any name table. A longer length is probably corrupt and would
/// skip the rest of the file.
const MAX_SKIPPED_BYTES: u32 = 256 * 1024 * 1024;
/// Maximum number of interfaces per section: the range of a 16-bit interface number, as in the first packet
/// blocks.
const MAX_INTERFACES: usize = 65_536;

pub(crate) fn is_pcapng(start: &[u8]) -> bool {
    // The number is equal in both byte orders.
    ByteOrder::Little.u32(start, 0) == Some(SECTION_HEADER)
}

#[derive(Debug, Default)]
pub(crate) struct Pcapng {
    /// None before the first section header.
    byte_order: Option<ByteOrder>,
    /// The interfaces of this section.
    interfaces: Vec<Interface>,
    /// A skipped block whose trailer is not read yet.
    skipped: Option<SkippedBlock>,
    /// The first damaged and skipped block. This damage becomes the error if the file has no packet at all.
    first_damage: Option<CaptureError>,
    first_unsupported: Option<LinkType>,
}

#[derive(Clone, Copy, Debug)]
struct SkippedBlock {
    length: u32,
    /// True if Wireshark numbers the block as a frame. Later packets then keep Wireshark's numbers.
    is_frame: bool,
}

/// A whole block whose two lengths are equal.
struct Block<'a> {
    block_type: u32,
    byte_order: ByteOrder,
    body: &'a [u8],
    offset: u64,
}

impl Pcapng {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Read the block at the start of the input, or the rest of a skipped block.
    #[inline]
    pub(crate) fn advance<S: PacketSink>(
        &mut self,
        input: &[u8],
        offset: u64,
        emitter: &mut Emitter,
        sink: &mut S,
    ) -> Progress {
        if let Some(skipped) = self.skipped {
            return self.end_skipped_block(input, skipped, emitter);
        }
        let Some(start) = input.first_chunk::<{ MIN_BLOCK_BYTES as usize }>() else {
            return Progress::Incomplete(MIN_BLOCK_BYTES as usize);
        };
        let block_type = self.byte_order.and_then(|order| order.u32(start, 0));
        let is_section = is_pcapng(start);
        let byte_order = if is_section {
            section_header::byte_order(start)
        } else {
            self.byte_order
        };
        let Some(byte_order) = byte_order else {
            return Progress::Malformed(section_header::no_byte_order(start));
        };
        let length = byte_order.u32(start, 4).unwrap_or(0);
        let block_type = if is_section {
            SECTION_HEADER
        } else {
            block_type.unwrap_or(0)
        };
        if let Some(what) = wrong_length(block_type, length) {
            return Progress::Malformed(what);
        }
        if !is_read(block_type, length) {
            if block_type == DECRYPTION_SECRETS {
                decryption_secrets::report_too_long(length, offset, emitter);
                emitter.notices.flush(sink);
            }
            self.skipped = Some(SkippedBlock {
                length,
                is_frame: is_frame(block_type),
            });
            return Progress::Skip(u64::from(length).saturating_sub(TRAILER_BYTES as u64));
        }
        let whole = usize::try_from(length).unwrap_or(usize::MAX);
        let Some(bytes) = input.get(..whole) else {
            return Progress::Incomplete(whole);
        };
        let end = whole.saturating_sub(TRAILER_BYTES);
        let trailer = byte_order.u32(bytes, end).unwrap_or(0);
        if trailer != length {
            return Progress::Malformed(lengths_differ(length, trailer));
        }
        let body = bytes.get(HEADER_BYTES..end).unwrap_or(&[]);
        let block = Block {
            block_type,
            byte_order,
            body,
            offset,
        };
        match self.block(&block, emitter, sink) {
            Ok(()) => Progress::Advanced(whole),
            Err(what) => Progress::Malformed(what),
        }
    }

    /// Compare the trailing length of a skipped block with its leading length.
    fn end_skipped_block(
        &mut self,
        input: &[u8],
        SkippedBlock { length, is_frame }: SkippedBlock,
        emitter: &mut Emitter,
    ) -> Progress {
        let trailer = self.byte_order.and_then(|order| order.u32(input, 0));
        let Some(trailer) = trailer else {
            return Progress::Incomplete(TRAILER_BYTES);
        };
        if trailer != length {
            return Progress::Malformed(lengths_differ(length, trailer));
        }
        self.skipped = None;
        if is_frame {
            emitter.count_empty_frame();
        }
        Progress::Advanced(TRAILER_BYTES)
    }

    /// Process a block. An error means that the rest of the file is unreadable.
    #[inline]
    fn block<S: PacketSink>(
        &mut self,
        block: &Block<'_>,
        emitter: &mut Emitter,
        sink: &mut S,
    ) -> Result<(), String> {
        let packet = match block.block_type {
            ENHANCED_PACKET => PacketBlock::enhanced(block.byte_order, block.body),
            SIMPLE_PACKET => {
                let snap_length = self.interfaces.first().map_or(0, |first| first.snap_length);
                PacketBlock::simple(block.byte_order, block.body, snap_length)
            }
            OBSOLETE_PACKET => PacketBlock::obsolete(block.byte_order, block.body),
            INTERFACE_DESCRIPTION => return self.interface(block, emitter, sink),
            DECRYPTION_SECRETS => {
                self.secrets(block, emitter, sink);
                return Ok(());
            }
            // The section header is the only remaining type.
            _ => return self.section(block),
        };
        let outcome = packet.and_then(|packet| self.packet(&packet, emitter, sink));
        if let Err(what) = outcome {
            self.report_skipped(block, what, emitter, sink);
        }
        Ok(())
    }

    fn section(&mut self, block: &Block<'_>) -> Result<(), String> {
        section_header::check(block.byte_order, block.body)?;
        self.byte_order = Some(block.byte_order);
        self.interfaces.clear();
        Ok(())
    }

    fn secrets<S: PacketSink>(&mut self, block: &Block<'_>, emitter: &mut Emitter, sink: &mut S) {
        match decryption_secrets::key_log(block.byte_order, block.body) {
            Ok(Some(text)) => sink.key_log(text),
            Ok(None) => {}
            Err(what) => self.report_skipped(block, what, emitter, sink),
        }
    }

    fn interface<S: PacketSink>(
        &mut self,
        block: &Block<'_>,
        emitter: &mut Emitter,
        sink: &mut S,
    ) -> Result<(), String> {
        if self.interfaces.len() >= MAX_INTERFACES {
            emitter
                .notices
                .report(AnomalyKind::LimitReached, None, Some(block.offset), || {
                    format!("interface description skipped: a section has at most {MAX_INTERFACES}")
                });
            emitter.notices.flush(sink);
            return Ok(());
        }
        let number = emitter.provenance.interfaces;
        let (interface, complaint) = Interface::read(block.byte_order, block.body, number)?;
        if let Some(complaint) = complaint {
            emitter.notices.report(
                AnomalyKind::MalformedBlock,
                None,
                Some(block.offset),
                || complaint,
            );
            emitter.notices.flush(sink);
        }
        emitter
            .provenance
            .add_interface(interface.link_type, interface.snap_length);
        self.interfaces.push(interface);
        Ok(())
    }

    #[inline]
    fn packet<S: PacketSink>(
        &mut self,
        block: &PacketBlock<'_>,
        emitter: &mut Emitter,
        sink: &mut S,
    ) -> Result<(), String> {
        let number = usize::try_from(block.interface).unwrap_or(usize::MAX);
        let count = self.interfaces.len();
        let Some(interface) = self.interfaces.get_mut(number) else {
            return Err(format!(
                "a packet belongs to interface {number}, but the section describes {count}"
            ));
        };
        if !interface.is_supported && !interface.is_reported {
            interface.is_reported = true;
            self.first_unsupported.get_or_insert(interface.link_type);
            interface.report_unsupported(emitter);
        }
        let record = Record {
            time_ns: block.ticks.map(|ticks| interface.clock.nanoseconds(ticks)),
            interface: interface.number,
            link_type: interface.link_type,
            is_supported: interface.is_supported,
            wire_bytes: block.wire_bytes,
            bytes: block.bytes,
        };
        emitter.packet(&record, sink);
        Ok(())
    }

    fn report_skipped<S: PacketSink>(
        &mut self,
        block: &Block<'_>,
        what: String,
        emitter: &mut Emitter,
        sink: &mut S,
    ) {
        let (offset, after_packet) = (block.offset, emitter.provenance.packets);
        let frame = Some(after_packet).filter(|packets| *packets > 0);
        emitter
            .notices
            .report(AnomalyKind::MalformedBlock, frame, Some(offset), || {
                format!("{what}; the block after packet {after_packet} was skipped")
            });
        emitter.notices.flush(sink);
        self.first_damage
            .get_or_insert(CaptureError::MalformedCapture {
                what,
                offset,
                after_packet,
            });
    }

    /// Return true if the end of a skipped block is still to come.
    pub(crate) fn is_inside_block(&self) -> bool {
        self.skipped.is_some()
    }

    /// Return an error if the file gave no packet by its end.
    pub(crate) fn outcome(&self, emitter: &Emitter, unread: usize) -> Result<(), CaptureError> {
        if self.byte_order.is_none() {
            return Err(CaptureError::MalformedCapture {
                what: format!("the file ends after {unread} bytes, inside its section header"),
                offset: 0,
                after_packet: 0,
            });
        }
        let packets = emitter.provenance.packets;
        match (&self.first_damage, self.first_unsupported) {
            (Some(damage), _) if packets == 0 => Err(damage.clone()),
            (_, Some(LinkType(number))) if emitter.supported_packets == 0 => {
                Err(CaptureError::UnsupportedLinkType {
                    link_type: number.into(),
                })
            }
            _ => Ok(()),
        }
    }
}

/// Return true if blocks of this type are read, false if they are skipped.
#[inline]
fn is_read(block_type: u32, length: u32) -> bool {
    match block_type {
        SECTION_HEADER
        | INTERFACE_DESCRIPTION
        | OBSOLETE_PACKET
        | SIMPLE_PACKET
        | ENHANCED_PACKET => true,
        DECRYPTION_SECRETS => length <= MAX_BLOCK_BYTES,
        _ => false,
    }
}

fn is_frame(block_type: u32) -> bool {
    block_type == SYSTEMD_JOURNAL
        || CUSTOM.contains(&block_type)
        || SYSDIG_EVENT.contains(&block_type)
}

/// Return the reason why a block length is invalid, or None if the length is valid.
#[inline]
fn wrong_length(block_type: u32, length: u32) -> Option<String> {
    let most = if is_read(block_type, length) {
        MAX_BLOCK_BYTES
    } else {
        MAX_SKIPPED_BYTES
    };
    if length < MIN_BLOCK_BYTES {
        Some(format!(
            "block length {length} is less than the {MIN_BLOCK_BYTES} of an empty block"
        ))
    } else if !length.is_multiple_of(ALIGNMENT) {
        Some(format!(
            "block length {length} is not a multiple of {ALIGNMENT}"
        ))
    } else if length > most {
        Some(format!(
            "block length {length} is invalid: a block of this type has at most {most}"
        ))
    } else {
        None
    }
}

fn lengths_differ(before: u32, after: u32) -> String {
    format!("block length is {before} at the block's start but {after} at its end")
}

#[cfg(test)]
mod tests;
