//! Handshake messages of a direction, from clear-text records (RFC 8446, section 4).

use crate::bytes::Bytes;

/// Maximum length of a parsed ClientHello or ServerHello. The largest ones with post-quantum keys have 2 KiB.
const HELLO_BYTES_MAX: usize = 64 * 1024;
const HEADER_BYTES: usize = 4;

pub(crate) const CLIENT_HELLO: u8 = 1;
pub(crate) const SERVER_HELLO: u8 = 2;
pub(crate) const CERTIFICATE: u8 = 11;
pub(crate) const SERVER_HELLO_DONE: u8 = 14;

/// Names of handshake messages (RFC 8446, section 4; RFC 5246, section 7.4; RFC 6066, section 8).
const NAMES: &[(u8, &str)] = &[
    (0, "hello_request"),
    (CLIENT_HELLO, "client_hello"),
    (SERVER_HELLO, "server_hello"),
    (4, "new_session_ticket"),
    (5, "end_of_early_data"),
    (8, "encrypted_extensions"),
    (CERTIFICATE, "certificate"),
    (12, "server_key_exchange"),
    (13, "certificate_request"),
    (SERVER_HELLO_DONE, "server_hello_done"),
    (15, "certificate_verify"),
    (16, "client_key_exchange"),
    (20, "finished"),
    (22, "certificate_status"),
    (24, "key_update"),
];

/// Return the name of a message kind, or its number.
pub(crate) fn message_name(kind: u8) -> String {
    let known = NAMES.iter().find(|(number, _)| *number == kind);
    known.map_or_else(|| kind.to_string(), |(_, name)| (*name).to_owned())
}

/// A complete handshake message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message<'a> {
    pub(crate) kind: u8,
    /// Length of the body after the header.
    pub(crate) length: usize,
    /// The body, for a hello.
    pub(crate) body: &'a [u8],
}

/// Assembles messages. A record can hold several messages, and a message can span several records.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    header: Vec<u8>,
    body: Vec<u8>,
    /// Remaining bytes of the message, once its header is known.
    left: Option<usize>,
    /// True after a loss: the start of the next message is unknown.
    is_lost: bool,
}

impl Messages {
    pub(crate) fn held_bytes(&self) -> u64 {
        self.body.capacity() as u64
    }

    /// Record missing bytes of a record, or drop a partial message.
    pub(crate) fn lose(&mut self) {
        *self = Messages {
            is_lost: true,
            ..Messages::default()
        };
    }

    /// Take the fragment of a record, and call `each` for the messages that end in it.
    pub(crate) fn take(&mut self, fragment: &[u8], mut each: impl FnMut(Message<'_>)) {
        let mut rest = Bytes(fragment);
        while !rest.0.is_empty() && !self.is_lost {
            let Some(left) = self.left else {
                self.header(&mut rest);
                // A message without a body, such as ServerHelloDone, can end the fragment.
                self.ends(&mut each);
                continue;
            };
            let here = rest.take(left.min(rest.0.len())).unwrap_or_default();
            if self.is_kept() {
                self.body.extend_from_slice(here);
            }
            self.left = Some(left.saturating_sub(here.len()));
            self.ends(&mut each);
        }
    }

    fn header(&mut self, rest: &mut Bytes<'_>) {
        let wanted = HEADER_BYTES.saturating_sub(self.header.len());
        let here = rest.take(wanted.min(rest.0.len())).unwrap_or_default();
        self.header.extend_from_slice(here);
        self.left = (self.header.len() == HEADER_BYTES).then(|| self.length());
    }

    fn ends(&mut self, each: &mut impl FnMut(Message<'_>)) {
        if self.left != Some(0) {
            return;
        }
        let (kind, length) = (self.kind(), self.length());
        each(Message {
            kind,
            length,
            body: &self.body,
        });
        self.header.clear();
        self.body = Vec::new();
        self.left = None;
    }

    fn kind(&self) -> u8 {
        self.header.first().copied().unwrap_or_default()
    }

    fn length(&self) -> usize {
        let bytes = self.header.iter().skip(1);
        bytes.fold(0, |length, byte| length << 8 | usize::from(*byte))
    }

    fn is_kept(&self) -> bool {
        matches!(self.kind(), CLIENT_HELLO | SERVER_HELLO) && self.length() <= HELLO_BYTES_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(fragments: &[&[u8]]) -> Vec<(u8, usize, Vec<u8>)> {
        let (mut messages, mut found) = (Messages::default(), Vec::new());
        for fragment in fragments {
            messages.take(fragment, |it| {
                found.push((it.kind, it.length, it.body.to_vec()));
            });
        }
        found
    }

    #[test]
    fn messages_are_found_under_every_record_split() {
        let bytes = [2, 0, 0, 3, 7, 8, 9, 11, 0, 0, 2, 1, 1, 14, 0, 0, 0];
        let whole = taken(&[&bytes]);
        let expected = [
            (SERVER_HELLO, 3, vec![7, 8, 9]),
            (CERTIFICATE, 2, vec![]),
            (SERVER_HELLO_DONE, 0, vec![]),
        ];
        assert_eq!(whole, expected);
        for at in 0..bytes.len() {
            let (left, right) = bytes.split_at(at);
            assert_eq!(taken(&[left, right]), expected, "cut at {at}");
        }
    }

    #[test]
    fn a_too_long_hello_is_not_kept() {
        let mut messages = Messages::default();
        messages.take(&[1, 255, 255, 255], |_| {});
        for _ in 0..100 {
            messages.take(&[0; 16_384], |_| {});
        }
        assert_eq!(messages.held_bytes(), 0);
    }

    #[test]
    fn no_message_is_assumed_after_a_loss() {
        let mut messages = Messages::default();
        messages.take(&[1, 0, 0, 9, 1], |_| {});
        messages.lose();
        messages.take(&[2, 0, 0, 0], |it| panic!("{it:?}"));
    }
}
