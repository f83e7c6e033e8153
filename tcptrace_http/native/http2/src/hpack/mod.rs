//! Header blocks (HPACK, RFC 7541), as a passive reader can decode them.
//!
//! An index of the dynamic table counts from the newest entry. So entries that were inserted since the reader came, or since
//! a block was lost, are found exactly; what refers to older ones is unknown, and said to be. An insertion whose name is
//! unknown keeps its place, so that the places of all others stay right.

mod dynamic_table;
mod huffman;
mod primitives;
mod static_table;
#[cfg(test)]
mod tests;

use std::fmt;

use dynamic_table::{DynamicTable, Entry};
use primitives::Input;

/// Bytes that the fields of one block may have: an index of one byte can stand for a long field (a bomb). As much as a
/// head of HTTP/1 may have.
const DECODED_BYTES_MAX: usize = 256 * 1024;
/// What a field takes beside its bytes (RFC 7541, section 4.1).
const FIELD_BYTES: usize = 32;

/// A header block that breaks RFC 7541, or is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed(&'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a header block {}", self.0)
    }
}

/// Decodes the header blocks of one direction.
#[derive(Debug)]
pub struct Decoder {
    table: DynamicTable,
    /// Strings of the field at hand.
    name: Vec<u8>,
    value: Vec<u8>,
}

/// The name of a field: an index, or a string.
enum Name {
    Indexed(u64),
    Literal,
}

type See<'a> = &'a mut dyn FnMut(Option<&[u8]>, Option<&[u8]>);

impl Decoder {
    /// Of a connection whose blocks are all given, from the first one on.
    #[must_use]
    pub fn new() -> Self {
        Decoder::with(DynamicTable::new())
    }

    /// Of a connection that had blocks before: their insertions are not known.
    #[must_use]
    pub fn joined_late() -> Self {
        Decoder::with(DynamicTable::joined_late())
    }

    fn with(table: DynamicTable) -> Self {
        Decoder {
            table,
            name: Vec::new(),
            value: Vec::new(),
        }
    }

    /// The decoding peer allows a dynamic table of so many bytes (SETTINGS_HEADER_TABLE_SIZE).
    pub fn set_max_size(&mut self, bytes: u32) {
        self.table.allow(bytes as usize);
    }

    /// At least one block was lost: the places of all entries so far are not known any more.
    pub fn lose(&mut self) {
        self.table.lose();
    }

    /// Gives each field of a whole block to `see`: name and value, or what is known of them. How many have something unknown.
    ///
    /// # Errors
    /// The block breaks RFC 7541, or its fields are longer than 256 KiB: those before were given.
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

    /// A field with a literal value (RFC 7541, section 6.2).
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

    /// Memory that it takes.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        let strings = self.name.capacity().saturating_add(self.value.capacity());
        self.table.held_bytes().saturating_add(strings as u64)
    }
}

impl Default for Decoder {
    fn default() -> Self {
        Decoder::new()
    }
}
