//! Tests of flows with TLS: from the start, behind another protocol, and without a captured start.

use super::*;

/// Return the record of a ClientHello of 40 bytes without extensions.
fn client_hello() -> Vec<u8> {
    [&[22, 3, 1, 0, 44, 1, 0, 0, 40, 3, 3][..], &[7; 38]].concat()
}

fn application(length: u8) -> Vec<u8> {
    [vec![23, 3, 3, 0, length], vec![9; usize::from(length)]].concat()
}

/// Conversation: consecutive segments of client or server that acknowledge all earlier data.
struct Talk {
    script: Script,
    next: [u32; 2],
}

impl Talk {
    fn new() -> Self {
        Talk {
            script: Script::new(),
            next: [1, 1],
        }
    }

    fn say(&mut self, from_client: bool, payload: &[u8]) -> &mut Self {
        let [own, other] = if from_client { [0, 1] } else { [1, 0] };
        let (seq, ack) = (self.next[own], self.next[other]);
        let flags = if payload.is_empty() { flags::ACK } else { DATA };
        self.script.send(from_client, flags, seq, ack, payload);
        self.next[own] += u32::try_from(payload.len()).unwrap();
        self
    }

    fn finish(&mut self) -> (Columns, Columns, Columns) {
        let tables = self.script.finish().of_flows;
        (
            { tables.flows }.take().into_columns(),
            { tables.transactions }.take().into_columns(),
            { tables.tls_handshakes }.take().into_columns(),
        )
    }
}

#[test]
fn a_hello_makes_a_flow_tls_and_its_records_are_exchanges() {
    let mut talk = Talk::new();
    talk.script.handshake();
    let (flows, transactions, handshakes) = talk
        .say(true, &client_hello())
        .say(true, &application(100))
        .say(false, &application(200))
        .say(true, b"")
        .say(true, &application(90))
        .say(false, &application(80))
        .say(true, b"")
        .finish();
    assert_eq!(text(&flows, "protocol", 0), "tls");
    assert_eq!(number(&flows, "is_http", 0), Some(0));
    assert_eq!(text(&transactions, "protocol", 0), "tls");
    assert_eq!(numbers(&transactions, "request_frame"), [5, 8]);
    assert_eq!(numbers(&transactions, "response_first_frame"), [6, 9]);
    // The first transaction is over when the second begins, because its ACK came before.
    assert_eq!(numbers(&transactions, "last_ack_frame"), [7, 10]);
    assert_eq!(numbers(&transactions, "first_record_bytes"), [205, 85]);
    assert_eq!(number(&transactions, "version", 0), None);
    assert_eq!(number(&transactions, "response_header_bytes", 0), None);
    assert_eq!(numbers(&handshakes, "client_hello_frame"), [4]);
}

#[test]
fn the_sender_of_close_notify_has_ended_the_connection() {
    let alert = [21, 3, 3, 0, 2, 1, 0];
    for (says, expected) in [(&[][..], "server"), (&alert, "client")] {
        let mut talk = Talk::new();
        talk.script.handshake();
        talk.say(true, &client_hello())
            .say(true, &application(100))
            .say(false, &application(200))
            .say(true, says);
        let [client, server] = talk.next;
        talk.script
            .send(false, flags::FIN | flags::ACK, server, client, b"");
        assert_eq!(text(&talk.finish().0, "closed_by", 0), expected);
    }
}

#[test]
fn tls_may_begin_behind_lines_of_another_protocol() {
    let mut talk = Talk::new();
    talk.script.handshake();
    let (flows, transactions, _) = talk
        .say(false, b"220 mail.example.com ESMTP\r\n")
        .say(true, b"EHLO client\r\n")
        .say(false, b"250-mail.example.com\r\n250 STARTTLS\r\n")
        .say(true, b"STARTTLS\r\n")
        .say(false, b"220 go ahead\r\n")
        .say(true, &client_hello())
        .say(true, &application(100))
        .say(false, &application(200))
        .finish();
    assert_eq!(text(&flows, "protocol", 0), "tls");
    assert_eq!(number(&flows, "is_http", 0), Some(0));
    assert_eq!(numbers(&transactions, "request_frame"), [10]);
    assert_eq!(numbers(&transactions, "response_first_frame"), [11]);
}

#[test]
fn tls_in_a_tunnel_comes_behind_the_request_for_it() {
    let mut talk = Talk::new();
    talk.script.handshake();
    let (flows, transactions, handshakes) = talk
        .say(true, b"CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n")
        .say(false, b"HTTP/1.1 200 OK\r\n\r\n")
        .say(true, &client_hello())
        .say(true, &application(100))
        .say(false, &application(200))
        .finish();
    assert_eq!(text(&flows, "protocol", 0), "tls");
    assert_eq!(number(&flows, "is_http", 0), Some(1));
    assert_eq!(text(&transactions, "protocol", 0), "http");
    assert_eq!(text(&transactions, "protocol", 1), "tls");
    assert_eq!(numbers(&transactions, "request_frame"), [4, 7]);
    assert_eq!(numbers(&handshakes, "client_hello_frame"), [6]);
}

#[test]
fn a_hello_may_stand_behind_the_header_of_a_load_balancer() {
    let header = b"PROXY TCP4 192.0.2.1 192.0.2.2 40000 443\r\n";
    for is_alone in [false, true] {
        let mut talk = Talk::new();
        talk.script.handshake();
        if is_alone {
            talk.say(true, header).say(true, &client_hello());
        } else {
            talk.say(true, &[header, &client_hello()[..]].concat());
        }
        let (flows, transactions, handshakes) = talk
            .say(true, &application(100))
            .say(false, &application(200))
            .finish();
        let first = 4 + u64::from(is_alone);
        assert_eq!(text(&flows, "protocol", 0), "tls");
        assert_eq!(numbers(&handshakes, "client_hello_frame"), [first]);
        assert_eq!(numbers(&handshakes, "client_hello_bytes"), [49]);
        assert_eq!(numbers(&transactions, "request_frame"), [first + 1]);
    }
}

#[test]
fn a_hello_may_come_in_segments_of_a_few_bytes() {
    for cuts in [vec![1], vec![5], vec![3, 4], vec![1, 2, 3, 4, 5, 6, 7]] {
        let mut talk = Talk::new();
        talk.script.handshake();
        let hello = client_hello();
        let mut start = 0;
        for cut in cuts.iter().copied().chain([hello.len()]) {
            talk.say(true, &hello[start..cut]);
            start = cut;
        }
        let (flows, transactions, handshakes) = talk
            .say(true, &application(100))
            .say(false, &application(200))
            .finish();
        assert_eq!(text(&flows, "protocol", 0), "tls", "{cuts:?}");
        assert_eq!(numbers(&handshakes, "client_hello_frame"), [4]);
        assert_eq!(numbers(&handshakes, "client_hello_bytes"), [49]);
        let request = 5 + u64::try_from(cuts.len()).unwrap();
        assert_eq!(numbers(&transactions, "request_frame"), [request]);
    }
}

#[test]
fn incomplete_hello_bytes_are_no_hello() {
    let mut talk = Talk::new();
    talk.script.handshake();
    let (flows, transactions, _) = talk
        .say(true, &[22, 3])
        .say(true, b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        .say(false, b"HTTP/1.1 204 No Content\r\n\r\n")
        .finish();
    assert_eq!(text(&flows, "protocol", 0), "http");
    assert_eq!(numbers(&transactions, "request_frame"), [5]);
}

#[test]
fn hello_shows_the_client_of_a_flow_without_a_start() {
    let mut talk = Talk::new();
    // The other side has the lower port.
    let (flows, _, _) = talk.say(false, &client_hello()).finish();
    assert_eq!(text(&flows, "client", 0), "10.0.0.2");
    assert_eq!(text(&flows, "protocol", 0), "tls");
}

#[test]
fn records_alone_show_tls_only_without_a_captured_start() {
    let mut joined = Talk::new();
    let (flows, transactions, handshakes) = joined
        .say(true, &application(100))
        .say(false, &application(200))
        .finish();
    assert_eq!(text(&flows, "protocol", 0), "tls");
    assert_eq!(numbers(&transactions, "response_first_frame"), [2]);
    assert_eq!(handshakes.rows, 0);

    let mut whole = Talk::new();
    whole.script.handshake();
    let (flows, transactions, _) = whole
        .say(true, &application(100))
        .say(false, &application(200))
        .finish();
    assert_eq!(number(&flows, "protocol", 0), None);
    assert_eq!(transactions.rows, 0);
}
