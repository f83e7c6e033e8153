//! The congestion window (RFC 5681) as an interval: what was in flight bounds it from below, where a sender with data
//! stopped bounds it from above. How it grows from stop to stop tells its phase.

/// What limits a sender that waits for acknowledgments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The window grows by a segment per acknowledgment.
    SlowStart,
    /// It grows by a segment per round trip, or a loss has lowered it.
    CongestionAvoidance,
    /// It is constant without a loss: the send buffer is, or the largest window of the stack.
    Constant,
}

/// A stop: the sender had used up its window, and went on when an acknowledgment came.
#[derive(Clone, Copy, Debug)]
pub struct Stop {
    /// When the acknowledgment reached the sender.
    pub at_ns: i64,
    /// Bytes in flight until then.
    pub flight_bytes: i64,
    /// Acknowledgments of new data that had come since the connection began.
    pub acks: u32,
    /// Losses and restarts before it: stops of different epochs are not compared.
    pub epoch: u32,
    /// A loss has lowered the window before.
    pub had_loss: bool,
    /// Most bytes in flight that the connection has shown: its send buffer holds as many.
    pub largest_bytes: i64,
}

/// A growth per acknowledgment from this part of a segment on is slow start's: delayed acknowledgments, and stops that
/// are not full segments, make it less than one.
const SLOW_START_GROWTH: (i64, i64) = (2, 5);
/// Stops within so many round trips are compared, in quarters.
const SPAN_QUARTERS: i64 = 6;

/// The phase of the window at the stop `at`, by the stops around it.
#[must_use]
pub fn phase(stops: &[Stop], at: usize, full_bytes: i64, round_trip_ns: i64) -> Phase {
    let Some(here) = stops.get(at).copied() else {
        return Phase::SlowStart;
    };
    let quarters = if here.had_loss {
        SPAN_QUARTERS.saturating_mul(2)
    } else {
        SPAN_QUARTERS
    };
    let span_ns = round_trip_ns.saturating_mul(quarters) / 4;
    let is_near =
        |it: &&Stop| it.epoch == here.epoch && it.at_ns.saturating_sub(here.at_ns).abs() <= span_ns;
    let first = stops.iter().take(at).rev().take_while(is_near).last();
    let last = stops.iter().skip(at).take_while(is_near).last();
    let before = at.checked_sub(1).and_then(|at| stops.get(at));
    let before = before.filter(|it| it.epoch == here.epoch);
    let first = first.or(before).copied().unwrap_or(here);
    let last = last.copied().unwrap_or(here);
    let growth = last.flight_bytes.saturating_sub(first.flight_bytes);
    let acks = i64::from(last.acks.saturating_sub(first.acks));
    let (part, of) = SLOW_START_GROWTH;
    if acks == 0 {
        return if here.had_loss {
            Phase::CongestionAvoidance
        } else {
            Phase::SlowStart
        };
    }
    if growth.saturating_mul(of) >= full_bytes.saturating_mul(acks).saturating_mul(part) {
        Phase::SlowStart
    } else if growth.saturating_mul(2) >= full_bytes
        || (here.had_loss && here.flight_bytes.saturating_add(full_bytes) <= here.largest_bytes)
        || (here.had_loss
            && last.at_ns.saturating_sub(first.at_ns) <= round_trip_ns.saturating_mul(5) / 2)
    {
        Phase::CongestionAvoidance
    } else {
        Phase::Constant
    }
}

/// The window's lower bound, and what it may have grown to without being used.
#[derive(Clone, Copy, Debug, Default)]
pub struct Window {
    shown_bytes: i64,
    shown_segments: u32,
    grown_bytes: i64,
}

impl Window {
    /// So much was in flight at once.
    pub fn on_flight(&mut self, bytes: i64, segments: u32) {
        self.shown_bytes = self.shown_bytes.max(bytes);
        self.shown_segments = self.shown_segments.max(segments);
        self.grown_bytes = self.grown_bytes.max(bytes);
    }

    /// An acknowledgment of `bytes` new ones came in slow start.
    pub fn on_ack(&mut self, bytes: i64, full_bytes: i64) {
        self.grown_bytes = self.grown_bytes.saturating_add(bytes.min(full_bytes));
    }

    /// A loss or a restart: what was shown before tells nothing any more.
    pub fn begin_epoch(&mut self) {
        *self = Window::default();
    }

    /// Whether so much in flight is within what was shown.
    #[must_use]
    pub fn has_room(&self, bytes: i64, segments: u32) -> bool {
        bytes <= self.shown_bytes && segments <= self.shown_segments
    }

    #[must_use]
    pub fn shown_bytes(&self) -> i64 {
        self.shown_bytes
    }

    #[must_use]
    pub fn grown_bytes(&self) -> i64 {
        self.grown_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: i64 = 1460;
    const RTT_NS: i64 = 100_000_000;

    /// Stops a round trip apart with so many segments in flight, after so many acknowledgments.
    fn stops(flights: &[(i64, u32)], had_loss: bool) -> Vec<Stop> {
        let at = (0..).map(|round| round * RTT_NS);
        let stop = |(at_ns, (segments, acks)): (i64, &(i64, u32))| Stop {
            at_ns,
            flight_bytes: segments * FULL,
            acks: *acks,
            epoch: 0,
            had_loss,
            largest_bytes: 0,
        };
        at.zip(flights).map(stop).collect()
    }

    #[test]
    fn window_that_grows_by_a_segment_per_acknowledgment_is_in_slow_start() {
        let found = phase(&stops(&[(2, 1), (4, 3), (8, 7)], false), 1, FULL, RTT_NS);
        assert_eq!(found, Phase::SlowStart);
    }

    #[test]
    fn window_that_grows_by_a_segment_per_round_trip_avoids_congestion() {
        let found = phase(
            &stops(&[(10, 10), (11, 20), (12, 31)], true),
            1,
            FULL,
            RTT_NS,
        );
        assert_eq!(found, Phase::CongestionAvoidance);
    }

    #[test]
    fn constant_window_without_a_loss_is_no_congestion_window() {
        let found = phase(&stops(&[(8, 8), (8, 16), (8, 24)], false), 1, FULL, RTT_NS);
        assert_eq!(found, Phase::Constant);
    }
}
