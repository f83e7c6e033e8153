//! The text of a document with a compressed body.

use std::io::{self, Write};

use flate2::write::{DeflateDecoder, GzDecoder, ZlibDecoder};

use super::document::{Coding, DOCUMENT_BYTES_MAX};

/// Decoded bytes, kept up to the limit regardless of the decoder's output.
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

enum Decoder {
    Identity(Text),
    Gzip(Box<GzDecoder<Text>>),
    Zlib(Box<ZlibDecoder<Text>>),
    /// Raw deflate without a header, as some servers send `deflate`.
    Raw(Box<DeflateDecoder<Text>>),
}

/// Return the text of a body, and the text's length at each of these body lengths. The text ends where the
/// body violates the coding.
pub(super) fn unpacked(
    coding: Coding,
    body: &[u8],
    lengths: impl Iterator<Item = u32>,
) -> (Vec<u8>, Vec<u32>) {
    let mut decoder = Decoder::new(coding, body.first().copied());
    let mut done = 0;
    let mut is_over = false;
    let mut of_text = Vec::with_capacity(lengths.size_hint().0);
    for length in lengths {
        let end = usize::try_from(length)
            .unwrap_or(usize::MAX)
            .min(body.len());
        let piece = body.get(done..end).unwrap_or_default();
        is_over = is_over || decoder.decode(piece).is_err();
        done = end;
        of_text.push(u32::try_from(decoder.text().0.len()).unwrap_or(u32::MAX));
    }
    (std::mem::take(&mut decoder.text().0), of_text)
}

impl Decoder {
    fn new(coding: Coding, first: Option<u8>) -> Decoder {
        match coding {
            Coding::Identity => Decoder::Identity(Text::default()),
            Coding::Gzip => Decoder::Gzip(Box::new(GzDecoder::new(Text::default()))),
            // RFC 1950, section 2.2: the low half of the first byte holds the method 8. A raw deflate stream
            // with this first byte is a stored block, which no server sends for a document.
            Coding::Deflate if first.is_some_and(|first| first & 0x0f == 8) => {
                Decoder::Zlib(Box::new(ZlibDecoder::new(Text::default())))
            }
            Coding::Deflate => Decoder::Raw(Box::new(DeflateDecoder::new(Text::default()))),
        }
    }

    /// Decode the bytes into the text.
    fn decode(&mut self, bytes: &[u8]) -> io::Result<()> {
        let decoder: &mut dyn Write = match self {
            Decoder::Identity(text) => text,
            Decoder::Gzip(decoder) => decoder,
            Decoder::Zlib(decoder) => decoder,
            Decoder::Raw(decoder) => decoder,
        };
        decoder.write_all(bytes)?;
        decoder.flush()
    }

    fn text(&mut self) -> &mut Text {
        match self {
            Decoder::Identity(text) => text,
            Decoder::Gzip(decoder) => decoder.get_mut(),
            Decoder::Zlib(decoder) => decoder.get_mut(),
            Decoder::Raw(decoder) => decoder.get_mut(),
        }
    }
}
