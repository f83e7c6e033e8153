//! The PROXY protocol of HAProxy, versions 1 and 2: a header that a load balancer writes before the first
//! request. Its addresses belong to a connection outside the flow and are not read.

/// Section 2.2: signature, version and command, family, and the length of the rest.
const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
/// Section 2.1: maximum line length, line end included.
const LONGEST_LINE_BYTES: usize = 107;

/// Return the header's length at the start of a connection's first segment. A sender writes the header in one
/// write (section 2), so a partial header is not awaited.
#[must_use]
pub fn header_length(bytes: &[u8]) -> Option<usize> {
    let length = match bytes.strip_prefix(SIGNATURE) {
        Some([0x20 | 0x21, _, high, low, ..]) => {
            let rest = usize::from(u16::from_be_bytes([*high, *low]));
            rest.saturating_add(SIGNATURE.len() + 4)
        }
        Some(_) => return None,
        None => line_length(bytes)?,
    };
    (length <= bytes.len()).then_some(length)
}

fn line_length(bytes: &[u8]) -> Option<usize> {
    let rest = bytes.strip_prefix(b"PROXY ")?;
    let families: [&[u8]; 3] = [b"TCP4 ", b"TCP6 ", b"UNKNOWN"];
    if !families.iter().any(|family| rest.starts_with(family)) {
        return None;
    }
    let line = bytes.get(..LONGEST_LINE_BYTES).unwrap_or(bytes);
    let end = line.windows(2).position(|pair| pair == b"\r\n")?;
    Some(end.saturating_add(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_headers_of_both_versions_have_their_declared_length() {
        let line = b"PROXY TCP4 192.0.2.1 192.0.2.2 40000 80\r\nGET / HTTP/1.1\r\n\r\n";
        assert_eq!(header_length(line), Some(41));
        assert_eq!(header_length(b"PROXY UNKNOWN\r\n"), Some(15));
        let binary = [SIGNATURE, b"\x21\x11\0\x0c", b"0123456789abGET /"].concat();
        assert_eq!(header_length(&binary), Some(28));
        let local = [SIGNATURE, b"\x20\0\0\0"].concat();
        assert_eq!(header_length(&local), Some(16));
    }

    #[test]
    fn test_a_cut_or_broken_header_is_no_header() {
        let long = format!("PROXY TCP6 {}\r\n", "f".repeat(LONGEST_LINE_BYTES));
        for line in [
            "PROXY TCP4 192.0.2.1 192.0.2.2 40000 80",
            "PROXY UDP4 192.0.2.1 192.0.2.2 40000 80\r\n",
            "PROXY / HTTP/1.1\r\n",
            "GET / HTTP/1.1\r\n",
            "",
            &long,
        ] {
            assert_eq!(header_length(line.as_bytes()), None, "{line}");
        }
        for rest in [
            &b"\x21\x11\0\x0conly"[..],
            b"\x21\x11\0",
            b"\x31\x11\0\0",
            b"",
        ] {
            assert_eq!(header_length(&[SIGNATURE, rest].concat()), None, "{rest:?}");
        }
    }
}
