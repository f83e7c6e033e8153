//! What an HTML document refers to, as it is handed out.

use std::sync::Arc;

use super::html_links::FoundLinks;
use super::Mark;

/// The links of a document in its order, and with which packet each of them was there whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Links {
    /// The same for all documents with the same text.
    found: Arc<FoundLinks>,
    /// Length of the text with each segment, and the latest packet that was needed for so much.
    known: Vec<(u32, Mark)>,
    /// Whether the text was looked at for this document.
    is_first: bool,
}

impl Links {
    pub(super) fn new(found: Arc<FoundLinks>, known: Vec<(u32, Mark)>, is_first: bool) -> Links {
        Links {
            found,
            known,
            is_first,
        }
    }

    /// Links that were not found in a document, each known with its mark.
    #[must_use]
    pub fn by_hand<'a>(base: Option<&str>, links: impl Iterator<Item = (&'a str, Mark)>) -> Links {
        let mut found = FoundLinks::default();
        found.base = base.map(Into::into);
        let mut known = Vec::new();
        for ((url, mark), place) in links.zip(1..) {
            found.push(url, place);
            known.push((place, mark));
        }
        Links::new(Arc::new(found), known, true)
    }

    /// What the `base` element says to resolve the links against.
    #[must_use]
    pub fn base(&self) -> Option<&str> {
        self.found.base.as_deref()
    }

    /// Each link as it stands in the document, and the packet with which its tag was there whole.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Mark)> {
        let links = self.found.iter();
        links.map(|(url, tag_end)| (url, self.known_by(tag_end)))
    }

    /// One of them, by its place.
    #[must_use]
    pub fn get(&self, place: usize) -> Option<(&str, Mark)> {
        let (url, tag_end) = self.found.get(place)?;
        Some((url, self.known_by(tag_end)))
    }

    fn known_by(&self, tag_end: u32) -> Mark {
        let at = self.known.partition_point(|(length, _)| *length < tag_end);
        let known = self.known.get(at).or(self.known.last());
        known.map(|(_, mark)| *mark).unwrap_or_default()
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.found.len()
    }

    /// Equal numbers mean equal texts, of links that there are at the same time.
    #[must_use]
    pub fn text(&self) -> usize {
        Arc::as_ptr(&self.found) as usize
    }

    /// Bytes of the URLs as they stand there.
    #[must_use]
    pub fn url_bytes(&self) -> usize {
        self.found.url_bytes()
    }

    /// Memory that they take, what documents have together counted for the first of them.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let shared = if self.is_first { self.found.bytes() } else { 0 };
        let known = size_of_val(self.known.as_slice());
        size_of::<Links>()
            .saturating_add(shared)
            .saturating_add(known)
    }
}
