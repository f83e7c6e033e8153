//! An HTML document while its body comes by: in what coding it is, and with which segment how much of it came.

use super::fields::Fields;
use super::Mark;

/// Bytes of a document in which links are looked for, before and after decoding. The median document of the web
/// has 30 KiB, and what a page needs first stands first (HTTP Archive, Web Almanac 2024).
pub(super) const DOCUMENT_BYTES_MAX: usize = 256 * 1024;
/// Segments of a document that are told apart: as many as it has of ordinary length.
const ARRIVALS_MAX: usize = 256;

/// The content codings of RFC 9110, section 8.4.1, that need no other library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Coding {
    Identity,
    Gzip,
    Deflate,
}

/// A document as far as its body was delivered.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) coding: Coding,
    /// Length of the body when a segment had been delivered, and that segment.
    arrivals: Vec<(u32, Mark)>,
}

impl Document {
    /// A document begins, if the fields of a response say that its body is one that can be read.
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

    /// The segment `mark` brought so many bytes more of the body, framing removed.
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

    /// The bytes of the body that links are looked for in.
    fn bytes(&self) -> usize {
        let length = self.arrivals.last().map_or(0, |(length, _)| *length);
        usize::try_from(length).unwrap_or(usize::MAX)
    }

    /// Length of the body with each segment.
    pub(super) fn lengths(&self) -> impl Iterator<Item = u32> + '_ {
        self.arrivals.iter().map(|(length, _)| *length)
    }

    /// Memory that it takes.
    pub(super) fn held_bytes(&self) -> usize {
        size_of::<Document>().saturating_add(size_of_val(self.arrivals.as_slice()))
    }

    /// By which segment how much of the text was there, if with each of them it had one of these lengths: in stream
    /// order a later segment may have an earlier frame, and all before it are needed too.
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
