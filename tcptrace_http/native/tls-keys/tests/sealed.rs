//! Opens records from a client of this test: gaps, damage, and late or wrong keys.

// A test is allowed to panic.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

mod sealing;

use sealing::{clients, key_log, record};
use tcptrace_tls_keys::{KeyLog, OpenError, Opener, Record, SecurityParameters, Unsupported};
use trace_model::rows::Direction;

/// Maximum number of records in a gap.
const GAP_RECORDS: u64 = 1024;
/// Record length that `Opener::skip` assumes.
const RECORD_BYTES: u64 = 22;

fn opener(parameters: &SecurityParameters) -> Opener {
    Opener::new(parameters, Direction::ClientToServer).unwrap()
}

fn open(opener: &mut Opener, log: &KeyLog, fragment: &[u8]) -> Result<Vec<u8>, OpenError> {
    let mut plain = Vec::new();
    let opened = opener.open(&record(fragment), log, &mut plain);
    opened.map(|plain| plain.bytes.to_vec())
}

#[test]
fn test_each_cipher_opens_records_of_any_length_in_their_order() {
    for client in clients() {
        let mut opener = opener(&client.parameters);
        for (sequence, length) in [0, 1, 15, 16, 17, 255, 1 << 14].into_iter().enumerate() {
            let content = vec![sequence as u8; length];
            let fragment = client.seal(sequence as u64, &content);
            let opened = open(&mut opener, &key_log(), &fragment);
            assert_eq!(opened, Ok(content), "{} {length}", client.name);
        }
    }
}

#[test]
fn test_a_record_after_a_gap_is_found_by_its_tag() {
    for client in clients() {
        let mut opener = opener(&client.parameters);
        opener.skip(30 * RECORD_BYTES);
        for sequence in [30, 31] {
            let opened = open(&mut opener, &key_log(), &client.seal(sequence, b"after"));
            assert_eq!(opened, Ok(b"after".to_vec()), "{}", client.name);
        }
    }
}

#[test]
fn test_the_search_after_a_gap_is_bounded() {
    let client = &clients()[0];
    let mut opener = opener(&client.parameters);
    opener.skip(u64::MAX);
    let too_far = client.seal(GAP_RECORDS + 1, b"too far");
    let opened = open(&mut opener, &key_log(), &too_far);
    assert_eq!(opened, Err(OpenError::WrongKey));
    let last = client.seal(GAP_RECORDS, b"last");
    assert_eq!(open(&mut opener, &key_log(), &last), Ok(b"last".to_vec()));
}

#[test]
fn test_a_record_out_of_order_is_not_opened_without_a_gap() {
    for client in clients() {
        let fragment = client.seal(1, b"second");
        let opened = open(&mut opener(&client.parameters), &key_log(), &fragment);
        assert_eq!(opened, Err(OpenError::WrongKey), "{}", client.name);
    }
}

#[test]
fn test_damage_closes_one_record_only() {
    for client in clients() {
        let whole = client.seal(0, b"damaged");
        for at in 0..whole.len() {
            let mut opener = opener(&client.parameters);
            let mut damaged = whole.clone();
            damaged[at] ^= 0x10;
            assert_eq!(
                open(&mut opener, &key_log(), &damaged),
                Err(OpenError::WrongKey)
            );
            let opened = open(&mut opener, &key_log(), &client.seal(1, b"whole"));
            assert_eq!(opened, Ok(b"whole".to_vec()), "{} {at}", client.name);
        }
    }
}

#[test]
fn test_a_fragment_cut_short_is_not_opened() {
    for client in clients() {
        let whole = client.seal(0, b"cut");
        for length in 0..whole.len() {
            let opened = open(
                &mut opener(&client.parameters),
                &key_log(),
                &whole[..length],
            );
            assert_eq!(opened, Err(OpenError::WrongKey), "{} {length}", client.name);
        }
    }
}

#[test]
fn test_a_late_key_log_opens_the_remaining_records() {
    for client in clients() {
        let mut opener = opener(&client.parameters);
        for sequence in 0..3 {
            let early = client.seal(sequence, b"early");
            let opened = open(&mut opener, &KeyLog::new(), &early);
            assert_eq!(opened, Err(OpenError::NoSecret));
        }
        let late = open(&mut opener, &key_log(), &client.seal(3, b"late"));
        assert_eq!(late, Ok(b"late".to_vec()), "{}", client.name);
    }
}

#[test]
fn test_a_direction_without_a_matching_key_is_abandoned() {
    let client = &clients()[0];
    let mut opener = opener(&client.parameters);
    let mut outcomes = Vec::new();
    opener.skip(u64::MAX);
    for sequence in 5000..5010 {
        outcomes.push(open(&mut opener, &key_log(), &client.seal(sequence, b"far")).unwrap_err());
    }
    let (tried, rest) = outcomes.split_at(8);
    assert_eq!(tried, [OpenError::WrongKey; 8]);
    assert_eq!(rest, [OpenError::GivenUp; 2]);
}

#[test]
fn test_a_fragment_beyond_the_maximum_is_no_record() {
    let client = &clients()[0];
    let opened = open(
        &mut opener(&client.parameters),
        &key_log(),
        &vec![0; (1 << 14) + 2049],
    );
    assert_eq!(opened, Err(OpenError::NotProtected));
}

#[test]
fn test_a_record_in_clear_is_no_record_of_tls_1_3() {
    let parameters = SecurityParameters {
        version: 0x0304,
        suite: 0x1301,
        ..clients()[0].parameters
    };
    let change_cipher_spec = Record {
        content_type: 20,
        version: 0x0303,
        fragment: &[1],
    };
    let mut plain = Vec::new();
    let opened = opener(&parameters).open(&change_cipher_spec, &key_log(), &mut plain);
    assert_eq!(opened, Err(OpenError::NotProtected));
}

#[test]
fn test_unsupported_suites_and_versions_are_named() {
    let error = |version, suite| {
        let parameters = SecurityParameters {
            version,
            suite,
            ..clients()[0].parameters
        };
        Opener::new(&parameters, Direction::ServerToClient).err()
    };
    assert_eq!(error(0x0303, 0x0005), Some(Unsupported::Suite(0x0005)));
    assert_eq!(error(0x0303, 0x1301), Some(Unsupported::Suite(0x1301)));
    assert_eq!(error(0x0304, 0xc02f), Some(Unsupported::Suite(0xc02f)));
    assert_eq!(error(0x0302, 0xc02f), Some(Unsupported::Suite(0xc02f)));
    assert_eq!(error(0x0300, 0x002f), Some(Unsupported::Version(0x0300)));
    assert_eq!(error(0x0301, 0x002f), None);
}
