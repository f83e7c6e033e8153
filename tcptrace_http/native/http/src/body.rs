//! The kept data of a response body: a digest, a short text, and the start of an HTML document.
//!
//! The digest is XXH3. Its cost is a fraction of a packet's cost, and the result is equal on every machine.
//! `xxhsum -H3` prints the same digest. XXH3 distinguishes bodies, except those made to collide.

use std::sync::Arc;

use xxhash_rust::xxh3::{xxh3_64, Xxh3};

use super::document::{Document, DOCUMENT_BYTES_MAX};
use super::documents::Documents;
use super::fields::Fields;
use super::known_texts::{KnownText, KnownTexts};
use super::links::Links;
use super::Mark;

/// Maximum length of a kept text. Pages, scripts and API responses are shorter.
const TEXT_BYTES_MAX: usize = 1 << 20;
/// Initial capacity if the length is announced. A head alone must not allocate a megabyte.
const ROOM_BYTES_MAX: usize = 16 * 1024;
/// Text media types besides `text/*` and those ending in `+json` or `+xml` (RFC 6839). When configured to
/// compress text, nginx and Apache also compress these.
const TEXT_TYPES: [&str; 5] = [
    "application/javascript",
    "application/x-javascript",
    "application/ecmascript",
    "application/json",
    "application/xml",
];
/// Content codings that can be decoded for a comparison with another body.
const DECODED: [&str; 3] = ["gzip", "x-gzip", "zstd"];

/// Maximum number of recorded pauses per body. Further pauses count as transfer time.
const PAUSES_MAX: usize = 64;
/// Minimum duration of a recorded pause. A path that spaces Ethernet segments further apart has less than 400
/// kb/s. The shortest delayed ACK takes longer.
const PAUSE_MIN_NS: i64 = 30_000_000;

/// A whole body as framed, with its content codings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    /// The 64-bit XXH3 digest.
    pub digest: u64,
    /// The body itself, if it is a short text. The text can be compressed.
    pub text: Option<Arc<Vec<u8>>>,
    /// Duration in nanoseconds of each pause between two segments of the body.
    pub pauses_ns: Vec<i64>,
}

impl Body {
    pub(super) fn held_bytes(&self) -> usize {
        let pauses = self.pauses_ns.capacity().saturating_mul(size_of::<i64>());
        self.text
            .as_ref()
            .map_or(pauses, |text| text.capacity().saturating_add(pauses))
    }
}

/// A follower of one body.
#[derive(Debug)]
pub(super) struct Keeper {
    kept: Kept,
    /// Set if the body is readable HTML.
    document: Option<Box<Document>>,
    /// True once bytes are missing. Later bytes are ignored.
    is_over: bool,
    last_ns: Option<i64>,
    pauses_ns: Vec<i64>,
}

enum Kept {
    /// The text so far, and its announced length.
    Text(Vec<u8>, usize),
    /// A known text, the number of equal bytes so far, and the announced length.
    Same(KnownText, usize, usize),
    /// The digest, and the start of a document.
    Digest(Box<Xxh3>, Vec<u8>),
    /// The start of a document only.
    Start(Vec<u8>),
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Kept::Text(text, _) => write!(formatter, "Text of {} bytes", text.len()),
            Kept::Same(_, bytes, _) => write!(formatter, "Known text of {bytes} bytes"),
            Kept::Digest(_, start) => write!(formatter, "Digest and {} bytes", start.len()),
            Kept::Start(start) => write!(formatter, "Start of {} bytes", start.len()),
        }
    }
}

impl Keeper {
    /// Return a keeper, or None if the body is not needed. A document and the final response to a plain GET
    /// are needed.
    pub(super) fn for_response(
        status: Option<u16>,
        announced: Option<u64>,
        fields: &Fields,
        known: &KnownTexts,
    ) -> Option<Box<Keeper>> {
        let document = Document::of(fields);
        if status != Some(200) {
            return document.map(|it| Box::new(Keeper::new(Kept::Start(Vec::new()), Some(it))));
        }
        let fits = announced.is_none_or(|bytes| bytes <= TEXT_BYTES_MAX as u64);
        let may_be_read = fields
            .content_encoding
            .as_deref()
            .is_none_or(|coding| is_one_of(coding, &DECODED));
        let is_text = fields.content_type.as_deref().is_some_and(is_text);
        let kept = if fits && may_be_read && is_text {
            let room = announced.map_or(0, |bytes| usize::try_from(bytes).unwrap_or(0));
            match known.announced(announced) {
                Some(known) => Kept::Same(known, 0, room),
                None => Kept::Text(Vec::with_capacity(room.min(ROOM_BYTES_MAX)), room),
            }
        } else {
            Kept::Digest(Box::new(Xxh3::new()), Vec::new())
        };
        Some(Box::new(Keeper::new(kept, document)))
    }

    fn new(kept: Kept, document: Option<Box<Document>>) -> Keeper {
        Keeper {
            kept,
            document,
            is_over: false,
            last_ns: None,
            pauses_ns: Vec::new(),
        }
    }

    /// Record a segment with bytes of the body. Data that waited after a hole counts at the time of the
    /// segment that filled the hole.
    pub(super) fn segment(&mut self, mark: Mark) {
        let latest = self.last_ns.unwrap_or(mark.time_ns);
        let pause = mark.time_ns.saturating_sub(latest);
        self.last_ns = Some(latest.max(mark.time_ns));
        if pause >= PAUSE_MIN_NS && self.pauses_ns.len() < PAUSES_MAX {
            self.pauses_ns.push(pause);
        }
    }

    /// Take the next bytes, from the segment `mark`.
    pub(super) fn data(&mut self, bytes: &[u8], mark: Mark) {
        if self.is_over {
            return;
        }
        if let Some(document) = &mut self.document {
            document.take(bytes.len(), mark);
        }
        self.keep(bytes);
    }

    /// Record missing bytes. Later bytes cannot be assigned. Return true if the kept data is still of use.
    pub(super) fn miss(&mut self) -> bool {
        self.is_over = true;
        self.document.is_some()
    }

    fn keep(&mut self, bytes: &[u8]) {
        match &mut self.kept {
            Kept::Digest(digest, start) => {
                digest.update(bytes);
                if self.document.is_some() {
                    begin(start, bytes);
                }
            }
            Kept::Start(start) => begin(start, bytes),
            Kept::Same(known, so_far, room) => {
                let end = so_far.saturating_add(bytes.len());
                if known.text.get(*so_far..end) == Some(bytes) {
                    *so_far = end;
                    return;
                }
                let same = known.text.get(..*so_far).unwrap_or_default();
                let mut text = Vec::with_capacity((*room).min(ROOM_BYTES_MAX).max(same.len()));
                text.extend_from_slice(same);
                self.kept = Kept::Text(text, *room);
                self.keep(bytes);
            }
            Kept::Text(text, announced)
                if text.len().saturating_add(bytes.len()) <= TEXT_BYTES_MAX =>
            {
                if text.len().saturating_add(bytes.len()) > text.capacity() {
                    // The length is announced, so a reservation of the exact length avoids repeated copies.
                    text.reserve_exact(announced.saturating_sub(text.len()));
                }
                text.extend_from_slice(bytes);
            }
            Kept::Text(text, _) => {
                let mut digest = Box::new(Xxh3::new());
                digest.update(text);
                digest.update(bytes);
                let mut start = Vec::new();
                if self.document.is_some() {
                    begin(&mut start, text);
                }
                self.kept = Kept::Digest(digest, start);
            }
        }
    }

    /// Return the data of a complete body, and the links in the delivered part of a document.
    pub(super) fn finish(
        self,
        is_whole: bool,
        documents: &mut Documents,
    ) -> (Option<Body>, Option<Arc<Links>>) {
        let mut links_of = |document: Option<Box<Document>>, digest, text: &[u8]| {
            documents.links(*document?, digest, text)
        };
        let (known, links) = match self.kept {
            Kept::Start(start) => {
                return (None, links_of(self.document, xxh3_64(&start), &start));
            }
            Kept::Digest(digest, start) => {
                let links = links_of(self.document, xxh3_64(&start), &start);
                ((digest.digest(), None), links)
            }
            Kept::Same(known, bytes, _) if bytes == known.text.len() => {
                let links = links_of(self.document, known.digest, &known.text);
                ((known.digest, Some(known.text)), links)
            }
            _ if !is_whole && self.document.is_none() => return (None, None),
            kept => {
                let mut text = match kept {
                    Kept::Same(known, bytes, _) => {
                        known.text.get(..bytes).unwrap_or_default().to_vec()
                    }
                    Kept::Text(text, _) | Kept::Digest(_, text) | Kept::Start(text) => text,
                };
                text.shrink_to_fit();
                let digest = xxh3_64(&text);
                let links = links_of(self.document, digest, &text);
                ((digest, Some(Arc::new(text))), links)
            }
        };
        let (digest, text) = known;
        let body = is_whole.then_some(Body {
            digest,
            text,
            pauses_ns: self.pauses_ns,
        });
        (body, links)
    }

    pub(super) fn held_bytes(&self) -> u64 {
        let bytes = match &self.kept {
            Kept::Digest(_, start) => size_of::<Xxh3>().saturating_add(start.len()),
            Kept::Start(start) => start.len(),
            // Reserved capacity uses no memory before the bytes arrive.
            Kept::Text(text, _) => text.len(),
            Kept::Same(_, bytes, _) => *bytes,
        };
        let document = self.document.as_ref().map_or(0, |it| it.held_bytes());
        bytes.saturating_add(document) as u64
    }
}

/// Keep the start of a document.
fn begin(start: &mut Vec<u8>, bytes: &[u8]) {
    let room = DOCUMENT_BYTES_MAX.saturating_sub(start.len());
    start.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
}

/// Return true if the name of a media type is a text type.
fn is_text(content_type: &str) -> bool {
    let name = content_type.split(';').next().unwrap_or_default().trim();
    let has_end = |end: &str| {
        name.len()
            .checked_sub(end.len())
            .and_then(|at| name.get(at..))
            .is_some_and(|it| it.eq_ignore_ascii_case(end))
    };
    let is_plain = name
        .get(..5)
        .is_some_and(|start| start.eq_ignore_ascii_case("text/"));
    is_plain || is_one_of(name, &TEXT_TYPES) || has_end("+json") || has_end("+xml")
}

fn is_one_of(name: &str, names: &[&str]) -> bool {
    names.iter().any(|it| name.trim().eq_ignore_ascii_case(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keeper(kept: Kept) -> Keeper {
        Keeper::new(kept, None)
    }

    fn body(keeper: Keeper) -> Body {
        let (body, _) = keeper.finish(true, &mut Documents::default());
        body.expect("all of it came")
    }

    #[test]
    fn test_a_body_has_the_digest_of_xxhsum_under_every_cut() {
        // XXH3's own tests cover the digest of an empty text.
        let whole = body(keeper(Kept::Text(b"GET the same bytes".to_vec(), 0)));
        let mut parts = keeper(Kept::Digest(Box::new(Xxh3::new()), Vec::new()));
        for part in [&b"GET the"[..], b" same", b"", b" bytes"] {
            parts.data(part, Mark::default());
        }
        assert_eq!(body(parts).digest, whole.digest);
        assert_eq!(
            body(keeper(Kept::Text(Vec::new(), 0))).digest,
            0x2d06_8005_38d3_94c2
        );
    }

    #[test]
    fn test_too_long_text_is_not_kept_and_has_the_digest_of_the_whole() {
        let bytes: Vec<u8> = (0..TEXT_BYTES_MAX + 1)
            .map(|at| at.to_le_bytes()[1])
            .collect();
        let mut keeper = keeper(Kept::Text(Vec::new(), 0));
        for part in bytes.chunks(1448) {
            keeper.data(part, Mark::default());
        }
        let kept = body(keeper);
        assert_eq!((kept.digest, kept.text), (xxh3_64(&bytes), None));
    }

    #[test]
    fn test_the_text_cache_does_not_change_a_body() {
        let before: Vec<u8> = (0..5000_u32).map(|at| at.to_le_bytes()[0]).collect();
        let known = KnownText {
            digest: xxh3_64(&before),
            text: Arc::new(before.clone()),
        };
        let mut other = before.clone();
        if let Some(byte) = other.get_mut(3000) {
            *byte ^= 1;
        }
        let longer = [before.as_slice(), b"more"].concat();
        let shorter = before.get(..2000).unwrap_or_default().to_vec();
        for text in [before, other, longer, shorter, Vec::new()] {
            let mut keeper = keeper(Kept::Same(known.clone(), 0, text.len()));
            text.chunks(1448)
                .for_each(|part| keeper.data(part, Mark::default()));
            assert_eq!(keeper.held_bytes(), text.len() as u64);
            let kept = body(keeper);
            assert_eq!(
                (kept.digest, kept.text),
                (xxh3_64(&text), Some(Arc::new(text)))
            );
        }
    }

    #[test]
    fn test_pauses_are_recorded_and_the_path_pace_is_not() {
        let mut keeper = keeper(Kept::Text(Vec::new(), 0));
        let mut mark = Mark::default();
        for step in [0, 12_000_000, 30_000_000, 29_999_999, 5_000_000_000] {
            mark.time_ns += step;
            keeper.segment(mark);
        }
        assert_eq!(body(keeper).pauses_ns, [30_000_000, 5_000_000_000]);
    }

    #[test]
    fn test_data_after_a_hole_adds_no_pause() {
        let mut keeper = keeper(Kept::Text(Vec::new(), 0));
        for time_ms in [0, 66, 1, 2, 90, 3, 100] {
            keeper.segment(Mark {
                time_ns: time_ms * 1_000_000,
                ..Mark::default()
            });
        }
        assert_eq!(body(keeper).pauses_ns, [66_000_000]);
    }

    #[test]
    fn test_text_is_recognized_by_its_media_type() {
        for text in [
            "text/html; charset=utf-8",
            "Text/CSS",
            "application/json",
            "a/b+XML",
            "image/svg+xml",
        ] {
            assert!(is_text(text), "{text}");
        }
        for other in [
            "image/png",
            "application/octet-stream",
            "texts/x",
            "",
            "font/woff2",
            "+xm",
        ] {
            assert!(!is_text(other), "{other}");
        }
    }
}
