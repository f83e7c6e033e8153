//! The fast link search finds the same links as the HTML tokenizer.

use std::convert::Infallible;

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};

use super::html_links::{links_of, FoundLinks, Urls};
use super::robustness_tests::Numbers;

/// Return the links as [`links_of`] does, with the whole document parsed by `html5gum`.
fn slow_links(text: &[u8]) -> FoundLinks {
    let mut found = FoundLinks::default();
    let mut urls = None;
    let mut attribute = Vec::new();
    let mut emitter = CallbackEmitter::new(
        |event: CallbackEvent<'_>, span: Span| -> Option<Infallible> {
            match event {
                CallbackEvent::OpenStartTag { name } => urls = Urls::of(name),
                CallbackEvent::AttributeName { name } => attribute = name.to_vec(),
                CallbackEvent::AttributeValue { value } => {
                    if let Some(urls) = urls.as_mut() {
                        urls.add(&attribute, value.to_vec().into());
                    }
                }
                CallbackEvent::CloseStartTag { .. } => {
                    if let Some(urls) = urls.take() {
                        urls.tell(span.end, &mut found);
                    }
                }
                _ => {}
            }
            None
        },
    );
    emitter.naively_switch_states(true);
    let Ok(()) = Tokenizer::new_with_emitter(text, emitter).finish();
    found
}

/// Building blocks of tags and of text that resembles tags.
const PIECES: &[&[u8]] = &[
    b"<",
    b">",
    b"</",
    b"/>",
    b"/",
    b"=",
    b"'",
    b"\"",
    b" ",
    b"\n",
    b"\r\n",
    b"\r",
    b"\t",
    b"\x0c",
    b"\0",
    b"-",
    b"--",
    b"<!--",
    b"<!-->",
    b"-->",
    b"--!>",
    b"!",
    b"<!",
    b"<!doctype html \"",
    b"<![CDATA[",
    b"]]>",
    b"<?xml ",
    b"<script",
    b"<script>",
    b"</script",
    b"</SCRIPT >",
    b"</scripts>",
    b"<style>",
    b"</style>",
    b"<textarea>",
    b"</textarea\r>",
    b"<title>",
    b"</title/>",
    b"<noscript>",
    b"</noscript>",
    b"<iframe src=f>",
    b"</iframe x='>'>",
    b"<noframe>",
    b"</noframe>",
    b"<noframes>",
    b"<noembed>",
    b"</noembed>",
    b"<xmp>",
    b"</xmp>",
    b"<plaintext",
    b"<img",
    b"<IMG ",
    b"<img src=",
    b" src=",
    b" SRC = ",
    b" src",
    b" src=\"",
    b" src='",
    b" srcset='a 1x, b 2x'",
    b"<link rel=icon href=",
    b"<link ",
    b" rel='a Icon'",
    b" rel=",
    b" href=",
    b"<base href=",
    b"<td background=",
    b"<a title='",
    b"<a ",
    b"data:",
    b"&amp;",
    b"&lt",
    b"&#x41;",
    b"&",
    b"a",
    b"b.png",
    b"/c?d=e",
    b"\xc3\xa9",
    b"\xff",
    b"text",
];

/// Building blocks that affect the end of a script.
const PIECES_OF_SCRIPTS: &[&[u8]] = &[
    b"<script",
    b"<script>",
    b"</script",
    b"</script>",
    b"<",
    b">",
    b"/",
    b" ",
    b"-",
    b"--",
    b"<!--",
    b"-->",
    b"!",
    b"x",
    b"<img src=a>",
    b"<SCRIPT/",
    b"</b>",
];

/// Return a document of at most `most` pieces.
fn document(pieces: &[&[u8]], most: usize, numbers: &mut Numbers) -> Vec<u8> {
    let count = 1 + numbers.below(most);
    let each = (0..count).map(|_| pieces[numbers.below(pieces.len())]);
    each.collect::<Vec<_>>().concat()
}

#[test]
fn the_fast_search_finds_the_links_of_the_tokenizer() {
    let mut numbers = Numbers(20_260_311);
    let mut links = 0;
    for _ in 0..40_000 {
        let html = document(PIECES, 40, &mut numbers);
        let found = links_of(&html);
        assert_eq!(found, slow_links(&html), "{}", html.escape_ascii());
        links += found.len();
        let script = document(PIECES_OF_SCRIPTS, 20, &mut numbers);
        let html = [
            b"<script><!--",
            script.as_slice(),
            b"--></script><img src=z>",
        ]
        .concat();
        let found = links_of(&html);
        assert_eq!(found, slow_links(&html), "{}", html.escape_ascii());
        links += found.len();
    }
    assert!(links > 50_000, "{links}");
}
