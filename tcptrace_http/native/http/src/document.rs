//! The text of an HTML document while it streams by, kept until its links are read.

use std::io::{self, Write};

use flate2::write::{DeflateDecoder, GzDecoder, ZlibDecoder};

use super::fields::Fields;
use super::html_links::links_of;
use super::message::{Link, Links};
use super::Mark;

/// Bytes of a document in which links are looked for, after decoding. The median document of the web
/// has 30 KiB, and what a page needs first stands first (HTTP Archive, Web Almanac 2024).
const DOCUMENT_BYTES_MAX: usize = 256 * 1024;
/// Segments of a document that are told apart: as many as it has of ordinary length.
const ARRIVALS_MAX: usize = 256;

/// A document as far as it was delivered.
#[derive(Debug)]
pub(super) struct Document {
    decoder: Decoder,
    /// Length of the text when a segment had been delivered, and that segment.
    arrivals: Vec<(usize, Mark)>,
    /// What follows is not looked at: bytes are missing, or it is no text of that coding.
    is_over: bool,
}

/// Decodes the content codings of RFC 9110, section 8.4.1, that need no other library.
#[derive(Debug)]
enum Decoder {
    Identity(Text),
    Gzip(Box<GzDecoder<Text>>),
    /// `deflate` before its first byte, which tells whether there is a zlib header.
    Deflate,
    Zlib(Box<ZlibDecoder<Text>>),
    /// Without a header, as some servers send it.
    Raw(Box<DeflateDecoder<Text>>),
}

/// Decoded bytes; however much comes out of a decoder, no more than the limit is kept.
#[derive(Debug, Default)]
struct Text(Vec<u8>);

impl Write for Text {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = DOCUMENT_BYTES_MAX.saturating_sub(self.0.len());
        let kept = bytes.get(..room).unwrap_or(bytes);
        self.0.extend_from_slice(kept);
        if kept.is_empty() && !bytes.is_empty() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(kept.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
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
        let decoder = match () {
            () if !is_html => return None,
            () if is("identity") || is("") => Decoder::Identity(Text::default()),
            () if is("gzip") || is("x-gzip") => {
                Decoder::Gzip(Box::new(GzDecoder::new(Text::default())))
            }
            () if is("deflate") => Decoder::Deflate,
            () => return None,
        };
        Some(Box::new(Document {
            decoder,
            arrivals: Vec::new(),
            is_over: false,
        }))
    }

    /// Takes the next bytes of the body, framing removed, of the segment `mark`.
    pub(super) fn take(&mut self, bytes: &[u8], mark: Mark) {
        if self.is_over || bytes.is_empty() {
            return;
        }
        let before = self.decoder.text().len();
        self.is_over = self.decoder.decode(bytes).is_err();
        let length = self.decoder.text().len();
        if length == before {
            return;
        }
        let are_many = self.arrivals.len() >= ARRIVALS_MAX;
        match self.arrivals.last_mut() {
            Some(last) if last.1 == mark || are_many => {
                *last = (length, last.1.later(mark));
            }
            _ => self.arrivals.push((length, mark)),
        }
    }

    /// Bytes are missing: what follows cannot be read, or not be told from what it is part of.
    pub(super) fn miss(&mut self) {
        self.is_over = true;
    }

    /// Memory that it takes.
    pub(super) fn held_bytes(&self) -> u64 {
        let text = self.decoder.text().len();
        text.saturating_add(size_of::<Document>())
            .saturating_add(self.decoder.state_bytes())
            .saturating_add(
                self.arrivals
                    .len()
                    .saturating_mul(size_of::<(usize, Mark)>()),
            ) as u64
    }

    /// The links of the text, each with the segment by which its tag was there.
    pub(super) fn links(&self) -> Links {
        let found = links_of(self.decoder.text());
        let arrival = |end: usize| {
            let at = self.arrivals.partition_point(|(length, _)| *length < end);
            // In stream order a later segment may have an earlier frame: all before it are needed too.
            let needed = self.arrivals.get(..=at).unwrap_or(&self.arrivals);
            needed
                .iter()
                .fold(Mark::default(), |latest, (_, mark)| latest.later(*mark))
        };
        Links {
            base: found.base.clone(),
            links: found
                .iter()
                .map(|(url, end)| Link {
                    known: arrival(usize::try_from(end).unwrap_or(usize::MAX)),
                    url: url.into(),
                })
                .collect(),
        }
    }
}

impl Decoder {
    fn decode(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let (Decoder::Deflate, Some(first)) = (&self, bytes.first()) {
            // RFC 1950, section 2.2: the method 8 is in the low half of the first byte. A deflate stream
            // that begins so would be a stored block, which no server makes of a document.
            *self = if first & 0x0f == 8 {
                Decoder::Zlib(Box::new(ZlibDecoder::new(Text::default())))
            } else {
                Decoder::Raw(Box::new(DeflateDecoder::new(Text::default())))
            };
        }
        match self {
            Decoder::Identity(text) => text.write_all(bytes),
            Decoder::Gzip(decoder) => decode(decoder, bytes),
            Decoder::Zlib(decoder) => decode(decoder, bytes),
            Decoder::Raw(decoder) => decode(decoder, bytes),
            Decoder::Deflate => Ok(()),
        }
    }

    fn text(&self) -> &[u8] {
        match self {
            Decoder::Identity(text) => &text.0,
            Decoder::Gzip(decoder) => &decoder.get_ref().0,
            Decoder::Zlib(decoder) => &decoder.get_ref().0,
            Decoder::Raw(decoder) => &decoder.get_ref().0,
            Decoder::Deflate => &[],
        }
    }

    /// Memory of a decoder: the window of RFC 1951 and as much for what it has not handed on.
    fn state_bytes(&self) -> usize {
        match self {
            Decoder::Identity(_) | Decoder::Deflate => 0,
            Decoder::Gzip(_) | Decoder::Zlib(_) | Decoder::Raw(_) => 80 * 1024,
        }
    }
}

/// Hands on all that the bytes give.
fn decode(decoder: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    decoder.write_all(bytes)?;
    decoder.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use flate2::Compression;

    const HTML: &[u8] = b"<base href=/b/><img src=1.png>\n<p>text</p><img src=2.png>";

    fn fields(coding: Option<&str>) -> Fields {
        Fields {
            content_type: Some("Text/HTML; charset=utf-8".into()),
            content_encoding: coding.map(Into::into),
            ..Fields::default()
        }
    }

    fn mark(frame: usize) -> Mark {
        Mark {
            frame: frame as u64,
            time_ns: frame as i64 * 10,
        }
    }

    fn encoded(coding: &str) -> io::Result<Vec<u8>> {
        let best = Compression::best();
        match coding {
            "gzip" => {
                let mut encoder = GzEncoder::new(Vec::new(), best);
                encoder.write_all(HTML)?;
                encoder.finish()
            }
            "zlib" => {
                let mut encoder = ZlibEncoder::new(Vec::new(), best);
                encoder.write_all(HTML)?;
                encoder.finish()
            }
            _ => {
                let mut encoder = DeflateEncoder::new(Vec::new(), best);
                encoder.write_all(HTML)?;
                encoder.finish()
            }
        }
    }

    /// The links where the body comes in pieces of `size` bytes.
    fn links(coding: Option<&str>, body: &[u8], size: usize) -> Option<Links> {
        let mut document = Document::of(&fields(coding))?;
        for (number, piece) in body.chunks(size).enumerate() {
            document.take(piece, mark(number + 1));
        }
        Some(document.links())
    }

    #[test]
    fn a_link_is_known_by_the_segment_that_completes_its_tag() {
        for size in [1, 7, 1000] {
            let found = links(None, HTML, size).unwrap_or_default();
            assert_eq!(found.base.as_deref(), Some("/b/"));
            let known: Vec<_> = found.links.iter().map(|it| (&*it.url, it.known)).collect();
            let first = HTML.iter().position(|byte| *byte == b'\n').unwrap_or(0);
            let by = |bytes: usize| mark(bytes.div_ceil(size));
            assert_eq!(known, [("1.png", by(first)), ("2.png", by(HTML.len()))]);
        }
    }

    #[test]
    fn coded_documents_have_the_same_links_however_they_are_cut() -> io::Result<()> {
        for (coding, name) in [("gzip", "gzip"), ("zlib", "deflate"), ("raw", "deflate")] {
            let body = encoded(coding)?;
            for size in [1, 5, 1000] {
                let found = links(Some(name), &body, size).unwrap_or_default();
                let urls: Vec<_> = found.links.iter().map(|it| &*it.url).collect();
                assert_eq!(urls, ["1.png", "2.png"], "{coding} by {size}");
            }
        }
        Ok(())
    }

    #[test]
    fn what_expands_without_end_is_kept_to_the_limit() -> io::Result<()> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&vec![b' '; 100 * DOCUMENT_BYTES_MAX])?;
        let bomb = encoder.finish()?;
        let mut document = Document::of(&fields(Some("gzip"))).ok_or(io::ErrorKind::NotFound)?;
        for piece in bomb.chunks(100) {
            document.take(piece, mark(1));
        }
        assert_eq!(document.decoder.text().len(), DOCUMENT_BYTES_MAX);
        assert!(document.is_over);
        Ok(())
    }

    #[test]
    fn bytes_that_are_not_in_the_coding_end_the_document() {
        let found = links(Some("gzip"), HTML, 10).unwrap_or_default();
        assert_eq!(found, Links::default());
    }

    #[test]
    fn other_media_types_and_codings_are_no_documents() {
        assert!(Document::of(&fields(Some("br"))).is_none());
        let image = Fields {
            content_type: Some("image/png".into()),
            ..Fields::default()
        };
        assert!(Document::of(&image).is_none());
    }
}
