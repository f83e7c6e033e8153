//! Passive decoder of header blocks (HPACK, RFC 7541).
//!
//! A dynamic table index counts from the newest entry. Entries inserted after the capture began, or after a
//! lost block, are therefore found exactly. References to older entries are reported as unknown. An insertion
//! with an unknown name keeps its place, so all other indexes stay right.

mod dynamic_table;
mod huffman;
mod primitives;
mod static_table;
#[cfg(test)]
mod tests;

use std::fmt;

use dynamic_table::{DynamicTable, Entry};
use primitives::Input;

/// Maximum size of one block's fields: a one-byte index can stand for a long field (HPACK bomb).
///
/// The limit equals that of an HTTP/1 header section.
const DECODED_BYTES_MAX: usize = 256 * 1024;
/// Overhead of a field besides its bytes (RFC 7541, section 4.1).
const FIELD_BYTES: usize = 32;

/// Error of a header block that violates RFC 7541 or is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed(&'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a header block {}", self.0)
    }
}

/// Decoder of one direction's header blocks.
#[derive(Debug)]
pub struct Decoder {
    table: DynamicTable,
    /// Strings of the current field.
    name: Vec<u8>,
    value: Vec<u8>,
}

/// Name of a field: an index or a string.
enum Name {
    Indexed(u64),
    Literal,
}

type See<'a> = &'a mut dyn FnMut(Option<&[u8]>, Option<&[u8]>);

impl Decoder {
    /// Create a decoder for a connection; the insertions of uncaptured first blocks (not `is_whole`) are unknown.
    #[must_use]
    pub fn new(is_whole: bool) -> Self {
        Decoder {
            table: DynamicTable::new(is_whole),
            name: Vec::new(),
            value: Vec::new(),
        }
    }

    /// Set the table size that the decoding peer allows (SETTINGS_HEADER_TABLE_SIZE).
    pub fn set_max_size(&mut self, bytes: u32) {
        self.table.allow(bytes as usize);
    }

    /// Mark a block as lost: all earlier entries are unknown.
    pub fn lose(&mut self) {
        self.table.lose();
    }

    /// Pass the name and value of each field in a complete block to `see`; return the number of fields with
    /// unknown parts.
    ///
    /// # Errors
    /// The block violates RFC 7541, or its fields exceed 256 KiB. The fields before the error were passed.
    pub fn decode(&mut self, block: &[u8], see: See<'_>) -> Result<usize, Malformed> {
        let mut input = Input::new(block);
        let (mut unknown, mut bytes) = (0_usize, 0_usize);
        while let Some(first) = input.peek() {
            if first & 0xe0 == 0x20 {
                let size = input.integer(5)?;
                self.table
                    .resize(usize::try_from(size).unwrap_or(usize::MAX));
                continue;
            }
            let mut check = |name: Option<&[u8]>, value: Option<&[u8]>| {
                let length = |text: Option<&[u8]>| text.map_or(0, <[u8]>::len);
                bytes = bytes
                    .saturating_add(length(name))
                    .saturating_add(length(value));
                bytes = bytes.saturating_add(FIELD_BYTES);
                unknown = unknown.saturating_add(usize::from(name.is_none() || value.is_none()));
                if bytes <= DECODED_BYTES_MAX {
                    see(name, value);
                }
            };
            if first & 0x80 != 0 {
                let index = input.integer(7)?;
                let (name, value) = self.table.field(index)?;
                check(name, value);
            } else {
                let is_inserted = first & 0x40 != 0;
                self.literal(&mut input, is_inserted, &mut check)?;
            }
            if bytes > DECODED_BYTES_MAX {
                return Err(Malformed("has more than 256 KiB of fields"));
            }
        }
        Ok(unknown)
    }

    /// Decode a field with a literal value (RFC 7541, section 6.2).
    fn literal(
        &mut self,
        input: &mut Input<'_>,
        is_inserted: bool,
        see: See<'_>,
    ) -> Result<(), Malformed> {
        let index = input.integer(if is_inserted { 6 } else { 4 })?;
        let name = if index == 0 {
            input.string(&mut self.name)?;
            Name::Literal
        } else {
            Name::Indexed(index)
        };
        input.string(&mut self.value)?;
        let name = match name {
            Name::Literal => Some(self.name.as_slice()),
            Name::Indexed(index) => self.table.field(index)?.0,
        };
        see(name, Some(&self.value));
        if is_inserted {
            let entry = Entry {
                name: name.map(Box::from),
                value: self.value.as_slice().into(),
            };
            self.table.insert(entry);
        }
        Ok(())
    }

    /// Return the memory of the decoder.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        let strings = self.name.capacity().saturating_add(self.value.capacity());
        self.table.held_bytes().saturating_add(strings as u64)
    }
}
