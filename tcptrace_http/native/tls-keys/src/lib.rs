//! TLS decryption: a key log and whole records in, plaintext out.
//!
//! [`KeyLog`] takes the secrets that an endpoint wrote. [`Opener`] opens the protected records of one
//! direction. The flow's reader passes the records in order. The tag or MAC of a record identifies its key
//! and sequence number, so decryption continues after a gap. Secrets and keys are wiped when dropped, and no
//! output contains them.

#![forbid(unsafe_code)]

mod aead;
mod cbc;
mod derive;
mod error;
mod hash;
mod key_log;
mod master;
mod opener;
mod record;
mod search;
mod secret;
mod suite;
#[cfg(test)]
mod testing;
mod traffic;

pub use error::{OpenError, Unsupported};
pub use key_log::{BadLines, ClientRandom, KeyLog};
pub use opener::{Opener, SecurityParameters};
pub use record::{Plain, Record};
