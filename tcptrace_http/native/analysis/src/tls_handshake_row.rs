//! Row of a flow in the table of TLS handshakes.

use trace_model::rows::{TlsHandshakeRow, TlsVersion};

use crate::flow::Flow;

/// Return the TLS handshake row of `flow`, if a hello was captured.
#[must_use]
pub fn tls_handshake_row(flow: &Flow) -> Option<TlsHandshakeRow> {
    let handshake = flow.carried.handshake()?;
    if handshake.client_hello.is_none() && handshake.server_hello.is_none() {
        return None;
    }
    let text = |text: &Option<Box<str>>| text.as_deref().map(String::from);
    Some(TlsHandshakeRow {
        flow: flow.id.number,
        server_name: text(&handshake.server_name),
        alpn_offered: text(&handshake.protocols_offered),
        alpn_chosen: text(&handshake.protocol_chosen),
        version: handshake.version.and_then(version_word),
        cipher: handshake.cipher_name(),
        resumed: handshake.resumed,
        early_data: handshake.offers_early_data,
        hello_retry: handshake.hello_retry,
        client_hello_bytes: handshake.client_hello_bytes,
        server_flight_bytes: handshake.server_flight_bytes,
        certificate_bytes: handshake.certificate_bytes,
        client_flight_bytes: handshake.client_flight_bytes,
        client_hello_frame: handshake.client_hello.map(|it| it.frame),
        client_hello_time: handshake.client_hello.map(|it| it.time_ns),
        client_hello_last_frame: handshake.client_hello_last.map(|it| it.frame),
        client_hello_last_time: handshake.client_hello_last.map(|it| it.time_ns),
        server_hello_frame: handshake.server_hello.map(|it| it.frame),
        server_hello_time: handshake.server_hello.map(|it| it.time_ns),
        server_flight_last_frame: handshake.server_flight_last.map(|it| it.frame),
        server_flight_last_time: handshake.server_flight_last.map(|it| it.time_ns),
        client_finished_frame: handshake.client_finished.map(|it| it.frame),
        client_finished_time: handshake.client_finished.map(|it| it.time_ns),
        done_time: handshake.done().map(|it| it.time_ns),
        first_application_frame: handshake.first_application.map(|it| it.frame),
        first_application_time: handshake.first_application.map(|it| it.time_ns),
        unasked_bytes: handshake.unasked_bytes,
        unasked_first_frame: handshake.unasked.map(|(first, _)| first.frame),
        unasked_last_frame: handshake.unasked.map(|(_, last)| last.frame),
        round_trips: handshake.round_trips,
        alert: handshake.alert,
    })
}

fn version_word(version: u16) -> Option<TlsVersion> {
    match version {
        0x0300 => Some(TlsVersion::Ssl30),
        0x0301 => Some(TlsVersion::Tls10),
        0x0302 => Some(TlsVersion::Tls11),
        0x0303 => Some(TlsVersion::Tls12),
        0x0304 => Some(TlsVersion::Tls13),
        _ => None,
    }
}
