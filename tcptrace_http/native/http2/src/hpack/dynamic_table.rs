//! The fields that were inserted (RFC 7541, section 2.3.2), as far as they were seen.

use std::collections::VecDeque;

use super::static_table::FIELDS;
use super::{Malformed, FIELD_BYTES};

/// RFC 7541, section 4.2; RFC 9113, section 6.5.2.
const INITIAL_BYTES: usize = 4096;
/// Of a larger table the oldest entries are not remembered: those that refer to them are unknown. Common servers and
/// browsers allow 64 KiB at most.
const TABLE_BYTES_MAX: usize = 256 * 1024;
/// What Chromium and Firefox allow: a table whose size was not seen may be as large.
const UNSEEN_BYTES: usize = 64 * 1024;

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
    /// The largest size that the encoder may have set.
    allowed_bytes: usize,
}

impl DynamicTable {
    /// Of a connection that begins.
    pub(super) fn new() -> Self {
        DynamicTable::of(INITIAL_BYTES)
    }

    /// Of a connection whose SETTINGS were not seen.
    pub(super) fn joined_late() -> Self {
        DynamicTable::of(UNSEEN_BYTES)
    }

    fn of(bytes: usize) -> Self {
        DynamicTable {
            entries: VecDeque::new(),
            bytes: 0,
            bytes_max: bytes,
            allowed_bytes: bytes,
        }
    }

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
        self.allowed_bytes = self.allowed_bytes.max(bytes.min(TABLE_BYTES_MAX));
        self.bytes_max = self.bytes_max.max(bytes.min(TABLE_BYTES_MAX));
    }

    /// The encoder uses so many bytes from now on (RFC 7541, section 6.3).
    pub(super) fn resize(&mut self, bytes: usize) {
        self.bytes_max = bytes.min(TABLE_BYTES_MAX);
        self.evict();
    }

    /// Insertions were not seen, nor whether the size was changed.
    pub(super) fn lose(&mut self) {
        self.entries = VecDeque::new();
        self.bytes = 0;
        self.bytes_max = self.bytes_max.max(self.allowed_bytes);
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
