//! Slow start that ended before anything was lost.
//!
//! Theory of operation. HyStart ends slow start where the round trip becomes longer by an eighth, and by 4 ms at the
//! least, if the window has sixteen segments or more (RFC 9406, section 4.2; Linux has it on, with CUBIC). So it does with
//! any window that fills a slow link for longer than the path takes: that it is no larger than once before tells of no full
//! buffer then.

use super::super::acks::Acks;
use super::{Data, Route, Timeline};

/// Below such a window slow start goes on (Linux, hystart_low_window).
const SEGMENTS_MIN: i64 = 16;
/// By such a share of it the round trip becomes longer, and by how much (RFC 9406, section 4.3: MIN_RTT_DIVISOR,
/// MIN_RTT_THRESH and MAX_RTT_THRESH).
const LONGER_SHARE: i64 = 8;
const LONGER_NS: std::ops::RangeInclusive<i64> = 4_000_000..=16_000_000;

impl Timeline {
    /// Whether the window of a sender that stopped before `data` may have left slow start by then.
    pub(super) fn may_have_left_slow_start(
        &mut self,
        data: Data,
        route: Route,
        acks: &Acks,
    ) -> bool {
        let is_window = self.window.buffer().is_none() && self.window.has_segments(SEGMENTS_MIN);
        let is_longer = if route.is_at_sender {
            self.waited_longer(data, route, acks)
        } else {
            self.fills_path(data, route)
        };
        self.has_left_slow_start |= is_window && is_longer;
        self.has_left_slow_start
    }

    /// Near the sender: whether the ACK that let `data` go had taken longer than the path takes.
    fn waited_longer(&self, data: Data, route: Route, acks: &Acks) -> bool {
        let acked = acks.acked_by(Acks::known_by(data.at.time_ns, route.to_sender_ns));
        let longer_ns = route.rtt_ns() / LONGER_SHARE;
        let longer_ns = longer_ns.clamp(*LONGER_NS.start(), *LONGER_NS.end());
        let most_ns = route.rtt_ns().saturating_add(longer_ns);
        self.packets
            .newest_of(acked)
            .is_some_and(|sent_ns| data.at.time_ns.saturating_sub(sent_ns) >= most_ns)
    }

    /// Near the receiver: whether what was outstanding takes longer on the slowest link.
    fn fills_path(&self, data: Data, route: Route) -> bool {
        let outstanding = u32::try_from(self.window.outstanding()).unwrap_or(u32::MAX);
        let segments = outstanding.div_ceil(data.full_bytes.max(1));
        self.takes(outstanding, segments, data.full_bytes) >= route.rtt_ns()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Words;
    use super::*;

    const MS: i64 = 1_000_000;
    const START: i64 = (1 << 32) - 3000;

    /// Whether the window of a sender may have left slow start that has so many segments in flight, of which the ACK of two
    /// comes after so long on a path of 100 ms.
    fn may_have_left(segments: i64, after_ms: i64) -> bool {
        let (route, mut acks) = (Route::at_sender(100), Acks::default());
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        acks.push(-100 * MS, START, 60_000, 100 * MS);
        for segment in 1..=segments {
            let data = Data::at_ms(0, START + 1000 * segment);
            timeline.note_packet(data, route, &acks);
        }
        timeline.window.hears(0, START);
        timeline.window.stops(START + 1000 * segments, 1000);
        acks.push(after_ms * MS, START + 2000, 60_000, 100 * MS);
        let next = Data::at_ms(after_ms, START + 1000 * (segments + 1));
        timeline.may_have_left_slow_start(next, route, &acks)
    }

    #[test]
    fn a_window_of_sixteen_segments_may_leave_slow_start_where_round_trips_become_longer() {
        assert!(may_have_left(16, 113));
        assert!(!may_have_left(15, 113));
        assert!(!may_have_left(16, 112));
    }
}
