//! TLS 1.0 to 1.2 records under a block cipher in CBC mode and a MAC.

use aes::cipher::{BlockModeDecrypt, InOutBuf, KeyIvInit};
use aes::{Aes128, Aes256};
use cbc::Decryptor;

use crate::error::OpenError;
use crate::hash::{Hash, KeyedHash};
use crate::record::Record;
use crate::search::Search;
use crate::secret::Secret;

type Block = [u8; 16];

/// The location of a record's initialization vector.
pub(crate) enum Vector {
    /// The vector at the start of the record (RFC 4346, section 6.2.3.2).
    Explicit,
    /// The last block of the previous record (RFC 2246, section 6.2.3.2). None if that record is missing.
    Chained(Option<Block>),
}

pub(crate) struct Cbc {
    key: Secret,
    mac: KeyedHash,
    mac_bytes: usize,
    vector: Vector,
    /// True with encrypt-then-MAC (RFC 7366).
    encrypts_then_macs: bool,
}

impl Cbc {
    pub(crate) fn new(
        key: Secret,
        mac: (Hash, &[u8]),
        vector: Vector,
        encrypts_then_macs: bool,
    ) -> Option<Self> {
        let (hash, mac_key) = mac;
        Some(Cbc {
            key,
            mac: KeyedHash::new(hash, mac_key)?,
            mac_bytes: hash.bytes(),
            vector,
            encrypts_then_macs,
        })
    }

    pub(crate) fn forget_vector(&mut self) {
        if let Vector::Chained(vector) = &mut self.vector {
            *vector = None;
        }
    }

    /// Decrypt a record into `plain` and return its sequence number.
    pub(crate) fn open(
        &mut self,
        search: &mut Search,
        next: u64,
        record: &Record<'_>,
        plain: &mut Vec<u8>,
    ) -> Result<u64, OpenError> {
        let (covered, mac) = self.split_mac(record.fragment).ok_or(OpenError::WrongKey)?;
        let (vector, text) = self.split_vector(covered)?;
        let found = if self.encrypts_then_macs {
            self.find(search, next, record, covered, mac)
                .filter(|_| self.decrypt(vector, text, plain).is_some())
        } else {
            self.decrypt(vector, text, plain)
                .and_then(|()| self.find_under_encryption(search, next, record, plain))
        };
        found.ok_or(OpenError::WrongKey)
    }

    /// Split off a MAC that is not encrypted.
    fn split_mac<'a>(&self, fragment: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
        let mac_bytes = if self.encrypts_then_macs {
            self.mac_bytes
        } else {
            0
        };
        fragment.split_at_checked(fragment.len().checked_sub(mac_bytes)?)
    }

    fn split_vector<'a>(&mut self, covered: &'a [u8]) -> Result<(Block, &'a [u8]), OpenError> {
        match &mut self.vector {
            Vector::Explicit => {
                let (vector, text) = covered.split_first_chunk().ok_or(OpenError::WrongKey)?;
                Ok((*vector, text))
            }
            Vector::Chained(vector) => {
                let before = std::mem::replace(vector, covered.last_chunk().copied());
                Ok((before.ok_or(OpenError::NoVector)?, covered))
            }
        }
    }

    /// Decrypt whole blocks and remove the padding. Return None if the padding is wrong (RFC 5246, section
    /// 6.2.3.2).
    fn decrypt(&self, vector: Block, text: &[u8], plain: &mut Vec<u8>) -> Option<()> {
        plain.resize(text.len(), 0);
        let (blocks, rest) = InOutBuf::new(text, plain).ok()?.into_chunks();
        if !rest.is_empty() {
            return None;
        }
        let key = self.key.bytes();
        if key.len() == 16 {
            let cipher = Decryptor::<Aes128>::new_from_slices(key, &vector);
            cipher.ok()?.decrypt_blocks_inout(blocks);
        } else {
            let cipher = Decryptor::<Aes256>::new_from_slices(key, &vector);
            cipher.ok()?.decrypt_blocks_inout(blocks);
        }
        let padding = *plain.last()?;
        let content = plain
            .len()
            .checked_sub(usize::from(padding).saturating_add(1))?;
        let is_whole = plain.get(content..)?.iter().all(|byte| *byte == padding);
        plain.truncate(content);
        is_whole.then_some(())
    }

    /// Find the sequence number that matches the MAC after the content, and remove the MAC.
    fn find_under_encryption(
        &self,
        search: &mut Search,
        next: u64,
        record: &Record<'_>,
        plain: &mut Vec<u8>,
    ) -> Option<u64> {
        let content = plain.len().checked_sub(self.mac_bytes)?;
        let (covered, mac) = plain.split_at_checked(content)?;
        let found = self.find(search, next, record, covered, mac)?;
        plain.truncate(content);
        Some(found)
    }

    fn find(
        &self,
        search: &mut Search,
        next: u64,
        record: &Record<'_>,
        covered: &[u8],
        mac: &[u8],
    ) -> Option<u64> {
        search.find(next, |sequence| {
            record
                .pseudo_header(sequence, covered.len())
                .is_some_and(|header| self.mac.digest(&[&header, covered]).bytes() == mac)
        })
    }
}
