//! Between which borders the window of all connections lies.
//!
//! Theory of operation. What left found room, so the window was that large at least; what was held until a later ACK came
//! found none, so it was smaller. Both borders grow with each ACK. In between the window lies nearer to the lower one,
//! which more segments show.

use super::ack::Ack;

/// A SYN and a FIN are counted in what was sent, and not in the window: so many connections open and close in a round
/// trip.
pub(super) const FLAGS_BYTES: i64 = 40;
/// So much of what lies between both borders of a window is it likely to have. Each segment that leaves shows how large
/// it is at least, but only one that found the link idle that it is no larger: it lies nearer to the former.
const UNKNOWN_SHARE: i64 = 4;

/// What the window of all connections is known to be.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ledger {
    /// As large at least.
    pub(super) window: Option<i64>,
    /// ... and smaller than this.
    below: Option<i64>,
    /// Of all connections so much had been acknowledged by then.
    pub(super) acked: i64,
    /// So much sooner than path and link were thought to take has a segment come behind the ACK that let it go.
    pub(super) early_ns: i64,
}

/// A segment of new data that comes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Newly {
    /// A full one, that lay in the sender's buffer when the one before left.
    pub(super) was_held: bool,
    /// The slowest link had nothing to send before it.
    pub(super) was_idle: bool,
}

impl Ledger {
    /// Of all connections so much had been acknowledged when new data left last.
    pub(super) fn acked(self) -> i64 {
        self.acked
    }

    /// Something was lost: the window is another now.
    pub(super) fn had_loss(&mut self) {
        (self.window, self.below) = (None, None);
    }

    /// The window when an ACK has come: one that ends a fast recovery leaves it as large as the threshold (RFC 5681,
    /// section 3.2, step 6).
    pub(super) fn hears(
        self,
        ack: &Ack,
        growth: impl Fn(i64) -> i64,
        threshold: Option<i64>,
    ) -> Self {
        let is_newer = ack.acked > self.acked;
        if is_newer && ack.ends_recovery {
            return Ledger {
                window: threshold,
                below: threshold.map(|it| it.saturating_add(1)),
                acked: ack.acked,
                ..self
            };
        }
        let opens = is_newer && ack.is_of_data && !ack.ends_repair;
        let grown = |window: i64| window.saturating_add(if opens { growth(window) } else { 0 });
        Ledger {
            window: self.window.map(grown),
            below: self.below.map(grown),
            acked: self.acked.max(ack.acked),
            ..self
        }
    }

    fn in_flight(self, sent: i64) -> i64 {
        sent.saturating_sub(self.acked)
    }

    /// Whether a full segment up to which so much was sent in all found room, as likely as not.
    pub(super) fn had_room(self, sent: i64, full: i64) -> bool {
        let Some(window) = self.window else {
            return false;
        };
        // As far as the window has been used it had no room for another one.
        let below = self.below.unwrap_or(window);
        let unknown = below.saturating_sub(window).clamp(0, full);
        let likely = window.saturating_add(unknown / UNKNOWN_SHARE);
        self.in_flight(sent) <= likely.saturating_add(FLAGS_BYTES)
    }

    /// A full segment up to which so much was sent in all, and that was held, found no room: what was in flight before
    /// it had.
    pub(super) fn had_none(self, sent: i64, full: i64) -> Self {
        let in_flight = self.in_flight(sent);
        let most = in_flight.saturating_sub(full);
        let smaller = |window: i64| if window < in_flight { window } else { most };
        let below = self.below.map_or(in_flight, |below| below.min(in_flight));
        Ledger {
            window: self.window.map(smaller),
            below: Some(below),
            ..self
        }
    }

    /// A segment up to which so much was sent in all found room.
    pub(super) fn had(self, sent: i64) -> Self {
        let in_flight = self.in_flight(sent);
        let window = self.window.map_or(in_flight, |it| it.max(in_flight));
        Ledger {
            window: Some(window),
            below: self.below.filter(|below| *below > in_flight),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: i64 = 1460;

    #[test]
    fn a_window_lies_between_what_was_in_flight_and_what_found_no_room_and_nearer_to_the_former() {
        let ledger = |below: i64| Ledger {
            window: Some(4 * FULL),
            below: Some(below),
            ..Ledger::default()
        };
        assert!(ledger(5 * FULL).had_room(4 * FULL + FULL / 4, FULL));
        assert!(!ledger(5 * FULL).had_room(4 * FULL + FULL / 2, FULL));
        assert!(!ledger(4 * FULL + 100).had_room(4 * FULL + FULL / 2, FULL));
        let smaller = ledger(6 * FULL).had_none(4 * FULL, FULL);
        assert_eq!(
            (smaller.window, smaller.below),
            (Some(3 * FULL), Some(4 * FULL))
        );
        let larger = ledger(5 * FULL).had(5 * FULL);
        assert_eq!((larger.window, larger.below), (Some(5 * FULL), None));
    }

    #[test]
    fn an_ack_that_ends_a_repair_adds_nothing_to_the_window() {
        for (ends_repair, window) in [(true, 4 * FULL), (false, 5 * FULL)] {
            let ack = Ack {
                ends_repair,
                ..Ack::of_data(0, 1, FULL)
            };
            let ledger = Ledger {
                window: Some(4 * FULL),
                ..Ledger::default()
            };
            assert_eq!(ledger.hears(&ack, |_| FULL, None).window, Some(window));
        }
    }
    #[test]
    fn a_fast_recovery_leaves_a_window_that_is_as_large_as_the_threshold() {
        let ack = Ack {
            ends_recovery: true,
            ..Ack::of_data(0, 1, FULL)
        };
        let larger = Ledger {
            window: Some(6 * FULL),
            below: Some(8 * FULL),
            ..Ledger::default()
        };
        let left = larger.hears(&ack, |_| FULL, Some(3 * FULL));
        assert!(left.had_room(4 * FULL, FULL));
        assert!(!left.had_room(4 * FULL + FULL / 4, FULL));
        assert_eq!(larger.hears(&ack, |_| FULL, None).window, None);
    }
}
