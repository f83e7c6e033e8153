//! The links of an HTML document that a browser follows by itself.

use std::convert::Infallible;

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};

/// Links kept of a document. Nine in ten pages ask for fewer than 200 objects (HTTP Archive).
const LINKS_MAX: usize = 512;
/// A longer URL is no link to an object of the page; those of `data:` hold the object themselves.
const LINK_BYTES_MAX: usize = 2048;

/// A link as it stands in the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FoundLink {
    pub(super) url: Box<str>,
    /// Where its tag ends in the document.
    pub(super) end: usize,
}

/// What a document refers to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FoundLinks {
    /// The URL that the first `base` element gives to resolve the others against.
    pub(super) base: Option<Box<str>>,
    pub(super) links: Vec<FoundLink>,
}

/// The objects that the document refers to, in its order: images, scripts, style sheets, icons, frames
/// and media. What a user has to click on is not among them.
pub(super) fn links_of(text: &[u8]) -> FoundLinks {
    let mut tag = Tag::default();
    let mut found = FoundLinks::default();
    let mut emitter = CallbackEmitter::new(
        |event: CallbackEvent<'_>, span: Span| -> Option<Infallible> {
            tag.take(&event, span.end, &mut found);
            None
        },
    );
    emitter.naively_switch_states(true);
    // A slice can be read to its end.
    let Ok(()) = Tokenizer::new_with_emitter(text, emitter).finish();
    found
}

/// The start tag that is being read.
#[derive(Default)]
struct Tag {
    name: Vec<u8>,
    attribute: Vec<u8>,
    /// Attributes that may be links, with their values.
    urls: Vec<(Vec<u8>, Box<str>)>,
    /// Of a `link` element, what the other document is to this one.
    relation: Vec<u8>,
}

impl Tag {
    fn take(&mut self, event: &CallbackEvent<'_>, end: usize, found: &mut FoundLinks) {
        match event {
            CallbackEvent::OpenStartTag { name } => {
                *self = Tag {
                    name: name.to_vec(),
                    ..Tag::default()
                };
            }
            CallbackEvent::AttributeName { name } => self.attribute = name.to_vec(),
            CallbackEvent::AttributeValue { value } => self.attribute_value(value),
            CallbackEvent::CloseStartTag { .. } => self.close(end, found),
            _ => {}
        }
    }

    fn attribute_value(&mut self, value: &[u8]) {
        if self.name == b"link" && self.attribute == b"rel" {
            self.relation = value.to_ascii_lowercase();
        } else if value.len() <= LINK_BYTES_MAX && is_link(&self.name, &self.attribute) {
            let text = String::from_utf8_lossy(value.trim_ascii()).into();
            self.urls.push((std::mem::take(&mut self.attribute), text));
        }
    }

    fn close(&mut self, end: usize, found: &mut FoundLinks) {
        if self.name == b"link" && !is_fetched(&self.relation) {
            return;
        }
        for (attribute, value) in std::mem::take(&mut self.urls) {
            if self.name == b"base" {
                found.base.get_or_insert(value);
            } else if attribute.ends_with(b"srcset") {
                for url in candidates(&value) {
                    add(url, end, found);
                }
            } else {
                add(&value, end, found);
            }
        }
    }
}

fn add(url: &str, end: usize, found: &mut FoundLinks) {
    let is_inline = url
        .get(..5)
        .is_some_and(|it| it.eq_ignore_ascii_case("data:"));
    if !url.is_empty() && !is_inline && found.links.len() < LINKS_MAX {
        let url = url.into();
        found.links.push(FoundLink { url, end });
    }
}

/// Whether a browser fetches what the attribute of an element names (HTML, section 4; those of HTML 4
/// that browsers still follow are among them).
fn is_link(element: &[u8], attribute: &[u8]) -> bool {
    match element {
        b"img" | b"source" => matches!(attribute, b"src" | b"srcset"),
        b"script" | b"iframe" | b"frame" | b"embed" | b"audio" | b"track" | b"input" => {
            attribute == b"src"
        }
        b"video" => matches!(attribute, b"src" | b"poster"),
        b"link" => matches!(attribute, b"href" | b"imagesrcset"),
        b"base" => attribute == b"href",
        b"object" => attribute == b"data",
        b"body" | b"table" | b"td" | b"th" => attribute == b"background",
        _ => false,
    }
}

/// Whether a browser fetches what a `link` element with that relation names (HTML, section 4.6.7).
fn is_fetched(relation: &[u8]) -> bool {
    relation.split(u8::is_ascii_whitespace).any(|word| {
        matches!(
            word,
            b"stylesheet"
                | b"icon"
                | b"preload"
                | b"modulepreload"
                | b"prefetch"
                | b"manifest"
                | b"apple-touch-icon"
        )
    })
}

/// The URLs of a `srcset` attribute (HTML, section 4.8.4.2.1), of which a browser takes one.
fn candidates(srcset: &str) -> impl Iterator<Item = &str> {
    srcset
        .split(", ")
        .filter_map(|candidate| candidate.split_ascii_whitespace().next())
        .map(|url| url.trim_matches(','))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn urls(html: &str) -> Vec<String> {
        let found = links_of(html.as_bytes()).links;
        found.into_iter().map(|link| link.url.into()).collect()
    }

    #[test]
    fn objects_are_links_and_what_is_clicked_on_is_none() {
        let html = "<LINK REL='Shortcut Icon' href=/i.ico><link rel=canonical href=/c><img SRC=\" a.png \">\
                    <a href=/next>x</a><script src=s.js></script><iframe src='//ad.example/f?a=1&amp;b=2'>";
        assert_eq!(
            urls(html),
            ["/i.ico", "a.png", "s.js", "//ad.example/f?a=1&b=2"]
        );
    }

    #[test]
    fn a_tag_inside_a_script_or_comment_is_none() {
        let html = "<script>document.write('<img src=no.png>')</script><!-- <img src=no.png> --><img src=y.png>";
        assert_eq!(urls(html), ["y.png"]);
    }

    #[test]
    fn of_a_source_set_all_candidates_are_links() {
        let html = "<img srcset='a.png 1x, b,c.png 2x, data:image/gif;base64,xx 3x'>";
        assert_eq!(urls(html), ["a.png", "b,c.png"]);
    }

    #[test]
    fn the_first_base_counts_and_the_end_of_a_tag_is_where_its_link_is_known() {
        let html = "<base href=/b/><base href=/c/><img src=x><img src=unfinished";
        let found = links_of(html.as_bytes());
        assert_eq!(found.base.as_deref(), Some("/b/"));
        let [link] = &found.links[..] else {
            panic!("one link: {found:?}")
        };
        assert_eq!(
            html.get(..link.end).map(|it| it.ends_with("<img src=x>")),
            Some(true)
        );
    }

    #[test]
    fn links_are_limited_in_number_and_length() {
        let html = "<img src=x>".repeat(LINKS_MAX + 1)
            + "<img src="
            + &"y".repeat(LINK_BYTES_MAX + 1)
            + ">";
        assert_eq!(urls(&html).len(), LINKS_MAX);
        assert_eq!(
            urls(&format!("<img src={}>", "y".repeat(LINK_BYTES_MAX + 1))).len(),
            0
        );
    }
}
