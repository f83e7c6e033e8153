//! Exchanges with losses at any position. No request gets the response of another request.

use super::script::{CLIENT, SERVER};
use super::{Connection, Direction, End, Mark, Output, Transaction};

fn get(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: h\r\n\r\n")
}

/// One segment of an exchange.
type Sent = (Direction, String);

type Step = fn(usize) -> Sent;

/// Data held back until the loss before it is known: offset, bytes, packet, acknowledged bytes.
type Held = (u64, Vec<u8>, Mark, u64);

fn request(n: usize) -> Sent {
    match n {
        2 => (
            CLIENT,
            "POST /2 HTTP/1.1\r\nContent-Length: 9\r\n\r\nPOST /9 H".into(),
        ),
        _ => (CLIENT, get(&format!("/{n}"))),
    }
}

fn response(n: usize) -> Sent {
    let text = match n {
        3 => "HTTP/1.1 200 OK\r\nServer: 3\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nHTTP\r\n3\r\n/1.\r\n0\r\n\r\n".into(),
        _ => format!("HTTP/1.1 200 OK\r\nServer: {n}\r\nContent-Length: 4\r\n\r\nHTTP"),
    };
    (SERVER, text)
}

fn exchanges() -> Vec<Vec<Sent>> {
    let order = |steps: &[(Step, usize)]| steps.iter().map(|(of, n)| of(*n)).collect();
    let (q, r): (Step, Step) = (request, response);
    let together = |sent: Vec<Sent>| {
        let of = |side| -> String {
            sent.iter()
                .filter(|it| it.0 == side)
                .map(|it| it.1.clone())
                .collect()
        };
        vec![(CLIENT, of(CLIENT)), (SERVER, of(SERVER))]
    };
    let pipelined: Vec<Sent> = order(&[
        (q, 1),
        (q, 2),
        (q, 3),
        (q, 4),
        (r, 1),
        (r, 2),
        (r, 3),
        (r, 4),
    ]);
    vec![
        together(pipelined.clone()),
        pipelined,
        order(&[
            (q, 1),
            (q, 2),
            (r, 1),
            (q, 3),
            (r, 2),
            (q, 4),
            (r, 3),
            (r, 4),
        ]),
        order(&[
            (q, 1),
            (r, 1),
            (q, 2),
            (q, 3),
            (r, 2),
            (r, 3),
            (q, 4),
            (r, 4),
        ]),
        order(&[
            (q, 1),
            (r, 1),
            (q, 2),
            (r, 2),
            (q, 3),
            (r, 3),
            (q, 4),
            (r, 4),
        ]),
    ]
}

/// A range of one direction's bytes that was not captured. The delay counts segments until the loss is known.
#[derive(Clone, Copy, Debug)]
struct Lost {
    side: Direction,
    from: usize,
    to: usize,
    noticed_after: usize,
}

/// Play an exchange as a capture with these losses would show it.
fn play(exchange: &[Sent], losses: &[Lost]) -> Vec<Transaction> {
    let mut connection = Connection::new();
    let mut out = Output::default();
    let mut sent = [0_usize; 2];
    let mut held: [Vec<Held>; 2] = [Vec::new(), Vec::new()];
    let mut wake = [0_usize; 2];
    let steps = exchange.len() + 4;
    for step in 0..steps {
        let mark = Mark {
            frame: step as u64 + 1,
            time_ns: 0,
        };
        if let Some((side, text)) = exchange.get(step) {
            let at = *side as usize;
            let acked = sent[1 - at] as u64;
            for (offset, byte) in text.bytes().enumerate() {
                let offset = sent[at] + offset;
                let lost = losses
                    .iter()
                    .find(|it| it.side == *side && (it.from..it.to).contains(&offset));
                if let Some(lost) = lost {
                    wake[at] = wake[at].max(step + lost.noticed_after);
                    continue;
                }
                match held[at].last_mut() {
                    Some(last) if last.2 == mark && last.0 as usize + last.1.len() == offset => {
                        last.1.push(byte)
                    }
                    _ => held[at].push((offset as u64, vec![byte], mark, acked)),
                }
            }
            sent[at] += text.len();
        }
        for (at, side) in [CLIENT, SERVER].into_iter().enumerate() {
            if step >= wake[at] || step + 1 == steps {
                for (offset, bytes, mark, acked) in held[at].drain(..) {
                    connection.data(side, offset, &bytes, mark, Some(acked), &mut out);
                }
            }
        }
    }
    for side in [CLIENT, SERVER] {
        connection.end(
            side,
            End::Fin,
            Mark {
                frame: 99,
                time_ns: 0,
            },
            &mut out,
        );
    }
    out.transactions
}

fn assert_no_wrong_pair(exchange: &[Sent], losses: &[Lost]) -> usize {
    let transactions = play(exchange, losses);
    let mut pairs = 0;
    for transaction in &transactions {
        let (Some(request), Some(response)) = (&transaction.request, &transaction.response) else {
            continue;
        };
        pairs += 1;
        // A head that ends before its Server field names no server.
        if let Some(server) = response.fields.server.as_deref() {
            let target = match request.target.as_deref().unwrap() {
                // The target was lost, and the start of the request was captured.
                "/" => target_at(exchange, request.start),
                target => target.to_string(),
            };
            assert_eq!(
                target.trim_start_matches('/'),
                server,
                "{losses:?} {exchange:?} {transactions:#?}"
            );
        }
    }
    pairs
}

/// Return the target of the request that begins at an offset.
fn target_at(exchange: &[Sent], start: u64) -> String {
    let sent: String = exchange
        .iter()
        .filter(|it| it.0 == CLIENT)
        .map(|it| it.1.as_str())
        .collect();
    let line = sent.get(start as usize..).unwrap_or_default();
    line.split(' ').nth(1).unwrap_or_default().to_string()
}

#[test]
fn test_all_exchanges_are_paired_without_loss() {
    for exchange in exchanges() {
        assert_eq!(assert_no_wrong_pair(&exchange, &[]), 4);
    }
}

#[test]
fn test_one_loss_at_any_position_causes_no_wrong_pair() {
    for exchange in exchanges() {
        for side in [CLIENT, SERVER] {
            let total: usize = exchange
                .iter()
                .filter(|it| it.0 == side)
                .map(|it| it.1.len())
                .sum();
            for from in 0..total {
                for to in (from + 1..=total).filter(|to| (to - from) % 3 == 1 || to - from > 150) {
                    for noticed_after in [0, 1, 3] {
                        assert_no_wrong_pair(
                            &exchange,
                            &[Lost {
                                side,
                                from,
                                to,
                                noticed_after,
                            }],
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn test_losses_in_both_directions_cause_no_wrong_pair() {
    // A linear congruential generator with the constants of Knuth's MMIX. Every run is equal.
    let mut state = 20_260_101_u64;
    let mut below = |bound: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % bound
    };
    for exchange in exchanges() {
        for _ in 0..6_000 {
            let losses: Vec<Lost> = (0..1 + below(3))
                .map(|_| {
                    let (side, from) = ([CLIENT, SERVER][below(2)], below(260));
                    Lost {
                        side,
                        from,
                        to: from + 1 + below(120),
                        noticed_after: below(4),
                    }
                })
                .collect();
            assert_no_wrong_pair(&exchange, &losses);
        }
    }
}

#[test]
fn test_a_lost_segment_of_a_plain_exchange_costs_no_other_pair() {
    let exchange = exchanges().pop().unwrap();
    for side in [CLIENT, SERVER] {
        let mut from = 0;
        for (_, text) in exchange.iter().filter(|it| it.0 == side) {
            for noticed_after in [0, 1] {
                let lost = Lost {
                    side,
                    from,
                    to: from + text.len(),
                    noticed_after,
                };
                assert_eq!(assert_no_wrong_pair(&exchange, &[lost]), 3, "{lost:?}");
            }
            from += text.len();
        }
    }
}
