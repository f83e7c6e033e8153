//! Documents under all compressions, cuts and repetitions.

use std::io::{self, Write};
use std::sync::Arc;

use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use flate2::Compression;
use xxhash_rust::xxh3::xxh3_64;

use super::document::{Document, DOCUMENT_BYTES_MAX};
use super::documents::Documents;
use super::fields::Fields;
use super::links::Links;
use super::robustness_tests::Numbers;
use super::Mark;

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

fn packed(coding: &str, text: &[u8]) -> io::Result<Vec<u8>> {
    let best = Compression::best();
    match coding {
        "gzip" => {
            let mut encoder = GzEncoder::new(Vec::new(), best);
            encoder.write_all(text)?;
            encoder.finish()
        }
        "zlib" => {
            let mut encoder = ZlibEncoder::new(Vec::new(), best);
            encoder.write_all(text)?;
            encoder.finish()
        }
        _ => {
            let mut encoder = DeflateEncoder::new(Vec::new(), best);
            encoder.write_all(text)?;
            encoder.finish()
        }
    }
}

/// Return the links of a body delivered in these pieces, one segment each.
fn links<'a>(
    documents: &mut Documents,
    coding: Option<&str>,
    pieces: impl Iterator<Item = &'a [u8]>,
) -> Option<Arc<Links>> {
    let mut document = Document::of(&fields(coding))?;
    let mut body = Vec::new();
    for (piece, number) in pieces.zip(1..) {
        document.take(piece.len(), mark(number));
        body.extend_from_slice(piece);
    }
    documents.links(*document, xxh3_64(&body), &body)
}

fn known(links: &Option<Arc<Links>>) -> Vec<(&str, Mark)> {
    links.iter().flat_map(|it| it.iter()).collect()
}

#[test]
fn a_link_is_known_with_the_segment_that_completes_its_tag() {
    let first = HTML.iter().position(|byte| *byte == b'\n').unwrap_or(0);
    let mut documents = Documents::default();
    for size in [1, 7, 1000] {
        let found = links(&mut documents, None, HTML.chunks(size));
        assert_eq!(found.as_ref().and_then(|it| it.base()), Some("/b/"));
        let by = |bytes: usize| mark(bytes.div_ceil(size));
        assert_eq!(
            known(&found),
            [("1.png", by(first)), ("2.png", by(HTML.len()))]
        );
    }
}

#[test]
fn compressed_documents_have_equal_links_under_every_cut() -> io::Result<()> {
    for (coding, name) in [("gzip", "gzip"), ("zlib", "deflate"), ("raw", "deflate")] {
        let body = packed(coding, HTML)?;
        for size in [1, 5, 1000] {
            let found = links(&mut Documents::default(), Some(name), body.chunks(size));
            let urls: Vec<_> = known(&found).into_iter().map(|it| it.0).collect();
            assert_eq!(urls, ["1.png", "2.png"], "{coding} by {size}");
        }
    }
    Ok(())
}

#[test]
fn the_cache_does_not_change_a_documents_links() -> io::Result<()> {
    let mut numbers = Numbers(20_260_312);
    let texts = (0..5).map(|text| {
        let image = |number| format!("<p>{}</p><img src={text}/{number}>", number * 7919);
        (0..40).map(image).collect::<String>()
    });
    let bodies: Vec<Vec<u8>> = texts
        .map(|text| packed("gzip", text.as_bytes()))
        .collect::<io::Result<_>>()?;
    let mut documents = Documents::default();
    for _ in 0..500 {
        let body = &bodies[numbers.below(bodies.len())];
        let body = &body[..body.len() - numbers.below(2) * 100];
        let mut pieces = Vec::new();
        let mut rest = body;
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(rest.len().min(1 + numbers.below(200)));
            pieces.push(piece);
            rest = behind;
        }
        let again = links(&mut documents, Some("gzip"), pieces.iter().copied());
        let anew = links(
            &mut Documents::default(),
            Some("gzip"),
            pieces.iter().copied(),
        );
        assert!(known(&anew).len() > 10);
        assert_eq!(known(&again), known(&anew));
    }
    Ok(())
}

#[test]
fn documents_with_the_same_text_have_the_same_links_in_memory() {
    let mut documents = Documents::default();
    let first = links(&mut documents, None, HTML.chunks(9));
    let second = links(&mut documents, None, HTML.chunks(20));
    let (Some(first), Some(second)) = (first, second) else {
        panic!("both have links");
    };
    assert_eq!(first.text(), second.text());
    assert!(first.bytes() > second.bytes());
}

#[test]
fn highly_compressed_documents_are_read_up_to_the_total_limit() -> io::Result<()> {
    let bomb = |number: usize, bytes: usize| {
        let mut text = format!("<img src={number}>").into_bytes();
        text.resize(bytes, b' ');
        packed("gzip", &text)
    };
    let mut documents = Documents::default();
    documents.limit(4 * DOCUMENT_BYTES_MAX);
    let first = bomb(0, 10 * DOCUMENT_BYTES_MAX)?;
    let mut read = 0;
    let mut found = links(&mut documents, Some("gzip"), first.chunks(100));
    while found.is_some() && read < 1000 {
        read += 1;
        assert_eq!(documents.complaint(), None);
        let body = bomb(read, DOCUMENT_BYTES_MAX)?;
        found = links(&mut documents, Some("gzip"), body.chunks(100));
    }
    // Each document decompresses to slightly less than the limit beyond eight times its length.
    assert_eq!(read, 5);
    assert!(documents.complaint().is_some());
    assert_eq!(documents.complaint(), None);
    // Cached documents with known cuts and uncompressed documents still have their links.
    assert!(links(&mut documents, Some("gzip"), first.chunks(100)).is_some());
    assert!(links(&mut documents, Some("gzip"), first.chunks(99)).is_none());
    assert!(links(&mut documents, None, HTML.chunks(100)).is_some());
    Ok(())
}

#[test]
fn bytes_that_are_not_in_the_coding_end_the_document() {
    let found = links(&mut Documents::default(), Some("gzip"), HTML.chunks(10));
    assert_eq!(found, None);
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
