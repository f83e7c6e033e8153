//! What leaves a server by its clock, as is seen next to it.
//!
//! Theory of operation. Next to its sender data is seen to leave with the packet that lets it go, in the same interrupt.
//! What leaves though nothing had come, as long behind the data before it as that left behind the one before, of whichever
//! connection, was let go by a clock: its sender spreads a window that it knows from before over a round trip
//! (Visweswaraiah and Heidemann 1997; Eggert 1999, section 3.1). The clock goes until the first data that it let go is
//! acknowledged; what leaves later than by its next tick was written then.
//!
//! A host that paces, as one that shares its windows or has paced before does, needs no second tick to tell: nothing else
//! lets go what lay in its buffer when nothing had come.

use trace_model::SeqNumber;

use super::queue::IDLE_MIN_NS;

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
    /// When it let data go last.
    newest_ns: i64,
}

/// New data that leaves, and what may have let it go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaves {
    pub(super) time_ns: i64,
    pub(super) client_port: u16,
    pub(super) end: SeqNumber,
    /// Something has just come from the client.
    pub(super) was_heard_now: bool,
    /// It lay in the buffer of a host that paces, as far as is known.
    pub(super) was_held: bool,
    pub(super) round_trip_ns: i64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SenderClock {
    newest: Option<Left>,
    /// How long behind the data before it the newest left, and that, if nothing had come right before the newest.
    gap: Option<(i64, Left)>,
    going: Option<Going>,
    has_gone: bool,
    /// When it would have let go more, but for the ACK of what it let go first.
    due_ns: Option<i64>,
}

impl SenderClock {
    /// A clock has let data go before: a host keeps its stack.
    pub(super) fn has_gone(self) -> bool {
        self.has_gone
    }

    /// An ACK comes.
    pub(super) fn hears(&mut self, client_port: u16, ack: SeqNumber) {
        let is_of = |first: Left| first.client_port == client_port && !first.end.is_after(ack);
        if let Some(going) = self.going.filter(|going| is_of(going.first)) {
            self.stops(going);
        }
    }

    /// It lets go no more, though it may have had more for its next tick.
    fn stops(&mut self, going: Going) {
        self.going = None;
        self.due_ns = Some(going.newest_ns.saturating_add(going.period_ns));
    }

    /// New data leaves: whether the clock has stopped since the data before, and would have let this go by its next tick.
    pub(super) fn is_cut_short(&mut self, time_ns: i64) -> bool {
        let due_ns = self.due_ns.take();
        due_ns.is_some_and(|due_ns| time_ns.saturating_sub(due_ns) <= EXACT_NS)
    }

    /// New data leaves: since when the clock goes that let it go, if one did.
    pub(super) fn leaves(&mut self, data: Leaves) -> Option<i64> {
        let left = Left {
            time_ns: data.time_ns,
            client_port: data.client_port,
            end: data.end,
        };
        let before = self.newest.replace(left)?;
        let gap_ns = left.time_ns.saturating_sub(before.time_ns);
        if let Some(going) = self.going {
            let off_ns = gap_ns.saturating_sub(going.period_ns);
            if off_ns >= -EXACT_NS {
                self.gap = None;
                if off_ns > EXACT_NS {
                    return None;
                }
                self.going = Some(Going {
                    newest_ns: left.time_ns,
                    ..going
                });
                return Some(going.first.time_ns);
            }
            self.stops(going);
        }
        if data.was_heard_now || gap_ns < IDLE_MIN_NS || gap_ns > data.round_trip_ns {
            self.gap = None;
            return None;
        }
        let earlier = self.gap.replace((gap_ns, before));
        let several = gap_ns.saturating_mul(2) <= data.round_trip_ns.saturating_add(EXACT_NS);
        let is_same = |(it, _): &(i64, Left)| {
            several && gap_ns.saturating_sub(*it).saturating_abs() <= EXACT_NS
        };
        let is_again = earlier.filter(is_same).map(|(_, first)| first);
        self.has_gone |= is_again.is_some();
        let first = is_again.or(Some(before).filter(|_| data.was_held))?;
        self.going = Some(Going {
            period_ns: gap_ns,
            first,
            newest_ns: left.time_ns,
        });
        Some(first.time_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// Whether a clock let each segment go that left at such a time, of one connection after the other, where something
    /// came from the client at these, and an ACK of the first one at the last.
    fn by_clock(left_us: &[i64], heard_us: &[i64], acked_us: i64) -> Vec<bool> {
        since_us(left_us, heard_us, acked_us, false)
            .into_iter()
            .map(|us| us.is_some())
            .collect()
    }

    /// ... since when that goes, if data of a host that paces lay in its buffer or not.
    fn since_us(
        left_us: &[i64],
        heard_us: &[i64],
        acked_us: i64,
        was_held: bool,
    ) -> Vec<Option<i64>> {
        let mut clock = SenderClock::default();
        let mut told = Vec::new();
        for (number, time_us) in (0_u16..).zip(left_us) {
            if *time_us > acked_us {
                clock.hears(0, SeqNumber(1));
            }
            let heard = heard_us.iter().rfind(|it| *it <= time_us);
            let since_ns = clock.leaves(Leaves {
                time_ns: time_us * 1000,
                client_port: number,
                end: SeqNumber(1),
                was_heard_now: heard.is_some_and(|us| time_us - us <= 500),
                was_held,
                round_trip_ns: 100 * MS,
            });
            told.push(since_ns.map(|ns| ns / 1000));
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

    #[test]
    fn of_a_host_that_paces_what_lay_in_its_buffer_leaves_by_its_clock_if_nothing_had_come() {
        let since = |left_us: &[i64], heard_us: &[i64]| since_us(left_us, heard_us, 200_000, true);
        let left_us = [0, 60_000, 120_000];
        assert_eq!(since(&left_us, &[]), [None, Some(0), Some(0)]);
        assert_eq!(since(&left_us, &[59_900]), [None, None, Some(60_000)]);
        assert_eq!(since(&[0, 110_000], &[]), [None, None]);
    }

    #[test]
    fn what_an_ack_lets_go_before_the_next_tick_cuts_a_clock_short() {
        // Ticks at 0, 15 and 30 ms; then what an ACK lets go, of the first data or of data before that.
        for (time_us, is_of_first, is_cut) in [
            (40_000, true, true),
            (40_000, false, true),
            (60_000, true, false),
            (60_000, false, false),
        ] {
            let mut clock = SenderClock::default();
            let mut leaves = |time_us: i64, was_heard_now: bool| {
                if was_heard_now && is_of_first {
                    clock.hears(0, SeqNumber(1));
                }
                clock.leaves(Leaves {
                    time_ns: time_us * 1000,
                    client_port: 0,
                    end: SeqNumber(1),
                    was_heard_now,
                    was_held: true,
                    round_trip_ns: 100 * MS,
                });
                clock.is_cut_short(time_us * 1000)
            };
            for tick_us in [0, 15_000, 30_000] {
                assert!(!leaves(tick_us, false));
            }
            assert_eq!(leaves(time_us, true), is_cut, "{time_us}");
            assert!(!leaves(time_us + 1000, true), "once");
        }
    }
}
