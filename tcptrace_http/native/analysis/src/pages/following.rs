//! Followed links of documents: links to a URL that was fetched. Other links are no evidence about pages.
//!
//! Theory of operation. Each document has hundreds of links. Resolving a link against the URL of its document
//! costs time in proportion to both lengths. The last segments of the URLs are therefore compared first, once
//! for all documents with the same text. The remaining links are resolved once per URL of a document.
//! [`Folder`] resolves plain links, and its own URL is resolved once.

use std::collections::HashSet;

use super::reference::{normal, resolved};
use super::requests::{Link, Request, Urls};
use crate::documents::Document;
use crate::numbered::NumberMap;

/// Memory limit of resolved URLs and followed links; links of further documents are not followed.
///
/// A capture of a million transactions on ordinary pages stays below the limit.
pub(super) const FOLLOWED_BYTES_MAX: usize = 256 << 20;
/// Memory of a followed link, here and in its index.
const LINK_BYTES: usize = 64;
/// Cost of resolving another link, or of creating a [`Folder`], relative to a plain link.
const WORK_OF_ODD: usize = 8;

/// Followed links.
#[derive(Debug, Default)]
pub(super) struct FollowedLinks {
    /// Links in the order of the documents.
    pub links: Vec<Link>,
    /// Number of documents whose links were not searched.
    pub left_out: usize,
    bytes: usize,
}

impl FollowedLinks {
    pub(super) fn of(documents: &[Document], rows: &[Request], urls: &Urls) -> FollowedLinks {
        let mut followed = FollowedLinks::default();
        if documents.is_empty() {
            return followed;
        }
        let fetched: HashSet<&str> = rows
            .iter()
            .filter_map(|it| Some(last_segment(urls.text(it.url?))))
            .collect();
        let by_place: NumberMap<(u32, u32), usize> = rows
            .iter()
            .enumerate()
            .map(|(row, it)| ((it.flow, it.transaction), row))
            .collect();
        // Candidate links per text, and followed links per text and URL, both by number.
        let mut by_text: NumberMap<usize, Vec<usize>> = NumberMap::default();
        let mut by_url: NumberMap<(usize, usize), Vec<(usize, usize)>> = NumberMap::default();
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

    /// Return the candidates that lead to a fetched URL, each with its number.
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

/// Base for plain references.
struct Folder {
    /// Prefix of the references that this folder resolves.
    start: &'static str,
    /// URL of the folder, and of the last reference resolved in it.
    url: String,
    length: usize,
}

impl Folder {
    /// Return the folder of a document and the root of its server.
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

    /// Return the URL of a plain reference: a path of names, with an optional query.
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

/// Return the last segment of a reference's URL, independent of the base; `None` if it is not obvious.
fn segment_of(reference: &str) -> Option<&str> {
    // The part behind two slashes is a host, not a segment.
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

    /// Return URLs of documents and references in them, ordinary and unusual.
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
    fn obvious_last_segment_ends_the_resolved_url() {
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
    fn plain_reference_in_a_folder_equals_the_resolved_url() {
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
