//! Maps and sets by numbers of flows and of transactions.
//!
//! The numbers are given out here, one after the other, so that no capture can make them collide: the standard
//! library's hash, which keeps up against one that tries, takes most of the time of a look-up. What captures
//! choose, as URLs, is for that hash.

use foldhash::fast::FixedState;

pub type Numbered<K, V> = std::collections::HashMap<K, V, FixedState>;
pub type Numbers<K> = std::collections::HashSet<K, FixedState>;
