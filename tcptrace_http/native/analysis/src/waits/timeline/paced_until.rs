//! Which part of a wait was the pace of the slowest link, as is known once the wait is over.

use super::super::partition::Moment;
use super::{Piece, Timeline};
use crate::jitter::CLOSE_NS;

impl Timeline {
    /// Up to when a piece was the pace of the slowest link, by all that is known of it now.
    pub(in crate::waits) fn paced_until(&self, piece: &Piece) -> Option<Moment> {
        let waited = piece.waited?;
        let takes = self.on_link_ns(waited.bytes, waited.segments)?;
        let until_ns = waited.since_ns.saturating_add(takes);
        // Hosts and captures are no more exact.
        let slack_ns = if self.link_known().knows_headers() {
            CLOSE_NS
        } else {
            self.link_slack_ns()
        };
        let is_late = waited.until_ns > until_ns.saturating_add(slack_ns);
        if !is_late || piece.end.time_ns <= until_ns {
            return Some(piece.end);
        }
        (until_ns > piece.start.time_ns).then_some(Moment {
            time_ns: until_ns,
            ..piece.start
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::piece::Waited;
    use super::super::Words;
    use super::*;
    use crate::arrivals::Arrivals;
    use trace_model::rows::Cause;

    const MS: i64 = 1_000_000;
    const FULL: u32 = 1446;

    #[test]
    fn a_part_of_a_wait_was_no_pace_of_the_link_because_it_ended_soon_after_that_would_have_carried_the_data(
    ) {
        let at = |time_us: i64| Moment {
            time_ns: time_us * 1000,
            frame: 1,
        };
        for (came_us, knows_headers, paced_us) in [
            (400_000, false, 112_000),
            (112_300, false, 112_300),
            (112_600, false, 112_000),
            (112_450, true, 112_300),
        ] {
            let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
            let mut link = Arrivals::default();
            for _ in 0..2 {
                link.came_after(12 * MS, FULL, 1, 100 * MS);
            }
            if knows_headers {
                link.has_headers(40);
            }
            timeline.link_is(link);
            let piece = Piece {
                start: at(105_000),
                end: at(112_300),
                cause: Cause::SendLimitedSlowStart,
                confidence: 0.8,
                if_shared: None,
                waited: Some(Waited {
                    since_ns: 100 * MS,
                    until_ns: came_us * 1000,
                    bytes: FULL,
                    segments: 1,
                    if_on_link: None,
                    stopped_with: None,
                    is_told_by_host: false,
                }),
                later_ns: 0,
            };
            let paced_ns = timeline.paced_until(&piece).map_or(0, |it| it.time_ns);
            assert_eq!((paced_ns + 500) / 1000, paced_us, "{came_us}");
        }
    }
}
