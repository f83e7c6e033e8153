//! Dynamic table (RFC 7541, section 2.3.2) with the captured insertions.

use std::collections::VecDeque;

use super::static_table::FIELDS;
use super::{Malformed, FIELD_BYTES};

/// Default table size (RFC 7541, section 4.2; RFC 9113, section 6.5.2).
const INITIAL_BYTES: usize = 4096;
/// Maximum size of the kept table; references to older entries are unknown.
///
/// Common servers and browsers allow at most 64 KiB.
const TABLE_BYTES_MAX: usize = 256 * 1024;
/// Table size without captured SETTINGS: the size that Chromium and Firefox allow.
const UNSEEN_BYTES: usize = 64 * 1024;

/// Name and value, each `None` if unknown.
pub(super) type Field<'a> = (Option<&'a [u8]>, Option<&'a [u8]>);

#[derive(Debug)]
pub(super) struct Entry {
    /// Name; `None` if it refers to an entry that was not captured.
    pub(super) name: Option<Box<[u8]>>,
    pub(super) value: Box<[u8]>,
}

impl Entry {
    /// Return the minimum size of the entry.
    fn bytes(&self) -> usize {
        let name = self.name.as_ref().map_or(0, |name| name.len());
        name.saturating_add(self.value.len())
            .saturating_add(FIELD_BYTES)
    }
}

/// Dynamic table; an entry stays until the encoder has certainly evicted it.
#[derive(Debug)]
pub(super) struct DynamicTable {
    /// Entries, the newest first.
    entries: VecDeque<Entry>,
    bytes: usize,
    bytes_max: usize,
    /// Largest table size that the encoder may have set.
    allowed_bytes: usize,
}

impl DynamicTable {
    /// Create an empty table; without the connection's SETTINGS (`is_whole` is false), its size is unknown.
    pub(super) fn new(is_whole: bool) -> Self {
        let bytes = if is_whole {
            INITIAL_BYTES
        } else {
            UNSEEN_BYTES
        };
        DynamicTable {
            entries: VecDeque::new(),
            bytes: 0,
            bytes_max: bytes,
            allowed_bytes: bytes,
        }
    }

    /// Return the known parts of the field at an index of both tables.
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

    /// Allow the encoder this table size; the encoder announces the size that it uses in a block.
    pub(super) fn allow(&mut self, bytes: usize) {
        // The encoder may use a larger table before the capture shows it. The encoder announces a smaller
        // table.
        self.allowed_bytes = self.allowed_bytes.max(bytes.min(TABLE_BYTES_MAX));
        self.bytes_max = self.bytes_max.max(bytes.min(TABLE_BYTES_MAX));
    }

    /// Set the table size that the encoder uses from now on (RFC 7541, section 6.3).
    pub(super) fn resize(&mut self, bytes: usize) {
        self.bytes_max = bytes.min(TABLE_BYTES_MAX);
        self.evict();
    }

    /// Clear the table after missing blocks: insertions and size changes are unknown.
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
