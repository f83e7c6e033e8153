//! A window that was thrown away in an idle period that was too short to be sure of one.
//!
//! Theory of operation. A retransmission timer as RFC 6298 asks for is longer than a round trip by more than any host's
//! clock ticks; but old stacks had shorter ones (200 ms, however long the round trip: Linux 2.0), and how long a sender was
//! idle is more than the receiver sees, by what the last segment had stood in a queue. Whether such a time threw the window
//! away shows in the response that begins then: its sender stops behind no more than a connection begins with, though no
//! algorithm of Nagle's holds what waits, and much more had been outstanding before. Behind the head of a response alone
//! such an algorithm holds what follows; of that the window may be larger by what the ACK of the head opened it.

use super::before_idle::BeforeIdle;
use super::UsedWindow;

/// What had been used before such a time, the least that the window was, and what was sent since all was acknowledged last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sooner {
    start: i64,
    used: i64,
    window: i64,
    idle_ns: i64,
    run: i64,
    is_one_write: bool,
}

/// Why what waits does not wait for Nagle's algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotHeld {
    /// It is full, behind a full segment, or that algorithm is off.
    Ever,
    /// It is the rest of what a full segment began: if all was acknowledged then, it would have gone with that.
    InOneRun,
}

impl UsedWindow {
    /// A response goes on behind all up to `end`, of which all was acknowledged, after a time that may have been longer
    /// than the retransmission timeout of an old stack.
    pub(crate) fn may_have_been_idle_behind(&mut self, end: i64, idle_ns: i64) {
        self.sooner = self.is_old().then(|| Sooner {
            start: end,
            used: self.largest,
            window: self.least_before_idle(),
            idle_ns,
            run: end,
            is_one_write: true,
        });
    }

    /// Data from `start` on left when all before it was acknowledged.
    pub(crate) fn begins_run(&mut self, start: i64) {
        if let Some(sooner) = &mut self.sooner {
            sooner.run = start;
            sooner.is_one_write = true;
        }
    }

    /// All up to `end` had been written when the sender went on with what it had not.
    pub(super) fn ends_write_of_run(&mut self, end: i64) {
        if let Some(sooner) = &mut self.sooner {
            sooner.is_one_write &= end <= sooner.run;
        }
    }

    /// The sender had stopped with all sent up to `end` and `bytes` more to send, until it heard that all up to `acked` has
    /// come: whether its window was thrown away shows. What no ACK of data since then let go was written then.
    pub(crate) fn is_used_up_sooner(
        &mut self,
        (acked, end): (i64, i64),
        not_held: NotHeld,
        bytes: u32,
    ) {
        let is_let_go = |it: &Sooner| it.start < end && acked > self.acked.max(it.start);
        let Some(sooner) = self.sooner.filter(is_let_go) else {
            return;
        };
        let is_one_run = sooner.is_one_write && self.acked <= sooner.run;
        if not_held == NotHeld::InOneRun && !is_one_run {
            return;
        }
        self.sooner = None;
        let acked = self.acked.saturating_sub(sooner.start).max(0);
        if acked >= self.full_bytes {
            return;
        }
        let opened = if acked > 0 { self.full_bytes } else { 0 };
        let at_first = self.initial.unwrap_or(0).max(self.full_bytes);
        let needed = self
            .outstanding
            .saturating_add(i64::from(bytes).max(self.full_bytes));
        let is_full_buffer = self.buffer.is_some_and(|it| self.outstanding >= it / 2);
        let is_small = self.outstanding <= at_first.saturating_add(opened);
        if is_small && needed <= sooner.used && !is_full_buffer {
            self.before_idle = Some(BeforeIdle::thrown_away(
                sooner.start,
                (sooner.used, sooner.window),
                sooner.idle_ns,
            ));
            self.restarted = self.threshold.map(|_| self.outstanding);
            self.is_halved = false;
            self.begins_anew();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: i64 = (1 << 32) - 1500;

    /// A sender that had used eight segments, and began with one, after what may have been an idle period.
    fn after_eight() -> UsedWindow {
        let mut window = UsedWindow::default();
        window.stops(1001, 1000);
        window.hears(1, START - 8000);
        window.stops(START, 1000);
        window.hears(2, START);
        window.may_have_been_idle_behind(START, 170_000_000);
        window
    }

    /// Whether the window was thrown away of a sender that stops then with so much outstanding, behind the head of a
    /// response that was acknowledged.
    fn is_thrown_away((head, bytes): (i64, i64), not_held: NotHeld, more: u32) -> bool {
        let mut window = after_eight();
        let start = START + head;
        window.hears(3, start);
        window.begins_run(start);
        let end = start + bytes;
        window.stops(end, 1000);
        window.is_used_up_sooner((end, end), not_held, more);
        window.was_thrown_away(end + i64::from(more))
    }

    #[test]
    fn who_stops_with_no_more_than_it_began_with_had_its_window_thrown_away() {
        assert!(is_thrown_away((0, 1000), NotHeld::Ever, 1000));
        assert!(!is_thrown_away((0, 2000), NotHeld::Ever, 1000));
        assert!(!is_thrown_away((0, 0), NotHeld::Ever, 1000));
    }

    #[test]
    fn the_ack_of_a_head_opens_it_by_a_segment() {
        assert!(is_thrown_away((170, 2000), NotHeld::InOneRun, 500));
        assert!(!is_thrown_away((170, 3000), NotHeld::InOneRun, 500));
        assert!(!is_thrown_away((1000, 2000), NotHeld::Ever, 1000));
    }

    #[test]
    fn what_was_sent_while_other_data_was_on_its_way_may_wait_for_nagles_algorithm() {
        for (is_written_later, begun, is_shown) in [
            (false, START, true),
            (true, START, false),
            (false, 0, false),
        ] {
            let mut window = after_eight();
            window.begins_run(begun);
            if is_written_later {
                window.is_written_behind(START + 500);
            }
            window.stops(START + 1000, 1000);
            window.is_used_up_sooner((START + 1000, START + 1000), NotHeld::InOneRun, 500);
            assert_eq!(window.was_thrown_away(START + 1500), is_shown, "{begun}");
        }
    }

    #[test]
    fn what_was_all_of_a_response_waited_for_no_window() {
        let mut window = after_eight();
        window.stops(START + 700, 1000);
        window.had_sent_all();
        window.is_used_up_sooner((START + 700, START + 700), NotHeld::Ever, 1000);
        assert!(!window.was_thrown_away(START + 1700));
    }

    #[test]
    fn what_was_written_before_any_ack_of_data_since_then_waited_for_no_window() {
        for (acked, is_shown) in [(START, false), (START + 1000, true)] {
            let mut window = after_eight();
            window.stops(START + 1000, 1000);
            window.is_used_up_sooner((acked, START + 1000), NotHeld::Ever, 1000);
            assert_eq!(window.was_thrown_away(START + 2000), is_shown);
        }
    }
}
