use super::*;

/// A connection that is seen next to the server, on a path of 100 ms.
fn opens(talk: &mut Talk, time_ms: i64, port: u16) {
    talk.packet(time_ms, true, port, segment(flags::SYN, 0, 0, 0));
    let syn_ack = segment(flags::SYN | flags::ACK, 0, 1, 0);
    talk.packet(time_ms, false, port, syn_ack);
    let done = segment(flags::ACK, 1, 1, 100);
    talk.packet(time_ms + 100, true, port, done);
}

#[test]
fn next_to_the_server_data_leaves_when_it_comes_by_however_far_apart_acks_let_it_go() {
    let mut talk = Talk::default();
    opens(&mut talk, 0, 1);
    talk.data(100, 1, 0);
    for number in 1..6 {
        let sharing = talk.data(200 + 17 * i64::from(number), 1, number);
        assert_eq!(sharing.queued_ns, 0);
    }
    talk.ack(300, 1, 0);
    let again = talk.data(300, 1, 1);
    assert_eq!(again.service_ns, Some(0));
    assert_eq!(again.unheard.map(|it| it.least_ns), Some(0));
}
