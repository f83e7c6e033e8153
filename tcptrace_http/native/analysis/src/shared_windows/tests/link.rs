//! The slowest link, which the data of all connections stands before.

use super::*;

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
    let full = talk.data(450, 2, 1).link.takes_ns(1000, 1);
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
