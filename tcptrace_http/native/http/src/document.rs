//! An HTML document during its delivery: its coding, and its length after each segment.

use super::fields::Fields;
use super::Mark;

/// Maximum length of the document part that is searched for links, before and after decoding. The median web
/// document has 30 KiB, and essential links come first (HTTP Archive, Web Almanac 2024).
pub(super) const DOCUMENT_BYTES_MAX: usize = 256 * 1024;
/// Maximum number of distinct segments per document: the count for segments of ordinary length.
const ARRIVALS_MAX: usize = 256;

/// The content codings of RFC 9110, section 8.4.1, that need no further library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Coding {
    Identity,
    Gzip,
    Deflate,
}

/// The delivered part of a document.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) coding: Coding,
    /// Length of the body after each segment, with that segment.
    arrivals: Vec<(u32, Mark)>,
}

impl Document {
    /// Return a document if the response fields declare readable HTML.
    pub(super) fn of(fields: &Fields) -> Option<Box<Document>> {
        let media_type = fields.content_type.as_deref()?.split(';').next()?.trim();
        let is_html = ["text/html", "application/xhtml+xml"]
            .iter()
            .any(|html| media_type.eq_ignore_ascii_case(html));
        let coding = fields.content_encoding.as_deref().unwrap_or("identity");
        let is = |name: &str| coding.eq_ignore_ascii_case(name);
        let coding = match () {
            () if !is_html => return None,
            () if is("identity") || is("") => Coding::Identity,
            () if is("gzip") || is("x-gzip") => Coding::Gzip,
            () if is("deflate") => Coding::Deflate,
            () => return None,
        };
        Some(Box::new(Document {
            coding,
            arrivals: Vec::new(),
        }))
    }

    /// Add `bytes` bytes of the body, without framing, from the segment `mark`.
    pub(super) fn take(&mut self, bytes: usize, mark: Mark) {
        let so_far = self.bytes();
        if bytes == 0 || so_far >= DOCUMENT_BYTES_MAX {
            return;
        }
        let length = so_far.saturating_add(bytes).min(DOCUMENT_BYTES_MAX);
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        let are_many = self.arrivals.len() >= ARRIVALS_MAX;
        match self.arrivals.last_mut() {
            Some(last) if last.1 == mark || are_many => {
                *last = (length, last.1.later(mark));
            }
            _ => self.arrivals.push((length, mark)),
        }
    }

    /// Return the number of body bytes that are searched for links.
    fn bytes(&self) -> usize {
        let length = self.arrivals.last().map_or(0, |(length, _)| *length);
        usize::try_from(length).unwrap_or(usize::MAX)
    }

    /// Return the length of the body after each segment.
    pub(super) fn lengths(&self) -> impl Iterator<Item = u32> + '_ {
        self.arrivals.iter().map(|(length, _)| *length)
    }

    /// Return the memory of the document.
    pub(super) fn held_bytes(&self) -> usize {
        size_of::<Document>().saturating_add(size_of_val(self.arrivals.as_slice()))
    }

    /// Return the length of the text and the latest segment needed for it, given the text's length after each
    /// segment. A segment later in stream order can have an earlier frame, so the maximum over all earlier
    /// segments counts.
    pub(super) fn known(self, lengths: impl IntoIterator<Item = u32>) -> Vec<(u32, Mark)> {
        let mut so_far = (0, Mark::default());
        let mut known = Vec::with_capacity(self.arrivals.len());
        for ((_, mark), length) in self.arrivals.into_iter().zip(lengths) {
            if length > so_far.0 {
                so_far = (length, so_far.1.later(mark));
                known.push(so_far);
            }
        }
        known
    }
}
