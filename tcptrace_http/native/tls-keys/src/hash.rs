//! Keyed hashes (RFC 2104) of the key schedule and of the CBC suites.

use hmac::{Hmac, KeyInit, Mac};
use md5::Md5;
use sha1::Sha1;
use sha2::{Sha256, Sha384};
use zeroize::Zeroizing;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hash {
    Md5,
    Sha1,
    Sha256,
    Sha384,
}

/// Length of the longest digest.
const DIGEST_BYTES: usize = 48;

impl Hash {
    pub(crate) const fn bytes(self) -> usize {
        match self {
            Hash::Md5 => 16,
            Hash::Sha1 => 20,
            Hash::Sha256 => 32,
            Hash::Sha384 => DIGEST_BYTES,
        }
    }
}

/// An HMAC with its key.
pub(crate) enum KeyedHash {
    Md5(Hmac<Md5>),
    Sha1(Hmac<Sha1>),
    Sha256(Hmac<Sha256>),
    Sha384(Hmac<Sha384>),
}

impl KeyedHash {
    pub(crate) fn new(hash: Hash, key: &[u8]) -> Option<Self> {
        Some(match hash {
            Hash::Md5 => KeyedHash::Md5(Hmac::new_from_slice(key).ok()?),
            Hash::Sha1 => KeyedHash::Sha1(Hmac::new_from_slice(key).ok()?),
            Hash::Sha256 => KeyedHash::Sha256(Hmac::new_from_slice(key).ok()?),
            Hash::Sha384 => KeyedHash::Sha384(Hmac::new_from_slice(key).ok()?),
        })
    }

    /// Digest the parts as one text.
    pub(crate) fn digest(&self, parts: &[&[u8]]) -> Digest {
        match self {
            KeyedHash::Md5(keyed) => digest(keyed, parts),
            KeyedHash::Sha1(keyed) => digest(keyed, parts),
            KeyedHash::Sha256(keyed) => digest(keyed, parts),
            KeyedHash::Sha384(keyed) => digest(keyed, parts),
        }
    }
}

fn digest<M: Mac + Clone>(keyed: &M, parts: &[&[u8]]) -> Digest {
    let mut keyed = keyed.clone();
    for part in parts {
        keyed.update(part);
    }
    let output = keyed.finalize().into_bytes();
    let mut bytes = Zeroizing::new([0; DIGEST_BYTES]);
    for (to, from) in bytes.iter_mut().zip(&output) {
        *to = *from;
    }
    let length = output.len();
    Digest { bytes, length }
}

/// A digest, as long as its hash.
pub(crate) struct Digest {
    bytes: Zeroizing<[u8; DIGEST_BYTES]>,
    length: usize,
}

impl Digest {
    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}
