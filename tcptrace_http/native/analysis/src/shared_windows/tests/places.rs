//! Which pairs of hosts are remembered.

use super::*;

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
