//! What losses leave of the window.

use super::*;

const SYN_ACK: u16 = flags::SYN | flags::ACK;

#[test]
fn a_syn_ack_that_comes_again_with_the_first_data_shows_no_loss() {
    let mut talk = Talk {
        passed_over: Some(0),
        ..Talk::default()
    };
    talk.packet(0, true, 1, segment(flags::SYN, 0, 0, 100));
    talk.packet(100, false, 1, segment(SYN_ACK, 0, 101, 0));
    talk.packet(300, false, 1, segment(SYN_ACK, 0, 101, 1000));
    talk.ack(301, 1, 0);
    let sharing = talk.data(400, 1, 1);
    assert!(!sharing.had_loss);
    assert_eq!(sharing.phases.first_loss_ns(), None);
}
