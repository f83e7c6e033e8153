//! When a connection is in fast recovery.
//!
//! Theory of operation. Who was told of a loss by ACKs sends again what was lost, and goes on with a window that is
//! larger than the threshold until all is acknowledged that had been sent by then; then the window becomes the threshold
//! (RFC 5681, section 3.2, step 6; RFC 6582). Where connections share a window that holds for all of them, also if a
//! timer of another one has closed it meanwhile: that slow start is over. What the connection itself had to send waited
//! for its own recovery until then.

use trace_model::SeqNumber;

use super::phases::Phases;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FastRecovery {
    /// Up to where it lasts, if the connection is in one.
    until: Option<SeqNumber>,
    /// All up to there was in flight when a timer ran out: what is sent again of it nobody was told of.
    gone_back: Option<SeqNumber>,
    /// When what it sent again came, and what the end of the newest let go.
    start_ns: i64,
    end_ns: i64,
}

impl FastRecovery {
    /// Data that starts there is sent again and comes now, when all up to `next` had been sent.
    pub(super) fn sends_again(
        &mut self,
        time_ns: i64,
        (start, next): (SeqNumber, SeqNumber),
        is_by_timer: bool,
    ) {
        let is_gone_back_to = self.gone_back.is_some_and(|it| it.is_after(start));
        if is_by_timer {
            (self.until, self.gone_back) = (None, Some(next));
            self.end_ns = time_ns.min(self.end_ns);
        } else if !is_gone_back_to && self.until.is_none() {
            self.until = Some(next);
            (self.start_ns, self.end_ns) = (time_ns, i64::MAX);
        }
    }

    /// All up to there is acknowledged: whether it is over with that, for what comes then.
    pub(super) fn ends(&mut self, acked: SeqNumber, comes_ns: i64) -> bool {
        let is_whole = |until: &mut SeqNumber| !until.is_after(acked);
        let is_over = self.until.take_if(is_whole).is_some();
        if is_over {
            self.end_ns = comes_ns;
        }
        is_over
    }

    /// What a connection that was in it waited for of these slow starts.
    pub(super) fn leaves(&self, phases: Phases) -> Phases {
        phases.without(self.start_ns, self.end_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: SeqNumber = SeqNumber(u32::MAX - 1000);

    #[test]
    fn a_fast_recovery_ends_with_the_ack_of_all_that_had_been_sent_when_it_began() {
        let mut recovery = FastRecovery::default();
        recovery.sends_again(10, (START, START.plus(4000)), false);
        assert!(!recovery.ends(START.plus(1000), 50));
        recovery.sends_again(20, (START.plus(1000), START.plus(5000)), false);
        assert!(recovery.ends(START.plus(4000), 50));
        assert!(!recovery.ends(START.plus(5000), 50), "it is over");
    }

    #[test]
    fn what_a_timer_sends_again_and_what_it_goes_back_to_is_in_no_fast_recovery() {
        let mut recovery = FastRecovery::default();
        recovery.sends_again(10, (START, START.plus(4000)), false);
        recovery.sends_again(20, (START, START.plus(4000)), true);
        recovery.sends_again(30, (START.plus(1000), START.plus(4000)), false);
        assert!(!recovery.ends(START.plus(4000), 50));
        recovery.sends_again(40, (START.plus(4000), START.plus(8000)), false);
        assert!(recovery.ends(START.plus(8000), 50));
    }

    #[test]
    fn who_is_in_fast_recovery_waits_for_that_and_not_for_anothers_slow_start() {
        let mut recovery = FastRecovery::default();
        let mut phases = Phases::default();
        recovery.sends_again(10, (START, START.plus(4000)), false);
        phases.timed_out(30, 5);
        assert_eq!(recovery.leaves(phases).iter().count(), 0);
        assert!(recovery.ends(START.plus(4000), 50));
        let left = recovery.leaves(phases);
        assert_eq!(left.iter().map(|it| it.start_ns).next(), Some(50));
    }
}
