//! The flights of a handshake (RFC 8446, section 2; RFC 5246, section 7.3).

mod certificate;
mod hello;

use super::records::{Records, HANDSHAKE};
use crate::tls::{Tls, TlsVersion};
use certificate::certificate_list;
use hello::{client_hello, server_hello};

const CERTIFICATE: u8 = 11;
const SERVER_KEY_EXCHANGE: u8 = 12;
const SERVER_HELLO_DONE: u8 = 14;
const CLIENT_KEY_EXCHANGE: u8 = 16;
const NEW_SESSION_TICKET: u8 = 4;
/// Length of a message's type and length fields.
const HEADER_BYTES: u64 = 4;
const KEY_BYTES: u64 = 32;
/// Length of a signature with a 2048-bit RSA key, with its algorithm and length fields.
const SIGNATURE_BYTES: u64 = 2 + 2 + 256;
/// Length of a SHA-384 hash (RFC 8446, section 4.4.4), also used for `verify_data` before TLS 1.3 (RFC 5246,
/// section 7.4.9).
const FINISHED_BYTES: u64 = 48;
const VERIFY_DATA_BYTES: u64 = 12;
/// Length of EncryptedExtensions with one protocol, without the protocol's name.
const ENCRYPTED_EXTENSIONS_BYTES: u64 = HEADER_BYTES + 2 + 4 + 3;
/// Lifetime, age, nonce, lengths of ticket and extensions (RFC 8446, section 4.6.1).
const TICKET_FIELDS_BYTES: u64 = 4 + 4 + 9 + 2 + 2;

/// Write the client's first flight.
pub(super) fn hello(records: &mut Records, tls: &Tls, server_name: &str) {
    let hello = client_hello(records, tls, server_name);
    records.clear(HANDSHAKE, &hello);
    if tls.early_data {
        records.change_cipher_spec();
    }
}

/// Write the server's answer.
pub(super) fn answer(records: &mut Records, tls: &Tls) {
    let hello = server_hello(records, tls);
    records.clear(HANDSHAKE, &hello);
    match tls.version {
        TlsVersion::Tls13 => {
            records.change_cipher_spec();
            let extensions = ENCRYPTED_EXTENSIONS_BYTES + tls.protocol().len() as u64;
            records.sealed_message(extensions + 4 * u64::from(tls.early_data));
            if !tls.resumed {
                // The context is empty, and the only certificate has no extensions.
                records.sealed_message(HEADER_BYTES + 1 + 3 + u64::from(tls.chain_bytes) + 2);
                records.sealed_message(HEADER_BYTES + SIGNATURE_BYTES);
            }
            records.sealed_message(HEADER_BYTES + FINISHED_BYTES);
        }
        TlsVersion::Tls12 if tls.resumed => finish(records, tls),
        TlsVersion::Tls12 => {
            let list = certificate_list(records, tls.chain_bytes as usize);
            let certificates = [uint24(list.len()), list].concat();
            records.clear(HANDSHAKE, &message(CERTIFICATE, &certificates));
            let named_curve = vec![3, 0, 29, KEY_BYTES as u8];
            let key = records.draw(KEY_BYTES);
            let kind = vec![8, 4, 1, 0];
            let signature = records.draw(SIGNATURE_BYTES - 4);
            let exchange = [named_curve, key, kind, signature].concat();
            records.clear(HANDSHAKE, &message(SERVER_KEY_EXCHANGE, &exchange));
            records.clear(HANDSHAKE, &message(SERVER_HELLO_DONE, &[]));
        }
    }
}

/// Write the client's second flight, up to its Finished.
pub(super) fn client_finish(records: &mut Records, tls: &Tls) {
    match tls.version {
        TlsVersion::Tls13 if tls.early_data => records.sealed_message(HEADER_BYTES),
        TlsVersion::Tls12 if !tls.resumed => {
            let key = [vec![KEY_BYTES as u8], records.draw(KEY_BYTES)].concat();
            records.clear(HANDSHAKE, &message(CLIENT_KEY_EXCHANGE, &key));
            records.change_cipher_spec();
        }
        _ => records.change_cipher_spec(),
    }
    records.sealed_message(HEADER_BYTES + finished(tls.version));
}

/// Write the server's last flight before TLS 1.3: a ticket in clear text, and Finished.
pub(super) fn finish(records: &mut Records, tls: &Tls) {
    if tls.tickets > 0 {
        let ticket = records.draw(tls.ticket_bytes.into());
        let lifetime = vec![0, 0, 1, 44];
        let ticket = [lifetime, uint16(ticket.len()), ticket].concat();
        records.clear(HANDSHAKE, &message(NEW_SESSION_TICKET, &ticket));
    }
    records.change_cipher_spec();
    records.sealed_message(HEADER_BYTES + finished(tls.version));
}

/// Write a ticket of TLS 1.3.
pub(super) fn ticket(records: &mut Records, tls: &Tls) {
    records.sealed_message(HEADER_BYTES + TICKET_FIELDS_BYTES + u64::from(tls.ticket_bytes));
}

fn finished(version: TlsVersion) -> u64 {
    match version {
        TlsVersion::Tls12 => VERIFY_DATA_BYTES,
        TlsVersion::Tls13 => FINISHED_BYTES,
    }
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind][..], &uint24(body.len()), body].concat()
}

fn uint16(number: usize) -> Vec<u8> {
    (number as u16).to_be_bytes().to_vec()
}

fn uint24(number: usize) -> Vec<u8> {
    let [_, bytes @ ..] = (number as u32).to_be_bytes();
    bytes.to_vec()
}
