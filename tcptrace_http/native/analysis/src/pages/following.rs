//! Which links of the documents were followed: those to a URL that was fetched. The others tell nothing of a page, and
//! there are many more of them.
//!
//! Theory of operation. To resolve a link against the URL of its document costs as much as both are long, and each
//! document has hundreds. So links are compared with what was fetched by the last segments of their URLs first, once
//! for all documents with the same text, and what is left of them is resolved once for each URL of a document: plain
//! ones by [`Folder`], whose URL is worked out once.

use std::collections::HashSet;

use super::reference::{normal, resolved};
use super::requests::{Link, Request, Urls};
use crate::documents::Document;
use crate::numbered::Numbered;

/// URLs that are resolved, and links that are found to be followed: a capture of a million transactions on ordinary
/// pages has less. Links of further documents are not followed.
pub(super) const FOLLOWED_BYTES_MAX: usize = 256 << 20;
/// Memory of a link that was followed, here and where it is looked up.
const LINK_BYTES: usize = 64;
/// How many times the work of a plain link it is to resolve one that is not, or to make a [`Folder`].
const WORK_OF_ODD: usize = 8;

/// The links that were followed.
#[derive(Debug, Default)]
pub(super) struct Followed {
    /// In the order of the documents.
    pub links: Vec<Link>,
    /// Documents whose links were not looked at.
    pub left_out: usize,
    bytes: usize,
}

impl Followed {
    pub(super) fn of(documents: &[Document], rows: &[Request], urls: &Urls) -> Followed {
        let mut followed = Followed::default();
        if documents.is_empty() {
            return followed;
        }
        let fetched: HashSet<&str> = rows
            .iter()
            .filter_map(|it| Some(last_segment(urls.text(it.url?))))
            .collect();
        let by_place: Numbered<(u32, u32), usize> = rows
            .iter()
            .enumerate()
            .map(|(row, it)| ((it.flow, it.transaction), row))
            .collect();
        // Of each text the links that may be followed; and of each text under a URL those that were, by number.
        let mut by_text: Numbered<usize, Vec<usize>> = Numbered::default();
        let mut by_url: Numbered<(usize, usize), Vec<(usize, usize)>> = Numbered::default();
        for document in documents {
            let text = document.links.text();
            let candidates = by_text.entry(text).or_insert_with(|| {
                let links = document.links.iter().enumerate();
                let is_candidate = |url| segment_of(url).is_none_or(|it| fetched.contains(it));
                links
                    .filter(|(_, (url, _))| is_candidate(url))
                    .map(|(link, _)| link)
                    .collect()
            });
            let place = (document.flow, document.transaction);
            let Some(row) = by_place.get(&place).filter(|_| !candidates.is_empty()) else {
                continue;
            };
            if followed.bytes > FOLLOWED_BYTES_MAX {
                followed.left_out = followed.left_out.saturating_add(1);
                continue;
            }
            let url = rows.get(*row).and_then(|it| it.url).unwrap_or_default();
            let found = by_url
                .entry((text, url))
                .or_insert_with(|| followed.resolve(document, candidates, urls, urls.text(url)));
            followed.add(document, *row, found);
        }
        followed
    }

    /// Those of the candidates that lead to a URL that was fetched, each with its number.
    fn resolve(
        &mut self,
        document: &Document,
        candidates: &[usize],
        urls: &Urls,
        url: &str,
    ) -> Vec<(usize, usize)> {
        let base = resolved(url, document.links.base().unwrap_or_default());
        let mut folders = Folder::both_of(&base);
        self.spend(base.len().saturating_mul(WORK_OF_ODD));
        let links = candidates.iter().filter_map(|link| {
            let (reference, _) = document.links.get(*link)?;
            let bytes = base.len().saturating_add(reference.len());
            let plain = folders.iter_mut().find_map(|it| it.url(reference));
            let found = if let Some(url) = plain {
                self.spend(bytes);
                urls.known(url)
            } else {
                self.spend(bytes.saturating_mul(WORK_OF_ODD));
                urls.known(&normal(&resolved(&base, reference)))
            };
            Some((*link, found?))
        });
        links.collect()
    }

    fn add(&mut self, document: &Document, row: usize, found: &[(usize, usize)]) {
        for (link, url) in found {
            let Some((_, known)) = document.links.get(*link) else {
                continue;
            };
            self.links.push(Link {
                row,
                url: *url,
                known_ns: known.time_ns,
            });
        }
        self.spend(found.len().saturating_mul(LINK_BYTES));
    }

    fn spend(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// What plain references are appended to.
struct Folder {
    /// What such a reference begins with.
    start: &'static str,
    /// The URL of the folder, and of what was resolved last in it.
    url: String,
    length: usize,
}

impl Folder {
    /// The folder of a document, and the root of its server.
    fn both_of(base: &str) -> Vec<Folder> {
        let folder = |start: &'static str| {
            let mut url = normal(&resolved(base, &format!("{start}x")));
            let is_clear = url.starts_with("http://") && url.ends_with("/x");
            url.pop();
            let length = url.len();
            is_clear.then_some(Folder { start, url, length })
        };
        [folder("/"), folder("")].into_iter().flatten().collect()
    }

    /// The URL of a reference, if it is a plain one: a path of names, and a query maybe.
    fn url(&mut self, reference: &str) -> Option<&str> {
        let path = reference.strip_prefix(self.start)?;
        let mut before = b'/';
        for byte in path.bytes() {
            let is_name =
                matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'%');
            let is_within = matches!(byte, b'/' | b'.' | b'?' | b'=' | b'&' | b'+' | b',');
            if !is_name && (!is_within || before == b'/') {
                return None;
            }
            before = byte;
        }
        if matches!(before, b'/' | b'.' | b'?') {
            return None;
        }
        self.url.truncate(self.length);
        self.url.push_str(path);
        Some(&self.url)
    }
}

fn last_segment(url: &str) -> &str {
    url.rsplit_once('/').map_or(url, |(_, segment)| segment)
}

/// The last segment of the URL that a reference leads to, whatever it is resolved against; None where it is not clear
/// at a glance.
fn segment_of(reference: &str) -> Option<&str> {
    // What follows two slashes alone is no segment, but a host.
    let (path, segment) = reference.rsplit_once('/').unwrap_or(("", reference));
    let has_path = !path.ends_with('/');
    let is_plain = |it: u8| it > b' ' && !matches!(it, b'#' | 0x7f);
    let is_end = |it: Option<&u8>| it.is_some_and(u8::is_ascii_alphanumeric);
    let name = segment.as_bytes();
    let is_clear = has_path
        && is_end(name.first())
        && is_end(name.last())
        && !name.iter().any(|it| matches!(it, b':' | b';'))
        && reference.bytes().all(is_plain);
    is_clear.then_some(segment)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// URLs of documents and references in them, ordinary and odd.
    fn in_documents() -> impl Iterator<Item = (&'static str, String)> {
        const BASES: [&str; 10] = [
            "http://h/",
            "http://h",
            "http://h/a/b/",
            "http://h/a/b;p?q=/r",
            "http://H:80/a/../b",
            "https://h/a//b/./c",
            "http://[1/",
            "http://h/a?b/c",
            "*",
            "",
        ];
        const PARTS: [&str; 18] = [
            "", "/", "//", ".", "..", "a", "b.png", "?", "&", ";", "#", ":", "http:", "//h", " ",
            "\n", "[", "%+,",
        ];
        BASES.into_iter().flat_map(|base| {
            (0..PARTS.len().pow(3) * 4).map(move |number| {
                let part = |place: u32| PARTS[number / 4 / PARTS.len().pow(place) % PARTS.len()];
                let last = ["", "a", "/b.png", "?c=d"][number % 4];
                (base, [part(0), part(1), part(2), last].concat())
            })
        })
    }

    #[test]
    fn a_segment_that_is_clear_ends_whatever_url_the_reference_leads_to() {
        let mut clear = 0;
        for (base, reference) in in_documents() {
            if let Some(segment) = segment_of(&reference) {
                let url = normal(&resolved(base, &reference));
                assert_eq!(last_segment(&url), segment, "{reference} in {base}");
                clear += 1;
            }
        }
        assert!(clear > 20_000, "{clear}");
    }

    #[test]
    fn a_plain_reference_in_a_folder_has_the_url_that_it_is_resolved_to() {
        let mut plain = 0;
        let mut last = ("none", Vec::new());
        for (base, reference) in in_documents() {
            if last.0 != base {
                last = (base, Folder::both_of(base));
            }
            if let Some(url) = last.1.iter_mut().find_map(|it| it.url(&reference)) {
                assert_eq!(
                    url,
                    normal(&resolved(base, &reference)),
                    "{reference} in {base}"
                );
                plain += 1;
            }
        }
        assert!(plain > 2_000, "{plain}");
    }
}
