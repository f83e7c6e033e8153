//! The start tags of an HTML document, found without parsing the text between them.
//!
//! Theory of operation. The states are those of the HTML tokenizer (section 13.2.5) in which a tag can begin
//! or end. A search for `<` skips text, and a search for the closing quote skips a value. Comments,
//! declarations and the raw text of elements are skipped as a whole. As in `html5gum`, `noscript` contains
//! raw text, which matches a browser that runs scripts. Character references are not resolved here.

use memchr::{memchr, memchr2};

/// A start tag.
#[derive(Clone, Copy, Debug)]
pub(super) struct StartTag<'a> {
    /// The name as written, in any case.
    pub(super) name: &'a [u8],
    pub(super) attributes: Attributes<'a>,
    /// The whole tag, from `<` to `>`.
    pub(super) text: &'a [u8],
    /// Offset of the tag's end in the document.
    pub(super) end: usize,
}

/// The attributes of a tag that have a value, each with its value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attributes<'a> {
    rest: &'a [u8],
}

/// An iterator over all complete start tags.
pub(super) struct StartTags<'a> {
    text: &'a [u8],
    rest: &'a [u8],
}

pub(super) fn start_tags(text: &[u8]) -> StartTags<'_> {
    StartTags { text, rest: text }
}

impl<'a> Iterator for StartTags<'a> {
    type Item = StartTag<'a>;

    fn next(&mut self) -> Option<StartTag<'a>> {
        loop {
            let open = memchr(b'<', self.rest)?;
            let tag = self.rest.get(open..)?;
            self.rest = match tag {
                [_, first, ..] if first.is_ascii_alphabetic() => return self.start_tag(tag),
                [_, b'/', first, ..] if first.is_ascii_alphabetic() => {
                    let (_, attributes) = name_and_attributes(tag.get(2..)?);
                    attributes.after_tag()?
                }
                [_, b'!', b'-', b'-', content @ ..] => after_comment(content)?,
                [_, b'/' | b'!' | b'?', content @ ..] => {
                    content.get(memchr(b'>', content)?.saturating_add(1)..)?
                }
                _ => tag.get(1..)?,
            };
        }
    }
}

impl<'a> StartTags<'a> {
    fn start_tag(&mut self, tag: &'a [u8]) -> Option<StartTag<'a>> {
        let (name, attributes) = name_and_attributes(tag.get(1..)?);
        let behind = attributes.after_tag()?;
        let length = tag.len().saturating_sub(behind.len());
        self.rest = after_text_of(name, behind);
        Some(StartTag {
            name,
            attributes,
            text: tag.get(..length)?,
            end: self.text.len().saturating_sub(behind.len()),
        })
    }
}

impl<'a> Attributes<'a> {
    /// Return the text after the tag, or None if the tag does not end.
    fn after_tag(mut self) -> Option<&'a [u8]> {
        while self.step()?.is_some() {}
        self.rest.get(1..)
    }

    /// Return the next attribute, or an inner None at the `>`. Return None if the tag does not end.
    #[inline]
    fn step(&mut self) -> Option<Option<(&'a [u8], &'a [u8])>> {
        self.skip(|byte| is_space(byte) || byte == b'/')?;
        if self.rest.first() == Some(&b'>') {
            return Some(None);
        }
        // An equals sign at the first position is part of the name.
        let after_first = self.rest.get(1..)?;
        let more = position(after_first, |byte| {
            is_space(byte) || matches!(byte, b'/' | b'>' | b'=')
        })?;
        let name = self.taken(more.saturating_add(1))?;
        self.skip(is_space)?;
        if self.rest.first() != Some(&b'=') {
            return Some(Some((name, &[])));
        }
        self.taken(1)?;
        self.skip(is_space)?;
        let value = match self.rest {
            [quote @ (b'"' | b'\''), quoted @ ..] => {
                let length = memchr(*quote, quoted)?;
                self.taken(1)?;
                let value = self.taken(length)?;
                self.taken(1)?;
                value
            }
            unquoted => self.taken(position(unquoted, |byte| is_space(byte) || byte == b'>')?)?,
        };
        Some(Some((name, value)))
    }

    #[inline]
    fn skip(&mut self, is_skipped: impl Fn(u8) -> bool) -> Option<()> {
        let length = position(self.rest, |byte| !is_skipped(byte))?;
        self.taken(length).map(drop)
    }

    #[inline]
    fn taken(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        self.step().flatten()
    }
}

#[inline]
fn name_and_attributes(tag: &[u8]) -> (&[u8], Attributes<'_>) {
    let is_behind = |byte| is_space(byte) || matches!(byte, b'/' | b'>');
    let length = position(tag, is_behind).unwrap_or(tag.len());
    let (name, rest) = tag.split_at_checked(length).unwrap_or((tag, &[]));
    (name, Attributes { rest })
}

#[inline]
fn position(bytes: &[u8], is_it: impl Fn(u8) -> bool) -> Option<usize> {
    bytes.iter().position(|byte| is_it(*byte))
}

/// Return true for whitespace in tags. A carriage return counts as a line feed (section 13.2.3.5).
#[inline]
fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\x0c' | b'\r' | b' ')
}

/// Return the text after a comment with this content.
fn after_comment(content: &[u8]) -> Option<&[u8]> {
    let mut searched = 0;
    loop {
        let found = memchr(b'>', content.get(searched..)?)?;
        let end = found.saturating_add(searched);
        let before = content.get(..end)?;
        let is_abrupt = matches!(before, b"" | b"-");
        searched = end.saturating_add(1);
        if is_abrupt || before.ends_with(b"--") || before.ends_with(b"--!") {
            return content.get(searched..);
        }
    }
}

/// Return the rest of a document after an element's start tag, without the element's raw text.
fn after_text_of<'a>(element: &[u8], rest: &'a [u8]) -> &'a [u8] {
    let is = |name: &[u8]| element.eq_ignore_ascii_case(name);
    let end = match element.len() {
        3 if is(b"xmp") => text_end(element, rest),
        5 if is(b"title") || is(b"style") => text_end(element, rest),
        6 if is(b"script") => script_end(rest),
        6 if is(b"iframe") => text_end(element, rest),
        7 if is(b"noembed") || is(b"noframe") => text_end(element, rest),
        8 if is(b"textarea") || is(b"noscript") => text_end(element, rest),
        9 if is(b"plaintext") => None,
        _ => Some(0),
    };
    end.and_then(|end| rest.get(end..)).unwrap_or_default()
}

/// Return the start of an element's end tag.
fn text_end(element: &[u8], text: &[u8]) -> Option<usize> {
    let mut at = 0_usize;
    loop {
        at = memchr(b'<', text.get(at..)?)?.saturating_add(at);
        if is_end_tag(element, text.get(at..)?) {
            return Some(at);
        }
        at = at.saturating_add(1);
    }
}

fn is_end_tag(element: &[u8], text: &[u8]) -> bool {
    text.get(1..)
        .is_some_and(|it| it.first() == Some(&b'/') && is_named(element, it))
}

/// Return true if `name` follows the first byte.
fn is_named(name: &[u8], text: &[u8]) -> bool {
    let end = name.len().saturating_add(1);
    let is_behind = |byte: &u8| is_space(*byte) || matches!(byte, b'/' | b'>');
    text.get(1..end)
        .is_some_and(|it| it.eq_ignore_ascii_case(name))
        && text.get(end).is_some_and(is_behind)
}

/// The escape state of script text (section 13.2.5.15 and following).
#[derive(Clone, Copy, PartialEq)]
enum Script {
    Plain,
    /// After `<!--`.
    Escaped,
    /// After a script start tag inside `<!--`. Its end tag returns to the escaped state.
    DoubleEscaped,
}

/// Return the start of a script's end tag.
fn script_end(text: &[u8]) -> Option<usize> {
    let mut within = Script::Plain;
    let mut at = 0_usize;
    loop {
        at = memchr2(b'<', b'>', text.get(at..)?)?.saturating_add(at);
        let rest = text.get(at..)?;
        let is_bracket = rest.first() == Some(&b'<');
        let is_end = is_bracket && is_end_tag(b"script", rest);
        match within {
            Script::Plain | Script::Escaped if is_end => return Some(at),
            Script::Plain if rest.starts_with(b"<!--") => {
                within = Script::Escaped;
                // The dashes of `<!--` can also be the dashes before the closing `>`.
                at = at.saturating_add(1);
            }
            Script::Escaped if is_bracket && is_named(b"script", rest) => {
                within = Script::DoubleEscaped;
            }
            Script::DoubleEscaped if is_end => within = Script::Escaped,
            _ if !is_bracket && text.get(..at)?.ends_with(b"--") => within = Script::Plain,
            _ => {}
        }
        at = at.saturating_add(1);
    }
}
