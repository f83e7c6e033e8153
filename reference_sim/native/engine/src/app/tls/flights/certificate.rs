//! A well-formed certificate of any length (RFC 5280, section 4.1). The signature is the padding.

use super::uint24;
use crate::app::tls::records::Records;

/// Version 1, number 1, Ed25519, no names, valid from 1996 to 2049, and a key.
const SIGNED: [u8; 100] = *b"\x30\x62\x02\x01\x01\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0b\x05\x00\x30\x00\x30\x1e\x17\x0d960501120000Z\x17\x0d490501120000Z\x30\x00\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff\x00";
/// The algorithm: SHA-256 with RSA.
const ALGORITHM: [u8; 15] = *b"\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0b\x05\x00";
const SEQUENCE: u8 = 0x30;
const BIT_STRING: u8 = 0x03;
/// Prefix of a three-byte length.
const LONG: u8 = 0x83;
/// Length of a type and a three-byte length.
const HEADER_BYTES: usize = 5;
const LENGTH_BYTES: usize = 3;

/// Return one certificate with its length, `bytes` bytes in total, or the shortest possible certificate.
pub(super) fn certificate_list(records: &mut Records, bytes: usize) -> Vec<u8> {
    let content = bytes.saturating_sub(LENGTH_BYTES + HEADER_BYTES);
    let around = SIGNED.len() + ALGORITHM.len() + HEADER_BYTES + 1;
    let signature = records.draw(content.saturating_sub(around) as u64);
    // The number of unused bits in the last byte is 0.
    let string = [vec![0], signature].concat();
    let signature = [element(BIT_STRING), uint24(string.len()), string].concat();
    let content = [&SIGNED[..], &ALGORITHM, &signature].concat();
    let certificate = [element(SEQUENCE), uint24(content.len()), content].concat();
    [uint24(certificate.len()), certificate].concat()
}

fn element(kind: u8) -> Vec<u8> {
    vec![kind, LONG]
}
