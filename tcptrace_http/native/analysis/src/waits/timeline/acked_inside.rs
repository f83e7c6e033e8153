//! Copies that hold more than an ACK behind them covers.
//!
//! Theory of operation. A timer sends in one segment again what had been several (RFC 9293, section 3.8.1), and new data
//! with it. Who gets that acknowledges all of it: an ACK that ends inside it was caused by one of the segments that were
//! sent before, which had come. A burst that the network card cuts into segments is acknowledged in part.

use super::Stall;

impl Stall {
    /// Whether this copy is a segment that would have brought more than is acknowledged up to there.
    pub(super) fn ends_behind(self, acked: i64) -> bool {
        self.segments == 1 && self.end > acked
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::acks::Acks;
    use super::super::super::partition::Moment;
    use super::super::{Data, Resent, Route, Timeline, Words};
    use tcptrace_tcp::LastHeard;
    use trace_model::rows::{Cause, RecoveryKind};

    const WAY_MS: i64 = 20;
    const START: i64 = (1 << 32) - 400;

    /// Whether a segment waited for a timer that sent it again with what had left behind it: 400 bytes and `more`. An ACK of
    /// so many came when one of the copy is due.
    fn waited_for_timer(more: i64, acked: i64) -> bool {
        let route = Route::at_sender(WAY_MS);
        let mut timeline = Timeline::new(Words::OF_RESPONSES, Some(Moment::at_ms(0)));
        timeline.shook_hands(WAY_MS * 1_000_000, 0, route);
        for end in [START + 400, START + 400 + more] {
            let data = Data::at_ms(0, end);
            timeline.new_data(data, None, route, &Acks::default());
        }
        let copy = Resent {
            at: Moment::at_ms(1000),
            start: START,
            end: START + 400 + more,
            recovery: Some(RecoveryKind::TailLoss),
            heard: LastHeard::default(),
            has_sack: false,
            is_for_others: false,
            due_ns: None,
        };
        timeline.resent(copy, None, route);
        timeline.acknowledged(Moment::at_ms(1000 + WAY_MS), START + acked, route);
        timeline.settle_waiting(route);
        let mut pieces = timeline.between(0, i64::MAX);
        pieces.any(|piece| piece.cause == Cause::StallTailLoss)
    }

    #[test]
    fn an_ack_that_ends_inside_a_copy_is_of_what_was_sent_before_it() {
        assert!(waited_for_timer(600, 1000));
        assert!(!waited_for_timer(600, 400));
    }

    #[test]
    fn a_copy_that_is_cut_into_segments_is_acknowledged_in_part() {
        assert!(waited_for_timer(6000, 400));
    }
}
