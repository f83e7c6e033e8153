//! ClientHello and ServerHello (RFC 8446, sections 4.1.2 and 4.1.3).

use super::{message, uint16, KEY_BYTES};
use crate::app::tls::records::{Records, LEGACY_VERSION};
use crate::tls::{Tls, TlsVersion};

const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;
/// The server's choice: AES-256-GCM with SHA-384, and ECDHE-RSA before TLS 1.3.
const SUITES: [(TlsVersion, [u8; 2]); 2] = [
    (TlsVersion::Tls13, [0x13, 0x02]),
    (TlsVersion::Tls12, [0xc0, 0x30]),
];
const X25519: [u8; 2] = [0, 29];
const RANDOM_BYTES: u64 = 32;
/// Length of a SHA-384 hash.
const BINDER_BYTES: u64 = 48;
/// Length of an extension's type and length fields.
const EXTENSION_BYTES: usize = 4;
/// Length of a ClientHello's record header, message header and extensions length.
const AROUND_EXTENSIONS: usize = 5 + 4 + 2;

// Extension types of the IANA registry.
const SERVER_NAME: u16 = 0;
const SUPPORTED_GROUPS: u16 = 10;
const EC_POINT_FORMATS: u16 = 11;
const SIGNATURE_ALGORITHMS: u16 = 13;
const ALPN: u16 = 16;
const PADDING: u16 = 21;
const EXTENDED_MASTER_SECRET: u16 = 23;
const SESSION_TICKET: u16 = 35;
const PRE_SHARED_KEY: u16 = 41;
const EARLY_DATA: u16 = 42;
const SUPPORTED_VERSIONS: u16 = 43;
const PSK_KEY_EXCHANGE_MODES: u16 = 45;
const KEY_SHARE: u16 = 51;
const RENEGOTIATION_INFO: u16 = 0xff01;

/// Return the ClientHello of a client that supports both versions.
pub(super) fn client_hello(records: &mut Records, tls: &Tls, server_name: &str) -> Vec<u8> {
    let takes_up = |version| tls.resumed && tls.version == version;
    let ticket = if tls.resumed {
        records.draw(tls.ticket_bytes.into())
    } else {
        Vec::new()
    };
    let suites: Vec<u8> = SUITES.iter().flat_map(|(_, suite)| *suite).collect();
    let fields = [
        uint16(LEGACY_VERSION.into()),
        records.draw(RANDOM_BYTES),
        vector8(&records.shared(RANDOM_BYTES)),
        vector16(&suites),
        vector8(&[0]),
    ]
    .concat();
    let mut extensions = Vec::new();
    let mut add = |kind, data: &[u8]| extensions.extend(extension(kind, data));
    if !server_name.is_empty() {
        let name = [vec![0], vector16(server_name.as_bytes())].concat();
        add(SERVER_NAME, &vector16(&name));
    }
    add(EXTENDED_MASTER_SECRET, &[]);
    add(SUPPORTED_GROUPS, &vector16(&X25519));
    add(EC_POINT_FORMATS, &vector8(&[0]));
    let of_tls12 = if takes_up(TlsVersion::Tls12) {
        &ticket[..]
    } else {
        &[]
    };
    add(SESSION_TICKET, of_tls12);
    add(ALPN, &vector16(&vector8(tls.protocol())));
    add(SIGNATURE_ALGORITHMS, &vector16(&[8, 4, 4, 1]));
    add(SUPPORTED_VERSIONS, &vector8(&[3, 4, 3, 3]));
    add(PSK_KEY_EXCHANGE_MODES, &vector8(&[1]));
    let share = [X25519.to_vec(), vector16(&records.draw(KEY_BYTES))].concat();
    add(KEY_SHARE, &vector16(&share));
    if tls.early_data {
        add(EARLY_DATA, &[]);
    }
    let mut last = Vec::new();
    if takes_up(TlsVersion::Tls13) {
        let age = records.draw(4);
        let identity = [vector16(&ticket), age].concat();
        let binder = vector8(&records.draw(BINDER_BYTES));
        let offer = [vector16(&identity), vector16(&binder)].concat();
        last = extension(PRE_SHARED_KEY, &offer);
    }
    let bytes = AROUND_EXTENSIONS + fields.len() + extensions.len() + last.len();
    let padding = (tls.hello_bytes as usize).checked_sub(bytes);
    if let Some(padding) = padding.filter(|bytes| *bytes > 0) {
        let zeros = vec![0; padding.saturating_sub(EXTENSION_BYTES)];
        extensions.extend(extension(PADDING, &zeros));
    }
    // The pre-shared key is the last extension (RFC 8446, section 4.2.11).
    extensions.extend(last);
    message(CLIENT_HELLO, &[fields, vector16(&extensions)].concat())
}

pub(super) fn server_hello(records: &mut Records, tls: &Tls) -> Vec<u8> {
    let is_tls13 = tls.version == TlsVersion::Tls13;
    // Before TLS 1.3, a repeated session identifier resumes the session. A new session with a ticket has no
    // identifier (RFC 5077, section 3.4).
    let session = if is_tls13 || tls.resumed {
        records.shared(RANDOM_BYTES)
    } else if tls.tickets > 0 {
        Vec::new()
    } else {
        records.draw(RANDOM_BYTES)
    };
    let of_version = |(version, _): &&(TlsVersion, [u8; 2])| *version == tls.version;
    let suite = SUITES.iter().find(of_version).map(|(_, suite)| *suite);
    let mut extensions = Vec::new();
    let mut add = |kind, data: &[u8]| extensions.extend(extension(kind, data));
    if is_tls13 {
        add(SUPPORTED_VERSIONS, &[3, 4]);
        let share = vector16(&records.draw(KEY_BYTES));
        add(KEY_SHARE, &[X25519.to_vec(), share].concat());
        if tls.resumed {
            add(PRE_SHARED_KEY, &[0, 0]);
        }
    } else {
        add(RENEGOTIATION_INFO, &[0]);
        add(EXTENDED_MASTER_SECRET, &[]);
        if tls.tickets > 0 {
            add(SESSION_TICKET, &[]);
        }
        add(ALPN, &vector16(&vector8(tls.protocol())));
    }
    let fields = [
        uint16(LEGACY_VERSION.into()),
        records.draw(RANDOM_BYTES),
        vector8(&session),
        suite.unwrap_or_default().to_vec(),
        vec![0],
        vector16(&extensions),
    ];
    message(SERVER_HELLO, &fields.concat())
}

fn extension(kind: u16, data: &[u8]) -> Vec<u8> {
    [uint16(kind.into()), vector16(data)].concat()
}

fn vector8(data: &[u8]) -> Vec<u8> {
    [&[data.len() as u8][..], data].concat()
}

fn vector16(data: &[u8]) -> Vec<u8> {
    [uint16(data.len()), data.to_vec()].concat()
}
