//! Arbitrary bytes in arbitrary cuts: no panic, bounded memory, and no effect of the cuts.
use super::script::{CLIENT, SERVER};
use super::{Connection, End, Mark, Output};

/// A linear congruential generator with the constants of Knuth's MMIX. Every run is equal.
pub(super) struct Numbers(pub(super) u64);

impl Numbers {
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

const CLIENT_TEXT: &str = "GET /a HTTP/1.1\r\nHost: h\r\n\r\nPOST /b HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc\
    PUT /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nHEAD /d HTTP/1.0\r\n\r\n\
    CONNECT h:1 HTTP/1.1\r\n\r\n";
const SERVER_TEXT: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi\
    HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No\r\n\r\n\
    HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2;a\r\nhi\r\n0\r\nT: u\r\n\r\n\
    HTTP/1.0 304\r\nContent-Length: 9\r\n\r\nHTTP/1.1 101 Switch\r\n\r\n";

fn changed(text: &str, numbers: &mut Numbers) -> Vec<u8> {
    const ODD: &[u8] = b"\r\n\0 :,;-19fF\xff\x7fHTGP/";
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..numbers.below(4) {
        let at = numbers.below(bytes.len());
        match numbers.below(3) {
            0 => bytes[at] = ODD[numbers.below(ODD.len())],
            1 => bytes.insert(at, ODD[numbers.below(ODD.len())]),
            _ => drop(bytes.drain(at..(at + 1 + numbers.below(20)).min(bytes.len()))),
        }
    }
    bytes
}

#[test]
fn test_changed_exchanges_in_any_order_never_panic() {
    let mut numbers = Numbers(20_260_102);
    for _ in 0..5_000 {
        let texts = [
            changed(CLIENT_TEXT, &mut numbers),
            changed(SERVER_TEXT, &mut numbers),
        ];
        let mut connection = Connection::new();
        let mut out = Output::default();
        let mut at = [0_usize; 2];
        for frame in 0..60 {
            let side = numbers.below(2);
            let direction = [CLIENT, SERVER][side];
            let to = (at[side] + 1 + numbers.below(60)).min(texts[side].len());
            let mark = Mark { frame, time_ns: 0 };
            let acked = (numbers.below(8) > 0).then_some(at[1 - side] as u64);
            if numbers.below(12) == 0 {
                connection.gap(
                    direction,
                    at[side] as u64,
                    (to - at[side]) as u64,
                    mark,
                    &mut out,
                );
            } else {
                connection.data(
                    direction,
                    at[side] as u64,
                    &texts[side][at[side]..to],
                    mark,
                    acked,
                    &mut out,
                );
            }
            at[side] = to;
        }
        for direction in [CLIENT, SERVER] {
            connection.end(
                direction,
                End::Fin,
                Mark {
                    frame: 99,
                    time_ns: 0,
                },
                &mut out,
            );
        }
        for (expected, transaction) in out.transactions.iter().enumerate() {
            assert_eq!(transaction.index, expected as u64);
            assert!(transaction.request.is_some() || transaction.response.is_some());
            for message in transaction.request.iter().chain(&transaction.response) {
                assert!(message.start < message.end);
                assert!(!message.complete || message.missing_bytes <= message.body.wire_bytes);
            }
        }
    }
}

#[test]
fn test_cuts_of_changed_bytes_do_not_change_messages() {
    let mut numbers = Numbers(20_260_103);
    for _ in 0..5_000 {
        // All requests come first, so that pipelining does not depend on the cuts either.
        let texts = [
            changed(CLIENT_TEXT, &mut numbers),
            changed(SERVER_TEXT, &mut numbers),
        ];
        let run = |cut: usize| {
            let mut connection = Connection::new();
            let mut out = Output::default();
            for (side, direction) in [CLIENT, SERVER].into_iter().enumerate() {
                let acked = (texts[0].len() * side) as u64;
                let mut offset = 0;
                for piece in texts[side].chunks(cut) {
                    connection.data(
                        direction,
                        offset,
                        piece,
                        Mark::default(),
                        Some(acked),
                        &mut out,
                    );
                    offset += piece.len() as u64;
                    if connection.is_searching(direction) {
                        // The start of a message at a segment's start depends on the cuts.
                        return None;
                    }
                }
            }
            for direction in [CLIENT, SERVER] {
                connection.end(direction, End::Fin, Mark::default(), &mut out);
            }
            Some((out.transactions, out.anomalies))
        };
        let (whole, bytes, pieces) = (run(usize::MAX), run(1), run(7));
        assert_eq!(
            whole,
            bytes,
            "{:?}",
            texts.map(|text| String::from_utf8_lossy(&text).into_owned())
        );
        assert_eq!(whole, pieces);
    }
}

#[test]
fn test_random_bytes_are_not_http() {
    let mut numbers = Numbers(20_260_104);
    for _ in 0..200 {
        let mut connection = Connection::new();
        let mut out = Output::default();
        let mut offset = 0;
        for _ in 0..100 {
            let bytes: Vec<u8> = (0..1 + numbers.below(100))
                .map(|_| numbers.below(256) as u8)
                .collect();
            connection.data(CLIENT, offset, &bytes, Mark::default(), None, &mut out);
            connection.data(SERVER, offset, &bytes, Mark::default(), None, &mut out);
            offset += bytes.len() as u64;
        }
        assert!(!connection.is_http() && out.transactions.is_empty() && out.anomalies.is_empty());
    }
}
