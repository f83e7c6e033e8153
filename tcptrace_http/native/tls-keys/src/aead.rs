//! Records under AEAD protection, for TLS 1.2 and 1.3.

use aes::{Aes128, Aes256};
use aes_gcm::aead::array::typenum::Unsigned;
use aes_gcm::aead::consts::{U12, U16, U8};
use aes_gcm::aead::inout::InOutBuf;
use aes_gcm::aead::{AeadInOut, KeyInit, Tag};
use aes_gcm::{Aes128Gcm, Aes256Gcm};
use ccm::Ccm;
use chacha20poly1305::ChaCha20Poly1305;
use zeroize::Zeroizing;

use crate::record::Record;
use crate::suite::Cipher;

const NONCE_BYTES: usize = 12;
/// The explicit part of the nonce in a TLS 1.2 record (RFC 5288, section 3).
const EXPLICIT_NONCE_BYTES: usize = 8;

type Nonce = [u8; NONCE_BYTES];

/// An AEAD with its key.
trait Open: Send + Sync {
    fn tag_bytes(&self) -> usize;

    /// Decrypt text and tag. Return None if the tag is wrong.
    fn open(&self, nonce: &Nonce, header: &[u8], sealed: &[u8], plain: &mut Vec<u8>) -> Option<()>;
}

impl<A: AeadInOut<NonceSize = U12> + Send + Sync> Open for A {
    fn tag_bytes(&self) -> usize {
        A::TagSize::USIZE
    }

    fn open(&self, nonce: &Nonce, header: &[u8], sealed: &[u8], plain: &mut Vec<u8>) -> Option<()> {
        let length = sealed.len().checked_sub(A::TagSize::USIZE)?;
        let (text, tag) = sealed.split_at_checked(length)?;
        let tag = Tag::<A>::try_from(tag).ok()?;
        plain.resize(length, 0);
        let buffer = InOutBuf::new(text, plain).ok()?;
        self.decrypt_inout_detached(&(*nonce).into(), header, buffer, &tag)
            .ok()
    }
}

/// An AEAD with the constant part of its nonces.
pub(crate) struct Aead {
    cipher: Box<dyn Open>,
    vector: Zeroizing<Nonce>,
    has_explicit_nonce: bool,
}

impl Aead {
    /// Create the AEAD. Return None if the cipher is no AEAD or a length is wrong. A vector of 4 bytes
    /// belongs to TLS 1.2, where the record carries the rest of the nonce.
    pub(crate) fn new(cipher: Cipher, key: &[u8], vector: &[u8]) -> Option<Self> {
        let mut whole = Zeroizing::new(Nonce::default());
        whole.get_mut(..vector.len())?.copy_from_slice(vector);
        Some(Aead {
            cipher: match cipher {
                Cipher::Aes128Gcm => keyed::<Aes128Gcm>(key)?,
                Cipher::Aes256Gcm => keyed::<Aes256Gcm>(key)?,
                Cipher::ChaCha20Poly1305 => keyed::<ChaCha20Poly1305>(key)?,
                Cipher::Aes128Ccm => keyed::<Ccm<Aes128, U16, U12>>(key)?,
                Cipher::Aes256Ccm => keyed::<Ccm<Aes256, U16, U12>>(key)?,
                Cipher::Aes128Ccm8 => keyed::<Ccm<Aes128, U8, U12>>(key)?,
                Cipher::Aes256Ccm8 => keyed::<Ccm<Aes256, U8, U12>>(key)?,
                Cipher::Aes128Cbc(_) | Cipher::Aes256Cbc(_) => return None,
            },
            vector: whole,
            has_explicit_nonce: vector.len() < NONCE_BYTES,
        })
    }

    /// Open a record of TLS 1.3 (RFC 8446, section 5.2).
    pub(crate) fn open_tls13(
        &self,
        sequence: u64,
        record: &Record<'_>,
        plain: &mut Vec<u8>,
    ) -> Option<()> {
        let nonce = self.nonce_of_sequence(sequence);
        let header = record.header()?;
        self.cipher.open(&nonce, &header, record.fragment, plain)
    }

    /// Open a record of TLS 1.2 (RFC 5246, section 6.2.3.3, and RFC 7905, section 2).
    pub(crate) fn open_tls12(
        &self,
        sequence: u64,
        record: &Record<'_>,
        plain: &mut Vec<u8>,
    ) -> Option<()> {
        let (nonce, sealed) = if self.has_explicit_nonce {
            let (explicit, sealed) = record.fragment.split_at_checked(EXPLICIT_NONCE_BYTES)?;
            let mut nonce = *self.vector;
            nonce
                .last_chunk_mut::<EXPLICIT_NONCE_BYTES>()?
                .copy_from_slice(explicit);
            (nonce, sealed)
        } else {
            (self.nonce_of_sequence(sequence), record.fragment)
        };
        let length = sealed.len().checked_sub(self.cipher.tag_bytes())?;
        let header = record.pseudo_header(sequence, length)?;
        self.cipher.open(&nonce, &header, sealed, plain)
    }

    /// Return the nonce derived from the sequence number alone (RFC 8446, section 5.3).
    fn nonce_of_sequence(&self, sequence: u64) -> Nonce {
        let mut nonce = *self.vector;
        for (to, from) in nonce.iter_mut().rev().zip(sequence.to_le_bytes()) {
            *to ^= from;
        }
        nonce
    }
}

fn keyed<A: Open + KeyInit + 'static>(key: &[u8]) -> Option<Box<dyn Open>> {
    Some(Box::new(A::new_from_slice(key).ok()?))
}
