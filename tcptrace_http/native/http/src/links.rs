//! The links of an HTML document, in output form.

use std::sync::Arc;

use super::html_links::FoundLinks;
use super::Mark;

/// The links of a document in order, each with the packet that completed its tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Links {
    /// The links of the text, shared by all documents with the same text.
    found: Arc<FoundLinks>,
    /// Length of the text after each segment, and the latest packet needed for that length.
    known: Vec<(u32, Mark)>,
    /// True if the text was parsed for this document.
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

    /// Create links from a source other than a document, each with its mark.
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

    /// Return the URL of the `base` element, against which the links are resolved.
    #[must_use]
    pub fn base(&self) -> Option<&str> {
        self.found.base.as_deref()
    }

    /// Return each link as written in the document, with the packet that completed its tag.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Mark)> {
        let links = self.found.iter();
        links.map(|(url, tag_end)| (url, self.packet_of_length(tag_end)))
    }

    /// Return the link of an index.
    #[must_use]
    pub fn get(&self, place: usize) -> Option<(&str, Mark)> {
        let (url, tag_end) = self.found.get(place)?;
        Some((url, self.packet_of_length(tag_end)))
    }

    fn packet_of_length(&self, tag_end: u32) -> Mark {
        let at = self.known.partition_point(|(length, _)| *length < tag_end);
        let known = self.known.get(at).or(self.known.last());
        known.map(|(_, mark)| *mark).unwrap_or_default()
    }

    /// Return the number of links.
    #[must_use]
    pub fn count(&self) -> usize {
        self.found.len()
    }

    /// Return a number that is equal for equal texts, among links that exist at the same time.
    #[must_use]
    pub fn text(&self) -> usize {
        Arc::as_ptr(&self.found) as usize
    }

    /// Return the total length of the URLs as written.
    #[must_use]
    pub fn url_bytes(&self) -> usize {
        self.found.url_bytes()
    }

    /// Return the memory of the links. Memory shared between documents counts for the first of them.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let shared = if self.is_first { self.found.bytes() } else { 0 };
        let known = size_of_val(self.known.as_slice());
        size_of::<Links>()
            .saturating_add(shared)
            .saturating_add(known)
    }
}
