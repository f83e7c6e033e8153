use super::pace::Pace;
use super::*;
use crate::test_packets::{self, packet};

mod at_server;
mod largest;
mod missed;
mod numbers;
mod opening;
mod phases;
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

pub(super) fn segment(flags: u16, seq: u32, ack: u32, payload_bytes: u32) -> Segment<'static> {
    Segment {
        payload_bytes,
        ..test_packets::segment(flags, (seq, ack), &[])
    }
}

/// Two connections of which each one's ACKs let data of `whose` go; what is known at the end.
fn after_rounds(rounds: u32, is_of_other: bool) -> Sharing {
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
    sharing
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
        talk.packet(at, true, 2, question);
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
fn distances_of_all_connections_together_show_the_slowest_link() {
    let mut talk = Talk::default();
    for port in [1, 2] {
        talk.packet(0, true, port, segment(flags::SYN, 0, 0, 0));
        talk.packet(100, false, port, segment(flags::SYN | flags::ACK, 0, 1, 0));
        talk.packet(100, true, port, segment(flags::ACK, 1, 1, 100));
    }
    // Each connection has its segments behind the other's: alone neither shows the pace.
    talk.data(300, 1, 0);
    talk.data(350, 2, 0);
    let sharing = talk.data(400, 1, 1);
    let full = talk.data(450, 2, 1).link.takes_ns(1000, 1, 1000);
    assert_ne!(sharing.link, Arrivals::default());
    assert!(full.is_some_and(|full| full.abs_diff(50 * MS) <= 1));
}

#[test]
fn a_short_end_of_a_response_is_no_quicker_link() {
    let mut pace = Pace::default();
    pace.follows(8 * MS, 1440);
    pace.follows(5 * MS, 860);
    assert_eq!(pace.largest_ns(), Some(8 * MS));
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

#[test]
fn a_paced_sender_tells_neither_by_chance_nor_by_an_ack() {
    let mut talk = Talk::default();
    talk.opens(0, 1);
    talk.opens(30, 2);
    talk.data(430, 1, 2);
    for number in 3..40 {
        // An ACK of the other connection at the very time, but a pacer has no need of it.
        let at = 400 + i64::from(number) * 10;
        talk.ack(at - 100, 2, number);
        assert!(!talk.data(at, 1, number).is_shared);
    }
}

#[test]
fn flights_that_follow_each_other_by_a_round_trip_are_in_no_pacers_rhythm() {
    let mut talk = two_connections();
    let mut sharing = Sharing::default();
    for round in 0..6_u32 {
        let at = 300 + i64::from(round) * 100;
        talk.ack(at, 1, round + 1);
        sharing = talk.data(at + 100, 2, round + 2);
    }
    assert!(sharing.is_shared);
}

/// Two connections whose segments take 1 ms each on the link.
fn two_connections() -> Talk {
    let mut talk = Talk::default();
    talk.opens(0, 1);
    talk.opens(30, 2);
    talk
}

#[test]
fn what_comes_on_an_idle_link_when_an_ack_lets_it_go_did_not_wait_for_the_link() {
    let mut talk = two_connections();
    talk.ack(300, 1, 1);
    assert!(talk.data(401, 2, 2).is_let_go);
    // It stood behind the one that the same ACK let go, and the next one behind its own connection's.
    assert!(talk.data(402, 1, 2).is_let_go);
    assert!(!talk.data(403, 1, 3).is_let_go);
    // No ACK came when this one left.
    assert!(!talk.data(450, 2, 3).is_let_go);
}

#[test]
fn what_comes_on_a_busy_link_with_others_in_between_is_behind_them() {
    let mut talk = two_connections();
    talk.data(401, 1, 2);
    talk.data(402, 2, 2);
    assert!(talk.data(403, 1, 3).is_behind_others);
    assert!(!talk.data(404, 1, 4).is_behind_others);
    // The link was idle in between.
    assert!(!talk.data(450, 2, 3).is_behind_others);
}

#[test]
fn what_no_ack_lets_go_of_a_buffer_is_paced() {
    let mut talk = two_connections();
    talk.ack(300, 1, 1);
    let paced = [(410, 2), (440, 3), (470, 4)].map(|(at, number)| {
        let sharing = talk.data(at, 1, number);
        (sharing.is_paced, sharing.is_let_go)
    });
    assert_eq!(paced, [(false, false), (true, false), (true, false)]);
}

#[test]
fn a_host_that_paces_lets_go_by_its_clock_what_comes_behind_pushed_data_too() {
    let mut talk = two_connections();
    talk.ack(300, 1, 1);
    let mut after_pushed = |at: i64, number: u32| {
        let pushed = segment(flags::ACK | flags::PSH, 1 + number * 1000, 101, 1000);
        talk.packet(at, false, 1, pushed);
        let next = talk.data(at + 40, 1, number + 1);
        talk.data(at + 70, 1, number + 2);
        (next.is_paced, next.is_of_pacer)
    };
    assert_eq!(after_pushed(410, 2), (true, false));
    assert_eq!(after_pushed(530, 5), (true, true));
}

#[test]
fn pushed_data_of_several_connections_that_comes_at_once_shows_that_the_link_is_no_slow_one() {
    let mut talk = two_connections();
    for (time_ms, port) in [(400, 1), (401, 2), (450, 1), (451, 2), (500, 1), (501, 2)] {
        let number = u32::try_from((time_ms - 300) / 50).unwrap();
        let pushed = segment(flags::ACK | flags::PSH, 1 + number * 1000, 101, 1000);
        talk.packet(time_ms, false, port, pushed);
    }
    let sharing = talk.data(550, 1, 6);
    assert!(sharing.link.is_outlasted(50 * MS, 1000, 1));
    assert!(!sharing.link.is_outlasted(MS, 1000, 1));
}

/// The client of this number.
fn client(number: u16) -> IpAddress {
    let [high, low] = number.to_be_bytes();
    IpAddress::v4([10, 1, high, low])
}

#[test]
fn what_was_learnt_of_a_pair_outlasts_others_that_may_stand_on_its_place() {
    let mut talk = Talk::default();
    talk.opens(0, 1);
    talk.opens(30, 2);
    talk.data(400, 1, 2);
    talk.data(900, 1, 2);
    let place = |number| first_place((client(number), IpAddress::v4(SERVER)));
    let neighbours = (1..u16::MAX).filter(|number| place(*number) == place(0));
    for number in neighbours.take(WAYS - 1) {
        talk.client = number;
        talk.opens(1000, 1);
    }
    talk.client = 0;
    assert!(talk.data(2000, 1, 3).had_loss);
}

#[test]
fn the_pair_that_was_heard_of_least_lately_gives_way() {
    let mut talk = Talk::default();
    for client in 0..u16::try_from(4 * PAIRS).unwrap() {
        talk.client = client;
        talk.opens(i64::from(client) * 1000, 1);
        assert!(talk
            .data(i64::from(client) * 1000 + 300, 1, 2)
            .to_server_ns
            .is_some());
    }
    talk.client = 0;
    assert_eq!(talk.data(10_000_000, 1, 3), Sharing::default());
}
