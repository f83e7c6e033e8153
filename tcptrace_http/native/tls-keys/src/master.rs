//! Records of one direction under TLS 1.0 to 1.2. Their keys come from the master secret.

use trace_model::rows::Direction;

use crate::aead::Aead;
use crate::cbc::{Cbc, Vector};
use crate::derive::{prf, prf_of_two_hashes};
use crate::error::OpenError;
use crate::key_log::{KeyLog, Label};
use crate::opener::{SecurityParameters, TLS_1_0, TLS_1_2};
use crate::record::{Plain, Record};
use crate::search::Search;
use crate::secret::Secret;
use crate::suite::Suite;

pub(crate) struct Master {
    parameters: SecurityParameters,
    suite: Suite,
    direction: Direction,
    /// None until the key log has the master secret.
    keys: Option<Keys>,
    next: u64,
}

enum Keys {
    Aead(Aead),
    Cbc(Box<Cbc>),
}

impl Master {
    pub(crate) fn new(parameters: SecurityParameters, suite: Suite, direction: Direction) -> Self {
        Master {
            parameters,
            suite,
            direction,
            keys: None,
            next: 0,
        }
    }

    pub(crate) fn forget_vector(&mut self) {
        if let Some(Keys::Cbc(cbc)) = &mut self.keys {
            cbc.forget_vector();
        }
    }

    pub(crate) fn open<'a>(
        &mut self,
        search: &mut Search,
        key_log: &KeyLog,
        record: &Record<'_>,
        plain: &'a mut Vec<u8>,
    ) -> Result<Plain<'a>, OpenError> {
        if self.keys.is_none() {
            let client_random = &self.parameters.client_random;
            let master = key_log.secret(client_random, Label::Master);
            let mut keys = self.derive(master.ok_or(OpenError::NoSecret)?);
            if let (Some(Keys::Cbc(cbc)), false) = (&mut keys, search.is_certain()) {
                cbc.forget_vector();
            }
            self.keys = keys;
        }
        let next = self.next;
        let found = match &mut self.keys {
            None => Err(OpenError::WrongKey),
            Some(Keys::Cbc(cbc)) => cbc.open(search, next, record, plain),
            Some(Keys::Aead(aead)) => search
                .find(next, |sequence| {
                    aead.open_tls12(sequence, record, plain).is_some()
                })
                .ok_or(OpenError::WrongKey),
        };
        self.next = found?.saturating_add(1);
        Ok(Plain {
            content_type: record.content_type,
            bytes: plain,
            is_early: false,
        })
    }

    /// Cut the keys of the direction from the key block (RFC 5246, section 6.3).
    fn derive(&self, master: &Secret) -> Option<Keys> {
        let cipher = self.suite.cipher;
        let mac_bytes = cipher.mac().map_or(0, |hash| hash.bytes());
        let sizes = [mac_bytes, cipher.key_bytes(), cipher.vector_bytes()];
        let block = self.key_block(master, sizes.iter().sum::<usize>().checked_mul(2)?)?;
        let mut rest = block.bytes();
        let mut parts = [&[][..]; 3];
        for (part, size) in parts.iter_mut().zip(sizes) {
            let (client, after) = rest.split_at_checked(size)?;
            let (server, after) = after.split_at_checked(size)?;
            rest = after;
            *part = match self.direction {
                Direction::ClientToServer => client,
                Direction::ServerToClient => server,
            };
        }
        let [mac_key, key, vector] = parts;
        let Some(mac) = cipher.mac() else {
            return Some(Keys::Aead(Aead::new(cipher, key, vector)?));
        };
        let vector = if self.parameters.version == TLS_1_0 {
            Vector::Chained(vector.first_chunk().copied())
        } else {
            Vector::Explicit
        };
        let encrypts_then_macs = self.parameters.encrypt_then_mac;
        let cbc = Cbc::new(
            Secret::copy_of(key),
            (mac, mac_key),
            vector,
            encrypts_then_macs,
        )?;
        Some(Keys::Cbc(Box::new(cbc)))
    }

    fn key_block(&self, master: &Secret, length: usize) -> Option<Secret> {
        let SecurityParameters {
            version,
            client_random,
            server_random,
            ..
        } = &self.parameters;
        let seed = [b"key expansion", &server_random[..], &client_random[..]].concat();
        Secret::filled(length, |block| match *version {
            TLS_1_2 => prf(self.suite.hash, master.bytes(), &seed, block),
            _ => prf_of_two_hashes(master.bytes(), &seed, block),
        })
    }
}
