//! Records of one direction under TLS 1.3. The keys change during the connection.
//!
//! Theory of operation. The tag identifies the key of a record. If the current key does not open a record,
//! the possible next keys are tried in order. These are the handshake keys, the application keys, and the
//! keys after a KeyUpdate (RFC 8446, sections 4.6.3 and 7.2). No handshake message is read for this, so a key
//! change inside a gap is found too.

use trace_model::rows::Direction;

use crate::aead::Aead;
use crate::derive::expand_label;
use crate::error::OpenError;
use crate::key_log::{ClientRandom, KeyLog, Label};
use crate::record::{Plain, Record, APPLICATION_DATA};
use crate::search::Search;
use crate::secret::Secret;
use crate::suite::Suite;

const CLIENT: [Label; 3] = [
    Label::ClientEarly,
    Label::ClientHandshake,
    Label::ClientTraffic,
];
const SERVER: [Label; 2] = [Label::ServerHandshake, Label::ServerTraffic];

pub(crate) struct Traffic {
    client_random: ClientRandom,
    suite: Suite,
    /// All labels of the direction's secrets, in order of use.
    labels: &'static [Label],
    current: Option<Generation>,
}

/// The keys of one traffic secret.
struct Generation {
    label: Label,
    secret: Secret,
    aead: Aead,
    next: u64,
}

impl Traffic {
    pub(crate) fn new(client_random: ClientRandom, suite: Suite, direction: Direction) -> Self {
        Traffic {
            client_random,
            suite,
            labels: match direction {
                Direction::ClientToServer => &CLIENT,
                Direction::ServerToClient => &SERVER,
            },
            current: None,
        }
    }

    pub(crate) fn open<'a>(
        &mut self,
        search: &mut Search,
        key_log: &KeyLog,
        record: &Record<'_>,
        plain: &'a mut Vec<u8>,
    ) -> Result<Plain<'a>, OpenError> {
        if record.content_type != APPLICATION_DATA {
            return Err(OpenError::NotProtected);
        }
        let is_open = self.is_opened_by_current(search, record, plain)
            || self.is_opened_by_update(search, record, plain)
            || self.is_opened_by_later(search, key_log, record, plain);
        match &self.current {
            Some(current) if is_open => inner(plain, current.label == Label::ClientEarly),
            _ if self.lacks_secret(key_log) => Err(OpenError::NoSecret),
            _ => Err(OpenError::WrongKey),
        }
    }

    fn is_opened_by_current(
        &mut self,
        search: &mut Search,
        record: &Record<'_>,
        plain: &mut Vec<u8>,
    ) -> bool {
        self.current
            .as_mut()
            .is_some_and(|current| current.opens(search, record, plain))
    }

    fn is_opened_by_update(
        &mut self,
        search: &mut Search,
        record: &Record<'_>,
        plain: &mut Vec<u8>,
    ) -> bool {
        let updated = self
            .current
            .as_ref()
            .and_then(|current| current.updated(self.suite));
        self.is_opened_by(updated, search, record, plain)
    }

    fn is_opened_by_later(
        &mut self,
        search: &mut Search,
        key_log: &KeyLog,
        record: &Record<'_>,
        plain: &mut Vec<u8>,
    ) -> bool {
        self.later().iter().any(|label| {
            let secret = key_log.secret(&self.client_random, *label);
            let copy = secret.map(|secret| Secret::copy_of(secret.bytes()));
            let later = copy.and_then(|secret| Generation::new(*label, secret, self.suite));
            self.is_opened_by(later, search, record, plain)
        })
    }

    /// Switch to the given keys if they open the record.
    fn is_opened_by(
        &mut self,
        keys: Option<Generation>,
        search: &mut Search,
        record: &Record<'_>,
        plain: &mut Vec<u8>,
    ) -> bool {
        let Some(mut keys) = keys else { return false };
        let is_open = keys.opens(search, record, plain);
        if is_open {
            self.current = Some(keys);
        }
        is_open
    }

    /// Return the labels of the secrets after the current one.
    fn later(&self) -> &'static [Label] {
        let after = self.current.as_ref().and_then(|current| {
            let at = self
                .labels
                .iter()
                .position(|label| *label == current.label)?;
            self.labels.get(at.checked_add(1)?..)
        });
        after.unwrap_or(self.labels)
    }

    /// Return true if the key log lacks a secret that the next record could use. Early data is rare and is
    /// left out.
    fn lacks_secret(&self, key_log: &KeyLog) -> bool {
        self.later()
            .iter()
            .filter(|label| **label != Label::ClientEarly)
            .any(|label| key_log.secret(&self.client_random, *label).is_none())
    }
}

impl Generation {
    /// Derive the keys of a secret (RFC 8446, section 7.3).
    fn new(label: Label, secret: Secret, suite: Suite) -> Option<Self> {
        let (hash, cipher) = (suite.hash, suite.cipher);
        let key = expand_label(hash, secret.bytes(), "key", cipher.key_bytes())?;
        let vector = expand_label(hash, secret.bytes(), "iv", 12)?;
        let aead = Aead::new(cipher, key.bytes(), vector.bytes())?;
        Some(Generation {
            label,
            secret,
            aead,
            next: 0,
        })
    }

    /// Return the keys after a KeyUpdate.
    fn updated(&self, suite: Suite) -> Option<Self> {
        if !matches!(self.label, Label::ClientTraffic | Label::ServerTraffic) {
            return None;
        }
        let length = suite.hash.bytes();
        let secret = expand_label(suite.hash, self.secret.bytes(), "traffic upd", length)?;
        Generation::new(self.label, secret, suite)
    }

    fn opens(&mut self, search: &mut Search, record: &Record<'_>, plain: &mut Vec<u8>) -> bool {
        let aead = &self.aead;
        let found = search.find(self.next, |sequence| {
            aead.open_tls13(sequence, record, plain).is_some()
        });
        self.next = found.map_or(self.next, |found| found.saturating_add(1));
        found.is_some()
    }
}

/// Remove padding and content type from the end of the plaintext (RFC 8446, section 5.4).
fn inner(plain: &[u8], is_early: bool) -> Result<Plain<'_>, OpenError> {
    let end = plain.iter().rposition(|byte| *byte != 0);
    let (bytes, rest) = end
        .and_then(|end| plain.split_at_checked(end))
        .unwrap_or_default();
    let content_type = *rest.first().ok_or(OpenError::NotProtected)?;
    Ok(Plain {
        content_type,
        bytes,
        is_early,
    })
}
