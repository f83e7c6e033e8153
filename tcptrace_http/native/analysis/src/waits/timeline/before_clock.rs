//! What data waited for before its sender's clock went that let it go, as is known next to that.
//!
//! Theory of operation. A clock spreads a window over a round trip from when the first of its data leaves, on whichever
//! connection. What lay in the buffer had found no room in the window until then, nor had it been written that did not.

use trace_model::rows::Cause;

use super::shared::phase_of;
use super::{Data, Route, Timeline};

impl Timeline {
    /// What data waited for that came so long behind the data before, and until when its receiver would have had it if it
    /// had left then.
    pub(super) fn before_clock(
        &self,
        (data, is_paced): (Data, bool),
        had_nothing: bool,
        gap_ns: i64,
        route: Route,
    ) -> Option<(Cause, i64)> {
        let clock_ns = data.sharing.clock_ns.filter(|ns| *ns < gap_ns)?;
        let cause = if had_nothing {
            self.words.idle
        } else {
            phase_of(data.sharing)
        };
        let began_ns = data.at.time_ns.saturating_sub(clock_ns);
        (is_paced && route.is_at_sender).then(|| (cause, self.would_come_ns(began_ns, data, route)))
    }

    /// When its receiver would have data that goes by then, if nothing stands before it.
    pub(super) fn would_come_ns(&self, time_ns: i64, data: Data, route: Route) -> i64 {
        if !route.is_at_sender {
            return time_ns;
        }
        let takes_ns = self.link.of_payload(data.bytes, data.segments);
        let way_ns = self.way_ns(route).saturating_add(takes_ns);
        time_ns.saturating_add(way_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Words;
    use super::*;
    use crate::shared_windows::Sharing;

    const MS: i64 = 1_000_000;

    #[test]
    fn what_a_clock_let_go_waited_for_the_window_or_its_application_before_that_went() {
        let timeline = Timeline::new(Words::OF_RESPONSES, None);
        let told = |clock_ms: i64, is_paced: bool, had_nothing: bool| {
            let sharing = Sharing {
                clock_ns: Some(clock_ms * MS),
                ..Sharing::default()
            };
            let data = Data {
                sharing,
                ..Data::at_ms(1000, 1001)
            };
            let route = Route::at_sender(50);
            timeline.before_clock((data, is_paced), had_nothing, 300 * MS, route)
        };
        let until_ns = 950 * MS;
        assert_eq!(
            told(100, true, false),
            Some((Cause::SendLimitedSlowStart, until_ns))
        );
        assert_eq!(
            told(100, true, true),
            Some((Cause::ServerDataUnavailable, until_ns))
        );
        assert_eq!(told(100, false, false), None);
        assert_eq!(told(300, true, false), None);
    }
}
