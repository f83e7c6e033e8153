//! Data of which the clock of its sender has told when it left (RFC 7323, section 3).
//!
//! Theory of operation. What stood before the slowest link came later by that, whatever it had waited for before it left.
//! So of the time since the data before it waited as long as there was between their departures; for the rest both were
//! on their way. What let it go is looked for as if nothing had stood before either.

use super::super::partition::Moment;
use super::{Data, Timeline};
use crate::shared_windows::Sharing;

/// Two times of a clock that counts milliseconds are no more exact than this.
pub(super) const STAMPS_VARY_NS: i64 = 2_000_000;

/// What the clock of its sender has told of the newest data.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stamped {
    /// How long it stood before the slowest link.
    stood_ns: Option<i64>,
    /// ... behind others' data.
    is_behind_others: bool,
    /// It stood there, or the one before: it is known how long it waited.
    pub(super) tells: bool,
}

impl Timeline {
    /// Notes that for the data that comes next.
    pub(super) fn note_stamp(&mut self, data: Data) {
        let stood_ns = data.sharing.stood_ns;
        self.stamped = Stamped {
            stood_ns: data.sharing.is_stamped.then_some(stood_ns),
            is_behind_others: data.sharing.queued_ns > 0,
            tells: self.both_stood_ns(data).is_some(),
        };
    }

    /// How long data and the one before stood before the link, if clocks tell that one of both did.
    fn both_stood_ns(&self, data: Data) -> Option<(i64, i64)> {
        let before_ns = self.stamped.stood_ns?;
        let stood_ns = Some(data.sharing.stood_ns).filter(|_| data.sharing.is_stamped)?;
        let is_behind_others = data.sharing.queued_ns > 0 && !data.sharing.is_shared;
        let has_stood = stood_ns.max(before_ns) > STAMPS_VARY_NS;
        (is_behind_others && has_stood).then_some((stood_ns, before_ns))
    }

    /// How long after the data before it left.
    pub(super) fn left_after_ns(&self, data: Data) -> Option<i64> {
        let (stood_ns, before_ns) = self.both_stood_ns(data)?;
        let (before, _) = self.sent?;
        let gap_ns = data.at.time_ns.saturating_sub(before.time_ns);
        let longer_ns = stood_ns.saturating_sub(before_ns);
        Some(gap_ns.saturating_sub(longer_ns).max(0))
    }

    /// When the newest data, which came at this time, would have come if nothing had stood before it.
    pub(super) fn newest_left_ns(&self, came: Moment) -> i64 {
        let stood_ns = self.stamped.stood_ns.unwrap_or(0);
        if self.stamped.is_behind_others && stood_ns > STAMPS_VARY_NS {
            came.time_ns.saturating_sub(stood_ns)
        } else {
            came.time_ns
        }
    }

    /// As it would have come if nothing had stood before it, and how long behind the data before.
    pub(super) fn as_left(&self, data: Data) -> Option<(Data, i64)> {
        let gap_ns = self.left_after_ns(data)?;
        let left_ns = data.at.time_ns.saturating_sub(data.sharing.stood_ns);
        let at = Moment {
            time_ns: left_ns,
            ..data.at
        };
        let sharing = Sharing {
            queued_ns: 0,
            stood_ns: 0,
            ..data.sharing
        };
        Some((
            Data {
                at,
                sharing,
                ..data
            },
            gap_ns,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Route, Words};
    use super::*;
    use crate::waits::acks::Acks;

    const MS: i64 = 1_000_000;
    const START: i64 = (1 << 32) - 500;

    fn came(time_ms: i64, end: i64, stood_ms: Option<i64>, is_shared: bool) -> Data {
        let sharing = Sharing {
            queued_ns: 200 * MS,
            stood_ns: stood_ms.unwrap_or(0) * MS,
            is_stamped: stood_ms.is_some(),
            is_shared,
            ..Sharing::default()
        };
        Data {
            full_bytes: 1000,
            sharing,
            ..Data::at_ms(time_ms, end)
        }
    }

    /// How long after the data before it left what came 60 ms behind it, if they stood so long before the link.
    fn left_after_ms(
        before_ms: Option<i64>,
        stood_ms: Option<i64>,
        is_shared: bool,
    ) -> Option<i64> {
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        let first = came(100, START, before_ms, is_shared);
        timeline.new_data(first, None, Route::at_receiver(10), &Acks::default());
        let second = came(160, START + 1000, stood_ms, is_shared);
        let left_after_ns = timeline.left_after_ns(second);
        left_after_ns.map(|left_after_ns| left_after_ns / MS)
    }

    #[test]
    fn what_stood_for_longer_than_the_data_before_left_sooner_behind_it_than_it_came() {
        assert_eq!(left_after_ms(Some(0), Some(40), false), Some(20));
        assert_eq!(left_after_ms(Some(40), Some(40), false), Some(60));
        assert_eq!(left_after_ms(Some(40), Some(0), false), Some(100));
        assert_eq!(left_after_ms(Some(0), Some(70), false), Some(0));
    }

    #[test]
    fn where_nothing_stood_or_no_clock_tells_it_left_as_it_came() {
        assert_eq!(left_after_ms(Some(1), Some(2), false), None);
        assert_eq!(left_after_ms(None, Some(40), false), None);
        assert_eq!(left_after_ms(Some(0), None, false), None);
    }

    #[test]
    fn of_windows_that_connections_share_more_is_known_than_when_their_data_left() {
        assert_eq!(left_after_ms(Some(0), Some(40), true), None);
    }

    #[test]
    fn what_left_together_with_the_data_before_waited_for_the_link_alone() {
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        for data in [
            came(100, START, Some(0), false),
            came(160, START + 1000, Some(59), false),
        ] {
            timeline.new_data(data, None, Route::at_receiver(10), &Acks::default());
        }
        let told = timeline.between(100 * MS, 160 * MS).last();
        let cause = told.map(|piece| piece.cause);
        assert_eq!(cause, Some(timeline.words.burst));
    }
}
