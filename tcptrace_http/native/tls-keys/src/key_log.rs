//! The key log of a TLS endpoint (RFC 9850), from a file or a Decryption Secrets Block.

use std::collections::HashMap;
use std::fmt;

use crate::secret::Secret;

/// The random of the ClientHello: the key of a session in the key log.
pub type ClientRandom = [u8; 32];

/// Maximum number of bad lines that an error names. Further bad lines are only counted.
const LINES_NAMED: usize = 8;

/// The secrets of a session that open its records (RFC 9850, sections 2.1 and 2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Label {
    /// The master secret of TLS 1.0 to 1.2.
    Master,
    ClientEarly,
    ClientHandshake,
    ServerHandshake,
    ClientTraffic,
    ServerTraffic,
}

impl Label {
    const ALL: [Label; 6] = [
        Label::Master,
        Label::ClientEarly,
        Label::ClientHandshake,
        Label::ServerHandshake,
        Label::ClientTraffic,
        Label::ServerTraffic,
    ];

    fn from_word(word: &[u8]) -> Option<Label> {
        Some(match word {
            b"CLIENT_RANDOM" => Label::Master,
            b"CLIENT_EARLY_TRAFFIC_SECRET" => Label::ClientEarly,
            b"CLIENT_HANDSHAKE_TRAFFIC_SECRET" => Label::ClientHandshake,
            b"SERVER_HANDSHAKE_TRAFFIC_SECRET" => Label::ServerHandshake,
            b"CLIENT_TRAFFIC_SECRET_0" => Label::ClientTraffic,
            b"SERVER_TRAFFIC_SECRET_0" => Label::ServerTraffic,
            _ => return None,
        })
    }

    /// Return true if the length fits the label. A master secret has 48 bytes (RFC 5246, section 8.1). A
    /// traffic secret has a hash length.
    fn has_length(self, length: usize) -> bool {
        length == 48 || (length == 32 && self != Label::Master)
    }
}

/// Secrets by session. The log grows with each added text.
#[derive(Debug, Default)]
pub struct KeyLog {
    secrets: HashMap<(ClientRandom, Label), Secret>,
}

/// Lines of a key log that are neither secrets nor comments. The lines' text is not kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BadLines {
    pub count: u64,
    /// Numbers of the first bad lines, counted from 1.
    pub first: Vec<u64>,
}

impl KeyLog {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    /// Return the number of secrets.
    #[must_use]
    pub fn len(&self) -> usize {
        self.secrets.len()
    }

    /// Return true if a session has a secret.
    #[must_use]
    pub fn has(&self, client_random: &ClientRandom) -> bool {
        let mut labels = Label::ALL.iter();
        labels.any(|label| self.secret(client_random, *label).is_some())
    }

    /// Add the secrets of a text. An error names the bad lines; the secrets of the other lines are added.
    pub fn add(&mut self, text: &[u8]) -> Result<(), BadLines> {
        let mut bad = BadLines::default();
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        for (number, line) in (1u64..).zip(text.split(|byte| *byte == b'\n')) {
            if self.add_line(line.trim_ascii()).is_none() {
                bad.count = bad.count.saturating_add(1);
                if bad.first.len() < LINES_NAMED {
                    bad.first.push(number);
                }
            }
        }
        if bad.count == 0 {
            Ok(())
        } else {
            Err(bad)
        }
    }

    /// Add the secret of a line, or skip a line of another purpose. Return None if the line is bad.
    fn add_line(&mut self, line: &[u8]) -> Option<()> {
        if line.is_empty() || line.starts_with(b"#") {
            return Some(());
        }
        let mut words = line
            .split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty());
        let (word, session, secret) = (words.next()?, words.next()?, words.next()?);
        if words.next().is_some() {
            return None;
        }
        let Some(label) = Label::from_word(word) else {
            // Exporter secrets, secrets of QUIC and ECH, and future labels.
            return is_other_label(word).then_some(());
        };
        let mut client_random = ClientRandom::default();
        read_hex(session, &mut client_random)?;
        let length = secret.len().checked_div(2)?;
        if !label.has_length(length) {
            return None;
        }
        let secret = Secret::filled(length, |bytes| read_hex(secret, bytes))?;
        self.secrets.insert((client_random, label), secret);
        Some(())
    }

    pub(crate) fn secret(&self, client_random: &ClientRandom, label: Label) -> Option<&Secret> {
        self.secrets.get(&(*client_random, label))
    }
}

fn is_other_label(word: &[u8]) -> bool {
    let is_letter = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_';
    word.first().is_some_and(u8::is_ascii_uppercase) && word.iter().all(is_letter)
}

/// Decode hexadecimal digits that fill `bytes` exactly.
fn read_hex(digits: &[u8], bytes: &mut [u8]) -> Option<()> {
    let (pairs, rest) = digits.as_chunks::<2>();
    if pairs.len() != bytes.len() || !rest.is_empty() {
        return None;
    }
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = (hex_digit(*high)? << 4) | hex_digit(*low)?;
    }
    Some(())
}

fn hex_digit(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16)?.try_into().ok()
}

impl fmt::Display for BadLines {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = if self.count == 1 { "line" } else { "lines" };
        write!(formatter, "{} {lines} without a secret: ", self.count)?;
        for (at, number) in self.first.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(formatter, "{comma}{number}")?;
        }
        if self.count > self.first.len().try_into().unwrap_or(u64::MAX) {
            formatter.write_str(" …")?;
        }
        Ok(())
    }
}

impl std::error::Error for BadLines {}

#[cfg(test)]
#[path = "key_log_tests.rs"]
mod tests;
