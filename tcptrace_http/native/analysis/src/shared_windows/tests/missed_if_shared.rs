//! What was sent again if connections share their window.

use super::missed::one_is_missing;
use super::*;

#[test]
fn what_its_own_ack_let_go_a_timer_sends_again_in_a_window_that_may_be_shared() {
    let mut talk = Talk::counted();
    talk.opens(0, 1);
    talk.opens(30, 2);
    talk.ack(400, 2, 1);
    talk.ack(401, 1, 1);
    talk.data(501, 2, 2);
    talk.passed_over = Some(1);
    talk.data(502, 1, 2);
    let sharing = talk.data(1700, 2, 3);
    assert!(sharing.is_again && !sharing.is_shared);
    assert_eq!(sharing.missed, None, "its own window");
    let missed = sharing.missed_if_shared.unwrap();
    assert_eq!((missed.would_come_ns, missed.is_told), (501 * MS, false));
}

#[test]
fn acks_of_others_tell_of_a_loss_in_a_window_that_may_be_shared() {
    let mut talk = one_is_missing();
    talk.opens(810, 3);
    for (time_ms, number) in [(1110, 5), (1220, 6)] {
        talk.ack(time_ms - 101, 1, number - 1);
        talk.data(time_ms, 1, number);
    }
    talk.ack(1240, 1, 6);
    let sharing = talk.data(1341, 2, 2);
    assert!(!sharing.is_again && sharing.missed.is_none());
    assert!(sharing.missed_if_shared.is_some_and(|it| it.is_told));
    assert_eq!(
        talk.data(1342, 3, 2).missed_if_shared,
        None,
        "it was missed but once"
    );
}
