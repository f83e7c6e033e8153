//! The fields that were inserted (RFC 7541, section 2.3.2), as far as they were seen.

use std::collections::VecDeque;

use super::static_table::FIELDS;
use super::{Malformed, FIELD_BYTES};

/// RFC 7541, section 4.2; RFC 9113, section 6.5.2.
const INITIAL_BYTES: usize = 4096;
/// Of a larger table the oldest entries are not remembered: those that refer to them are unknown. Common servers and
/// browsers allow 64 KiB at most.
const TABLE_BYTES_MAX: usize = 256 * 1024;

/// Name and value, or what is known of them.
pub(super) type Field<'a> = (Option<&'a [u8]>, Option<&'a [u8]>);

#[derive(Debug)]
pub(super) struct Entry {
    /// `None`: it refers to one that was not seen.
    pub(super) name: Option<Box<[u8]>>,
    pub(super) value: Box<[u8]>,
}

impl Entry {
    /// What it takes at least.
    fn bytes(&self) -> usize {
        let name = self.name.as_ref().map_or(0, |name| name.len());
        name.saturating_add(self.value.len())
            .saturating_add(FIELD_BYTES)
    }
}

/// An entry is forgotten when it has surely been evicted: nobody refers to it any more.
#[derive(Debug)]
pub(super) struct DynamicTable {
    /// Newest first.
    entries: VecDeque<Entry>,
    bytes: usize,
    bytes_max: usize,
}

impl Default for DynamicTable {
    fn default() -> Self {
        DynamicTable {
            entries: VecDeque::new(),
            bytes: 0,
            bytes_max: INITIAL_BYTES,
        }
    }
}

impl DynamicTable {
    /// The field at an index of both tables, as far as it is known.
    pub(super) fn field(&self, index: u64) -> Result<Field<'_>, Malformed> {
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        let place = index.checked_sub(1).ok_or(Malformed("has an index of 0"))?;
        if let Some((name, value)) = FIELDS.get(place) {
            return Ok((Some(name), Some(value)));
        }
        let entry = self.entries.get(place.saturating_sub(FIELDS.len()));
        Ok(entry.map_or((None, None), |it| (it.name.as_deref(), Some(&*it.value))))
    }

    pub(super) fn insert(&mut self, entry: Entry) {
        self.bytes = self.bytes.saturating_add(entry.bytes());
        self.entries.push_front(entry);
        self.evict();
    }

    /// The encoder may use so many bytes; what it does use it says in a block.
    pub(super) fn allow(&mut self, bytes: usize) {
        // It may use more before that is seen: a smaller table is told by the encoder.
        self.bytes_max = self.bytes_max.max(bytes.min(TABLE_BYTES_MAX));
    }

    /// The encoder uses so many bytes from now on (RFC 7541, section 6.3).
    pub(super) fn resize(&mut self, bytes: usize) {
        self.bytes_max = bytes.min(TABLE_BYTES_MAX);
        self.evict();
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.bytes = 0;
    }

    fn evict(&mut self) {
        while self.bytes > self.bytes_max {
            let Some(entry) = self.entries.pop_back() else {
                break;
            };
            self.bytes = self.bytes.saturating_sub(entry.bytes());
        }
    }

    pub(super) fn held_bytes(&self) -> u64 {
        let slots = self.entries.capacity().saturating_mul(size_of::<Entry>());
        slots.saturating_add(self.bytes) as u64
    }
}
