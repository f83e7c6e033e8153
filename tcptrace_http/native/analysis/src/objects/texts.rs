//! Texts that are kept for comparison with later responses of the same URL.

use std::sync::Arc;

use lru::LruCache;

/// Maximum size of all texts: several hundred pages and scripts. The least recently requested ones are
/// dropped first.
const TEXTS_BYTES_MAX: usize = 32 << 20;

#[derive(Debug)]
pub(super) struct Texts {
    by_url: LruCache<u64, Arc<Vec<u8>>>,
    bytes: usize,
}

impl Default for Texts {
    fn default() -> Self {
        Texts {
            by_url: LruCache::unbounded(),
            bytes: 0,
        }
    }
}

impl Texts {
    pub(super) fn get(&self, url: u64) -> Option<&[u8]> {
        self.by_url.peek(&url).map(|text| text.as_slice())
    }

    /// Store a text in place of the earlier text of the URL.
    pub(super) fn put(&mut self, url: u64, text: Arc<Vec<u8>>) {
        self.bytes = self.bytes.saturating_add(text.len());
        let before = self.by_url.put(url, text);
        self.forget(before);
        while self.bytes > TEXTS_BYTES_MAX {
            let Some((_, oldest)) = self.by_url.pop_lru() else {
                break;
            };
            self.forget(Some(oldest));
        }
    }

    fn forget(&mut self, text: Option<Arc<Vec<u8>>>) {
        let bytes = text.map_or(0, |text| text.len());
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_texts_are_dropped_first_and_new_texts_replace_old_ones() {
        let mut texts = Texts::default();
        let half = TEXTS_BYTES_MAX / 2;
        texts.put(1, Arc::new(vec![1; half]));
        texts.put(2, Arc::new(vec![2; half]));
        texts.put(1, Arc::new(vec![3; half]));
        assert_eq!(texts.get(1), Some(vec![3; half].as_slice()));
        assert!(texts.get(2).is_some());
        texts.put(3, Arc::new(vec![4; 1]));
        assert!(texts.get(2).is_none());
        assert!(texts.get(1).is_some() && texts.get(3).is_some());
    }
}
