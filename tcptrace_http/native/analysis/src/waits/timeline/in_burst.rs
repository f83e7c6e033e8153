//! Whether data followed the segment before it at once, in the pace of the path, or was held in between.

use super::super::acks::{Acks, Released};
use super::super::pace::{Pace, BURST_MIN_NS};
use super::settling::service_ns;
use super::shared::shared_window;
use super::{Data, Route, Timeline};

impl Timeline {
    /// Whether data followed the segment before in the pace of the path, for all that is known.
    pub(super) fn is_in_burst(&self, gap: i64, data: Data, route: Route, acks: &Acks) -> bool {
        if self.is_on_link(gap, data, route, acks) && shared_window(data.sharing).is_none() {
            return true;
        }
        if gap > self.pace.burst_max_ns(data.segments, route.rtt_ns())
            || self.was_written_later(gap, data, route)
        {
            return false;
        }
        let was_held_for_others = shared_window(data.sharing).is_some() && gap > service_ns(data);
        let was_held = was_held_for_others
            || route.is_at_sender && self.was_let_go(gap, data, route, acks)
            || self.outlasts_the_link(gap, data, route, acks)
            || self.left_an_idle_link(gap, data, route, acks)
            || self.left_a_known_link(gap, data, route, acks);
        !was_held
    }

    /// Whether data behind what was pushed comes so much later than the link takes that it was not there before: who
    /// paces his data pushes none but the last of it, and but for that round trips vary little.
    fn was_written_later(&self, gap: i64, data: Data, route: Route) -> bool {
        // What the link takes for it the distances to others' data have shown.
        let least_ns = BURST_MIN_NS.saturating_add(service_ns(data).saturating_mul(2));
        let is_steady = data.sharing.is_path_steady && gap > least_ns;
        let is_slower = || {
            self.is_outlasted(gap, data)
                || self.pace.is_outlasted(gap, data.segments)
                || is_steady && data.sharing.service_ns.is_some()
        };
        let is_jitter = !is_steady && gap <= Pace::jitter_max_ns(route.rtt_ns());
        !self.has_more && !route.is_at_sender && !is_jitter && is_slower()
    }

    /// Whether an ACK let data go after a pause that is longer than the link takes, as others have shown: in a
    /// rhythm that its sender had once the ACKs keep coming.
    pub(super) fn outlasts_the_link(
        &self,
        gap: i64,
        data: Data,
        route: Route,
        acks: &Acks,
    ) -> bool {
        let rtt = route.rtt_ns();
        !route.is_at_sender
            && gap > Pace::default().burst_max_ns(data.segments, rtt)
            && acks.released(data.at.time_ns, data.end, route.to_sender_ns, 0) == Released::ByAck
    }

    /// Whether data came later than the link can have been busy with what came before, which is known, and just when
    /// an ACK lets it go: on a link on which a segment takes longer than a round trip the wait is the shorter part.
    fn left_an_idle_link(&self, gap: i64, data: Data, route: Route, acks: &Acks) -> bool {
        let slack_ns = self.link_slack_ns();
        self.is_let_go_after(
            slack_ns.max(BURST_MIN_NS),
            slack_ns / 2,
            (gap, data, route),
            acks,
        )
    }

    /// ... if that is known as closely as what the link takes for the headers.
    fn left_a_known_link(&self, gap: i64, data: Data, route: Route, acks: &Acks) -> bool {
        self.link_known().knows_headers()
            && self.is_let_go_after(BURST_MIN_NS, 0, (gap, data, route), acks)
    }

    /// Whether it came later by so much and more, and to so little when an ACK lets it go.
    fn is_let_go_after(
        &self,
        late_ns: i64,
        slack_ns: i64,
        (gap, data, route): (i64, Data, Route),
        acks: &Acks,
    ) -> bool {
        let takes = self.on_link_ns(data.bytes, data.segments);
        let busy_ns = takes.map(|takes_ns| takes_ns.saturating_add(late_ns));
        // The path's least round trip has the headers, whose size on the link is not known as closely.
        let longer_ns = self.on_link_ns(data.bytes, 0).unwrap_or(0);
        let after_ns = route.to_sender_ns.saturating_add(longer_ns);
        !route.is_at_sender
            && busy_ns.is_some_and(|busy_ns| gap > busy_ns)
            && acks.let_go_within(data.at.time_ns, after_ns, slack_ns)
    }

    /// Whether data came as long after the segment before as the slowest link takes for it, as several distances
    /// have shown, of whichever connection: it had stood before that link.
    fn is_on_link(&self, gap: i64, data: Data, route: Route, acks: &Acks) -> bool {
        let takes = self.on_link_ns(data.bytes, data.segments);
        !route.is_at_sender
            && takes.is_some_and(|takes| gap <= takes.saturating_add(self.link_slack_ns()))
            && !self.left_a_known_link(gap, data, route, acks)
    }

    /// Whether an ACK let data go after a short wait, which shows at the sender: a paced one does not wait
    /// for it.
    pub(super) fn was_let_go(&self, gap: i64, data: Data, route: Route, acks: &Acks) -> bool {
        let released = || acks.released(data.at.time_ns, data.end, route.to_sender_ns, 0);
        gap > Pace::shortest_wait_ns(route.rtt_ns())
            && !matches!(released(), Released::ByNone | Released::Unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::partition::Moment;
    use super::super::Words;
    use super::*;
    use crate::arrivals::Arrivals;
    use crate::shared_windows::Sharing;
    use trace_model::rows::Cause;

    const MS: i64 = 1_000_000;

    /// A write of half a segment, on a path of half a second.
    fn written(time_ms: i64, end: i64, is_path_steady: bool) -> Data {
        Data {
            bytes: 500,
            is_pushed: true,
            sharing: Sharing {
                is_path_steady,
                service_ns: Some(MS),
                ..Sharing::default()
            },
            ..Data::at_ms(time_ms, end)
        }
    }

    #[test]
    fn on_a_path_that_is_steady_what_was_pushed_before_was_written_later_though_the_path_is_long() {
        let route = Route::at_receiver(500);
        for (is_path_steady, cause) in [
            (true, Cause::ServerDataUnavailable),
            (false, Cause::SendLimitedBottleneck),
        ] {
            let mut acks = Acks::default();
            acks.push(0, 1, 60_000, 500 * MS);
            let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
            for (time_ms, end) in [(1000, 501), (1050, 1001)] {
                let data = written(time_ms, end, is_path_steady);
                timeline.new_data(data, None, route, &acks);
            }
            let told = timeline.between(1000 * MS, 1050 * MS).last();
            assert_eq!(told.map(|piece| piece.cause), Some(cause));
        }
    }

    #[test]
    fn on_a_lan_the_ack_that_lets_data_go_may_come_within_a_millisecond() {
        let route = Route::at_sender(1);
        let waited_for = |acked: bool, gap_us: i64| {
            let mut acks = Acks::default();
            acks.push(0, 1, 60_000, MS);
            let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
            timeline.new_data(Data::at_ms(100, 1001), None, route, &acks);
            let at = Moment {
                time_ns: 100 * MS + gap_us * 1000,
                frame: 2,
            };
            if acked {
                acks.push(at.time_ns, 1001, 60_000, MS);
            }
            timeline.is_in_burst(gap_us * 1000, Data::plain(at, 2001), route, &acks)
        };
        assert!(!waited_for(true, 900));
        assert!(waited_for(true, 50), "the pace of the ACKs");
        assert!(waited_for(false, 900));
    }

    #[test]
    fn a_link_that_is_idle_for_less_than_headers_take_shows_where_that_is_known_and_an_ack_lets_data_go(
    ) {
        // 0.1 ms for a byte: a bare packet takes 4 ms, and a path of 3 ms leaves the link idle for as long.
        let route = Route::at_receiver(3);
        let is_in_burst = |header_bytes: Option<u32>, acked_ms: i64| {
            let mut link = Arrivals::default();
            for _ in 0..2 {
                link.came_after(100 * MS, 960, 1, 20 * MS);
            }
            if let Some(bytes) = header_bytes {
                link.has_headers(bytes);
            }
            let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
            timeline.link_is(link);
            let mut acks = Acks::default();
            acks.push(acked_ms * MS, 961, 60_000, 3 * MS);
            let at = Moment::at_ms(1000);
            let data = Data {
                bytes: 960,
                ..Data::plain(at, 1921)
            };
            timeline.is_in_burst(104 * MS, data, route, &acks)
        };
        let let_go_ms = 1000 - 3 - 96;
        assert!(!is_in_burst(Some(40), let_go_ms));
        assert!(is_in_burst(Some(40), let_go_ms - 1), "nothing let it go");
        assert!(is_in_burst(None, let_go_ms), "by its headers");
    }

    #[test]
    fn a_single_long_distance_shows_no_slow_link() {
        let route = Route::at_receiver(500);
        let mut acks = Acks::default();
        acks.push(0, 1, 60_000, 500 * MS);
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        for (time_ms, end) in [(1000, 1001), (1300, 2001)] {
            let data = Data {
                bytes: 1000,
                is_pushed: false,
                ..written(time_ms, end, false)
            };
            timeline.new_data(data, None, route, &acks);
        }
        let told = timeline.between(1000 * MS, 1300 * MS).last();
        assert_ne!(
            told.map(|piece| piece.cause),
            Some(Cause::SendLimitedBottleneck)
        );
    }
}
