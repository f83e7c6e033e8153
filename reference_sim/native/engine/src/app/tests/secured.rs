//! TLS around the applications: the records on the pipes, and the times of requests.

use super::*;
use crate::tls::{Tls, TlsVersion};

const FULL: Tls = Tls {
    version: TlsVersion::Tls13,
    resumed: false,
    early_data: false,
    hello_bytes: 517,
    chain_bytes: 3000,
    tickets: 2,
    ticket_bytes: 192,
    tickets_with_response: false,
    record_bytes: 16_384,
    processing_ns: 0,
    has_http2: false,
};
const RESUMED: Tls = Tls {
    resumed: true,
    ..FULL
};
const EARLY: Tls = Tls {
    early_data: true,
    ..RESUMED
};

fn tls12(tls: Tls) -> Tls {
    Tls {
        version: TlsVersion::Tls12,
        ..tls
    }
}

fn secured(tls: Tls) -> Pipes {
    let mut scenario = persistent(1);
    scenario.servers[0].tls = Some(tls);
    run(&scenario, FOREVER)
}

/// Return types and lengths of the records that a side sent.
fn records(pipes: &Pipes, side: Side) -> Vec<(u8, u64)> {
    let (mut text, mut found) = (pipes.text(0, side), Vec::new());
    while let [kind, 3, 3, high, low, rest @ ..] = text {
        let bytes = u16::from_be_bytes([*high, *low]);
        found.push((*kind, bytes.into()));
        text = &rest[usize::from(bytes)..];
    }
    assert!(text.is_empty());
    found
}

#[test]
fn test_requests_wait_for_the_round_trips_of_their_handshake() {
    for (tls, round_trips) in [
        (tls12(FULL), 2),
        (tls12(RESUMED), 1),
        (FULL, 1),
        (RESUMED, 1),
        (EARLY, 0),
    ] {
        let pipes = secured(tls);
        let rows = answered(&pipes);
        assert_eq!(rows.len(), 4, "{tls:?}");
        assert_eq!(rows[0].written, RTT + round_trips * RTT, "{tls:?}");
    }
}

#[test]
fn test_flights_equal_those_of_openssl() {
    let pipes = secured(FULL);
    assert_eq!(
        records(&pipes, Side::Client)[..3],
        [(22, 512), (20, 1), (23, 69)]
    );
    let certificate = (23, 4 + 1 + 3 + 3000 + 2 + 17);
    let flight = [
        (22, 122),
        (20, 1),
        (23, 38),
        certificate,
        (23, 281),
        (23, 69),
    ];
    let server = records(&pipes, Side::Server);
    assert_eq!(server[..6], flight);
    assert_eq!(server[6..8], [(23, 234), (23, 234)]);
    let resumed = records(&secured(RESUMED), Side::Server);
    assert_eq!(resumed[..4], [(22, 128), (20, 1), (23, 38), (23, 69)]);
    let early = records(&secured(EARLY), Side::Client);
    assert_eq!(early[1].0, 20);
    let ends = early
        .iter()
        .rposition(|record| *record == (23, 4 + 17))
        .unwrap();
    assert_eq!(early[ends + 1], (23, 69));
}

#[test]
fn test_flights_before_tls13_are_in_clear_up_to_finished() {
    let pipes = secured(tls12(FULL));
    let server = records(&pipes, Side::Server);
    assert_eq!(server[1..4], [(22, 4 + 3 + 3000), (22, 300), (22, 4)]);
    assert_eq!(server[4..7], [(22, 4 + 4 + 2 + 192), (20, 1), (22, 40)]);
    let client = records(&pipes, Side::Client);
    assert_eq!(client[1..4], [(22, 37), (20, 1), (22, 40)]);
    let resumed = secured(tls12(RESUMED));
    assert_eq!(records(&resumed, Side::Client)[1..3], [(20, 1), (22, 40)]);
}

#[test]
fn test_all_data_is_in_records_of_the_requested_size() {
    let plain = run(&persistent(1), FOREVER);
    let bytes = plain.text(0, Side::Server).len() as u64;
    for tls in [FULL, tls12(FULL)] {
        let tls = Tls {
            record_bytes: 1000,
            tickets: 0,
            ..tls
        };
        let pipes = secured(tls);
        let overhead = tls.version.overhead();
        let server = records(&pipes, Side::Server);
        let handshake = if tls.version == TlsVersion::Tls13 {
            6
        } else {
            0
        };
        let data: Vec<u64> = server[handshake..]
            .iter()
            .filter(|(kind, _)| *kind == 23)
            .map(|(_, bytes)| bytes - overhead)
            .collect();
        assert_eq!(data.iter().sum::<u64>(), bytes);
        assert_eq!(data.iter().max(), Some(&1000));
        for (row, one) in answered(&pipes).iter().zip(answered(&plain)) {
            let size = one.response_head_bytes + one.response_body_bytes;
            let on_stream = row.response_head_bytes + row.response_body_bytes;
            assert_eq!(on_stream, tls.stream_bytes(size));
        }
    }
}

#[test]
fn test_tickets_are_writes_of_their_own_or_go_with_the_response() {
    let calls = |tls| {
        let pipes = secured(tls);
        let response = answered(&pipes)[0].response_body_bytes;
        let sizes: Vec<u64> = pipes.calls(0, Side::Server).iter().map(|it| it.1).collect();
        (sizes, response + answered(&pipes)[0].response_head_bytes)
    };
    let (alone, response) = calls(FULL);
    assert_eq!(alone[1..4], [239, 239, response]);
    let (together, response) = calls(Tls {
        tickets_with_response: true,
        ..FULL
    });
    assert_eq!(together[1], 2 * 239 + response);
}

#[test]
fn test_a_server_answers_early_requests_after_its_own_flight() {
    let processing = 30 * MS;
    let pipes = secured(Tls {
        processing_ns: processing,
        ..EARLY
    });
    let server = records(&pipes, Side::Server);
    assert_eq!(server[0], (22, 128));
    let answered = answered(&pipes)[0].response_written;
    assert_eq!(answered, Some(RTT + DELAY + processing));
}

#[test]
fn test_a_client_finds_a_link_only_in_a_whole_record() {
    let after = After::Bytes {
        fetch: 0,
        bytes: 5000,
    };
    let mut scenario = persistent(9);
    scenario.plans[0].fetches[1].after = after;
    scenario.servers[0].writes.chunk_bytes = Some(2000);
    scenario.servers[0].writes.gap_ns = 10 * MS;
    let second = |scenario: &Scenario| answered(&run(scenario, FOREVER))[1].wanted;
    let plain = second(&scenario);
    scenario.servers[0].tls = Some(FULL);
    assert_eq!(second(&scenario), plain + RTT);
}
