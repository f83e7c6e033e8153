use tcptrace_tcp::test_packets::{self, packet};

use super::pace::Pace;
use super::*;

mod at_server;
mod largest;
mod link;
mod missed;
mod missed_if_shared;
mod numbers;
mod opening;
mod pacing;
mod phases;
mod places;
mod writes;

const MS: i64 = 1_000_000;
const SERVER: [u8; 4] = [10, 0, 0, 2];

/// Packets of two hosts, of which a capture next to the client has a round trip of 100 ms.
#[derive(Default)]
struct Talk {
    windows: SharedWindows,
    /// Which of many clients speaks.
    client: u16,
    /// How many packets the server's numbers have passed over, if it counts.
    passed_over: Option<u32>,
}

impl Talk {
    /// Of a server that counts its packets.
    fn counted() -> Talk {
        Talk {
            passed_over: Some(0),
            ..Talk::default()
        }
    }

    fn packet(&mut self, time_ms: i64, from_client: bool, port: u16, what: Segment<'_>) -> Sharing {
        let (client, server) = (client(self.client), IpAddress::v4(SERVER));
        let (source, destination) = if from_client {
            (client, server)
        } else {
            (server, client)
        };
        let ports = if from_client { (port, 80) } else { (80, port) };
        let segment = Segment {
            source_port: ports.0,
            destination_port: ports.1,
            ..what
        };
        let packet = packet(1, time_ms * MS, (source, destination), segment);
        let host_step = self.passed_over.map(|passed_over| HostStep {
            passed_over,
            is_late: false,
        });
        self.windows.segment(&packet, &segment, host_step)
    }

    fn opens(&mut self, time_ms: i64, port: u16) {
        self.packet(time_ms, true, port, segment(flags::SYN, 0, 0, 0));
        self.packet(
            time_ms + 100,
            false,
            port,
            segment(flags::SYN | flags::ACK, 0, 1, 0),
        );
        self.packet(time_ms + 100, true, port, segment(flags::ACK, 1, 1, 100));
        // Two segments at once tell what the link takes.
        self.data(time_ms + 200, port, 0);
        self.data(time_ms + 201, port, 1);
    }

    /// The server's segment of that number, of 1000 bytes.
    fn data(&mut self, time_ms: i64, port: u16, number: u32) -> Sharing {
        self.packet(
            time_ms,
            false,
            port,
            segment(flags::ACK, 1 + number * 1000, 101, 1000),
        )
    }

    fn ack(&mut self, time_ms: i64, port: u16, number: u32) -> Sharing {
        self.packet(
            time_ms,
            true,
            port,
            segment(flags::ACK, 101, 1001 + number * 1000, 0),
        )
    }
}

/// The client of this number.
fn client(number: u16) -> IpAddress {
    let [high, low] = number.to_be_bytes();
    IpAddress::v4([10, 1, high, low])
}

pub(super) fn segment(flags: u16, seq: u32, ack: u32, payload_bytes: u32) -> Segment<'static> {
    Segment {
        payload_bytes,
        ..test_packets::segment(flags, (seq, ack), &[])
    }
}

/// Two connections of which each one's ACKs let data of its own or of the other go; what is known at the end.
fn after_rounds(rounds: u32, is_of_other: bool) -> Sharing {
    talk_of_rounds(rounds, is_of_other).1
}

/// ... and what they go on with.
fn talk_of_rounds(rounds: u32, is_of_other: bool) -> (Talk, Sharing) {
    let mut talk = Talk::default();
    talk.opens(0, 1);
    talk.opens(30, 2);
    let mut sharing = Sharing::default();
    for round in 0..rounds {
        let at = 240 + i64::from(round) * 200;
        for (place, port) in [(0, 1), (50, 2)] {
            talk.ack(at + place, port, round + 1);
            let released = if is_of_other { 3 - port } else { port };
            sharing = talk.data(at + place + 100, released, round + 2);
        }
    }
    (talk, sharing)
}

#[test]
fn data_that_only_acks_of_another_connection_let_go_shares_its_window() {
    let sharing = after_rounds(6, true);
    assert!(sharing.is_shared && sharing.by_other && !sharing.had_loss);
}

#[test]
fn data_that_its_own_acks_let_go_shares_none() {
    let sharing = after_rounds(6, false);
    assert!(!sharing.is_shared && !sharing.by_other);
}

#[test]
fn answers_that_begin_with_acks_of_another_connection_tell_as_often_as_chance_would_not_have_it() {
    let mut talk = Talk::default();
    talk.opens(0, 1);
    talk.opens(30, 2);
    let mut is_shared = Vec::new();
    for round in 0..6 {
        let at = 240 + i64::from(round) * 400;
        let question = segment(flags::ACK, 101 + round * 100, 2001 + round * 1000, 100);
        // No two answers are equally long behind their questions.
        talk.packet(at + i64::from(round), true, 2, question);
        talk.data(at + 50, 1, round + 2);
        talk.ack(at + 70, 1, round + 2);
        let sharing = talk.data(at + 170, 2, round + 2);
        assert!(sharing.by_other && sharing.may_be_shared);
        is_shared.push(sharing.is_shared);
    }
    assert!(is_shared.is_sorted() && !is_shared[0] && is_shared[5]);
}

#[test]
fn the_first_data_behind_a_syn_that_asked_begins_an_answer() {
    for asked_bytes in [0, 84] {
        let mut pair = HostPair::with_path(100);
        pair.heard(0, &segment(flags::SYN, u32::MAX - 10, 0, asked_bytes));
        let connection = pair.connections.back_mut().unwrap();
        let answer = segment(flags::SYN | flags::ACK, u32::MAX - 999, 0, 0);
        assert!(!connection.sends(100, &answer, false).answers_syn);
        let first = segment(flags::ACK, u32::MAX - 998, 0, 1000);
        let step = connection.sends(200, &first, false);
        assert_eq!(step.answers_syn, asked_bytes > 0);
        let second = segment(flags::ACK, 2, 0, 1000);
        assert!(!connection.sends(300, &second, false).answers_syn);
    }
}

#[test]
fn an_answer_with_that_to_its_syn_came_with_no_ack_of_another_connection() {
    let mut talk = Talk::default();
    talk.opens(0, 1);
    talk.opens(30, 2);
    for round in 0..6 {
        let (at, port) = (
            240 + i64::from(round) * 400,
            3 + u16::try_from(round).unwrap(),
        );
        talk.data(at, 1, round + 2);
        talk.packet(at, true, port, segment(flags::SYN, u32::MAX, 0, 100));
        talk.ack(at, 1, round + 2);
        let answer = segment(flags::SYN | flags::ACK, u32::MAX, 100, 1000);
        assert!(!talk.packet(at + 100, false, port, answer).may_be_shared);
    }
}

#[test]
fn what_its_own_ack_let_go_stood_behind_others_data_when_an_ack_of_theirs_came() {
    let mut talk = Talk::default();
    talk.opens(0, 1);
    talk.opens(30, 2);
    let mut sharing = Sharing::default();
    for round in 0..6 {
        let at = 240 + i64::from(round) * 200;
        talk.ack(at, 1, 9 * round + 1);
        talk.ack(at, 2, round + 1);
        talk.ack(at + 9, 1, 9 * round + 3);
        // The link takes 1 ms for each.
        for place in 0..8 {
            let number = 9 * round + 2 + place;
            talk.data(at + 101 + i64::from(place), 1, number);
        }
        sharing = talk.data(at + 109, 2, round + 2);
        talk.data(at + 110, 1, 9 * round + 10);
    }
    assert!(!sharing.is_shared);
}

#[test]
fn what_left_within_a_round_trip_of_others_data_had_them_in_flight() {
    let mut talk = Talk::default();
    talk.opens(0, 1);
    assert!(!talk.data(202, 1, 2).are_others_in_flight);
    talk.opens(30, 2);
    talk.ack(231, 2, 1);
    assert!(talk.data(331, 1, 3).are_others_in_flight);
    assert!(!talk.data(332, 1, 4).are_others_in_flight);
}

#[test]
fn what_others_lost_counts_in_a_window_that_may_be_shared_until_it_is_repaired() {
    for (number, is_in_flight) in [(2, false), (3, true)] {
        let mut talk = Talk::default();
        talk.opens(0, 1);
        talk.opens(30, 2);
        talk.ack(231, 2, 1);
        talk.data(400, 2, number);
        talk.ack(400, 2, 2);
        assert_eq!(talk.data(900, 1, 2).are_others_in_flight, is_in_flight);
    }
}

#[test]
fn what_stands_behind_a_lost_segment_left_with_those_before_it() {
    let mut talk = Talk::default();
    talk.opens(0, 1);
    talk.opens(30, 2);
    for round in 0..6 {
        let at = 240 + i64::from(round) * 200;
        for (place, port) in [(0, 1), (50, 2)] {
            talk.ack(at + place, port, 2 * round + 1);
            talk.data(at + place + 100, 3 - port, 2 * round + 2);
        }
    }
    talk.ack(2000, 1, 13);
    // The link takes 1 ms for each; two never came by.
    assert!(talk.data(2100, 2, 14).by_other);
    assert!(talk.data(2103, 2, 16).by_other);
}

#[test]
fn what_left_with_anothers_fast_retransmission_waited_for_no_ack_of_its_own() {
    let (mut talk, _) = talk_of_rounds(6, true);
    // The segment of number 8 is lost; the window that three duplicate ACKs make larger lets go what another one has.
    for place in 0..3 {
        talk.data(1600 + place, 1, 9 + u32::try_from(place).unwrap());
        talk.ack(1600 + place, 1, 7);
    }
    talk.data(1702, 1, 8);
    let beside = talk.data(1703, 2, 8);
    assert!(beside.is_let_go_by_other && beside.would_be_by_other);
    // Long after it was by none.
    assert!(!talk.data(1803, 2, 9).is_let_go_by_other);
}

#[test]
fn one_coincidence_shows_nothing() {
    assert!(!after_rounds(1, true).is_shared);
}

#[test]
fn a_server_that_writes_now_and_then_meets_an_ack_of_another_connection_by_chance() {
    let mut talk = Talk::default();
    talk.opens(0, 1);
    talk.opens(30, 2);
    // An ACK every ten milliseconds, and a write of the other connection at every time between.
    for number in 0..400 {
        let at = 300 + i64::from(number) * 10;
        talk.ack(at, 2, number);
        if number % 20 == 19 {
            let write = 1 + number / 20;
            let sharing = talk.data(at + i64::from(write * 7 % 10), 1, write + 1);
            assert!(!sharing.is_shared, "at write {write}");
        }
    }
}

#[test]
fn applications_that_write_in_step_show_no_shared_window() {
    let mut talk = two_connections();
    for round in 0..10_u32 {
        let at = 300 + i64::from(round) * 1100;
        // Each pushes what it has; the one writes a path later than the client acknowledges the other's write.
        talk.ack(at, 2, round + 1);
        let pushed = segment(flags::ACK | flags::PSH, 2001 + round * 1000, 101, 1000);
        let sharing = talk.packet(at + 100, false, 1, pushed);
        assert!(round == 0 || !sharing.is_shared, "round {round}");
    }
}

#[test]
fn what_all_connections_have_in_flight_together_shows_the_largest_window_of_a_stack() {
    let mut talk = two_connections();
    let mut sharing = Sharing::default();
    let (mut first, mut second) = (2, 2);
    for round in 0..8 {
        let at = 240 + i64::from(round) * 100;
        // Six segments each round trip, of which now the one connection has more, now the other.
        let of_first = if round % 2 == 0 { 4 } else { 2 };
        talk.ack(at, 1, first - 1);
        talk.ack(at, 2, second - 1);
        for place in 0..6 {
            let (port, number) = if place < of_first {
                (1, &mut first)
            } else {
                (2, &mut second)
            };
            sharing = talk.data(at + 100 + place, port, *number);
            *number += 1;
        }
    }
    assert_eq!(sharing.limit, Limit::SendBuffer);
}

#[test]
fn a_connection_that_is_alone_shows_how_large_the_buffer_of_each_is() {
    let buffer_after = |is_alone: bool| {
        let mut talk = two_connections();
        let (mut sent, mut sharing) = (2, Sharing::default());
        talk.ack(300, 2, 1);
        for round in 0..8 {
            let at = 400 + i64::from(round) * 100;
            talk.ack(at, 1, sent - 1);
            for place in 0..6 {
                sharing = talk.data(at + 100 + place, 1, sent);
                sent += 1;
            }
            if !is_alone {
                talk.data(at + 107, 2, round + 2);
            }
        }
        sharing.buffer
    };
    assert_eq!(buffer_after(true), Some(6000));
    assert_eq!(buffer_after(false), None);
}

#[test]
fn how_large_a_full_buffer_is_others_of_its_host_hear_until_one_holds_more() {
    let mut talk = two_connections();
    let full = Sockets {
        left_room: Some(6000),
        emptied: Some(6144),
        refilled: Some(6000),
        ..Sockets::default()
    };
    talk.windows.has_shown_sockets(full);
    talk.windows.has_shown_sockets(Sockets::default());
    assert_eq!(talk.data(400, 2, 2).sockets, full);
    for number in 2..10 {
        talk.data(500 + i64::from(number), 1, number);
    }
    talk.data(900, 1, 10);
    assert_eq!(talk.data(901, 1, 11).sockets, Sockets::default());
}

#[test]
fn what_is_sent_again_tells_of_a_loss_to_what_waits_from_then_on() {
    let mut talk = Talk::default();
    talk.opens(0, 1);
    talk.opens(30, 2);
    assert!(!talk.data(400, 1, 2).had_loss);
    talk.data(900, 1, 2);
    assert!(!talk.data(1000, 2, 2).had_loss, "it waited since 231 ms");
    assert!(talk.data(1100, 1, 3).had_loss);
    assert!(talk.data(1200, 2, 3).had_loss);
}

/// Two connections whose segments take 1 ms each on the link.
fn two_connections() -> Talk {
    let mut talk = Talk::default();
    talk.opens(0, 1);
    talk.opens(30, 2);
    talk
}
