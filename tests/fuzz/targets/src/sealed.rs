//! The sending side of TLS 1.3 with AES-128-GCM (RFC 8446, sections 5.2 and 7), independent of the code under
//! test.

use aes_gcm::aead::{AeadInOut, KeyInit, Nonce};
use aes_gcm::Aes128Gcm;
use hmac::{Hmac, Mac};
use sha2::Sha256;

pub const HANDSHAKE: u8 = 22;
pub const APPLICATION_DATA: u8 = 23;
/// `TLS_AES_128_GCM_SHA256`. The version is in its extension.
const SUITE: [u8; 2] = [0x13, 0x01];
const VERSION: [u8; 2] = [3, 4];
const CLIENT_RANDOM: [u8; 32] = [1; 32];
/// The hash part of Finished, after its type and length.
const FINISHED: [u8; 36] = [20; 36];

/// The secrets of a connection, by their key log labels.
const SECRETS: [(&str, [u8; 32]); 4] = [
    ("CLIENT_HANDSHAKE_TRAFFIC_SECRET", [3; 32]),
    ("SERVER_HANDSHAKE_TRAFFIC_SECRET", [4; 32]),
    ("CLIENT_TRAFFIC_SECRET_0", [5; 32]),
    ("SERVER_TRAFFIC_SECRET_0", [6; 32]),
];

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Return the key log of the connection.
#[must_use]
pub fn key_log() -> String {
    let line = |(label, secret): &(&str, [u8; 32])| {
        format!("{label} {} {}\n", hex(&CLIENT_RANDOM), hex(secret))
    };
    SECRETS.iter().map(line).collect()
}

/// A sealer of one direction's records.
pub struct Sealer {
    secret: [u8; 32],
    cipher: Aes128Gcm,
    vector: Vec<u8>,
    sequence: u64,
}

impl Sealer {
    /// Create a sealer with the application data keys.
    #[must_use]
    pub fn new(from_server: bool) -> Self {
        let [_, _, client, server] = SECRETS;
        Sealer::of(if from_server { server.1 } else { client.1 })
    }

    fn of(secret: [u8; 32]) -> Self {
        let key = expand(&secret, "key", 16);
        Sealer {
            secret,
            cipher: Aes128Gcm::new_from_slice(&key).expect("its key length"),
            vector: expand(&secret, "iv", 12),
            sequence: 0,
        }
    }

    /// Return the next record, with its header.
    pub fn seal(&mut self, content: u8, text: &[u8], padding: usize) -> Vec<u8> {
        let mut sealed = [text, &[content], &vec![0; padding]].concat();
        let header = header(APPLICATION_DATA, sealed.len() + 16);
        let mut nonce = self.vector.clone();
        for (to, from) in nonce.iter_mut().rev().zip(self.sequence.to_le_bytes()) {
            *to ^= from;
        }
        self.sequence += 1;
        let nonce = Nonce::<Aes128Gcm>::try_from(&nonce[..]).expect("12 bytes");
        let tag = self
            .cipher
            .encrypt_inout_detached(&nonce, &header, sealed.as_mut_slice().into());
        [&header, &sealed[..], &tag.expect("a short text")].concat()
    }

    /// Return a KeyUpdate and switch to the next keys (RFC 8446, sections 4.6.3 and 7.2).
    pub fn update(&mut self) -> Vec<u8> {
        let record = self.seal(HANDSHAKE, &[24, 0, 0, 1, 0], 0);
        let next = expand(&self.secret, "traffic upd", 32);
        *self = Sealer::of(next.try_into().expect("32 bytes"));
        record
    }
}

/// Return HKDF-Expand-Label for one block without a context.
fn expand(secret: &[u8; 32], label: &str, length: u8) -> Vec<u8> {
    let name = format!("tls13 {label}");
    let name_bytes = u8::try_from(name.len()).expect("a short name");
    let info = [&[0, length, name_bytes], name.as_bytes(), &[0, 1]].concat();
    let keyed = <Hmac<Sha256> as KeyInit>::new_from_slice(secret).expect("any length will do");
    let block = keyed.chain_update(info).finalize().into_bytes();
    block[..usize::from(length)].to_vec()
}

fn header(content: u8, length: usize) -> [u8; 5] {
    let [high, low] = u16::try_from(length).expect("a record").to_be_bytes();
    [content, 3, 3, high, low]
}

fn hello(kind: u8, random: [u8; 32], suites: &[u8], extension: &[u8]) -> Vec<u8> {
    let extension_bytes = u8::try_from(extension.len()).expect("a short one");
    let extensions = [
        &[0, 4 + extension_bytes, 0, 43, 0, extension_bytes],
        extension,
    ]
    .concat();
    let body = [&[3, 3], &random[..], &[0], suites, &extensions].concat();
    let length = u8::try_from(body.len()).expect("a short hello");
    let message = [&[kind, 0, 0, length], &body[..]].concat();
    [&header(HANDSHAKE, message.len()), &message[..]].concat()
}

/// Return the flights of the handshake: client, server, client.
#[must_use]
pub fn handshake() -> [Vec<u8>; 3] {
    let [client, server, ..] = SECRETS;
    let offer = [&[0, 2], &SUITE[..], &[1, 0]].concat();
    let choice = [&SUITE[..], &[0]].concat();
    let finished = |secret| Sealer::of(secret).seal(HANDSHAKE, &FINISHED, 0);
    [
        hello(1, CLIENT_RANDOM, &offer, &[&[2], &VERSION[..]].concat()),
        [hello(2, [2; 32], &choice, &VERSION), finished(server.1)].concat(),
        finished(client.1),
    ]
}
