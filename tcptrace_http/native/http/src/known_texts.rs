//! The texts that came last. What comes again is compared with them as it comes by, which costs less than to
//! keep and to digest another copy; what it is taken for never depends on them.

use std::collections::VecDeque;
use std::sync::Arc;

/// Pages and scripts that are asked for at the same time. With the longest of them 8 MiB.
const KNOWN_MAX: usize = 8;
/// A shorter text costs no more than to look it up: the payload of a segment on Ethernet.
const BYTES_MIN: usize = 1460;

/// A whole text, with its XXH3.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) text: Arc<Vec<u8>>,
    pub(super) digest: u64,
}

#[derive(Debug, Default)]
pub(super) struct KnownTexts {
    /// Each with the length that its head announced, the latest last.
    latest: VecDeque<(Option<u64>, Known)>,
}

impl KnownTexts {
    /// The latest text whose head announced as much.
    pub(super) fn announced(&self, bytes: Option<u64>) -> Option<Known> {
        let mut latest = self.latest.iter().rev();
        let (_, known) = latest.find(|(announced, _)| *announced == bytes)?;
        Some(known.clone())
    }

    pub(super) fn put(&mut self, announced: Option<u64>, text: &Arc<Vec<u8>>, digest: u64) {
        let is_same = |(_, known): &(_, Known)| Arc::ptr_eq(&known.text, text);
        if text.len() < BYTES_MIN || self.latest.iter().any(is_same) {
            return;
        }
        if self.latest.len() >= KNOWN_MAX {
            self.latest.pop_front();
        }
        let text = Arc::clone(text);
        self.latest.push_back((announced, Known { text, digest }));
    }
}
