//! What a clock of the sender let go, and no ACK.
//!
//! Theory of operation. A sender that paces spreads a window over the round trip, segment by segment (Visweswaraiah and
//! Heidemann 1997; Eggert 1999, section 3.1). Next to it that shows as data that no ACK let go. At the receiver it shows
//! after an idle period, for a while: until the first of what was sent since is acknowledged no ACK can let anything go,
//! so what had lain in the buffer and came later than the link had carried it went by a clock. Such a sender throws no
//! window away before an ACK ends that; and Nagle's algorithm looks at each segment by itself, as each is sent alone.

use super::super::acks::Acks;
use super::super::pace::BURST_MIN_NS;
use super::{Data, Route, Timeline};
use crate::shared_windows::is_rhythm;

impl Timeline {
    /// Whether a clock of the sender let data go that had lain in its buffer, so long after the data before, and that no
    /// ACK let go.
    pub(super) fn is_of_clock(&mut self, gap: i64, data: Data, route: Route, acks: &Acks) -> bool {
        if route.is_at_sender {
            return self.is_in_rhythm(gap, route);
        }
        let is_paced = self.is_of_paced_restart(data, route, acks);
        if is_paced {
            self.window.paces_restart();
        }
        is_paced
    }

    /// Next to the sender what an ACK lets go leaves when that comes; in a recovery that may be one that acknowledges
    /// nothing new. An application's next write fills a segment of which a rest had waited in no such rhythm.
    fn is_in_rhythm(&self, gap: i64, route: Route) -> bool {
        // Until the first ACK no round trip is over.
        let is_within = gap < route.rtt_ns() || self.acked <= 1;
        let may_spread = is_within && !self.window.is_recovering();
        let goes_on = self.sent_gap_ns.is_none_or(|before| is_rhythm(before, gap));
        self.has_more && may_spread && goes_on
    }

    /// Whether nothing was acknowledged of what was sent since the sender was idle when a segment left that had lain in
    /// its buffer since.
    fn is_of_paced_restart(&self, data: Data, route: Route, acks: &Acks) -> bool {
        let is_plain = !data.opens_hole && !self.has_hole && !self.window.is_recovering();
        let known_ns = Acks::known_by(data.at.time_ns, route.to_sender_ns);
        let is_first = |start: i64| start < self.sent_until && acks.acked_by(known_ns) <= start;
        self.has_more && is_plain && self.window.went_on_behind().is_some_and(is_first)
    }

    /// Whether the segment before did, as the link shows, which is known and would have carried it sooner.
    pub(super) fn left_by_clock(&self, route: Route, acks: &Acks) -> bool {
        let takes_ns = self.on_link_ns(self.sent_bytes, 1);
        let is_late = |(gap, takes_ns): (i64, i64)| gap > takes_ns.saturating_add(BURST_MIN_NS);
        let (Some((sent, _)), Some(start)) = (self.sent, self.window.went_on_behind()) else {
            return false;
        };
        let known_ns = Acks::known_by(sent.time_ns, route.to_sender_ns);
        let is_first = start < self.sent_start && acks.acked_by(known_ns) <= start;
        is_first && self.sent_gap_ns.zip(takes_ns).is_some_and(is_late)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::partition::Moment;
    use super::super::Words;
    use super::*;

    const MS: i64 = 1_000_000;

    /// Whether a clock let a segment go that came so long after another, which is the first after an idle period, where
    /// all up to there was acknowledged in time, on a path of 100 ms.
    fn is_of_clock(gap_ms: i64, acked: i64) -> bool {
        let start = (1 << 32) - 2000;
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        timeline
            .window
            .was_used_before_idle(start - 8000, 8000, true);
        timeline.sent_until = start + 1000;
        timeline.has_more = true;
        let mut acks = Acks::default();
        acks.push(100 * MS, start, 60_000, 100 * MS);
        acks.push(1001 * MS, start + acked, 60_000, 100 * MS);
        let data = Data::at_ms(1000 + gap_ms, start + 2000);
        timeline.is_of_clock(gap_ms * MS, data, Route::at_receiver(100), &acks)
    }

    #[test]
    fn until_the_first_ack_after_an_idle_period_a_clock_lets_go_what_lay_in_the_buffer() {
        assert!(is_of_clock(40, 1000));
        assert!(!is_of_clock(110, 1000), "an ACK had come");
        assert!(is_of_clock(110, 0));
    }

    /// Whether a clock seems to have let the second segment after an idle period go, on a link that takes 2 ms.
    fn was_late_by(gap_ms: i64) -> bool {
        let start = (1 << 32) - 2000;
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        timeline
            .window
            .was_used_before_idle(start - 8000, 8000, true);
        let mut link = crate::arrivals::Arrivals::default();
        for _ in 0..2 {
            link.came_after(2 * MS, 1000, 1, 100 * MS);
        }
        timeline.link_is(link);
        (timeline.sent_start, timeline.sent_until) = (start + 1000, start + 2000);
        timeline.sent = Some((Moment::at_ms(1000), true));
        (timeline.sent_bytes, timeline.sent_gap_ns) = (1000, Some(gap_ms * MS));
        let mut acks = Acks::default();
        acks.push(100 * MS, start, 60_000, 100 * MS);
        timeline.left_by_clock(Route::at_receiver(100), &acks)
    }

    #[test]
    fn a_segment_that_the_link_would_have_carried_sooner_left_by_a_clock() {
        assert!(was_late_by(20));
        assert!(!was_late_by(2));
    }
}
