//! Errors that make a capture unreadable.

use crate::link_type::describe;

/// An error of a file without packets. Python puts the path before the error's text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CaptureError {
    /// The first bytes match no supported capture format.
    UnknownFormat { what: String },
    /// No packet has a supported link type. The number is the one in the file.
    UnsupportedLinkType { link_type: u32 },
    /// The file is damaged before its first packet.
    MalformedCapture {
        what: String,
        offset: u64,
        after_packet: u64,
    },
}

impl std::fmt::Display for CaptureError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CaptureError::UnknownFormat { what } => formatter.write_str(what),
            CaptureError::UnsupportedLinkType { link_type } => write!(
                formatter,
                "link type {} cannot be decoded; capture on an interface that carries IP \
                 (Ethernet, Linux cooked, raw IP, loopback, PPP, 802.11)",
                describe(*link_type)
            ),
            CaptureError::MalformedCapture {
                what,
                offset,
                after_packet: 0,
            } => write!(formatter, "{what} (offset {offset}, before any packet)"),
            CaptureError::MalformedCapture {
                what,
                offset,
                after_packet,
            } => write!(
                formatter,
                "{what} (offset {offset}, after packet {after_packet})"
            ),
        }
    }
}

impl std::error::Error for CaptureError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_a_malformed_capture_error_has_reason_and_offset() {
        let error = CaptureError::MalformedCapture {
            what: "block length 13 is not a multiple of 4".to_owned(),
            offset: 6720,
            after_packet: 812,
        };
        assert_eq!(
            error.to_string(),
            "block length 13 is not a multiple of 4 (offset 6720, after packet 812)"
        );
    }

    #[test]
    fn test_an_unsupported_link_type_is_named_and_numbered() {
        let text = CaptureError::UnsupportedLinkType { link_type: 187 }.to_string();
        assert!(text.starts_with("link type 187 (BLUETOOTH_HCI_H4) cannot be decoded"));
        let text = CaptureError::UnsupportedLinkType {
            link_type: 0x0020_2020,
        }
        .to_string();
        assert!(text.starts_with("link type 2105376 cannot be decoded"));
    }
}
