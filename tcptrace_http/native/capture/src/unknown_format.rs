//! Error texts for files that are neither pcap nor pcapng.
//!
//! `{file}` in a text is a placeholder for the capture's path, which only the caller knows.

use crate::error::CaptureError;
use crate::{pcap, pcapng};

/// Number of bytes that identify pcap and pcapng. Both begin with a 32-bit number.
pub(crate) const MAGIC_BYTES: usize = 4;
/// Number of bytes that identify every other named format.
pub(crate) const FORMAT_BYTES: usize = 0x4c;

/// Other capture formats by their first bytes (Wireshark, wiretap).
const OTHER_FORMATS: &[(&[u8], &str)] = &[
    (b"snoop\0\0\0", "a snoop capture"),
    (b"XCP\0", "a NetXRay or Sniffer Pro capture"),
    (b"VL\0\0", "a NetXRay 1 capture"),
    (b"TRSNIFF data", "a Sniffer capture"),
    (b"RTSS", "a Network Monitor 1 capture"),
    (b"GMBU", "a Network Monitor 2 capture"),
    (b"\xaa\xaa\xaa\xaa", "a 5View capture"),
    (b"\x7fver", "an OmniPeek capture"),
    (b"\x05VNF", "a Visual Networks capture"),
    (b"ObserverPktBuffe", "an Observer capture"),
    (b"iptrace ", "an iptrace capture"),
];

/// Formats with a link type per packet. editcap needs an option to write them as pcapng.
const MIXED_FORMATS: &[(&[u8], &str)] = &[
    (b"\x00\x00\x02\x00\x12\x05\x00\x10", "a K12 capture (rf5)"),
    (b"+---------+-----", "a K12 capture (text)"),
];

/// Unsupported compression formats, each with the command that decompresses it.
const PACKINGS: &[(&[u8], &str, &str)] = &[
    (b"\x04\x22\x4d\x18", "lz4", "lz4 -dc"),
    (b"\x02\x21\x4c\x18", "lz4", "lz4 -dc"),
    (b"PK\x03\x04", "zip", "unzip -p"),
    (b"7z\xbc\xaf", "7z", "7z x -so"),
    (b"\x1f\x9d", "compress", "zcat"),
];

/// Supported compression formats. Only one layer of compression is removed.
const PACKED_TWICE: &[(&[u8], &str)] = &[
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"BZh", "bzip2"),
    (b"\xfd7zX", "xz"),
];

pub(crate) fn error(start: &[u8]) -> CaptureError {
    let packing = PACKINGS.iter().find(|(magic, ..)| start.starts_with(magic));
    let what = if let Some((name, options)) = other_format(start) {
        format!(
            "{name}; only pcap and pcapng are read; convert it: \
             editcap -F pcapng {options}{{file}} {{file}}.pcapng"
        )
    } else if is_event_trace_log(start) {
        "an Event Trace Log; only pcap and pcapng are read; convert it on Windows: \
         etl2pcapng {file} {file}.pcapng"
            .to_owned()
    } else if let Some((_, name, command)) = packing {
        format!("{name} data; decompress it: {command} {{file}} | tcptrace-http analyze -")
    } else if let Some(name) = lookup(PACKED_TWICE, start) {
        format!("{name} data inside; decompress it and pass the inner pcap or pcapng file")
    } else {
        no_capture(start)
    };
    CaptureError::UnknownFormat { what }
}

fn no_capture(start: &[u8]) -> String {
    let shown = start.get(..MAGIC_BYTES).unwrap_or(start);
    let hex: Vec<String> = shown.iter().map(|byte| format!("{byte:02x}")).collect();
    format!(
        "not a capture: it begins with {} ({:?}); pcap and pcapng are read, plain or \
         compressed with gzip, zstd, xz or bzip2",
        hex.join(" "),
        String::from_utf8_lossy(shown)
    )
}

/// Return the name of another format, and the extra option for editcap.
fn other_format(start: &[u8]) -> Option<(&'static str, &'static str)> {
    if let Some(name) = lookup(OTHER_FORMATS, start) {
        return Some((name, ""));
    }
    lookup(MIXED_FORMATS, start)
        .or_else(|| is_commview(start).then_some("a CommView capture"))
        .map(|name| (name, "-T ether "))
}

/// Return true if the bytes look like CommView, which has no magic number. A record begins with two lengths
/// and a version of 0. The newer format has one length. The date and the time follow (Wireshark,
/// wiretap/commview.c).
fn is_commview(start: &[u8]) -> bool {
    match start {
        [_, _, _, _, 0, time @ ..] if is_time(time) => true,
        [_, _, _, 0, time @ ..] => is_time(time),
        _ => false,
    }
}

/// Return true if these bytes begin with year, month, day, hours, minutes and seconds.
fn is_time(bytes: &[u8]) -> bool {
    let Some([y0, y1, month, day, hours, minutes, seconds]) = bytes.first_chunk() else {
        return false;
    };
    (1970..2038).contains(&u16::from_le_bytes([*y0, *y1]))
        && (1..=12).contains(month)
        && (1..=31).contains(day)
        && *hours <= 23
        && *minutes <= 59
        && *seconds <= 60
}

/// Return true if the bytes begin an Event Trace Log. A buffer header of 72 bytes comes first. The log's own
/// event follows, with version 2 and a 32-bit or 64-bit system header (Windows SDK, `SYSTEM_TRACE_HEADER`).
fn is_event_trace_log(start: &[u8]) -> bool {
    matches!(start.get(0x48..FORMAT_BYTES), Some([2, 0, 1 | 2, 0xc0]))
}

/// Return the error for a file that ended inside its header.
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
    fn test_a_text_file_error_names_the_supported_formats() {
        let text = error(b"HTTP/1.1 200 OK").to_string();
        assert_eq!(
            text,
            "not a capture: it begins with 48 54 54 50 (\"HTTP\"); pcap and pcapng are \
             read, plain or compressed with gzip, zstd, xz or bzip2"
        );
    }

    #[test]
    fn test_other_capture_formats_are_named_with_the_command_that_converts_them() {
        let text = error(b"snoop\0\0\0").to_string();
        assert_eq!(
            text,
            "a snoop capture; only pcap and pcapng are read; convert it: \
             editcap -F pcapng {file} {file}.pcapng"
        );
        let commview = [60, 0, 60, 0, 0, 0xe8, 7, 2, 29, 23, 59, 59, 0, 0, 0, 0];
        assert!(error(&commview).to_string().starts_with("a CommView "));
        let newer = [60, 0, 0, 0, 0xe8, 7, 2, 29, 23, 59, 59, 0, 0, 0, 0];
        assert!(error(&newer).to_string().starts_with("a CommView "));
        let mut log = [0; FORMAT_BYTES];
        log[0x48..].copy_from_slice(&[2, 0, 2, 0xc0]);
        assert!(error(&log).to_string().contains("etl2pcapng {file} "));
    }

    #[test]
    fn test_commview_needs_a_date() {
        assert!(!is_commview(&[0; 24]));
        assert!(!is_commview(&[60, 0, 60, 0, 0, 0xe8, 7, 13, 1, 0, 0, 0]));
        assert!(!is_commview(&[60, 0, 60, 0, 1, 0xe8, 7, 12, 1, 0, 0, 0]));
    }

    #[test]
    fn test_compression_formats_are_named_with_their_command() {
        assert_eq!(
            error(b"\x04\x22\x4d\x18...").to_string(),
            "lz4 data; decompress it: lz4 -dc {file} | tcptrace-http analyze -"
        );
        assert!(error(b"\x1f\x8b\x08")
            .to_string()
            .starts_with("gzip data inside"));
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
