//! A cache of recently read documents. For a repeated document only the segments are new.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use lru::LruCache;

use super::document::{Coding, Document};
use super::html_links::{links_of, FoundLinks};
use super::links::Links;
use super::unpacked::unpacked;

/// Maximum number of cached documents, above the number of popular pages of a site.
const DOCUMENTS_MAX: usize = 1024;
/// Memory limit of the cached links. One document's links take a few kilobytes.
const FOUND_BYTES_MAX: usize = 8 << 20;
/// Maximum number of body lengths with a cached text length per compressed document. Other lengths need a new
/// decompression.
const CUTS_MAX: usize = 512;
/// Maximum ordinary expansion of a compressed document. Web documents expand by a factor of three to six.
const EXPANSION: usize = 8;
/// Limit on the total text beyond the ordinary expansion: a fifth of a second of work per thread.
const UNPACKED_BYTES_MAX: usize = 128 << 20;

#[derive(Debug)]
pub(super) struct Documents {
    /// Cached documents, by coding, digest and length of the body.
    read: LruCache<(Coding, u64, usize), Read>,
    found_bytes: usize,
    unpacked_bytes: usize,
    unpacked_most: usize,
    left_out: LeftOut,
}

/// Record of whether documents were left unread.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum LeftOut {
    #[default]
    None,
    Some,
    Told,
}

#[derive(Debug)]
struct Read {
    found: Arc<FoundLinks>,
    /// Text length by body length, for a compressed body.
    cuts: BTreeMap<u32, u32>,
}

impl Default for Documents {
    fn default() -> Self {
        Documents {
            read: LruCache::unbounded(),
            found_bytes: 0,
            unpacked_bytes: 0,
            unpacked_most: UNPACKED_BYTES_MAX,
            left_out: LeftOut::None,
        }
    }
}

impl Documents {
    /// Return the links of a document, if it has any. `body` is the kept part of its body, and `digest` is
    /// the digest of `body`.
    pub(super) fn links(
        &mut self,
        document: Document,
        digest: u64,
        body: &[u8],
    ) -> Option<Arc<Links>> {
        let key = (document.coding, digest, body.len());
        let known = self.read.get(&key);
        let (found, lengths, is_first) = match known.and_then(|read| read.again(&document)) {
            Some((found, lengths)) => (found, lengths, false),
            None => {
                let (text, lengths) = self.text(&document, body)?;
                let (found, is_first) = self.found(key, &text);
                if let Some(read) = self.read.get_mut(&key) {
                    read.remember(document.lengths().zip(lengths.iter().copied()));
                }
                (found, lengths, is_first)
            }
        };
        let has_any = found.len() > 0;
        has_any.then(|| Arc::new(Links::new(found, document.known(lengths), is_first)))
    }

    /// Return the report of unread documents, once.
    pub(super) fn complaint(&mut self) -> Option<String> {
        (self.left_out == LeftOut::Some).then(|| {
            self.left_out = LeftOut::Told;
            format!(
                "further compressed documents are not searched for links: the documents so far expanded to {} MiB \
                 beyond {EXPANSION} times their length",
                self.unpacked_most >> 20
            )
        })
    }

    /// Replace the program's limit.
    #[cfg(test)]
    pub(super) fn limit(&mut self, unpacked_most: usize) {
        self.unpacked_most = unpacked_most;
    }

    /// Return the text of a body and its length after each segment, or None if the decompression limit is
    /// reached.
    fn text<'a>(
        &mut self,
        document: &Document,
        body: &'a [u8],
    ) -> Option<(Cow<'a, [u8]>, Vec<u32>)> {
        if document.coding == Coding::Identity {
            let length = document.lengths().last().unwrap_or(0);
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            let text = body.get(..length).unwrap_or(body);
            return Some((text.into(), document.lengths().collect()));
        }
        if self.unpacked_bytes > self.unpacked_most {
            if self.left_out == LeftOut::None {
                self.left_out = LeftOut::Some;
            }
            return None;
        }
        let (text, lengths) = unpacked(document.coding, body, document.lengths());
        let ordinary = body.len().saturating_mul(EXPANSION);
        let beyond = text.len().saturating_sub(ordinary);
        self.unpacked_bytes = self.unpacked_bytes.saturating_add(beyond);
        Some((text.into(), lengths))
    }

    /// Return the links of a text, and whether the text was parsed for this call.
    fn found(&mut self, key: (Coding, u64, usize), text: &[u8]) -> (Arc<FoundLinks>, bool) {
        if let Some(read) = self.read.get(&key) {
            return (Arc::clone(&read.found), false);
        }
        let found = Arc::new(links_of(text));
        self.found_bytes = self.found_bytes.saturating_add(found.bytes());
        let read = Read {
            found: Arc::clone(&found),
            cuts: BTreeMap::new(),
        };
        self.read.put(key, read);
        while self.read.len() > DOCUMENTS_MAX || self.found_bytes > FOUND_BYTES_MAX {
            let Some((_, read)) = self.read.pop_lru() else {
                break;
            };
            self.found_bytes = self.found_bytes.saturating_sub(read.found.bytes());
        }
        (found, true)
    }
}

impl Read {
    /// Return the cached links and the text's length after each segment for a document with the same body, if
    /// cached.
    fn again(&self, document: &Document) -> Option<(Arc<FoundLinks>, Vec<u32>)> {
        let lengths = match document.coding {
            _ if self.found.len() == 0 => Vec::new(),
            Coding::Identity => document.lengths().collect(),
            Coding::Gzip | Coding::Deflate => {
                let lengths = document.lengths();
                let known = lengths.map(|length| self.cuts.get(&length).copied());
                known.collect::<Option<_>>()?
            }
        };
        Some((Arc::clone(&self.found), lengths))
    }

    fn remember(&mut self, cuts: impl Iterator<Item = (u32, u32)>) {
        if self.cuts.len() < CUTS_MAX {
            self.cuts.extend(cuts);
        }
    }
}
