//! What to say of a file that is neither pcap nor pcapng.

use crate::error::CaptureError;
use crate::{pcap, pcapng};

/// Bytes that tell the format: both formats begin with a 32-bit number.
pub(crate) const MAGIC_BYTES: usize = 4;

/// Other formats by their first bytes (Wireshark, wiretap), for which there is better advice.
const OTHER_FORMATS: &[(&[u8], &str)] = &[
    (b"snoo", "a snoop capture"),
    (b"XCP\0", "a NetXray or Sniffer Pro capture"),
    (b"TRSN", "a Sniffer capture"),
    (b"RTSS", "a Network Monitor capture"),
    (b"GMBU", "a Network Monitor capture"),
    (b"ipt", "an iptrace capture"),
    (b"\x13\x13\x13\x13", "an Event Trace Log"),
];

/// Formats that hold a capture but are no longer recognised once they were decompressed.
const ARCHIVES: &[(&[u8], &str)] = &[
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"BZh", "bzip2"),
    (b"\xfd7zX", "xz"),
    (b"PK\x03\x04", "zip"),
    (b"7z\xbc\xaf", "7z"),
    (b"\x04\x22\x4d\x18", "lz4"),
];

pub(crate) fn error(start: &[u8]) -> CaptureError {
    let what = if let Some(name) = lookup(OTHER_FORMATS, start) {
        format!("{name}, of which only pcap and pcapng are read; convert it with editcap -F pcapng")
    } else if let Some(name) = lookup(ARCHIVES, start) {
        format!("{name} data inside; unpack it and pass the pcap or pcapng file it holds")
    } else {
        let shown = start.get(..MAGIC_BYTES).unwrap_or(start);
        let hex: Vec<String> = shown.iter().map(|byte| format!("{byte:02x}")).collect();
        format!(
            "not a capture: it begins with {} ({:?}); pcap and pcapng are read, plain or \
             compressed with gzip or zstd",
            hex.join(" "),
            String::from_utf8_lossy(shown)
        )
    };
    CaptureError::UnknownFormat { what }
}

/// The error for a file that ended before its header did.
pub(crate) fn error_at_end(start: &[u8]) -> CaptureError {
    if start.is_empty() {
        let what = "the file is empty".to_owned();
        return CaptureError::UnknownFormat { what };
    }
    if !pcap::is_pcap(start) && !pcapng::is_pcapng(start) {
        return error(start);
    }
    CaptureError::MalformedCapture {
        what: format!(
            "the file ends after {} bytes, inside its header",
            start.len()
        ),
        offset: 0,
        after_packet: 0,
    }
}

fn lookup(formats: &[(&[u8], &'static str)], start: &[u8]) -> Option<&'static str> {
    formats
        .iter()
        .find(|(magic, _)| start.starts_with(magic))
        .map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_an_empty_file_is_called_empty() {
        assert_eq!(error_at_end(b"").to_string(), "the file is empty");
    }

    #[test]
    fn test_a_text_file_is_told_what_can_be_read() {
        let text = error(b"HTTP/1.1 200 OK").to_string();
        assert_eq!(
            text,
            "not a capture: it begins with 48 54 54 50 (\"HTTP\"); pcap and pcapng are \
             read, plain or compressed with gzip or zstd"
        );
    }

    #[test]
    fn test_other_capture_formats_are_named_with_what_to_do() {
        let text = error(b"snoop\0\0\0").to_string();
        assert!(text.starts_with("a snoop capture"));
        assert!(text.contains("editcap -F pcapng"));
    }

    #[test]
    fn test_a_header_cut_short_is_malformed_rather_than_unknown() {
        let error = error_at_end(&[0xd4, 0xc3, 0xb2, 0xa1, 2]);
        assert_eq!(
            error.to_string(),
            "the file ends after 5 bytes, inside its header (offset 0, before any packet)"
        );
    }
}
