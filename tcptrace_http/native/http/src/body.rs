//! What is kept of a response's body while it comes by: a digest, and all of it if it is short text.
//!
//! The digest is XXH3: it takes a fraction of the time that a packet costs, its result is the same
//! on every machine, and `xxhsum -H3` prints it. It tells bodies apart that were not made to collide.

use std::sync::Arc;

use xxhash_rust::xxh3::{xxh3_64, Xxh3};

use super::fields::Fields;
use super::known_texts::{Known, KnownTexts};
use super::Mark;

/// Longest text that is kept: longer than the pages, scripts and answers that sites send.
const TEXT_BYTES_MAX: usize = 1 << 20;
/// Room to begin with where the length is announced; a head alone must not cost a megabyte.
const ROOM_BYTES_MAX: usize = 16 * 1024;
/// Media types of text besides `text/*` and those that end in `+json` or `+xml` (RFC 6839); nginx and
/// Apache compress these where they are told to compress text.
const TEXT_TYPES: [&str; 5] = [
    "application/javascript",
    "application/x-javascript",
    "application/ecmascript",
    "application/json",
    "application/xml",
];
/// Content codings whose text can be had back, to compare it with that of another body.
const DECODED: [&str; 3] = ["gzip", "x-gzip", "zstd"];

/// Pauses of a body that are remembered: of one with more the others count as time that it took.
const PAUSES_MAX: usize = 64;
/// The shortest pause that may be something else than the pace of the path: segments of Ethernet that
/// are further apart come over less than 400 kb/s. The shortest delayed ACK takes longer.
const PAUSE_MIN_NS: i64 = 30_000_000;

/// A whole body as it was framed, content codings and all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    /// XXH3, 64 bit.
    pub digest: u64,
    /// The body itself, if it is short and text, maybe packed.
    pub text: Option<Arc<Vec<u8>>>,
    /// Nanoseconds of each pause between two segments of it.
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

/// Follows one body.
#[derive(Debug)]
pub(super) struct Keeper {
    kept: Kept,
    last_ns: Option<i64>,
    pauses_ns: Vec<i64>,
}

enum Kept {
    /// And how long it will be, if that is announced.
    Text(Vec<u8>, usize),
    /// So many bytes as this one begins with, and then as before.
    Same(Known, usize, usize),
    Digest(Box<Xxh3>),
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Kept::Text(text, _) => write!(formatter, "Text of {} bytes", text.len()),
            Kept::Same(_, bytes, _) => write!(formatter, "Known text of {bytes} bytes"),
            Kept::Digest(_) => formatter.write_str("Digest"),
        }
    }
}

impl Keeper {
    /// None for a response whose body nobody asks about: any but the final answer to a plain GET.
    pub(super) fn for_body_of(
        status: Option<u16>,
        announced: Option<u64>,
        fields: &Fields,
        known: &KnownTexts,
    ) -> Option<Box<Keeper>> {
        if status != Some(200) {
            return None;
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
            Kept::Digest(Box::new(Xxh3::new()))
        };
        Some(Box::new(Keeper::new(kept)))
    }

    fn new(kept: Kept) -> Keeper {
        Keeper {
            kept,
            last_ns: None,
            pauses_ns: Vec::new(),
        }
    }

    /// A segment with bytes of the body was seen; what had come behind a hole follows what filled it.
    pub(super) fn segment(&mut self, mark: Mark) {
        let latest = self.last_ns.unwrap_or(mark.time_ns);
        let pause = mark.time_ns.saturating_sub(latest);
        self.last_ns = Some(latest.max(mark.time_ns));
        if pause >= PAUSE_MIN_NS && self.pauses_ns.len() < PAUSES_MAX {
            self.pauses_ns.push(pause);
        }
    }

    pub(super) fn data(&mut self, bytes: &[u8]) {
        match &mut self.kept {
            Kept::Digest(digest) => digest.update(bytes),
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
                self.data(bytes);
            }
            Kept::Text(text, announced)
                if text.len().saturating_add(bytes.len()) <= TEXT_BYTES_MAX =>
            {
                if text.len().saturating_add(bytes.len()) > text.capacity() {
                    // What has come so far was announced: the rest will not be copied again and again.
                    text.reserve_exact(announced.saturating_sub(text.len()));
                }
                text.extend_from_slice(bytes);
            }
            Kept::Text(text, _) => {
                let mut digest = Box::new(Xxh3::new());
                digest.update(text);
                digest.update(bytes);
                self.kept = Kept::Digest(digest);
            }
        }
    }

    pub(super) fn into_body(self) -> Body {
        let whole = |mut text: Vec<u8>| {
            text.shrink_to_fit();
            (xxh3_64(&text), Some(Arc::new(text)))
        };
        let (digest, text) = match self.kept {
            Kept::Digest(digest) => (digest.digest(), None),
            Kept::Same(known, bytes, _) if bytes == known.text.len() => {
                (known.digest, Some(known.text))
            }
            Kept::Same(known, bytes, _) => {
                whole(known.text.get(..bytes).unwrap_or_default().to_vec())
            }
            Kept::Text(text, _) => whole(text),
        };
        Body {
            digest,
            text,
            pauses_ns: self.pauses_ns,
        }
    }

    pub(super) fn held_bytes(&self) -> u64 {
        let bytes = match &self.kept {
            Kept::Digest(_) => size_of::<Xxh3>(),
            // Room that was announced takes no memory before the bytes come.
            Kept::Text(text, _) => text.len(),
            Kept::Same(_, bytes, _) => *bytes,
        };
        bytes as u64
    }
}

/// Whether a media type is that of a text, by its name.
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

    #[test]
    fn test_a_body_has_the_digest_that_xxhsum_prints_however_it_came() {
        // The digest of nothing is in XXH3's own tests.
        let whole = Keeper::new(Kept::Text(b"GET the same bytes".to_vec(), 0)).into_body();
        let mut parts = Keeper::new(Kept::Digest(Box::new(Xxh3::new())));
        for part in [&b"GET the"[..], b" same", b"", b" bytes"] {
            parts.data(part);
        }
        assert_eq!(parts.into_body().digest, whole.digest);
        assert_eq!(
            Keeper::new(Kept::Text(Vec::new(), 0)).into_body().digest,
            0x2d06_8005_38d3_94c2
        );
    }

    #[test]
    fn test_text_that_grows_too_long_is_not_kept_and_has_the_digest_of_all_of_it() {
        let bytes: Vec<u8> = (0..TEXT_BYTES_MAX + 1)
            .map(|at| at.to_le_bytes()[1])
            .collect();
        let mut keeper = Keeper::new(Kept::Text(Vec::new(), 0));
        for part in bytes.chunks(1448) {
            keeper.data(part);
        }
        let body = keeper.into_body();
        assert_eq!((body.digest, body.text), (xxh3_64(&bytes), None));
    }

    #[test]
    fn test_a_body_is_the_same_whatever_text_it_is_compared_with() {
        let before: Vec<u8> = (0..5000_u32).map(|at| at.to_le_bytes()[0]).collect();
        let known = Known {
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
            let mut keeper = Keeper::new(Kept::Same(known.clone(), 0, text.len()));
            text.chunks(1448).for_each(|part| keeper.data(part));
            assert_eq!(keeper.held_bytes(), text.len() as u64);
            let body = keeper.into_body();
            assert_eq!(
                (body.digest, body.text),
                (xxh3_64(&text), Some(Arc::new(text)))
            );
        }
    }

    #[test]
    fn test_pauses_are_remembered_and_the_pace_of_the_path_is_not() {
        let mut keeper = Keeper::new(Kept::Text(Vec::new(), 0));
        let mut mark = Mark::default();
        for step in [0, 12_000_000, 30_000_000, 29_999_999, 5_000_000_000] {
            mark.time_ns += step;
            keeper.segment(mark);
        }
        assert_eq!(keeper.into_body().pauses_ns, [30_000_000, 5_000_000_000]);
    }

    #[test]
    fn test_what_came_behind_a_hole_makes_no_pause_before_what_fills_the_next() {
        let mut keeper = Keeper::new(Kept::Text(Vec::new(), 0));
        for time_ms in [0, 66, 1, 2, 90, 3, 100] {
            keeper.segment(Mark {
                time_ns: time_ms * 1_000_000,
                ..Mark::default()
            });
        }
        assert_eq!(keeper.into_body().pauses_ns, [66_000_000]);
    }

    #[test]
    fn test_text_is_told_by_its_media_type() {
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
