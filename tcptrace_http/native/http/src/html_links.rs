//! The links of an HTML document that a browser fetches without user action.

use std::borrow::Cow;
use std::convert::Infallible;

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};
use memchr::memchr3;

use super::html_tags::{start_tags, StartTag};

/// Maximum number of links per document. Nine of ten pages request fewer than 200 objects (HTTP Archive).
const LINKS_MAX: usize = 512;
/// Maximum length of a URL. A longer URL is no link to an object of the page; a `data:` URL contains its
/// object.
const LINK_BYTES_MAX: usize = 2048;
/// Maximum number of tags per document whose URLs contain character references.
const REFERENCES_MAX: usize = 1024;
/// Length of the longest element name with links.
const NAME_BYTES: usize = 6;

/// Relations of a `link` element that a browser fetches (HTML, section 4.6.7).
const FETCHED: [&[u8]; 7] = [
    b"stylesheet",
    b"icon",
    b"preload",
    b"modulepreload",
    b"prefetch",
    b"manifest",
    b"apple-touch-icon",
];

/// The links of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FoundLinks {
    /// The base URL of the first `base` element, against which the other URLs are resolved.
    pub(super) base: Option<Box<str>>,
    /// The URLs as written in the document, back to back.
    urls: String,
    /// Per link: the end of its URL in `urls`, and the end of its tag in the document.
    ends: Vec<(u32, u32)>,
}

impl FoundLinks {
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Return the links in order, each with the end of its tag.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, u32)> {
        (0..self.len()).filter_map(|place| self.get(place))
    }

    /// Return the link of an index.
    pub(super) fn get(&self, place: usize) -> Option<(&str, u32)> {
        let (url_end, tag_end) = self.ends.get(place)?;
        let before = place.checked_sub(1).and_then(|it| self.ends.get(it));
        let start = usize::try_from(before.map_or(0, |(end, _)| *end)).ok()?;
        let url = self.urls.get(start..usize::try_from(*url_end).ok()?)?;
        Some((url, *tag_end))
    }

    /// Add a link. The number of links is at most that of a document.
    pub(super) fn push(&mut self, url: &str, tag_end: u32) {
        self.urls.push_str(url);
        let url_end = u32::try_from(self.urls.len()).unwrap_or(u32::MAX);
        self.ends.push((url_end, tag_end));
    }

    pub(super) fn url_bytes(&self) -> usize {
        self.urls.len()
    }

    /// Return the memory of the links.
    pub(super) fn bytes(&self) -> usize {
        let ends = size_of_val(self.ends.as_slice());
        let base = self.base.as_ref().map_or(0, |base| base.len());
        let fixed = size_of::<FoundLinks>().saturating_add(base);
        fixed.saturating_add(ends).saturating_add(self.urls.len())
    }

    fn add(&mut self, url: &str, tag_end: usize) {
        let is_inline = url
            .get(..5)
            .is_some_and(|it| it.eq_ignore_ascii_case("data:"));
        if !url.is_empty() && !is_inline && self.ends.len() < LINKS_MAX {
            self.push(url, u32::try_from(tag_end).unwrap_or(u32::MAX));
        }
    }
}

/// Return the linked objects in document order: images, scripts, style sheets, icons, frames and media. Links
/// that need a click are left out.
pub(super) fn links_of(text: &[u8]) -> FoundLinks {
    let mut found = FoundLinks::default();
    let mut read_slowly = 0_usize;
    for tag in start_tags(text) {
        let Some(mut urls) = Urls::of(tag.name) else {
            continue;
        };
        if found.len() >= LINKS_MAX && !urls.is_base {
            continue;
        }
        for (attribute, value) in tag.attributes.filter(|(_, value)| !value.is_empty()) {
            urls.add(attribute, value.into());
        }
        if urls.has_references() {
            read_slowly = read_slowly.saturating_add(1);
            if read_slowly > REFERENCES_MAX {
                continue;
            }
            urls = parse_urls_fully(tag);
        }
        urls.tell(tag.end, &mut found);
    }
    found.urls.shrink_to_fit();
    found.ends.shrink_to_fit();
    found
}

/// Return the URLs of a start tag by the full HTML tokenizer, which resolves character references.
fn parse_urls_fully(tag: StartTag<'_>) -> Urls<'static> {
    let mut urls = Urls::of(tag.name).unwrap_or_default();
    let mut attribute = Vec::new();
    let emitter = CallbackEmitter::new(|event: CallbackEvent<'_>, _: Span| -> Option<Infallible> {
        match event {
            CallbackEvent::AttributeName { name } => attribute = name.to_vec(),
            CallbackEvent::AttributeValue { value } => {
                urls.add(&attribute, value.to_vec().into());
            }
            _ => {}
        }
        None
    });
    // Reading a slice cannot fail.
    let Ok(()) = Tokenizer::new_with_emitter(tag.text, emitter).finish();
    urls
}

/// The URLs of a start tag.
#[derive(Default)]
pub(super) struct Urls<'a> {
    is_base: bool,
    is_link: bool,
    attributes: &'static [&'static [u8]],
    /// The attribute values, each with a flag for a candidate set (`srcset`).
    values: Vec<(bool, Cow<'a, [u8]>)>,
    /// The relation of a `link` element.
    relation: Cow<'a, [u8]>,
}

impl<'a> Urls<'a> {
    /// Return an empty set of URLs, or None for an element without links.
    pub(super) fn of(element: &[u8]) -> Option<Self> {
        // The padding is a space, which no name contains.
        let mut name = [b' '; NAME_BYTES];
        for (letter, byte) in name.get_mut(..element.len())?.iter_mut().zip(element) {
            *letter = byte.to_ascii_lowercase();
        }
        let attributes = link_attributes(&name);
        (!attributes.is_empty()).then(|| Urls {
            is_base: &name == b"base  ",
            is_link: &name == b"link  ",
            attributes,
            values: Vec::new(),
            relation: Cow::default(),
        })
    }

    pub(super) fn add(&mut self, attribute: &[u8], value: Cow<'a, [u8]>) {
        let is = |name: &&[u8]| attribute.eq_ignore_ascii_case(name);
        if self.is_link && is(&&b"rel"[..]) {
            self.relation = value;
        } else if value.len() <= LINK_BYTES_MAX {
            if let Some(name) = self.attributes.iter().find(|it| is(it)) {
                self.values.push((name.ends_with(b"srcset"), value));
            }
        }
    }

    /// Return true if a value needs the full tokenizer: it has character references, or characters that the
    /// tokenizer replaces.
    fn has_references(&self) -> bool {
        let values = self.values.iter().map(|(_, value)| value);
        let mut all = values.chain([&self.relation]);
        all.any(|value| memchr3(b'&', b'\r', b'\0', value).is_some())
    }

    pub(super) fn tell(self, tag_end: usize, found: &mut FoundLinks) {
        if self.is_link && !is_fetched(&self.relation) {
            return;
        }
        for (is_set, value) in self.values {
            let value = String::from_utf8_lossy(value.trim_ascii());
            if self.is_base {
                found.base.get_or_insert_with(|| value.into());
            } else if is_set {
                candidates(&value).for_each(|url| found.add(url, tag_end));
            } else {
                found.add(&value, tag_end);
            }
        }
    }
}

/// Return the attributes of an element that name a fetched object (HTML, section 4). HTML 4 attributes that
/// browsers still follow are included.
fn link_attributes(element: &[u8; NAME_BYTES]) -> &'static [&'static [u8]] {
    match element {
        b"img   " | b"source" => &[b"src", b"srcset"],
        b"script" | b"iframe" | b"frame " | b"embed " | b"audio " | b"track " | b"input " => {
            &[b"src"]
        }
        b"video " => &[b"src", b"poster"],
        b"link  " => &[b"href", b"imagesrcset"],
        b"base  " => &[b"href"],
        b"object" => &[b"data"],
        b"body  " | b"table " | b"td    " | b"th    " => &[b"background"],
        _ => &[],
    }
}

/// Return true if a browser fetches the target of a `link` element with this relation.
fn is_fetched(relation: &[u8]) -> bool {
    let mut words = relation.split(u8::is_ascii_whitespace);
    words.any(|word| FETCHED.iter().any(|it| word.eq_ignore_ascii_case(it)))
}

/// Return the URLs of a `srcset` attribute (HTML, section 4.8.4.2.1). A browser fetches one of them.
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
        let found = links_of(html.as_bytes());
        found.iter().map(|(url, _)| url.into()).collect()
    }

    #[test]
    fn objects_are_links_and_click_targets_are_not() {
        let html = "<LINK REL='Shortcut Icon' href=/i.ico><link rel=canonical href=/c><img SRC=\" a.png \">\
                    <a href=/next>x</a><script src=s.js></script><iframe src='//ad.example/f?a=1&amp;b=2'>";
        assert_eq!(
            urls(html),
            ["/i.ico", "a.png", "s.js", "//ad.example/f?a=1&b=2"]
        );
    }

    #[test]
    fn a_tag_inside_a_script_or_comment_is_ignored() {
        let html = "<script>document.write('<img src=no.png>')</script><!-- <img src=no.png> --><img src=y.png>";
        assert_eq!(urls(html), ["y.png"]);
    }

    #[test]
    fn all_candidates_of_a_source_set_are_links() {
        let html = "<img srcset='a.png 1x, b,c.png 2x, data:image/gif;base64,xx 3x'>";
        assert_eq!(urls(html), ["a.png", "b,c.png"]);
    }

    #[test]
    fn the_first_base_counts_and_a_link_is_known_at_its_tags_end() {
        let html = "<base href=/b/><base href=/c/><img src=x><img src=unfinished";
        let found = links_of(html.as_bytes());
        assert_eq!(found.base.as_deref(), Some("/b/"));
        let end = html.find("<img src=unfinished").unwrap_or(0) as u32;
        assert_eq!(found.iter().collect::<Vec<_>>(), [("x", end)]);
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
