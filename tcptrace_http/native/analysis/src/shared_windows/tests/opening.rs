//! How the opening of connections measures the way.

use super::*;

#[test]
fn the_answer_to_a_syn_that_was_sent_again_measures_no_way() {
    let opened = |talk: &mut Talk, time_ms, port, after_ms| {
        talk.packet(time_ms, true, port, segment(flags::SYN, u32::MAX, 0, 0));
        let answer = segment(flags::SYN | flags::ACK, u32::MAX, 0, 0);
        talk.packet(time_ms + after_ms, false, port, answer);
        talk.ack(time_ms + after_ms, port, 0).to_server_ns
    };
    let mut talk = Talk::default();
    // While nothing else does it is the best that there is.
    talk.packet(0, true, 1, segment(flags::SYN, u32::MAX, 0, 0));
    assert_eq!(opened(&mut talk, 3000, 1, 20), Some(20 * MS));
    assert_eq!(opened(&mut talk, 4000, 2, 100), Some(100 * MS));
    talk.packet(5000, true, 3, segment(flags::SYN, u32::MAX, 0, 0));
    assert_eq!(opened(&mut talk, 5080, 3, 20), Some(100 * MS));
}
