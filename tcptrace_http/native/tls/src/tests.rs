//! Connections from their bytes: handshakes of all versions, exchanges, tickets and gaps.

mod records;
mod script;

use tcptrace_http_messages::{Direction, Transaction};

use script::{
    application, client_hello, handshake, record, server_hello, Hello, Script, ALERT, CERTIFICATE,
    CHANGE, HANDSHAKE, RETRY, TLS12, TLS13,
};

const GCM: u16 = 0x1301;

/// Return a TLS 1.3 handshake whose Finished comes with the first request.
fn tls13(hello: &Hello) -> Script {
    tls13_of(Script::default(), hello)
}

fn tls13_of(mut script: Script, hello: &Hello) -> Script {
    script.client(&client_hello(hello));
    script.server(
        &[
            server_hello(TLS13, GCM, hello.key),
            record(CHANGE, &[1]),
            application(23),
            application(811),
            application(281),
            application(53),
        ]
        .concat(),
    );
    script.client(&[record(CHANGE, &[1]), application(53)].concat());
    script
}

fn spans(transactions: &[Transaction]) -> Vec<[Option<(u64, u64)>; 2]> {
    let of = |transaction: &Transaction| {
        let messages = [&transaction.request, &transaction.response];
        messages.map(|message| message.as_ref().map(|it| (it.first.frame, it.last.frame)))
    };
    transactions.iter().map(of).collect()
}

#[test]
fn a_tls13_handshake_is_recognized_by_order_and_length() {
    let mut script = tls13(&Hello {
        protocols: &["h2", "http/1.1"],
        ..Hello::default()
    });
    let made = script.connection.handshake();
    assert_eq!(made.server_name.as_deref(), Some("www.example.com"));
    assert_eq!(made.protocols_offered.as_deref(), Some("h2,http/1.1"));
    assert_eq!(made.protocol_chosen, None);
    assert_eq!(made.version, Some(TLS13));
    assert_eq!(
        made.cipher_name().as_deref(),
        Some("TLS_AES_128_GCM_SHA256")
    );
    assert_eq!(made.resumed, Some(false));
    assert_eq!(made.round_trips, 1);
    assert_eq!(made.client_hello_bytes, script.lengths[0]);
    assert_eq!(made.server_flight_bytes, script.lengths[1]);
    assert_eq!(made.client_flight_bytes, script.lengths[2]);
    assert_eq!(made.done().map(|it| it.frame), Some(3));
    assert_eq!(made.first_application, None);
    script.client(&application(100));
    assert_eq!(
        script
            .connection
            .handshake()
            .first_application
            .map(|it| it.frame),
        Some(4)
    );
}

#[test]
fn handshake_of_tls12_takes_two_round_trips() {
    let mut script = Script::default();
    script.client(&client_hello(&Hello::default()));
    let flight = [
        server_hello(TLS12, 0xC02F, false),
        handshake(CERTIFICATE, &[0; 1203]),
        handshake(14, &[]),
    ];
    script.server(&flight.concat());
    script.client(
        &[
            handshake(16, &[0; 66]),
            record(CHANGE, &[1]),
            record(HANDSHAKE, &[9; 40]),
        ]
        .concat(),
    );
    script.server(&[record(CHANGE, &[1]), record(HANDSHAKE, &[9; 40])].concat());
    script.client(&application(124));
    let made = script.connection.handshake();
    assert_eq!(made.resumed, Some(false));
    assert_eq!(made.certificate_bytes, Some(1200));
    assert_eq!(made.round_trips, 2);
    assert_eq!(made.server_flight_bytes, script.lengths[1]);
    assert_eq!(made.client_finished.map(|it| it.frame), Some(3));
    assert_eq!(made.done().map(|it| it.frame), Some(4));
    script.server(&application(1024));
    let found = script.over();
    assert_eq!(spans(&found), [[Some((5, 5)), Some((6, 6))]]);
    let request = found[0].request.as_ref().expect("a request");
    // The overhead is 8 bytes of nonce and 16 bytes of tag.
    assert_eq!(request.body.bytes, 100);
}

#[test]
fn abbreviated_handshake_of_tls12_is_resumed() {
    let mut script = Script::default();
    script.client(&client_hello(&Hello::default()));
    script.server(
        &[
            server_hello(TLS12, 0xC02F, false),
            record(CHANGE, &[1]),
            record(HANDSHAKE, &[9; 40]),
        ]
        .concat(),
    );
    script.client(
        &[
            record(CHANGE, &[1]),
            record(HANDSHAKE, &[9; 40]),
            application(99),
        ]
        .concat(),
    );
    let made = script.connection.handshake();
    assert_eq!((made.resumed, made.round_trips), (Some(true), 1));
    assert_eq!(made.certificate_bytes, None);
    assert_eq!(made.first_application.map(|it| it.frame), Some(3));
}

#[test]
fn key_of_an_earlier_connection_resumes_tls13() {
    let script = tls13(&Hello {
        key: true,
        ..Hello::default()
    });
    assert_eq!(script.connection.handshake().resumed, Some(true));
}

#[test]
fn hello_retry_request_costs_a_round_trip() {
    let mut script = Script::default();
    let hello = client_hello(&Hello::default());
    script.client(&hello);
    script.server(&[RETRY.clone(), record(CHANGE, &[1])].concat());
    script.client(&[record(CHANGE, &[1]), hello].concat());
    script.server(
        &[
            server_hello(TLS13, GCM, false),
            application(400),
            application(53),
        ]
        .concat(),
    );
    script.client(&[application(53), application(90)].concat());
    let made = script.connection.handshake();
    assert!(made.hello_retry);
    assert_eq!(made.round_trips, 2);
    assert_eq!(
        made.client_hello_bytes,
        script.lengths[0] + script.lengths[2]
    );
    assert_eq!(made.client_flight_bytes, 58);
}

#[test]
fn exchanges_are_a_burst_and_its_answer() {
    let mut script = tls13(&Hello::default());
    script.client(&application(100));
    script.server(&[application(206), application(2000)].concat());
    script.server(&application(900));
    script.client(&application(120));
    script.server(&application(206));
    let found = script.over();
    let expected = [[Some((4, 4)), Some((5, 6))], [Some((7, 7)), Some((8, 8))]];
    assert_eq!(spans(&found), expected);
    assert!(found.iter().all(Transaction::is_complete));
    let opaque = found[0].opaque.expect("no HTTP");
    assert!(!opaque.is_group);
    let response = found[0].response.as_ref().expect("a response");
    let first_record = response.first_record.expect("a record");
    assert_eq!(first_record.bytes, 211);
    assert_eq!(first_record.last.map(|it| it.frame), Some(5));
    assert_eq!(response.body.bytes, 206 + 2000 + 900 - 3 * 17);
    assert_eq!(response.end - response.start, 206 + 2000 + 900 + 3 * 5);
}

/// Return the number of unasked server bytes, and the frames of their first and last record.
fn unasked(script: &Script) -> (u64, Option<(u64, u64)>) {
    let made = script.connection.handshake();
    let frames = made.unasked.map(|(first, last)| (first.frame, last.frame));
    (made.unasked_bytes, frames)
}

#[test]
fn tickets_are_not_part_of_a_response() {
    let mut before = tls13(&Hello::default());
    before.server(&[application(234), application(234)].concat());
    before.client(&application(100));
    before.server(&application(2000));
    assert_eq!(unasked(&before), (478, Some((4, 4))));
    assert_eq!(spans(&before.over()), [[Some((5, 5)), Some((6, 6))]]);

    let mut behind = tls13(&Hello::default());
    behind.client(&application(100));
    behind.server(&application(234));
    behind.server(&application(234));
    behind.server(&[application(206), application(2000)].concat());
    assert_eq!(unasked(&behind), (478, Some((5, 6))));
    assert_eq!(spans(&behind.over()), [[Some((4, 4)), Some((7, 7))]]);

    let mut around = tls13(&Hello::default());
    around.server(&application(250));
    around.client(&application(100));
    around.server(&application(250));
    around.server(&application(2000));
    assert_eq!(unasked(&around), (510, Some((4, 6))));
    assert_eq!(spans(&around.over()), [[Some((5, 5)), Some((7, 7))]]);

    // A single ticket was sent before the request arrived, which its acknowledgment shows.
    let mut single = tls13(&Hello::default());
    single.client(&application(100));
    single.server_that_has(script::Acked::Before, &application(234));
    single.server(&application(2000));
    assert_eq!(unasked(&single), (239, Some((5, 5))));
    assert_eq!(spans(&single.over()), [[Some((4, 4)), Some((6, 6))]]);
}

#[test]
fn responses_can_have_the_length_of_tickets() {
    // Go sends its ticket after Finished, and no later ticket.
    let mut with_finished = Script::default();
    with_finished.client(&client_hello(&Hello::default()));
    with_finished.server(
        &[
            server_hello(TLS13, GCM, false),
            application(811),
            application(53),
            application(139),
        ]
        .concat(),
    );
    with_finished.client(&application(53));
    with_finished.client(&application(100));
    with_finished.server(&application(139));
    with_finished.client(&application(90));
    with_finished.server(&application(139));
    assert_eq!(unasked(&with_finished), (144, Some((2, 2))));
    let found = spans(&with_finished.over());
    assert_eq!(
        found,
        [[Some((4, 4)), Some((5, 5))], [Some((6, 6)), Some((7, 7))]]
    );

    // No server sends this many tickets.
    let mut behind = tls13(&Hello::default());
    behind.server(&application(139));
    for _ in 0..5 {
        behind.client(&application(90));
        behind.server(&application(139));
    }
    assert_eq!(spans(&behind.over()).len(), 2);
}

#[test]
fn early_data_belongs_to_the_first_exchange() {
    let mut script = Script::default();
    let hello = Hello {
        key: true,
        early_data: true,
        ..Hello::default()
    };
    script.client(&[client_hello(&hello), record(CHANGE, &[1]), application(100)].concat());
    script.server(
        &[
            server_hello(TLS13, GCM, true),
            application(30),
            application(53),
        ]
        .concat(),
    );
    script.server(&application(500));
    script.client(&[application(21), application(53)].concat());
    let made = script.connection.handshake();
    assert!(made.offers_early_data);
    assert_eq!(made.round_trips, 0);
    assert_eq!(made.client_finished.map(|it| it.frame), Some(4));
    assert_eq!(spans(&script.over()), [[Some((1, 1)), Some((3, 3))]]);
}

#[test]
fn certificate_of_the_client_is_no_request() {
    let mut script = Script::default();
    script.client(&client_hello(&Hello::default()));
    script.server(
        &[
            server_hello(TLS13, GCM, false),
            application(600),
            application(53),
        ]
        .concat(),
    );
    script.client(
        &[
            application(900),
            application(300),
            application(53),
            application(77),
        ]
        .concat(),
    );
    script.server(&application(500));
    let made = script.connection.handshake();
    assert_eq!(made.client_flight_bytes, 905 + 305 + 58);
    let found = script.over();
    assert_eq!(spans(&found), [[Some((3, 3)), Some((4, 4))]]);
    let request = found[0].request.as_ref().expect("a request");
    assert_eq!(request.body.bytes, 60);
}

#[test]
fn a_request_during_a_response_forms_a_group() {
    let mut script = tls13(&Hello::default());
    script.client(&application(100));
    script.server(&application(2000));
    script.client_that_has(script::Acked::Before, &application(110));
    script.server(&application(2000));
    let found = script.over();
    assert_eq!(spans(&found), [[Some((4, 4)), Some((5, 7))]]);
    assert!(found[0].opaque.expect("no HTTP").is_group);
}

#[test]
fn a_record_shorter_than_a_request_indicates_http2() {
    let mut script = tls13(&Hello {
        protocols: &["h2"],
        ..Hello::default()
    });
    script.client(&application(200));
    script.server(&application(44));
    // The acknowledgment of SETTINGS has 9 bytes.
    script.client(&application(26));
    script.server(&application(2000));
    script.client(&application(90));
    script.server(&application(2000));
    let found = script.over();
    let expected = [[Some((4, 4)), Some((5, 7))], [Some((8, 8)), Some((9, 9))]];
    assert_eq!(spans(&found), expected);
    assert!(found.iter().all(|it| it.opaque.expect("no HTTP").is_group));
}

#[test]
fn alerts_and_key_updates_are_no_data() {
    let mut script = tls13(&Hello::default());
    script.client(&application(100));
    script.server(&application(500));
    script.client(&application(22));
    script.server(&application(22));
    script.client(&application(19));
    script.server(&application(19));
    let first = script.connection.handshake().alerted_first;
    assert_eq!(first, Some(Direction::ClientToServer));
    let found = script.over();
    assert_eq!(spans(&found), [[Some((4, 4)), Some((5, 5))]]);
}

#[test]
fn fatal_alert_ends_the_handshake() {
    let mut script = Script::default();
    script.client(&client_hello(&Hello::default()));
    script.server(&record(ALERT, &[2, 40]));
    assert_eq!(script.connection.handshake().alert, Some(40));
    assert!(script.over().is_empty());
}

#[test]
fn arbitrary_cuts_give_equal_results() {
    let whole = |piece: usize| {
        let script = Script {
            piece,
            ..Script::default()
        };
        let mut script = tls13_of(script, &Hello::default());
        script.client(&application(100));
        script.server(&[application(206), application(2000)].concat());
        script.client(&application(120));
        script.server(&application(206));
        let handshake = script.connection.handshake().clone();
        let found = script.over();
        let ends: Vec<_> = found
            .iter()
            .flat_map(|it| [&it.request, &it.response])
            .flatten()
            .map(|it| (it.start, it.end, it.body.bytes, it.complete))
            .collect();
        (handshake, ends)
    };
    let expected = whole(usize::MAX);
    for piece in [1, 2, 3, 5, 7, 100] {
        assert_eq!(whole(piece), expected, "pieces of {piece}");
    }
}

#[test]
fn a_late_capture_still_shows_exchanges() {
    let mut script = Script::default();
    script.server(&application(1000));
    script.client(&application(100));
    script.server(&application(800));
    let found = script.over();
    let expected = [[None, Some((1, 1))], [Some((2, 2)), Some((3, 3))]];
    assert_eq!(spans(&found), expected);
}

#[test]
fn after_a_gap_the_next_header_is_found() {
    let mut script = tls13(&Hello::default());
    script.client(&application(100));
    script.server(&application(16_401));
    script.lose(5_000);
    script.server(&[vec![7; 300], application(400)].concat());
    script.server(&application(300));
    script.client(&application(90));
    script.server(&application(200));
    let found = script.over();
    let expected = [[Some((4, 4)), Some((5, 8))], [Some((9, 9)), Some((10, 10))]];
    assert_eq!(spans(&found), expected);
    let response = found[0].response.as_ref().expect("a response");
    assert_eq!(response.missing_bytes, 5_000);
    assert!(script.out.anomalies.is_empty());
}

#[test]
fn gap_within_a_record_loses_nothing_else() {
    let mut script = tls13(&Hello::default());
    script.client(&application(100));
    let long = application(4_000);
    script.server(&long[..1_000]);
    script.lose(2_000);
    script.server(&[&long[3_000..], &application(300)[..]].concat());
    let found = script.over();
    let response = found[0].response.as_ref().expect("a response");
    assert_eq!(response.body.bytes, 4_000 + 300 - 2 * 17);
    assert!(response.complete);
}

#[test]
fn a_response_truncated_inside_a_record_is_incomplete() {
    let mut script = tls13(&Hello::default());
    script.client(&application(100));
    script.server(&application(4_000)[..1_000]);
    let found = script.over();
    assert!(!found[0].is_complete());
}

#[test]
fn non_record_bytes_are_reported_once() {
    let mut script = tls13(&Hello::default());
    script.client(&application(100));
    script.server(&[9; 40]);
    script.server(&[9; 40]);
    assert_eq!(script.out.anomalies.len(), 1);
}

#[test]
fn application_data_is_not_held() {
    let mut script = tls13(&Hello::default());
    let before = script.connection.held_bytes();
    script.client(&application(100));
    for _ in 0..10 {
        script.server(&application(16_000)[..15_000]);
        assert_eq!(script.connection.held_bytes(), before);
        script.server(&[0; 1_005]);
    }
}
