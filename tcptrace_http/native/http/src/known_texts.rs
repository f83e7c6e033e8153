//! A cache of recent texts. A repeated text is compared during its delivery, which costs less than a second
//! copy and its digest. The result never depends on the cache.

use std::collections::VecDeque;
use std::sync::Arc;

/// Maximum number of cached texts: pages and scripts requested at the same time. At the maximum length, eight
/// texts take 8 MiB.
const KNOWN_MAX: usize = 8;
/// Minimum length of a cached text: the payload of an Ethernet segment. A lookup of a shorter text saves
/// nothing.
const BYTES_MIN: usize = 1460;

/// A whole text with its XXH3 digest.
#[derive(Clone, Debug)]
pub(super) struct KnownText {
    pub(super) text: Arc<Vec<u8>>,
    pub(super) digest: u64,
}

#[derive(Debug, Default)]
pub(super) struct KnownTexts {
    /// The texts, each with its announced length, the latest last.
    latest: VecDeque<(Option<u64>, KnownText)>,
}

impl KnownTexts {
    /// Return the latest text with the same announced length.
    pub(super) fn announced(&self, bytes: Option<u64>) -> Option<KnownText> {
        let mut latest = self.latest.iter().rev();
        let (_, known) = latest.find(|(announced, _)| *announced == bytes)?;
        Some(known.clone())
    }

    pub(super) fn put(&mut self, announced: Option<u64>, text: &Arc<Vec<u8>>, digest: u64) {
        let is_same = |(_, known): &(_, KnownText)| Arc::ptr_eq(&known.text, text);
        if text.len() < BYTES_MIN || self.latest.iter().any(is_same) {
            return;
        }
        if self.latest.len() >= KNOWN_MAX {
            self.latest.pop_front();
        }
        let text = Arc::clone(text);
        self.latest
            .push_back((announced, KnownText { text, digest }));
    }
}
