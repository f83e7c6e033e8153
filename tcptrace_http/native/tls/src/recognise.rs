//! Detection of TLS by a payload's first bytes.

use crate::messages::{CLIENT_HELLO, SERVER_HELLO};
use crate::record::{ContentType, Header, HEADER_BYTES};

/// Minimum number of chained record headers. Two matching headers exclude coincidence.
const CHAINED_MIN: usize = 2;

/// The TLS content at a payload's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    ClientHello,
    ServerHello,
    /// Records of a connection without a captured handshake.
    Records,
}

/// Return the TLS content at the start of `payload`, if the payload is TLS.
#[inline]
#[must_use]
pub fn starts_like(payload: &[u8]) -> Option<Start> {
    let first = payload.first()?;
    if !matches!(first, 20..=24) {
        return None;
    }
    let header = Header::parse(payload)?;
    match (header.content, payload.get(HEADER_BYTES)) {
        (ContentType::Handshake, Some(&CLIENT_HELLO)) => Some(Start::ClientHello),
        (ContentType::Handshake, Some(&SERVER_HELLO)) => Some(Start::ServerHello),
        (ContentType::ApplicationData, _) => are_records(payload).then_some(Start::Records),
        _ => None,
    }
}

/// Return true if a payload too short for detection can begin a hello.
#[inline]
#[must_use]
pub fn may_begin_hello(payload: &[u8]) -> bool {
    // The shortest possible hello supplies the missing bytes.
    let mut whole = [ContentType::Handshake as u8, 3, 1, 0, 1, CLIENT_HELLO];
    let few = 1..whole.len();
    let Some(start) = whole.get_mut(..payload.len()) else {
        return false;
    };
    start.copy_from_slice(payload);
    few.contains(&payload.len()) && starts_like(&whole) == Some(Start::ClientHello)
}

/// Return true if whole records fill the payload, or several headers are chained.
fn are_records(payload: &[u8]) -> bool {
    let (mut rest, mut count) = (payload, 0_usize);
    while let Some(header) = Header::parse(rest) {
        count = count.saturating_add(1);
        let Some(behind) = rest.get(header.record_bytes()..) else {
            return count >= CHAINED_MIN;
        };
        rest = behind;
    }
    // A partial header can remain. The next segment has its rest.
    rest.is_empty() || (rest.len() < HEADER_BYTES && count >= CHAINED_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hellos_are_recognized_by_their_first_bytes() {
        assert_eq!(
            starts_like(&[22, 3, 1, 2, 0, 1, 0]),
            Some(Start::ClientHello)
        );
        assert_eq!(
            starts_like(&[22, 3, 3, 0, 90, 2, 0]),
            Some(Start::ServerHello)
        );
        assert_eq!(starts_like(&[22, 2, 1, 2, 0, 1, 0]), None);
        assert_eq!(starts_like(b"GET / HTTP/1.1\r\n"), None);
        assert_eq!(starts_like(&[22, 3, 1]), None);
    }

    #[test]
    fn a_short_prefix_can_begin_a_hello() {
        let hello = [22, 3, 1, 2, 0, 1];
        for length in 1..hello.len() {
            let start = hello.get(..length).unwrap_or_default();
            assert!(may_begin_hello(start), "{length} bytes");
        }
        assert!(!may_begin_hello(&hello));
        assert!(!may_begin_hello(b""));
        assert!(!may_begin_hello(b"GET"));
        assert!(!may_begin_hello(&[22, 2]));
        assert!(!may_begin_hello(&[23, 3, 3]));
    }

    #[test]
    fn records_are_recognized_by_chained_headers_or_their_end() {
        let record =
            |length: u8| [vec![23, 3, 3, 0, length], vec![0; usize::from(length)]].concat();
        assert_eq!(starts_like(&record(40)), Some(Start::Records));
        let two = [record(40), record(30)].concat();
        for end in 50..two.len() {
            let part = two.get(..end).unwrap_or_default();
            assert_eq!(starts_like(part), Some(Start::Records), "{end} bytes");
        }
        // A single header without confirmation.
        assert_eq!(starts_like(record(40).get(..30).unwrap_or_default()), None);
        assert_eq!(starts_like(&[record(40), vec![9; 9]].concat()), None);
    }
}
