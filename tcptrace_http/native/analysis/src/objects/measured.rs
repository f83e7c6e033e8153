//! Compressed sizes of texts with real coders: gzip, zstd, and zstd with an earlier text.
//!
//! Level 6 is the default of `gzip`, level 3 that of `zstd`. Servers that compress per response use lower
//! levels, servers that compress in advance use higher ones. The delta is that of `zstd --patch-from` and of
//! the content coding dcz (RFC 9842).

use std::io::{Read, Write};

use flate2::read::MultiGzDecoder;
use flate2::write::DeflateEncoder;
use flate2::Compression;
use lru::LruCache;
use zstd::zstd_safe::{compress_bound, CCtx, CParameter, ResetDirective};

/// Maximum number of a capture's bytes for the coders: half a second of work. Later texts are not measured.
const MEASURED_BYTES_MAX: usize = 32 << 20;
/// Maximum number of sizes in memory; a known size avoids a second measurement.
const SIZES_MAX: usize = 8192;
/// Maximum decoded size of a compared text: the maximum length of an uncompressed text.
const DECODED_BYTES_MAX: usize = 1 << 20;
const GZIP_LEVEL: u32 = 6;
/// Header and trailer of a gzip member without a name (RFC 1952, section 2.3).
const GZIP_FRAME_BYTES: u64 = 18;
const ZSTD_LEVEL: i32 = 3;
/// Window for both texts: twice the length of the longest text.
const DELTA_WINDOW_LOG: u32 = 21;

#[derive(Debug)]
pub(super) struct TextSizes {
    sizes: LruCache<u64, (u64, u64)>,
    bytes: usize,
    /// True if a text was not measured.
    is_spent: bool,
    coders: Option<Box<Coders>>,
}

impl Default for TextSizes {
    fn default() -> Self {
        TextSizes {
            sizes: LruCache::unbounded(),
            bytes: 0,
            is_spent: false,
            coders: None,
        }
    }
}

impl TextSizes {
    /// Return the gzip and zstd sizes of a text; `None` above the limit.
    pub(super) fn compressed(&mut self, digest: u64, text: &[u8]) -> Option<(u64, u64)> {
        if let Some(sizes) = self.sizes.get(&digest) {
            return Some(*sizes);
        }
        self.spend(text.len())?;
        let sizes = self.coders.get_or_insert_default().sizes(text)?;
        self.sizes.put(digest, sizes);
        if self.sizes.len() > SIZES_MAX {
            self.sizes.pop_lru();
        }
        Some(sizes)
    }

    /// Return the size of the delta between two texts with this content coding.
    ///
    /// The result is `None` for unreadable texts and above the limit.
    pub(super) fn delta(&mut self, coding: &str, before: &[u8], now: &[u8]) -> Option<u64> {
        self.spend(before.len().saturating_add(now.len()))?;
        if matches!(coding, "" | "identity") {
            return delta_bytes(before, now);
        }
        let (before, now) = (decoded(coding, before)?, decoded(coding, now)?);
        self.spend(before.len().saturating_add(now.len()))?;
        delta_bytes(&before, &now)
    }

    /// Return whether a text was not measured because of the limit.
    pub(super) fn is_spent(&self) -> bool {
        self.is_spent
    }

    fn spend(&mut self, bytes: usize) -> Option<()> {
        let sum = self.bytes.saturating_add(bytes);
        if sum > MEASURED_BYTES_MAX {
            self.is_spent = true;
            return None;
        }
        self.bytes = sum;
        Some(())
    }
}

/// Writer that counts the written bytes.
#[derive(Default)]
struct Count(u64);

impl Write for Count {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 = self.0.saturating_add(bytes.len() as u64);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Reusable coders: creating one costs more than coding a short text.
struct Coders {
    deflate: DeflateEncoder<Count>,
    zstd: CCtx<'static>,
    /// Output buffer.
    coded: Vec<u8>,
}

impl Default for Coders {
    fn default() -> Self {
        Coders {
            deflate: DeflateEncoder::new(Count::default(), Compression::new(GZIP_LEVEL)),
            zstd: CCtx::create(),
            coded: Vec::new(),
        }
    }
}

impl std::fmt::Debug for Coders {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Coders")
    }
}

impl Coders {
    /// Return the gzip and zstd sizes of a text.
    fn sizes(&mut self, text: &[u8]) -> Option<(u64, u64)> {
        Some((self.gzip_bytes(text)?, self.zstd_bytes(text)?))
    }

    fn gzip_bytes(&mut self, text: &[u8]) -> Option<u64> {
        self.deflate.write_all(text).ok()?;
        let deflated = self.deflate.reset(Count::default()).ok()?;
        Some(deflated.0.saturating_add(GZIP_FRAME_BYTES))
    }

    fn zstd_bytes(&mut self, text: &[u8]) -> Option<u64> {
        self.zstd.reset(ResetDirective::SessionAndParameters).ok()?;
        zstd_frame(&mut self.zstd, text, &mut self.coded)
    }
}

/// Return the size of a zstd frame of `text` for a reader that has `prefix`.
fn delta_bytes(prefix: &[u8], text: &[u8]) -> Option<u64> {
    let mut context = CCtx::create();
    if !prefix.is_empty() {
        let window = CParameter::WindowLog(DELTA_WINDOW_LOG);
        context.set_parameter(window).ok()?;
        context.ref_prefix(prefix).ok()?;
    }
    zstd_frame(&mut context, text, &mut Vec::new())
}

fn zstd_frame(context: &mut CCtx<'_>, text: &[u8], coded: &mut Vec<u8>) -> Option<u64> {
    let level = CParameter::CompressionLevel(ZSTD_LEVEL);
    context.set_parameter(level).ok()?;
    coded.clear();
    coded.reserve(compress_bound(text.len()));
    let bytes = context.compress2(coded, text).ok()?;
    Some(bytes as u64)
}

fn decoded(coding: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    let most = DECODED_BYTES_MAX as u64;
    let mut text = Vec::new();
    let read = match coding.trim().to_ascii_lowercase().as_str() {
        "gzip" | "x-gzip" => MultiGzDecoder::new(bytes)
            .take(most.saturating_add(1))
            .read_to_end(&mut text),
        "zstd" => zstd::stream::read::Decoder::new(bytes)
            .ok()?
            .take(most.saturating_add(1))
            .read_to_end(&mut text),
        _ => return None,
    };
    read.ok().filter(|_| text.len() <= DECODED_BYTES_MAX)?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use flate2::write::GzEncoder;

    use super::*;

    fn text(lines: usize) -> Vec<u8> {
        let line = |number: usize| format!("<li id=\"{}\">{}</li>\n", number, number * 7919);
        (0..lines).map(line).collect::<String>().into_bytes()
    }

    fn packed(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::new(GZIP_LEVEL));
        encoder.write_all(text).unwrap_or_default();
        encoder.finish().unwrap_or_default()
    }

    #[test]
    fn reused_coders_give_the_sizes_of_new_ones() {
        let mut coders = Coders::default();
        for lines in [0, 3, 1000, 20_000, 1] {
            let text = text(lines);
            let gzip = packed(&text).len() as u64;
            let zstd = zstd::bulk::compress(&text, ZSTD_LEVEL).map_or(0, |frame| frame.len());
            assert_eq!(coders.sizes(&text), Some((gzip, zstd as u64)));
        }
    }

    #[test]
    fn text_is_measured_once_and_up_to_the_limit() {
        let mut measured = TextSizes::default();
        let sizes = measured.compressed(1, &text(1000));
        assert!(sizes.is_some_and(|(gzip, zstd)| gzip < 10_000 && zstd < 10_000));
        let spent = measured.bytes;
        assert_eq!(measured.compressed(1, &text(1000)), sizes);
        assert_eq!(measured.bytes, spent);
        measured.bytes = MEASURED_BYTES_MAX;
        assert_eq!(measured.compressed(1, &text(1000)), sizes);
        assert_eq!(measured.compressed(2, &text(1000)), None);
    }

    #[test]
    fn small_change_is_a_small_delta_compressed_or_not() {
        let (before, now) = (
            text(3000),
            [
                text(1500),
                b"new".to_vec(),
                text(3000)[text(1500).len()..].to_vec(),
            ]
            .concat(),
        );
        let mut measured = TextSizes::default();
        let plain = measured.delta("", &before, &now);
        assert!(plain.is_some_and(|bytes| bytes < 200), "{plain:?}");
        assert_eq!(
            measured.delta("gzip", &packed(&before), &packed(&now)),
            plain
        );
        assert_eq!(measured.delta("br", &before, &now), None);
        assert_eq!(measured.delta("gzip", &before, &now), None);
    }

    #[test]
    fn decompression_bomb_is_not_decoded() {
        let bomb = packed(&vec![0; DECODED_BYTES_MAX * 3]);
        assert_eq!(TextSizes::default().delta("gzip", &bomb, &bomb), None);
    }
}
