//! URLs for pages: resolved against a document (RFC 3986, section 5.2) and normalised for comparison.

/// Schemes with relative references, and schemes with an authority, as in Python's `urllib.parse`.
const RELATIVE: [&str; 20] = [
    "", "ftp", "http", "gopher", "nntp", "imap", "wais", "file", "https", "shttp", "mms",
    "prospero", "rtsp", "rtsps", "rtspu", "sftp", "svn", "svn+ssh", "ws", "wss",
];
const WITH_AUTHORITY: [&str; 26] = [
    "", "ftp", "http", "gopher", "nntp", "telnet", "imap", "wais", "file", "mms", "https", "shttp",
    "snews", "prospero", "rtsp", "rtsps", "rtspu", "rsync", "svn", "svn+ssh", "sftp", "nfs", "git",
    "git+ssh", "ws", "wss",
];
/// Schemes whose last segment may have parameters.
const WITH_PARAMETERS: [&str; 16] = [
    "", "ftp", "hdl", "prospero", "http", "imap", "https", "shttp", "rtsp", "rtsps", "rtspu",
    "sip", "sips", "mms", "sftp", "tel",
];

/// Return a URL without its fragment and default port, with the host in lower case; other text stays
/// unchanged.
pub(super) fn normal(url: &str) -> String {
    let line = url.rfind('\n').map_or(0, |at| at.saturating_add(1));
    let fragment = url.get(line..).and_then(|rest| rest.find('#'));
    let bare = fragment
        .and_then(|at| url.get(..line.saturating_add(at)))
        .unwrap_or(url);
    let Some((scheme, rest)) = bare.split_once("://").filter(|(it, _)| is_scheme(it)) else {
        return bare.to_owned();
    };
    let at = rest.find(['/', '?']).unwrap_or(rest.len());
    let (host, path) = rest.split_at_checked(at).unwrap_or((rest, ""));
    if path.contains('\n') {
        return bare.to_owned();
    }
    let host = host.to_lowercase();
    let host = host.strip_suffix(":80").unwrap_or(&host);
    let root = if path.starts_with('/') { "" } else { "/" };
    format!("{}://{host}{root}{path}", scheme.to_lowercase())
}

fn is_scheme(text: &str) -> bool {
    // The last two characters are letters by Unicode's simple case folding.
    let is_letter = |it: char| it.is_ascii_alphabetic() || matches!(it, '\u{17f}' | '\u{212a}');
    let mut letters = text.chars();
    letters.next().is_some_and(is_letter)
        && letters.all(|it| is_letter(it) || it.is_ascii_digit() || matches!(it, '+' | '-' | '.'))
}

/// Parts of a URL; a missing part is empty.
#[derive(Debug, Default)]
struct Parts {
    scheme: String,
    authority: String,
    path: String,
    parameters: String,
    query: String,
    fragment: String,
}

/// Return the URL of a reference in a document; text that is no URL stays unchanged.
pub(super) fn resolved(base: &str, reference: &str) -> String {
    if base.is_empty() {
        return reference.to_owned();
    }
    if reference.is_empty() {
        return base.to_owned();
    }
    let found = Parts::of(base, "").and_then(|base| {
        let parts = Parts::of(reference, &base.scheme)?;
        Some(joined(base, parts, reference))
    });
    found.unwrap_or_else(|| reference.to_owned())
}

fn joined(base: Parts, mut parts: Parts, reference: &str) -> String {
    let scheme = parts.scheme.as_str();
    if scheme != base.scheme || !RELATIVE.contains(&scheme) {
        return reference.to_owned();
    }
    if WITH_AUTHORITY.contains(&scheme) {
        if !parts.authority.is_empty() {
            return parts.text();
        }
        parts.authority = base.authority;
    }
    if parts.path.is_empty() && parts.parameters.is_empty() {
        parts.path = base.path;
        parts.parameters = base.parameters;
        if parts.query.is_empty() {
            parts.query = base.query;
        }
        return parts.text();
    }
    parts.path = joined_path(&base.path, &parts.path);
    parts.text()
}

/// Return a path in the folder of another path, without the segments `.` and `..` (section 5.2.4).
fn joined_path(base: &str, path: &str) -> String {
    let segments: Vec<&str> = if path.starts_with('/') {
        path.split('/').collect()
    } else {
        let folder = match base {
            "" => Some(""),
            _ => base.rsplit_once('/').map(|(folder, _)| folder),
        };
        let all: Vec<&str> = folder
            .into_iter()
            .flat_map(|folder| folder.split('/'))
            // A base that ends with its folder has an empty name, which stays.
            .chain(base.ends_with('/').then_some(""))
            .chain(path.split('/'))
            .collect();
        let last = all.len().saturating_sub(1);
        let is_kept = |at: usize, it: &str| at == 0 || at == last || !it.is_empty();
        let kept = all.into_iter().enumerate();
        kept.filter(|(at, it)| is_kept(*at, it))
            .map(|(_, it)| it)
            .collect()
    };
    let mut resolved: Vec<&str> = Vec::new();
    for segment in &segments {
        match *segment {
            ".." => {
                resolved.pop();
            }
            "." => {}
            segment => resolved.push(segment),
        }
    }
    if matches!(segments.last(), Some(&("." | ".."))) {
        resolved.push("");
    }
    let path = resolved.join("/");
    if path.is_empty() {
        "/".to_owned()
    } else {
        path
    }
}

impl Parts {
    /// Parse a URL; `None` for an authority with an unclosed bracket or without an IP address in it.
    fn of(url: &str, default_scheme: &str) -> Option<Parts> {
        let url: String = url
            .trim_start_matches(|it: char| it <= ' ')
            .chars()
            .filter(|it| !matches!(it, '\t' | '\r' | '\n'))
            .collect();
        let mut rest = url.as_str();
        let mut parts = Parts {
            scheme: default_scheme.to_owned(),
            ..Parts::default()
        };
        if let Some((scheme, after)) = rest.split_once(':') {
            let is_of_scheme = |it: char| it.is_ascii_alphanumeric() || "+-.".contains(it);
            if scheme.starts_with(|it: char| it.is_ascii_alphabetic())
                && scheme.chars().all(is_of_scheme)
            {
                parts.scheme = scheme.to_ascii_lowercase();
                rest = after;
            }
        }
        if let Some(after) = rest.strip_prefix("//") {
            let at = after.find(['/', '?', '#']).unwrap_or(after.len());
            let (authority, after) = after.split_at_checked(at)?;
            has_sound_brackets(authority).then_some(())?;
            parts.authority = authority.to_owned();
            rest = after;
        }
        if let Some((before, fragment)) = rest.split_once('#') {
            parts.fragment = fragment.to_owned();
            rest = before;
        }
        if let Some((before, query)) = rest.split_once('?') {
            parts.query = query.to_owned();
            rest = before;
        }
        let name = rest.rfind('/').unwrap_or(0);
        let at = rest.get(name..).and_then(|it| it.find(';'));
        if let Some(at) = at.filter(|_| WITH_PARAMETERS.contains(&parts.scheme.as_str())) {
            let (path, parameters) = rest.split_at_checked(name.saturating_add(at))?;
            parts.parameters = parameters.get(1..).unwrap_or_default().to_owned();
            rest = path;
        }
        parts.path = rest.to_owned();
        Some(parts)
    }

    fn text(&self) -> String {
        let mut url = self.path.clone();
        if !self.parameters.is_empty() {
            url = format!("{url};{}", self.parameters);
        }
        let has_authority = !self.scheme.is_empty()
            && WITH_AUTHORITY.contains(&self.scheme.as_str())
            && !url.starts_with("//");
        if !self.authority.is_empty() || has_authority {
            let root = if url.is_empty() || url.starts_with('/') {
                ""
            } else {
                "/"
            };
            url = format!("//{}{root}{url}", self.authority);
        }
        if !self.scheme.is_empty() {
            url = format!("{}:{url}", self.scheme);
        }
        if !self.query.is_empty() {
            url = format!("{url}?{}", self.query);
        }
        if !self.fragment.is_empty() {
            url = format!("{url}#{}", self.fragment);
        }
        url
    }
}

fn has_sound_brackets(authority: &str) -> bool {
    match (authority.contains('['), authority.contains(']')) {
        (false, false) => true,
        (true, true) => {
            let inner = authority.split_once('[').map_or("", |(_, after)| after);
            let host = inner.split(']').next().unwrap_or_default();
            is_future_address(host) || host.parse::<std::net::Ipv6Addr>().is_ok() || is_scoped(host)
        }
        _ => false,
    }
}

/// Return whether the host is an IPv6 address with a zone (RFC 4007, section 11).
fn is_scoped(host: &str) -> bool {
    host.split_once('%').is_some_and(|(address, zone)| {
        !zone.is_empty() && !zone.contains('%') && address.parse::<std::net::Ipv6Addr>().is_ok()
    })
}

/// Return whether the host is an `IPvFuture` (RFC 3986, section 3.2.2).
fn is_future_address(host: &str) -> bool {
    let Some((version, address)) = host.strip_prefix('v').and_then(|it| it.split_once('.')) else {
        return false;
    };
    !version.is_empty() && version.chars().all(|it| it.is_ascii_hexdigit()) && !address.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_resolved_as_rfc_3986_does() {
        // Examples of RFC 3986, section 5.4.
        let base = "http://a/b/c/d;p?q";
        for (reference, url) in [
            ("g:h", "g:h"),
            ("g", "http://a/b/c/g"),
            ("./g", "http://a/b/c/g"),
            ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"),
            ("//g", "http://g"),
            ("?y", "http://a/b/c/d;p?y"),
            ("g?y", "http://a/b/c/g?y"),
            ("#s", "http://a/b/c/d;p?q#s"),
            ("g;x?y#s", "http://a/b/c/g;x?y#s"),
            ("", "http://a/b/c/d;p?q"),
            (".", "http://a/b/c/"),
            ("..", "http://a/b/"),
            ("../../../g", "http://a/g"),
            ("http://[1/", "http://[1/"),
        ] {
            assert_eq!(resolved(base, reference), url, "{reference}");
        }
        assert_eq!(resolved("http://a", "g"), "http://a/g");
    }

    #[test]
    fn urls_are_compared_without_fragment_default_port_and_case_of_the_host() {
        for (url, compared) in [
            ("HTTP://A.Example:80?Q#f", "http://a.example/?Q"),
            ("http://a:8080/B", "http://a:8080/B"),
            ("/b#c", "/b"),
            ("*", "*"),
        ] {
            assert_eq!(normal(url), compared);
        }
    }
}
