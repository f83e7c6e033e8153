//! The end of a message's body: RFC 9112, section 6.3, in its order.

use super::fields::{ContentLength, FramingFields, TransferEncoding};

/// The rule for the end of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Framing {
    /// The message has no body.
    NoBody,
    ContentLength(u64),
    Chunked,
    /// The body lasts until the connection closes.
    UntilClose,
    /// The connection is a tunnel or another protocol from here on.
    Tunnel,
    /// The head gives no end, so the next message must be searched.
    Unknown,
}

/// The effect of a request's method on its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MethodKind {
    Head,
    Connect,
    Other,
}

impl MethodKind {
    /// Return the kind of a method. Methods are case-sensitive (RFC 9110, section 9.1).
    pub(super) fn of(method: &str) -> Self {
        match method {
            "HEAD" => MethodKind::Head,
            "CONNECT" => MethodKind::Connect,
            _ => MethodKind::Other,
        }
    }
}

/// The reason why a framing is doubtful.
pub(super) type Doubt = Option<&'static str>;

const BOTH: &str = "both Transfer-Encoding and Content-Length; Transfer-Encoding was used";
const INVALID_LENGTH: &str =
    "Content-Length is not a number of bytes, or has several different values";
const NOT_LAST: &str = "a request whose last transfer coding is not chunked has no known end";
const REPEATED: &str = "chunked occurs more than once in Transfer-Encoding";
const OLD_VERSION: &str = "Transfer-Encoding in an HTTP/1.0 message";

pub(super) fn of_request(fields: &FramingFields, minor_version: u8) -> (Framing, Doubt) {
    match fields.transfer_encoding {
        TransferEncoding::Chunked => (Framing::Chunked, chunked_doubt(fields, minor_version)),
        TransferEncoding::Other => (Framing::Unknown, Some(NOT_LAST)),
        TransferEncoding::Absent => match fields.content_length {
            ContentLength::Absent => (Framing::NoBody, None),
            ContentLength::Bytes(bytes) => (length(bytes), None),
            ContentLength::Invalid => (Framing::Unknown, Some(INVALID_LENGTH)),
        },
    }
}

/// Return the framing of a response. `request` is the method of its request, or None if the request was not
/// seen.
pub(super) fn of_response(
    status: u16,
    request: Option<MethodKind>,
    fields: &FramingFields,
    minor_version: u8,
) -> (Framing, Doubt) {
    match (status, request) {
        // After 101, the connection uses another protocol (RFC 9110, section 15.2.2).
        (101, _) => (Framing::Tunnel, None),
        (100..=199 | 204 | 304, _) | (_, Some(MethodKind::Head)) => (Framing::NoBody, None),
        (200..=299, Some(MethodKind::Connect)) => (Framing::Tunnel, None),
        _ => match fields.transfer_encoding {
            TransferEncoding::Chunked => (Framing::Chunked, chunked_doubt(fields, minor_version)),
            TransferEncoding::Other => (Framing::UntilClose, with_length_doubt(fields)),
            TransferEncoding::Absent => match fields.content_length {
                ContentLength::Absent => (Framing::UntilClose, None),
                ContentLength::Bytes(bytes) => (length(bytes), None),
                ContentLength::Invalid => (Framing::UntilClose, Some(INVALID_LENGTH)),
            },
        },
    }
}

/// Return true if the connection persists after this message (RFC 9112, section 9.3).
pub(super) fn keep_alive(fields: &FramingFields, minor_version: u8) -> bool {
    !fields.connection_close && (minor_version > 0 || fields.connection_keep_alive)
}

fn length(bytes: u64) -> Framing {
    match bytes {
        0 => Framing::NoBody,
        bytes => Framing::ContentLength(bytes),
    }
}

fn with_length_doubt(fields: &FramingFields) -> Doubt {
    (fields.content_length != ContentLength::Absent).then_some(BOTH)
}

fn chunked_doubt(fields: &FramingFields, minor_version: u8) -> Doubt {
    with_length_doubt(fields)
        .or(fields.chunked_repeated.then_some(REPEATED))
        .or((minor_version == 0).then_some(OLD_VERSION))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: FramingFields = FramingFields {
        content_length: ContentLength::Absent,
        transfer_encoding: TransferEncoding::Absent,
        chunked_repeated: false,
        connection_close: false,
        connection_keep_alive: false,
    };

    fn sized(bytes: u64) -> FramingFields {
        FramingFields {
            content_length: ContentLength::Bytes(bytes),
            ..PLAIN
        }
    }

    fn coded(transfer_encoding: TransferEncoding) -> FramingFields {
        FramingFields {
            transfer_encoding,
            ..sized(9)
        }
    }

    #[test]
    fn test_head_1xx_204_and_304_have_no_body_despite_their_fields() {
        // RFC 9112, section 6.3, item 1.
        let fields = coded(TransferEncoding::Chunked);
        for (status, method) in [
            (200, MethodKind::Head),
            (103, MethodKind::Other),
            (204, MethodKind::Other),
            (304, MethodKind::Connect),
        ] {
            assert_eq!(
                of_response(status, Some(method), &fields, 1),
                (Framing::NoBody, None)
            );
        }
    }

    #[test]
    fn test_connect_with_2xx_is_a_tunnel_and_with_another_status_is_not() {
        // RFC 9112, section 6.3, item 2.
        let connect = Some(MethodKind::Connect);
        assert_eq!(of_response(200, connect, &sized(9), 1).0, Framing::Tunnel);
        assert_eq!(
            of_response(407, connect, &sized(9), 1).0,
            Framing::ContentLength(9)
        );
        assert_eq!(of_response(101, None, &sized(9), 1).0, Framing::Tunnel);
    }

    #[test]
    fn test_transfer_encoding_overrides_content_length() {
        // RFC 9112, section 6.3, item 3.
        let (framing, doubt) = of_response(200, None, &coded(TransferEncoding::Chunked), 1);
        assert_eq!((framing, doubt), (Framing::Chunked, Some(BOTH)));
        assert_eq!(
            of_request(&coded(TransferEncoding::Chunked), 1).0,
            Framing::Chunked
        );
    }

    #[test]
    fn test_a_last_coding_other_than_chunked_ends_with_the_connection() {
        // RFC 9112, section 6.3, item 4.
        assert_eq!(
            of_response(200, None, &coded(TransferEncoding::Other), 1).0,
            Framing::UntilClose
        );
        assert_eq!(
            of_request(&coded(TransferEncoding::Other), 1).0,
            Framing::Unknown
        );
    }

    #[test]
    fn test_an_invalid_length_is_doubtful() {
        // RFC 9112, section 6.3, item 5.
        let fields = FramingFields {
            content_length: ContentLength::Invalid,
            ..PLAIN
        };
        assert_eq!(
            of_response(200, None, &fields, 1),
            (Framing::UntilClose, Some(INVALID_LENGTH))
        );
        assert_eq!(
            of_request(&fields, 1),
            (Framing::Unknown, Some(INVALID_LENGTH))
        );
    }

    #[test]
    fn test_neither_field_is_no_body_in_a_request_and_until_close_in_a_response() {
        // RFC 9112, section 6.3, items 7 and 8.
        assert_eq!(of_request(&PLAIN, 1), (Framing::NoBody, None));
        assert_eq!(
            of_response(200, None, &PLAIN, 1),
            (Framing::UntilClose, None)
        );
        assert_eq!(
            of_response(200, None, &sized(0), 1),
            (Framing::NoBody, None)
        );
    }

    #[test]
    fn test_persistence_follows_version_and_connection_field() {
        let close = FramingFields {
            connection_close: true,
            connection_keep_alive: true,
            ..PLAIN
        };
        let keep = FramingFields {
            connection_keep_alive: true,
            ..PLAIN
        };
        assert!(keep_alive(&PLAIN, 1) && !keep_alive(&PLAIN, 0));
        assert!(keep_alive(&keep, 0) && !keep_alive(&close, 1));
    }
}
