//! Maps and sets with flow and transaction numbers as keys.
//!
//! This program assigns the numbers in sequence, so a capture cannot cause collisions. The standard library's
//! hash resists such attacks, but takes most of the time of a lookup. Keys from the capture, such as URLs,
//! need that hash.

use foldhash::fast::FixedState;

pub type NumberMap<K, V> = std::collections::HashMap<K, V, FixedState>;
pub type NumberSet<K> = std::collections::HashSet<K, FixedState>;
