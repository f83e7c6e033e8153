//! Opens the records of one direction of a connection.

use std::fmt;

use trace_model::rows::Direction;

use crate::error::{OpenError, Unsupported};
use crate::key_log::{ClientRandom, KeyLog};
use crate::master::Master;
use crate::record::{Plain, Record, FRAGMENT_MAX};
use crate::search::Search;
use crate::suite::Suite;
use crate::traffic::Traffic;

pub(crate) const TLS_1_0: u16 = 0x0301;
pub(crate) const TLS_1_2: u16 = 0x0303;
pub(crate) const TLS_1_3: u16 = 0x0304;

/// Length of the shortest protected record: a header, a content type and a tag.
const MIN_RECORD_BYTES: u64 = 22;

/// The parameters that the hellos of a connection negotiated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecurityParameters {
    /// The negotiated version. For TLS 1.3, the `supported_versions` extension carries this version.
    pub version: u16,
    /// The number of the suite in the IANA registry.
    pub suite: u16,
    pub client_random: ClientRandom,
    pub server_random: [u8; 32],
    /// True if both hellos have the extension (RFC 7366).
    pub encrypt_then_mac: bool,
}

/// Opens protected records in the order they were sent.
///
/// In TLS 1.0 to 1.2 these are the records after the ChangeCipherSpec. In TLS 1.3 these are the
/// `application_data` records, including those that the client sent before the ServerHello.
pub struct Opener {
    protection: Protection,
    search: Search,
}

enum Protection {
    Traffic(Traffic),
    Master(Box<Master>),
}

impl Opener {
    /// Create an opener for a direction. Return an error if no key log could help.
    pub fn new(parameters: &SecurityParameters, direction: Direction) -> Result<Self, Unsupported> {
        let version = parameters.version;
        if !(TLS_1_0..=TLS_1_3).contains(&version) {
            return Err(Unsupported::Version(version));
        }
        let suite =
            Suite::of(parameters.suite, version).ok_or(Unsupported::Suite(parameters.suite))?;
        Ok(Opener {
            protection: if version == TLS_1_3 {
                Protection::Traffic(Traffic::new(parameters.client_random, suite, direction))
            } else {
                Protection::Master(Box::new(Master::new(*parameters, suite, direction)))
            },
            search: Search::new(),
        })
    }

    /// Record a gap of `bytes` bytes between two whole records of the direction.
    pub fn skip(&mut self, bytes: u64) {
        let records = bytes.div_ceil(MIN_RECORD_BYTES);
        self.search.add_missing(records);
        if let Protection::Master(master) = &mut self.protection {
            master.forget_vector();
        }
    }

    /// Return the number of records missing before the last opened record.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.search.missed()
    }

    /// Open the next record into `plain`, a reusable buffer. A record that stays closed counts as missing.
    pub fn open<'a>(
        &mut self,
        record: &Record<'_>,
        key_log: &KeyLog,
        plain: &'a mut Vec<u8>,
    ) -> Result<Plain<'a>, OpenError> {
        if self.search.is_exhausted() {
            return Err(OpenError::GivenUp);
        }
        if record.fragment.len() > FRAGMENT_MAX {
            return Err(OpenError::NotProtected);
        }
        let search = &mut self.search;
        let outcome = match &mut self.protection {
            Protection::Traffic(traffic) => traffic.open(search, key_log, record, plain),
            Protection::Master(master) => master.open(search, key_log, record, plain),
        };
        if matches!(outcome, Err(error) if error != OpenError::NotProtected) {
            self.search.add_missing(1);
        }
        outcome
    }
}

impl fmt::Debug for Opener {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Opener").finish_non_exhaustive()
    }
}
