//! What leaves a server by its clock, as is seen next to it.
//!
//! Theory of operation. Next to its sender data is seen to leave with the packet that lets it go, in the same interrupt.
//! What leaves though nothing had come, as long behind the data before it as that left behind the one before, of whichever
//! connection, was let go by a clock: its sender spreads a window that it knows from before over a round trip
//! (Visweswaraiah and Heidemann 1997; Eggert 1999, section 3.1). The clock goes until the first data that it let go is
//! acknowledged; what leaves later than by its next tick was written then.

use trace_model::SeqNumber;

use super::queue::IDLE_MIN_NS;
use crate::jitter::CLOSE_NS;

/// Hosts let go what their clocks tell them to as exactly as this.
const EXACT_NS: i64 = 100_000;

/// Data that left.
#[derive(Clone, Copy, Debug)]
struct Left {
    time_ns: i64,
    client_port: u16,
    end: SeqNumber,
}

/// A clock goes, of which that is the first data.
#[derive(Clone, Copy, Debug)]
struct Going {
    period_ns: i64,
    first: Left,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SenderClock {
    newest: Option<Left>,
    /// How long behind the data before it the newest left, and that, if nothing had come right before the newest.
    gap: Option<(i64, Left)>,
    going: Option<Going>,
}

impl SenderClock {
    /// An ACK comes.
    pub(super) fn hears(&mut self, client_port: u16, ack: SeqNumber) {
        let is_of = |first: Left| first.client_port == client_port && !first.end.is_after(ack);
        self.going = self.going.filter(|going| !is_of(going.first));
    }

    /// New data leaves up to `end`, so long after something came from the client, on a path with such a round trip:
    /// whether the clock let it go.
    pub(super) fn leaves(
        &mut self,
        (time_ns, client_port): (i64, u16),
        end: SeqNumber,
        heard_ns: Option<i64>,
        round_trip_ns: i64,
    ) -> bool {
        let left = Left {
            time_ns,
            client_port,
            end,
        };
        let Some(before) = self.newest.replace(left) else {
            return false;
        };
        let gap_ns = time_ns.saturating_sub(before.time_ns);
        if let Some(going) = self.going {
            let off_ns = gap_ns.saturating_sub(going.period_ns);
            if off_ns < -EXACT_NS {
                self.going = None;
            } else {
                self.gap = None;
                return off_ns <= EXACT_NS;
            }
        }
        let was_let_go = heard_ns.is_some_and(|ns| time_ns.saturating_sub(ns) <= CLOSE_NS);
        let several = gap_ns.saturating_mul(2) <= round_trip_ns.saturating_add(EXACT_NS);
        if was_let_go || !several || gap_ns < IDLE_MIN_NS {
            self.gap = None;
            return false;
        }
        let earlier = self.gap.replace((gap_ns, before));
        let is_same =
            |(it, _): &(i64, Left)| gap_ns.saturating_sub(*it).saturating_abs() <= EXACT_NS;
        let first = earlier.filter(is_same).map(|(_, first)| first);
        self.going = first.map(|first| Going {
            period_ns: gap_ns,
            first,
        });
        first.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// Whether a clock let each segment go that left at such a time, of one connection after the other, where something
    /// came from the client at these, and an ACK of the first one at the last.
    fn by_clock(left_us: &[i64], heard_us: &[i64], acked_us: i64) -> Vec<bool> {
        let mut clock = SenderClock::default();
        let mut told = Vec::new();
        for (number, time_us) in (0_u16..).zip(left_us) {
            if *time_us > acked_us {
                clock.hears(0, SeqNumber(1));
            }
            let heard = heard_us.iter().rfind(|it| *it <= time_us);
            let heard_ns = heard.map(|us| us * 1000);
            let left = (time_us * 1000, number);
            told.push(clock.leaves(left, SeqNumber(1), heard_ns, 100 * MS));
        }
        told
    }

    #[test]
    fn what_leaves_in_one_time_on_whichever_connection_is_let_go_by_a_clock_until_that_is_acknowledged(
    ) {
        let left_us = [0, 15_000, 30_050, 45_000, 70_000, 85_000, 100_000];
        let told = by_clock(&left_us, &[84_900], 200_000);
        assert_eq!(told, [false, false, true, true, false, true, true]);
        let told = by_clock(&left_us[..6], &[], 71_000);
        assert_eq!(told, [false, false, true, true, false, false]);
    }

    #[test]
    fn what_the_client_lets_go_or_leaves_in_another_time_is_not() {
        let left_us = [0, 15_000, 30_000, 45_000];
        let heard_us = [14_900, 29_900, 44_900];
        assert_eq!(by_clock(&left_us, &heard_us, 200_000), [false; 4]);
        assert_eq!(
            by_clock(&[0, 15_000, 31_000, 45_000], &[], 200_000),
            [false; 4]
        );
        assert_eq!(by_clock(&[0, 60_000, 120_000], &[], 200_000), [false; 3]);
        assert_eq!(by_clock(&[0, 100, 200], &[], 200_000), [false; 3]);
    }
}
