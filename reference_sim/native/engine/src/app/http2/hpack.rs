//! Header blocks of HTTP/2 (RFC 7541), with the dynamic table and without Huffman coding.

use std::collections::VecDeque;

/// Default of SETTINGS_HEADER_TABLE_SIZE (RFC 9113, section 6.5.2).
const TABLE_BYTES: usize = 4096;
/// Overhead per entry besides name and value (RFC 7541, section 4.1).
const ENTRY_BYTES: usize = 32;

/// Entries of the static table with a value, numbered from 1 (RFC 7541, appendix A).
const PAIRS: [(&str, &str); 16] = [
    (":authority", ""),
    (":method", "GET"),
    (":method", "POST"),
    (":path", "/"),
    (":path", "/index.html"),
    (":scheme", "http"),
    (":scheme", "https"),
    (":status", "200"),
    (":status", "204"),
    (":status", "206"),
    (":status", "304"),
    (":status", "400"),
    (":status", "404"),
    (":status", "500"),
    ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"),
];
/// Names of the static entries from 17 on, which have no value.
#[rustfmt::skip]
const NAMES: [&str; 45] = [
    "accept-language", "accept-ranges", "accept",
    "access-control-allow-origin", "age", "allow", "authorization", "cache-control", "content-disposition",
    "content-encoding", "content-language", "content-length", "content-location", "content-range", "content-type",
    "cookie", "date", "etag", "expect", "expires", "from", "host", "if-match", "if-modified-since",
    "if-none-match", "if-range", "if-unmodified-since", "last-modified", "link", "location", "max-forwards",
    "proxy-authenticate", "proxy-authorization", "range", "referer", "refresh", "retry-after", "server",
    "set-cookie", "strict-transport-security", "transfer-encoding", "user-agent", "vary", "via",
    "www-authenticate",
];
/// Fields whose values rarely repeat. Their entries would evict useful ones.
const NOT_INDEXED: [&str; 4] = [":path", "content-length", "if-none-match", "location"];
/// HTTP/1 connection fields (RFC 9113, section 8.2.2), and `host`, which becomes a pseudo-header field.
const DROPPED: [&str; 3] = ["connection", "keep-alive", "host"];

/// The encoder of one direction.
#[derive(Debug, Default)]
pub(super) struct Encoder {
    /// Dynamic table entries, the newest first.
    entries: VecDeque<(String, String)>,
    bytes: usize,
}

impl Encoder {
    /// Return the header block of a head in HTTP/1 text.
    pub(super) fn block(&mut self, text: &[u8], scheme: &str) -> Vec<u8> {
        let text = String::from_utf8_lossy(text);
        let mut lines = text.lines();
        let start: Vec<&str> = lines.next().unwrap_or("").split(' ').collect();
        let fields: Vec<(String, &str)> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim()))
            .collect();
        let mut block = Vec::new();
        match start.as_slice() {
            [version, status, ..] if version.starts_with("HTTP/") => {
                self.field(":status", status, &mut block);
            }
            [method, target, ..] => {
                let host = fields.iter().find(|(name, _)| name == "host");
                self.field(":method", method, &mut block);
                self.field(":scheme", scheme, &mut block);
                self.field(":authority", host.map_or("", |(_, host)| host), &mut block);
                self.field(":path", target, &mut block);
            }
            _ => {}
        }
        for (name, value) in &fields {
            if !DROPPED.contains(&name.as_str()) {
                self.field(name, value, &mut block);
            }
        }
        block
    }

    fn field(&mut self, name: &str, value: &str, block: &mut Vec<u8>) {
        if let Some(index) = self.index(|entry| entry == (name, value)) {
            return integer(0x80, 7, index, block);
        }
        let index = self.index(|(known, _)| known == name).unwrap_or(0);
        let is_indexed = !NOT_INDEXED.contains(&name);
        let (pattern, bits) = if is_indexed { (0x40, 6) } else { (0, 4) };
        integer(pattern, bits, index, block);
        if index == 0 {
            string(name, block);
        }
        string(value, block);
        if is_indexed {
            self.add(name, value);
        }
    }

    /// Return the index of the first entry that satisfies `holds`, static entries first.
    fn index(&self, holds: impl Fn((&str, &str)) -> bool) -> Option<usize> {
        let names = NAMES.iter().map(|name| (*name, ""));
        let known = PAIRS.iter().copied().chain(names);
        let mut all = known.chain(
            self.entries
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str())),
        );
        all.position(holds).map(|place| place + 1)
    }

    fn add(&mut self, name: &str, value: &str) {
        self.bytes += name.len() + value.len() + ENTRY_BYTES;
        self.entries.push_front((name.to_owned(), value.to_owned()));
        while self.bytes > TABLE_BYTES {
            let Some((name, value)) = self.entries.pop_back() else {
                return;
            };
            self.bytes -= name.len() + value.len() + ENTRY_BYTES;
        }
    }
}

/// Append an integer in a prefix of `bits` bits after `pattern` (RFC 7541, section 5.1).
fn integer(pattern: u8, bits: u32, value: usize, out: &mut Vec<u8>) {
    let most = (1_usize << bits) - 1;
    if value < most {
        return out.push(pattern | value as u8);
    }
    out.push(pattern | most as u8);
    let mut left = value - most;
    while left >= 128 {
        out.push((left % 128) as u8 | 128);
        left /= 128;
    }
    out.push(left as u8);
}

fn string(text: &str, out: &mut Vec<u8>) {
    integer(0, 7, text.len(), out);
    out.extend(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_without_huffman_match_the_appendix() {
        // RFC 7541, sections C.3.1 and C.3.2.
        let mut encoder = Encoder::default();
        let first = encoder.block(b"GET / HTTP/1.1\r\nHost: www.example.com\r\n\r\n", "http");
        let mut expected = vec![0x82, 0x86, 0x41, 0x0f];
        expected.extend(b"www.example.com");
        expected.push(0x84);
        assert_eq!(first, expected);
        let text = b"GET / HTTP/1.1\r\nHost: www.example.com\r\nCache-Control: no-cache\r\n\r\n";
        let mut expected = vec![0x82, 0x86, 0xbe, 0x84, 0x58, 0x08];
        expected.extend(b"no-cache");
        assert_eq!(encoder.block(text, "http"), expected);
    }

    #[test]
    fn the_table_has_the_entries_of_the_appendix() {
        assert_eq!(PAIRS.len() + NAMES.len(), 61);
    }

    #[test]
    fn the_table_keeps_within_its_bytes() {
        let mut encoder = Encoder::default();
        for number in 0..200 {
            encoder.add("name", &number.to_string());
            assert!(encoder.bytes <= TABLE_BYTES);
        }
        assert!(encoder.entries.len() > 100);
    }

    #[test]
    fn a_long_integer_matches_the_appendix() {
        let mut out = Vec::new();
        integer(0, 5, 1337, &mut out);
        assert_eq!(out, [31, 154, 10]);
    }
}
