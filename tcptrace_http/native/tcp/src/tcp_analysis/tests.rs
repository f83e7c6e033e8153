//! Tests of each rule with the shortest exchange that triggers it; initial sequence numbers are close to the
//! wrap.

use trace_model::rows::SegmentRow;
use trace_model::{flags, IpAddress, SackBlocks, Segment, SeqNumber, TcpOptions};

use super::TcpAnalysis;
use crate::test_packets::{packet, segment};

const CLIENT_INITIAL: u32 = u32::MAX - 20;
const SERVER_INITIAL: u32 = u32::MAX - 100;
const MILLISECOND: i64 = 1_000_000;
const ACK: u16 = flags::ACK;
const PSH: u16 = flags::PSH | flags::ACK;

struct Script {
    analysis: TcpAnalysis,
    frame: u64,
    time_ns: i64,
    window: u16,
    options: TcpOptions,
}

impl Script {
    /// Create a script with a handshake of one millisecond.
    fn new() -> Self {
        let mut script = Script::before_handshake();
        script.client(flags::SYN, 0, 0, 0);
        script.after(MILLISECOND).server(flags::SYN | ACK, 0, 1, 0);
        script.client(ACK, 1, 1, 0);
        script
    }

    fn before_handshake() -> Self {
        Script {
            analysis: TcpAnalysis::default(),
            frame: 0,
            time_ns: 0,
            window: 1000,
            options: TcpOptions::default(),
        }
    }

    fn after(&mut self, nanoseconds: i64) -> &mut Self {
        self.time_ns += nanoseconds;
        self
    }

    fn client(&mut self, flags: u16, seq: u32, ack: u32, bytes: u32) -> SegmentRow {
        self.send(true, flags, seq, ack, bytes)
    }

    fn server(&mut self, flags: u16, seq: u32, ack: u32, bytes: u32) -> SegmentRow {
        self.send(false, flags, seq, ack, bytes)
    }

    fn send(&mut self, is_client: bool, flags: u16, seq: u32, ack: u32, bytes: u32) -> SegmentRow {
        let (own, other) = if is_client {
            (CLIENT_INITIAL, SERVER_INITIAL)
        } else {
            (SERVER_INITIAL, CLIENT_INITIAL)
        };
        let ack = if flags & ACK == 0 {
            0
        } else {
            other.wrapping_add(ack)
        };
        let segment = Segment {
            window: self.window,
            options: self.options,
            payload_bytes: bytes,
            ..segment(flags, (own.wrapping_add(seq), ack), &[])
        };
        self.frame += 1;
        let hosts = (IpAddress::v4([10, 0, 0, 1]), IpAddress::v4([10, 0, 0, 2]));
        let packet = packet(self.frame, self.time_ns, hosts, segment);
        let mut row = SegmentRow::default();
        self.analysis
            .describe(is_client, &packet, &segment, &mut row);
        row
    }
}

#[test]
fn late_retransmission_is_timed_from_the_oldest_unacknowledged_segment() {
    let mut script = Script::new();
    script.server(PSH, 1, 1, 100);
    script.after(MILLISECOND).server(PSH, 101, 1, 100);
    script.after(MILLISECOND).server(PSH, 201, 1, 100);
    let row = script.after(300 * MILLISECOND).server(PSH, 101, 1, 100);
    assert!(row.is_retransmission && !row.is_fast_retransmission);
    assert_eq!((row.rto, row.rto_frame), (Some(302 * MILLISECOND), Some(4)));
}

#[test]
fn two_duplicate_acks_make_a_fast_retransmission() {
    let mut script = Script::new();
    for at in [1, 101, 201] {
        script.after(MILLISECOND).server(PSH, at, 1, 100);
    }
    script.client(ACK, 1, 101, 0);
    assert_eq!(script.client(ACK, 1, 101, 0).duplicate_ack_count, 1);
    let second = script.client(ACK, 1, 101, 0);
    assert_eq!(
        (second.duplicate_ack_count, second.duplicate_ack_frame),
        (2, Some(7))
    );
    let row = script.after(19 * MILLISECOND).server(PSH, 101, 1, 100);
    assert!(row.is_fast_retransmission && row.is_retransmission);
    assert_eq!(row.rto, None);
}

#[test]
fn retransmission_of_an_acknowledged_segment_is_spurious() {
    let mut script = Script::new();
    script.server(PSH, 1, 1, 100);
    script.client(ACK, 1, 101, 0);
    let row = script.server(PSH, 1, 1, 100);
    assert!(row.is_spurious_retransmission && row.is_retransmission);
}

#[test]
fn overtaken_segment_is_out_of_order_within_a_round_trip_and_retransmitted_later() {
    for (elapsed, is_out_of_order) in [(MILLISECOND - 1, true), (MILLISECOND, false)] {
        let mut script = Script::new();
        script.server(PSH, 1, 1, 100);
        assert!(script.server(PSH, 201, 1, 100).is_lost_segment);
        let row = script.after(elapsed).server(PSH, 101, 1, 100);
        assert_eq!(row.is_out_of_order, is_out_of_order);
        assert_eq!(row.is_retransmission, !is_out_of_order);
    }
}

#[test]
fn syn_repeated_at_once_is_a_retransmission() {
    let mut script = Script::before_handshake();
    script.client(flags::SYN, 0, 0, 0);
    assert!(script.client(flags::SYN, 0, 0, 0).is_retransmission);
}

#[test]
fn ack_of_uncaptured_data_is_reported_once() {
    let mut script = Script::new();
    script.server(PSH, 1, 1, 100);
    assert!(script.client(ACK, 1, 301, 0).is_ack_of_lost_segment);
    assert!(!script.client(ACK, 1, 401, 0).is_ack_of_lost_segment);
}

#[test]
fn ack_of_an_unseen_segment_makes_no_fast_retransmission() {
    let mut script = Script::new();
    script.server(PSH, 1, 1, 100);
    script.client(PSH, 1, 101, 10);
    script.client(PSH, 31, 101, 10);
    assert!(
        script
            .after(5 * MILLISECOND)
            .server(PSH, 51, 61, 100)
            .is_ack_of_lost_segment
    );
    let row = script.after(MILLISECOND).server(PSH, 101, 61, 50);
    assert!(!row.is_fast_retransmission);
}

#[test]
fn the_byte_before_the_next_is_a_keep_alive_and_the_same_ack_answers_it() {
    let mut script = Script::new();
    script.client(PSH, 1, 1, 50);
    script.server(ACK, 1, 51, 0);
    let probe = script.client(ACK, 50, 1, 1);
    assert!(probe.is_keep_alive && !probe.is_retransmission);
    let answer = script.server(ACK, 1, 51, 0);
    assert!(answer.is_keep_alive_ack);
    assert_eq!(answer.duplicate_ack_count, 0);
}

#[test]
fn byte_into_a_zero_window_is_a_probe_and_advances_no_number() {
    let mut script = Script::new();
    script.server(PSH, 1, 1, 1000);
    script.window = 0;
    assert!(script.client(ACK, 1, 1001, 0).is_zero_window);
    script.window = 1000;
    assert!(script.server(PSH, 1001, 1, 1).is_zero_window_probe);
    script.window = 0;
    let refused = script.client(ACK, 1, 1001, 0);
    assert!(refused.is_zero_window_probe_ack && refused.is_zero_window);
    script.window = 500;
    assert!(script.client(ACK, 1, 1001, 0).is_window_update);
    script.window = 1000;
    let row = script.server(PSH, 1001, 1, 500);
    assert!(row.is_window_full && !row.is_retransmission);
}

#[test]
fn window_with_unknown_scale_is_never_full() {
    let mut script = Script::before_handshake();
    script.client(ACK, 1, 1, 0);
    assert!(!script.server(PSH, 1, 1, 1000).is_window_full);
}

#[test]
fn the_scale_of_one_captured_syn_is_used_and_a_syn_without_one_ends_scaling() {
    let mut script = Script::before_handshake();
    script.options.window_scale = Some(7);
    assert_eq!(script.client(flags::SYN, 0, 0, 0).window_bytes, 1000);
    script.options.window_scale = None;
    assert_eq!(script.client(ACK, 1, 1, 0).window_bytes, 128_000);
    script.server(flags::SYN | ACK, 0, 1, 0);
    assert_eq!(script.client(ACK, 1, 1, 0).window_bytes, 1000);
}

#[test]
fn flight_is_unacknowledged_data_minus_sack_blocks() {
    let mut script = Script::new();
    assert_eq!(script.server(ACK, 1, 1, 100).flight_bytes, Some(100));
    assert_eq!(script.server(ACK, 101, 1, 100).flight_bytes, Some(200));
    let third = script.server(PSH, 201, 1, 100);
    assert_eq!(
        (third.flight_bytes, third.push_bytes),
        (Some(300), Some(300))
    );
    let edge = |offset: u32| SeqNumber(SERVER_INITIAL.wrapping_add(offset));
    let mut sack = SackBlocks::default();
    sack.push(edge(201), edge(301));
    script.options.sack = sack;
    script.client(ACK, 1, 101, 0);
    script.options.sack = SackBlocks::default();
    let fourth = script.server(ACK, 301, 1, 100);
    assert_eq!(
        (fourth.flight_bytes, fourth.push_bytes),
        (Some(200), Some(100))
    );
}

#[test]
fn the_flight_is_unknown_from_a_lost_segment_to_the_next_ack() {
    let mut script = Script::new();
    script.server(ACK, 1, 1, 100);
    assert_eq!(script.server(ACK, 201, 1, 100).flight_bytes, None);
    script.client(ACK, 1, 101, 0);
    assert_eq!(script.server(ACK, 301, 1, 100).flight_bytes, Some(200));
}

#[test]
fn ack_answers_the_segment_with_the_same_end() {
    let mut script = Script::new();
    script.server(ACK, 1, 1, 100);
    script.after(MILLISECOND).server(ACK, 101, 1, 100);
    let row = script.after(4 * MILLISECOND).client(ACK, 1, 201, 0);
    assert_eq!(
        (row.acks_frame, row.ack_rtt),
        (Some(5), Some(4 * MILLISECOND))
    );
    let beside = script.client(ACK, 1, 150, 0);
    assert_eq!(beside.acks_frame, None);
}

#[test]
fn a_syn_ack_with_another_initial_number_reuses_the_ports() {
    let mut script = Script::before_handshake();
    script.client(flags::SYN, 0, 0, 0);
    assert!(!script.server(flags::SYN | ACK, 0, 1, 0).is_reused_ports);
    assert!(script.server(flags::SYN | ACK, 5000, 1, 0).is_reused_ports);
}
