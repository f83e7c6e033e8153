//! Cipher suites by their numbers in the IANA registry.

use crate::hash::Hash;
use crate::opener::{TLS_1_2, TLS_1_3};

/// The record protection of a suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cipher {
    Aes128Gcm,
    Aes256Gcm,
    ChaCha20Poly1305,
    Aes128Ccm,
    Aes256Ccm,
    /// AES-128-CCM with a tag of 8 bytes.
    Aes128Ccm8,
    Aes256Ccm8,
    /// AES-128-CBC with the hash of its MAC.
    Aes128Cbc(Hash),
    Aes256Cbc(Hash),
}

/// The record part of a cipher suite. The key exchange is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Suite {
    pub(crate) cipher: Cipher,
    /// The hash of the key schedule, used from TLS 1.2 on.
    pub(crate) hash: Hash,
}

impl Suite {
    /// Find a suite. Return None if its records cannot be opened, or if the version has no such suite.
    pub(crate) fn of(number: u16, version: u16) -> Option<Suite> {
        let cipher = cipher(number)?;
        let hash = match cipher {
            Cipher::Aes256Gcm
            | Cipher::Aes128Cbc(Hash::Sha384)
            | Cipher::Aes256Cbc(Hash::Sha384) => Hash::Sha384,
            _ => Hash::Sha256,
        };
        let is_of_version = match version {
            TLS_1_3 => number >> 8 == 0x13,
            TLS_1_2 => number >> 8 != 0x13,
            _ => cipher.mac() == Some(Hash::Sha1),
        };
        is_of_version.then_some(Suite { cipher, hash })
    }
}

/// Return the cipher of a suite (RFC 8446, 5246, 4279, 4785, 5054, 5288, 5289, 5487, 5489, 6655, 7251, 7905,
/// 8422 and 8442).
fn cipher(number: u16) -> Option<Cipher> {
    Some(match number {
        0x1301 | 0x009c | 0x009e | 0x00a0 | 0x00a2 | 0x00a4 | 0x00a6 | 0x00a8 | 0x00aa | 0x00ac
        | 0xc02b | 0xc02d | 0xc02f | 0xc031 | 0xd001 => Cipher::Aes128Gcm,
        0x1302 | 0x009d | 0x009f | 0x00a1 | 0x00a3 | 0x00a5 | 0x00a7 | 0x00a9 | 0x00ab | 0x00ad
        | 0xc02c | 0xc02e | 0xc030 | 0xc032 | 0xd002 => Cipher::Aes256Gcm,
        0x1303 | 0xcca8..=0xccae => Cipher::ChaCha20Poly1305,
        0x1304 | 0xc09c | 0xc09e | 0xc0a4 | 0xc0a6 | 0xc0ac | 0xd005 => Cipher::Aes128Ccm,
        0xc09d | 0xc09f | 0xc0a5 | 0xc0a7 | 0xc0ad => Cipher::Aes256Ccm,
        0x1305 | 0xc0a0 | 0xc0a2 | 0xc0a8 | 0xc0aa | 0xc0ae | 0xd003 => Cipher::Aes128Ccm8,
        0xc0a1 | 0xc0a3 | 0xc0a9 | 0xc0ab | 0xc0af => Cipher::Aes256Ccm8,
        0x002f..=0x0034
        | 0x008c
        | 0x0090
        | 0x0094
        | 0xc004
        | 0xc009
        | 0xc00e
        | 0xc013
        | 0xc018
        | 0xc01d..=0xc01f
        | 0xc035 => Cipher::Aes128Cbc(Hash::Sha1),
        0x0035..=0x003a
        | 0x008d
        | 0x0091
        | 0x0095
        | 0xc005
        | 0xc00a
        | 0xc00f
        | 0xc014
        | 0xc019
        | 0xc020..=0xc022
        | 0xc036 => Cipher::Aes256Cbc(Hash::Sha1),
        0x003c
        | 0x003e..=0x0040
        | 0x0067
        | 0x006c
        | 0x00ae
        | 0x00b2
        | 0x00b6
        | 0xc023
        | 0xc025
        | 0xc027
        | 0xc029
        | 0xc037 => Cipher::Aes128Cbc(Hash::Sha256),
        0x003d | 0x0068..=0x006b | 0x006d => Cipher::Aes256Cbc(Hash::Sha256),
        0x00af | 0x00b3 | 0x00b7 | 0xc024 | 0xc026 | 0xc028 | 0xc02a | 0xc038 => {
            Cipher::Aes256Cbc(Hash::Sha384)
        }
        _ => return None,
    })
}

impl Cipher {
    pub(crate) const fn key_bytes(self) -> usize {
        match self {
            Cipher::Aes128Gcm | Cipher::Aes128Ccm | Cipher::Aes128Ccm8 | Cipher::Aes128Cbc(_) => 16,
            Cipher::Aes256Gcm
            | Cipher::Aes256Ccm
            | Cipher::Aes256Ccm8
            | Cipher::Aes256Cbc(_)
            | Cipher::ChaCha20Poly1305 => 32,
        }
    }

    /// Return the hash of the MAC of a suite without AEAD.
    pub(crate) const fn mac(self) -> Option<Hash> {
        match self {
            Cipher::Aes128Cbc(hash) | Cipher::Aes256Cbc(hash) => Some(hash),
            _ => None,
        }
    }

    /// Return the length of the nonce or vector part from the key block of TLS 1.0 to 1.2 (RFC 5246, section
    /// 6.3, RFC 5288, section 3, and RFC 7905, section 2). A CBC record of TLS 1.1 or later carries its own
    /// vector.
    pub(crate) const fn vector_bytes(self) -> usize {
        match self {
            Cipher::Aes128Cbc(_) | Cipher::Aes256Cbc(_) => 16,
            Cipher::ChaCha20Poly1305 => 12,
            _ => 4,
        }
    }
}
