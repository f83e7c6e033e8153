//! Detection of proxies, which also send packets to other hosts.

const HTTP: &[u8] = b"http://";

/// Return whether a request is addressed to a proxy.
///
/// Clients send a target in absolute form only to proxies (RFC 9112, sections 3.2.1 and 3.2.2).
pub(super) fn is_proxy_request(payload: &[u8]) -> bool {
    let behind_method = payload.splitn(2, |byte| *byte == b' ').nth(1);
    let target = behind_method.and_then(|it| it.get(..HTTP.len()));
    target.is_some_and(|it| it.eq_ignore_ascii_case(HTTP))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_form_target_shows_a_proxy() {
        assert!(is_proxy_request(
            b"GET http://www.example.com/ HTTP/1.0\r\n"
        ));
        assert!(!is_proxy_request(b"GET /?http:// HTTP/1.0\r\n"));
        assert!(!is_proxy_request(b"GET"));
        assert!(!is_proxy_request(b""));
    }
}
