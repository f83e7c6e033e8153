//! What data waited for before the window that all connections share was full.

use trace_model::rows::Cause;

use super::shared::phase_of;
use super::{Data, Route, Timeline};

impl Timeline {
    /// What data waited for first that waited for a full window in the end, and until when its receiver would have had it
    /// if it had left then: its connection had waited before the window that all share was as large as that.
    pub(super) fn before_full(&self, data: Data, route: Route) -> Option<(Cause, i64)> {
        let grew_until_ns = data.sharing.grew_until_ns?;
        let until_ns = self.would_come_ns(grew_until_ns, data, route);
        Some((phase_of(data.sharing), until_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::acks::Acks;
    use super::super::super::partition::{Moment, INFERRED};
    use super::super::Words;
    use super::*;
    use crate::shared_windows::Sharing;

    /// What data waited for first that waited for a full window that had grown for 70 ns, and for how long.
    fn first(is_shared: bool, had_nothing: bool, route: Route) -> Option<(Cause, i64)> {
        let timeline = Timeline::new(Words::OF_RESPONSES, None);
        let sharing = Sharing {
            is_shared,
            grew_until_ns: Some(70),
            ..Sharing::default()
        };
        let data = Data {
            sharing,
            ..Data::plain(Moment::default(), (1 << 32) + 1000)
        };
        let cause = Some((Cause::SendLimitedSendBuffer, INFERRED));
        timeline.waited_first(cause, had_nothing, 100, (data, route), &Acks::default())
    }

    #[test]
    fn what_waits_for_a_full_window_of_all_waited_for_that_to_grow_first() {
        let grew = |until_ns: i64| Some((Cause::SendLimitedSlowStart, until_ns));
        let at_receiver = Route::default();
        assert_eq!(first(true, false, at_receiver), grew(70));
        assert_eq!(first(false, false, at_receiver), None);
        // Its receiver has it later by the path.
        let at_sender = Route::at_sender(50);
        assert_eq!(first(true, false, at_sender), grew(50_000_070));
    }

    #[test]
    fn who_had_nothing_to_send_did_not_wait_for_a_window_to_grow() {
        assert_eq!(first(true, true, Route::default()), None);
        assert_eq!(first(true, true, Route::at_sender(50)), None);
    }
}
