//! The phases of the window that connections share: when it was in slow start after a loss.
//!
//! Theory of operation. A timer that runs out leaves a window of one segment, and a threshold of half of what was
//! in flight, at least two segments (RFC 5681, section 3.1). Of a flight of which so much was lost that nothing
//! but a timer noticed that is little, so that the next ACK of something new ends the slow start; with it all
//! connections that share the window leave it (E-TCP, section 3). Duplicate ACKs leave the window at its
//! threshold.

/// Of what lies so far back that others have come since nothing is asked any more.
pub const SPANS_MAX: usize = 6;

/// A slow start, when what the window let go then comes by here; the last may have no end yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlowStart {
    pub start_ns: i64,
    pub end_ns: i64,
}

/// When the first loss showed, and the latest slow starts after a loss, the newest last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Phases {
    first_loss_ns: Option<i64>,
    spans: [Option<SlowStart>; SPANS_MAX],
}

impl Phases {
    /// ACKs told of a loss.
    pub fn had_loss(&mut self, time_ns: i64) {
        self.first_loss_ns.get_or_insert(time_ns);
    }

    /// From then on the window avoids congestion but for its slow starts; it never had a threshold before.
    pub fn first_loss_ns(&self) -> Option<i64> {
        self.first_loss_ns
    }

    /// A timer ran out, and when the first ACK after it opened the window again, if one has.
    pub fn timed_out(&mut self, start_ns: i64, end_ns: Option<i64>) {
        self.had_loss(start_ns);
        let goes_on = self.newest().is_some_and(|newest| newest.end_ns > start_ns);
        if !goes_on {
            self.spans.rotate_left(1);
            self.spans[SPANS_MAX - 1] = Some(SlowStart {
                start_ns,
                end_ns: i64::MAX,
            });
        }
        if let Some(end_ns) = end_ns {
            self.acknowledged(end_ns);
        }
    }

    /// An ACK of something new opens the window.
    pub fn acknowledged(&mut self, end_ns: i64) {
        let newest = self.spans.last_mut().and_then(Option::as_mut);
        if let Some(newest) = newest.filter(|it| it.end_ns == i64::MAX && it.start_ns < end_ns) {
            newest.end_ns = end_ns;
        }
    }

    fn newest(&self) -> Option<SlowStart> {
        self.spans.last().copied().flatten()
    }

    /// All of them, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = SlowStart> + '_ {
        self.spans.iter().flatten().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(slow_starts: Phases) -> Vec<(i64, i64)> {
        let spans = slow_starts.iter();
        spans.map(|it| (it.start_ns, it.end_ns)).collect()
    }

    #[test]
    fn the_first_ack_after_a_timer_ends_the_slow_start_of_all() {
        let mut slow_starts = Phases::default();
        slow_starts.acknowledged(50);
        slow_starts.timed_out(100, None);
        slow_starts.timed_out(110, None);
        slow_starts.acknowledged(90);
        slow_starts.acknowledged(150);
        slow_starts.acknowledged(170);
        slow_starts.timed_out(200, Some(210));
        assert_eq!(spans(slow_starts), [(100, 150), (200, 210)]);
    }

    #[test]
    fn of_many_the_latest_are_remembered() {
        let mut slow_starts = Phases::default();
        for start_ns in 0..SPANS_MAX as i64 + 2 {
            slow_starts.timed_out(start_ns * 10, Some(start_ns * 10 + 5));
        }
        let starts: Vec<i64> = slow_starts.iter().map(|it| it.start_ns).collect();
        assert_eq!((starts.len(), starts[0]), (SPANS_MAX, 20));
    }
}
