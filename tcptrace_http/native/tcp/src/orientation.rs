//! Client and server of a flow without a SYN, from the first bytes of an HTTP message.

/// Kind of HTTP message that a payload starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    Request,
    Response,
}

/// Request methods of RFC 9110 and RFC 5789, and the most frequent WebDAV method.
const METHODS: [&[u8]; 10] = [
    b"GET ",
    b"HEAD ",
    b"POST ",
    b"PUT ",
    b"DELETE ",
    b"CONNECT ",
    b"OPTIONS ",
    b"TRACE ",
    b"PATCH ",
    b"PROPFIND ",
];

/// Return the kind of HTTP/1.x message that `payload` starts with, if any.
#[must_use]
pub fn starts_like_http(payload: &[u8]) -> Option<MessageKind> {
    if payload.starts_with(b"HTTP/1.") {
        Some(MessageKind::Response)
    } else if METHODS.iter().any(|method| payload.starts_with(method)) {
        Some(MessageKind::Request)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_start_of_a_message_identifies_http() {
        assert_eq!(
            starts_like_http(b"HTTP/1.1 200 OK\r\n"),
            Some(MessageKind::Response)
        );
        assert_eq!(
            starts_like_http(b"GET / HTTP/1.0\r\n"),
            Some(MessageKind::Request)
        );
        assert_eq!(starts_like_http(b"GETTING / HTTP/1.0"), None);
        assert_eq!(starts_like_http(b"\x16\x03\x01"), None);
    }
}
