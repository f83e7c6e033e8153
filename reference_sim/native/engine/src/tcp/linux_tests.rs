//! Linux on both ends, compared with captures of Linux 6.18. The scenarios have one persistent connection
//! without queues, and at least two documents.

use super::pair_tests::{stack, Pair, Sent, MS};
use crate::segment::flags;
use crate::stack::*;
use crate::truth::SendReason;

/// Return the relevant part of `linux-6` from the table of stacks.
fn linux() -> Stack {
    let base = stack();
    Stack {
        window_scale: Some(7),
        timestamps: true,
        sack: true,
        receive_buffer: 3 << 20,
        send_buffer: 4 << 20,
        congestion: Congestion::Cubic,
        initial_window: InitialWindow::Segments(10),
        acks: AckPolicy {
            delay: AckDelay::Timer { delay_ns: 40 * MS },
            quick_acks: Some(QuickAcks {
                segments: 16,
                pingpong_timeout_ns: 40 * MS,
            }),
            ..base.acks
        },
        nagle: Nagle::Minshall,
        retransmission: Retransmission {
            initial_ns: 1000 * MS,
            min_ns: 200 * MS,
            min_is_spread: true,
            max_ns: 120_000 * MS,
            syn_initial_ns: 1000 * MS,
            ..base.retransmission
        },
        tail_loss_probe: true,
        window_in_segments: true,
        limited_transmit: true,
        idle_restart: IdleRestart::Decay,
        ..base
    }
}

fn nodelay() -> Stack {
    Stack {
        nagle: Nagle::Off,
        ..linux()
    }
}

const REQUEST: u64 = 78;
const HEAD: u64 = 226;
const DOCUMENTS: [u64; 3] = [6651, 3883, 1866];

/// Return a connected pair with Linux as client.
fn pair(server: Stack, one_way: Nanoseconds) -> Pair {
    let mut pair = Pair::new(linux(), server);
    pair.delay = one_way;
    pair.pump(0);
    pair.run_until(2 * one_way + MS / 100);
    pair
}

/// Send a request and then these writes, and wait until `pause` after the whole response. Return the duration
/// and the segments of each burst of the response.
fn get(pair: &mut Pair, writes: &[u64], pause: Nanoseconds) -> (Nanoseconds, Vec<usize>) {
    let (start, from) = (pair.now, pair.log.len());
    pair.write(0, REQUEST);
    pair.run_until(start + pair.delay);
    let wanted = pair.received() + writes.iter().sum::<u64>();
    for bytes in writes {
        pair.write(1, *bytes);
    }
    while pair.received() < wanted {
        let deadline = pair.now + MS / 100;
        pair.run_until(deadline);
    }
    let took = pair.now - start;
    pair.run_until(start + took + pause);
    (took / MS, bursts(&pair.log[from..]))
}

/// Return the sizes of the server's data bursts. A pause of a millisecond separates bursts.
fn bursts(log: &[Sent]) -> Vec<usize> {
    let mut bursts: Vec<usize> = Vec::new();
    let mut last = None;
    for sent in log
        .iter()
        .filter(|sent| sent.by == 1 && sent.segment.payload > 0)
    {
        match bursts.last_mut() {
            Some(burst) if last.is_some_and(|last| sent.time < last + MS) => *burst += 1,
            _ => bursts.push(1),
        }
        last = Some(sent.time);
    }
    bursts
}

fn page(pair: &mut Pair, writes: impl Fn(u64) -> Vec<u64>) -> Vec<(Nanoseconds, Vec<usize>)> {
    DOCUMENTS
        .iter()
        .map(|document| get(pair, &writes(*document), MS / 4))
        .collect()
}

/// Return the response in writes of 4096 bytes, the head in the first.
fn in_4k(document: u64) -> Vec<u64> {
    let total = HEAD + document;
    let mut writes = vec![4096; (total / 4096) as usize];
    writes.push(total % 4096);
    writes.retain(|bytes| *bytes > 0);
    writes
}

#[test]
fn one_write_takes_one_round_trip_per_document() {
    for one_way in [50, 280] {
        let mut pair = pair(linux(), one_way * MS);
        let page = page(&mut pair, |document| vec![HEAD + document]);
        let rtt = 2 * one_way;
        assert_eq!(page, [(rtt, vec![5]), (rtt, vec![3]), (rtt, vec![2])]);
    }
}

#[test]
fn a_separate_head_delays_the_tail_one_round_trip_only_with_nagle() {
    let writes = |document| vec![HEAD, document];
    let mut held = pair(linux(), 50 * MS);
    let first = page(&mut held, writes);
    assert_eq!(
        first,
        [(200, vec![5, 1]), (200, vec![3, 1]), (200, vec![2, 1])]
    );
    let mut free = pair(nodelay(), 50 * MS);
    let first = page(&mut free, writes);
    assert_eq!(first, [(100, vec![6]), (100, vec![4]), (100, vec![3])]);
}

#[test]
fn writes_of_4_kilobytes_stall_after_an_even_number_of_segments() {
    let mut pair = pair(linux(), 50 * MS);
    // 4096 = 2 x 1448 + 1200, and 13 more for the second document. After the quick ACKs of the connection's
    // start (ping-pong), the client delays its ACK.
    for _ in 0..3 {
        let page = page(&mut pair, in_4k);
        assert_eq!(page, [(200, vec![4, 1]), (240, vec![3, 1]), (100, vec![2])]);
    }
}

#[test]
fn a_short_head_and_a_short_body_stall_for_40_ms_except_at_first() {
    let mut pair = pair(linux(), MS / 2);
    let times: Vec<Nanoseconds> = (0..4)
        .map(|_| get(&mut pair, &[HEAD, 700], MS / 4).0)
        .collect();
    assert_eq!(times, [2, 42, 42, 42]);
}

#[test]
fn a_client_acknowledges_at_once_after_100_ms_of_think_time() {
    let mut pair = pair(linux(), MS / 2);
    let times: Vec<Nanoseconds> = (0..4)
        .map(|_| get(&mut pair, &[HEAD, 700], 100 * MS).0)
        .collect();
    assert_eq!(times, [2, 2, 2, 2]);
}

#[test]
fn slow_start_restarts_after_two_idle_seconds() {
    let mut pair = pair(linux(), 50 * MS);
    for _ in 0..4 {
        let (took, bursts) = get(&mut pair, &[100_148], 2000 * MS);
        assert_eq!((took, bursts), (300, vec![10, 20, 40]));
    }
}

#[test]
fn the_window_is_kept_without_a_restart() {
    let server = Stack {
        idle_restart: IdleRestart::Keep,
        ..linux()
    };
    let mut pair = pair(server, 50 * MS);
    let bursts: Vec<Vec<usize>> = (0..3)
        .map(|_| get(&mut pair, &[100_148], 2000 * MS).1)
        .collect();
    assert_eq!(bursts, [vec![10, 20, 40], vec![70], vec![70]]);
}

#[test]
fn an_idle_period_halves_the_window_once_per_timeout() {
    let mut pair = pair(linux(), 50 * MS);
    let bursts: Vec<Vec<usize>> = (0..4)
        .map(|_| get(&mut pair, &[100_148], 700 * MS).1)
        .collect();
    let expected = [
        vec![10, 20, 40],
        vec![20, 40, 10],
        vec![22, 44, 4],
        // Of 23 segments, sixteen are acknowledged at once and six in pairs. The last one waits.
        vec![23, 44, 2, 1],
    ];
    assert_eq!(bursts, expected);
}

#[test]
fn a_pause_below_the_timeout_restarts_nothing() {
    let mut pair = pair(linux(), 50 * MS);
    get(&mut pair, &[100_148], 150 * MS);
    assert_eq!(get(&mut pair, &[100_148], 150 * MS).1, [70]);
}

fn retransmissions(pair: &Pair) -> Vec<(SendReason, u64)> {
    let is_again = |sent: &&Sent| {
        !matches!(sent.reason, SendReason::New) && sent.by == 1 && sent.segment.payload > 0
    };
    let again = pair.log.iter().filter(is_again);
    again.map(|sent| (sent.reason, sent.segment.seq)).collect()
}

#[test]
fn three_sacked_segments_repair_a_loss_in_the_next_round_trip() {
    let mut pair = pair(linux(), 25 * MS);
    pair.lost = vec![19];
    let (took, bursts) = get(&mut pair, &[60_256], 100 * MS);
    assert_eq!(took, 150);
    assert_eq!(bursts, [10, 20, 13]);
    assert_eq!(
        retransmissions(&pair),
        [(SendReason::FastRetransmit, 1 + 19 * 1448)]
    );
    // CUBIC's seven tenths of 30 segments (RFC 9438, section 4.6).
    let window = pair.ends[1].sender().window;
    assert_eq!((window.cwnd / 1448, window.ssthresh / 1448), (21, 21));
}

#[test]
fn a_probe_at_the_timeout_repairs_a_lost_tail_and_reduces_the_window() {
    let mut pair = pair(linux(), 25 * MS);
    pair.lost = vec![4];
    let (took, _) = get(&mut pair, &[6891], 100 * MS);
    // The capture has 283 ms from ACK to probe: 252 ms plus the granularity of Linux's timers.
    assert_eq!(took, 350);
    assert_eq!(
        retransmissions(&pair),
        [(SendReason::TailLossProbe, 1 + 4 * 1448)]
    );
    let window = pair.ends[1].sender().window;
    assert_eq!((window.cwnd / 1448, window.ssthresh / 1448), (7, 7));
}

#[test]
fn a_lost_head_is_detected_by_sack_blocks_of_later_segments() {
    let mut pair = pair(nodelay(), 25 * MS);
    pair.lost = vec![0];
    let (took, bursts) = get(&mut pair, &[HEAD, 6651], 100 * MS);
    assert_eq!((took, bursts), (100, vec![6, 1]));
    assert_eq!(retransmissions(&pair), [(SendReason::FastRetransmit, 1)]);
}

#[test]
fn a_client_acknowledges_initial_segments_at_once_and_sacks_holes_at_once() {
    let mut pair = pair(linux(), 25 * MS);
    pair.lost = vec![1];
    get(&mut pair, &[14_480], 100 * MS);
    let acks = pair
        .log
        .iter()
        .filter(|sent| sent.by == 0 && sent.segment.payload == 0);
    let blocks: Vec<(u64, u64, u64)> = acks
        .skip(2)
        .map(|sent| {
            let block = sent.segment.options.sack[0];
            (sent.segment.ack, block.0, block.1)
        })
        .collect();
    assert_eq!(blocks[0], (1449, 0, 0));
    assert_eq!(blocks[1], (1449, 2897, 4345));
    assert_eq!(blocks[8], (1449, 2897, 14_481));
    assert_eq!(blocks[9], (14_481, 0, 0));
}

#[test]
fn a_burst_of_losses_is_repaired_without_a_timeout() {
    let mut pair = pair(linux(), 50 * MS);
    pair.lost = vec![31, 33, 35, 36, 37, 50];
    let (took, _) = get(&mut pair, &[200_000], 100 * MS);
    assert!(took <= 700, "{took}");
    let again = retransmissions(&pair);
    assert_eq!(again.len(), 6);
    assert!(again
        .iter()
        .all(|(reason, _)| *reason != SendReason::RetransmissionTimeout));
}

#[test]
fn a_lost_retransmission_is_found_by_rack_without_a_timeout() {
    let mut once = pair(linux(), 50 * MS);
    once.lost = vec![12];
    get(&mut once, &[100_148], 100 * MS);
    let number = once
        .data()
        .position(|sent| sent.reason == SendReason::FastRetransmit);
    let mut pair = pair(linux(), 50 * MS);
    pair.lost = vec![12, number.unwrap()];
    get(&mut pair, &[100_148], 100 * MS);
    let again = retransmissions(&pair);
    let twice = (SendReason::Recovery, 1 + 12 * 1448);
    assert_eq!(again, [(SendReason::FastRetransmit, twice.1), twice]);
}

#[test]
fn a_lone_fin_is_acknowledged_late_by_an_end_that_can_close_too() {
    let mut pair = pair(linux(), MS / 2);
    get(&mut pair, &[1000], MS);
    let from = pair.log.len();
    let start = pair.now;
    pair.ends[1].close(start);
    pair.pump(1);
    pair.run_until(start + 100 * MS);
    let times: Vec<(usize, bool, Nanoseconds)> = pair.log[from..]
        .iter()
        .map(|sent| {
            let has_fin = sent.segment.has(flags::FIN);
            (sent.by, has_fin, (sent.time - start) / MS)
        })
        .collect();
    assert_eq!(times, [(1, true, 0), (0, false, 40)]);
}

#[test]
fn a_bulk_transfer_with_sack_survives_any_pattern_of_losses() {
    for pattern in 0..200_usize {
        let server = Stack {
            congestion: [Congestion::Cubic, Congestion::Newreno][pattern % 2],
            tail_loss_probe: pattern % 3 > 0,
            window_in_segments: pattern % 5 > 1,
            timestamps: pattern % 7 > 1,
            ..linux()
        };
        let mut pair = pair(server, 50 * MS);
        pair.lost = (0..80)
            .filter(|number| (number * 7919 + pattern * 104_729) % 11 < 1 + pattern % 4)
            .collect();
        pair.write(1, 150_000);
        pair.ends[1].close(pair.now);
        pair.run_until(4_000_000 * MS);
        assert_eq!(pair.received(), 150_000, "pattern {pattern}");
        assert!(pair.ends[1].sender().is_done(), "pattern {pattern}");
        assert_eq!(pair.ends[1].sender().pipe(), 0, "pattern {pattern}");
    }
}

/// Return the bursts and the positions of CWR in them. Both ends use ECN, and one segment of 400 kB is
/// marked.
fn marked(number: usize) -> (Vec<usize>, Vec<usize>) {
    let stack = Stack {
        ecn: true,
        ..nodelay()
    };
    let mut pair = Pair::new(stack.clone(), stack);
    pair.marked = vec![number];
    pair.pump(0);
    pair.run_until(101 * MS);
    get(&mut pair, &[400_000], 0);
    let first = pair.data().next().unwrap().time;
    let rounds = pair
        .data()
        .map(|sent| (sent.time - first) / (2 * pair.delay));
    let mut segments = vec![0; 16];
    rounds.for_each(|round| segments[round as usize] += 1);
    let data = pair.data().enumerate();
    let told = data.filter(|(_, sent)| sent.segment.has(flags::CWR));
    (segments, told.map(|(number, _)| number).collect())
}

/// Linux 6.18 with net.ipv4.tcp_ecn 1 over a link of 50 ms with unlimited rate. The 45th data segment is
/// marked. The bursts have 10, 20, 40, 46, 38, 40 and 42 segments. The 29th segment of the fourth burst has
/// CWR.
#[test]
fn a_mark_takes_the_window_down_as_linux_does() {
    let (segments, told) = marked(44);
    assert_eq!(segments[..4], [10, 20, 40, 46]);
    assert_eq!(told, [10 + 20 + 40 + 28]);
    let mut later = segments[4..7].iter().zip([38_usize, 40, 42]);
    assert!(
        later.all(|(here, linux)| here.abs_diff(linux) <= 2),
        "{segments:?}"
    );
}
