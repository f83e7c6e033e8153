//! URL of a request, and URL of a reference in its response (RFC 3986, section 5).

use super::{cut, Exchange};

/// An `http` URL without its fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Url {
    pub(super) host: String,
    pub(super) target: String,
}

impl Url {
    pub(super) fn of(exchange: &Exchange) -> Url {
        let host = match exchange.host.as_deref() {
            Some(host) if !host.is_empty() => host.to_owned(),
            _ => exchange.server.text(),
        };
        let target = exchange.target.as_str();
        let target = match target.split_once("://") {
            Some((_, rest)) if !target.starts_with('/') => path_of(rest),
            _ => target.to_owned(),
        };
        Url::new(&host, &target)
    }

    fn new(host: &str, target: &str) -> Url {
        let host = host.to_ascii_lowercase();
        let target = target.split('#').next().unwrap_or_default();
        Url {
            host: host.strip_suffix(":80").unwrap_or(&host).to_owned(),
            target: target.to_owned(),
        }
    }

    pub(super) fn text(&self) -> String {
        format!("{}{}", self.host, self.target)
    }

    pub(super) fn shown(&self) -> String {
        cut(&self.text())
    }

    /// Return the URL of a reference; `None` for another scheme.
    pub(super) fn joined(&self, reference: &str) -> Option<Url> {
        let reference = reference.trim();
        let authority = match reference.split_once("://") {
            Some((scheme, rest)) if is_scheme(scheme) => {
                if !scheme.eq_ignore_ascii_case("http") {
                    return None;
                }
                Some(rest)
            }
            _ => reference.strip_prefix("//"),
        };
        if let Some(rest) = authority {
            let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
            let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
            return Some(Url::new(host, &path_of(rest)));
        }
        let path = self.target.split('?').next().unwrap_or_default();
        let target = match reference.chars().next() {
            None | Some('#') => self.target.clone(),
            Some('/') => reference.to_owned(),
            Some('?') => format!("{path}{reference}"),
            Some(_) => {
                let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
                format!("{folder}/{reference}")
            }
        };
        Some(Url::new(&self.host, &without_dots(&target)))
    }
}

fn is_scheme(text: &str) -> bool {
    text.chars()
        .all(|it| it.is_ascii_alphanumeric() || matches!(it, '+' | '-' | '.'))
}

/// Return the part behind an authority; the empty path becomes the root.
fn path_of(rest: &str) -> String {
    match rest.find(['/', '?', '#']).and_then(|at| rest.get(at..)) {
        Some(path) if path.starts_with('/') => path.to_owned(),
        Some(path) => format!("/{path}"),
        None => "/".to_owned(),
    }
}

/// Return a path and query without the segments `.` and `..` (RFC 3986, section 5.2.4).
fn without_dots(target: &str) -> String {
    let (path, query) = match target.find(['?', '#']) {
        Some(at) => target.split_at(at),
        None => (target, ""),
    };
    if !path.contains("/.") {
        return target.to_owned();
    }
    let mut kept: Vec<&str> = Vec::new();
    for segment in path.split('/').skip(1) {
        match segment {
            "." => {}
            ".." => {
                kept.pop();
            }
            _ => kept.push(segment),
        }
    }
    if path.ends_with("/.") || path.ends_with("/..") {
        kept.push("");
    }
    format!("/{}{query}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_resolved_by_rfc_3986() {
        // Examples of RFC 3986, section 5.4, with the base http://a/b/c/d;p?q.
        let base = Url::new("a", "/b/c/d;p?q");
        for (reference, expected) in [
            ("g", "a/b/c/g"),
            ("./g", "a/b/c/g"),
            ("g/", "a/b/c/g/"),
            ("/g", "a/g"),
            ("//g", "g/"),
            ("?y", "a/b/c/d;p?y"),
            ("g?y", "a/b/c/g?y"),
            ("#s", "a/b/c/d;p?q"),
            ("g#s", "a/b/c/g"),
            ("", "a/b/c/d;p?q"),
            (".", "a/b/c/"),
            ("..", "a/b/"),
            ("../g", "a/b/g"),
            ("../../g", "a/g"),
            ("../../../g", "a/g"),
            ("http://u@G:80/x?y#z", "g/x?y"),
            ("HTTP://h:8080", "h:8080/"),
            ("http://h?q", "h/?q"),
        ] {
            let found = base.joined(reference).map(|url| url.text());
            assert_eq!(found.as_deref(), Some(expected), "{reference}");
        }
        assert_eq!(base.joined("https://a/b"), None);
    }
}
