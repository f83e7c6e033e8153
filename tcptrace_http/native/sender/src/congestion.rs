//! Congestion window (RFC 5681) as an interval.
//!
//! The bytes in flight bound cwnd from below. A sender that stops with data left bounds cwnd from above. The
//! growth between stops gives the phase.

/// Limit of a sender that waits for ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The window grows by one segment per ACK.
    SlowStart,
    /// The window grows by one segment per round trip, or a loss has reduced it.
    CongestionAvoidance,
    /// The window is constant without a loss: the send buffer or the stack's largest window limits the
    /// sender.
    Constant,
}

/// Stop: the sender had used its whole window and continued at an ACK.
#[derive(Clone, Copy, Debug)]
pub struct Stop {
    /// Time at which the ACK reached the sender.
    pub at_ns: i64,
    /// Bytes in flight before the ACK.
    pub flight_bytes: i64,
    /// ACKs of new data since the connection began.
    pub acks: u32,
    /// Number of losses, marked windows and restarts before the stop; only stops of the same epoch are compared.
    pub epoch: u32,
    /// True if a loss or a mark reduced the window before the stop.
    pub was_reduced: bool,
    /// True behind the window of data that a mark reduced: cwnd is at least ssthresh (RFC 3168, section
    /// 6.1.2).
    pub was_marked: bool,
    /// Most bytes in flight of the connection so far: a lower bound of the send buffer.
    pub largest_bytes: i64,
}

/// Minimum growth per ACK in slow start, as a fraction of a segment.
///
/// Delayed ACKs, and stops that are not whole segments, make the growth less than one segment.
const SLOW_START_GROWTH: (i64, i64) = (2, 5);
/// Distance of the stops that are compared, in quarters of a round trip.
const SPAN_QUARTERS: i64 = 6;

/// Return the phase of the window at the stop `at`, from the stops around it.
#[must_use]
pub fn phase(stops: &[Stop], at: usize, full_bytes: i64, round_trip_ns: i64) -> Phase {
    let Some(here) = stops.get(at).copied() else {
        return Phase::SlowStart;
    };
    let quarters = if here.was_reduced {
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
        return if here.was_reduced {
            Phase::CongestionAvoidance
        } else {
            Phase::SlowStart
        };
    }
    if growth.saturating_mul(of) >= full_bytes.saturating_mul(acks).saturating_mul(part)
        && !here.was_marked
    {
        Phase::SlowStart
    } else if growth.saturating_mul(2) >= full_bytes
        || (here.was_reduced && here.flight_bytes.saturating_add(full_bytes) <= here.largest_bytes)
        || (here.was_reduced
            && last.at_ns.saturating_sub(first.at_ns) <= round_trip_ns.saturating_mul(5) / 2)
    {
        Phase::CongestionAvoidance
    } else {
        Phase::Constant
    }
}

/// Lower bound of cwnd, and the growth that the sender did not use.
#[derive(Clone, Copy, Debug, Default)]
pub struct Window {
    shown_bytes: i64,
    shown_segments: u32,
    grown_bytes: i64,
}

impl Window {
    /// Take the bytes and segments in flight.
    pub fn on_flight(&mut self, bytes: i64, segments: u32) {
        self.shown_bytes = self.shown_bytes.max(bytes);
        self.shown_segments = self.shown_segments.max(segments);
        self.grown_bytes = self.grown_bytes.max(bytes);
    }

    /// Take an ACK of `bytes` of new data in slow start.
    pub fn on_ack(&mut self, bytes: i64, full_bytes: i64) {
        self.grown_bytes = self.grown_bytes.saturating_add(bytes.min(full_bytes));
    }

    /// Start an epoch after a loss or a restart: earlier flights no longer bound the window.
    pub fn begin_epoch(&mut self) {
        *self = Window::default();
    }

    /// Return whether this flight is within the lower bound.
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

    /// Return stops one round trip apart; each pair gives the segments in flight and the ACKs so far.
    fn stops(flights: &[(i64, u32)], was_reduced: bool) -> Vec<Stop> {
        let at = (0..).map(|round| round * RTT_NS);
        let stop = |(at_ns, (segments, acks)): (i64, &(i64, u32))| Stop {
            at_ns,
            flight_bytes: segments * FULL,
            acks: *acks,
            epoch: 0,
            was_reduced,
            was_marked: false,
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
    fn window_that_a_mark_reduced_is_not_in_slow_start() {
        let mut marked = stops(&[(10, 2), (14, 6), (20, 12)], true);
        assert_eq!(phase(&marked, 1, FULL, RTT_NS), Phase::SlowStart);
        marked.iter_mut().for_each(|it| it.was_marked = true);
        assert_eq!(phase(&marked, 1, FULL, RTT_NS), Phase::CongestionAvoidance);
    }

    #[test]
    fn constant_window_without_a_loss_is_no_congestion_window() {
        let found = phase(&stops(&[(8, 8), (8, 16), (8, 24)], false), 1, FULL, RTT_NS);
        assert_eq!(found, Phase::Constant);
    }
}
