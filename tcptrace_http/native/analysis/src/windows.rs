//! Windows as flights show them: what a server sends until it waits for acknowledgments.
//!
//! A congestion window is not on the wire, but a sender that has more to send than its window shows it as the number of
//! segments between two waits.

use tcptrace_tcp::TIMEOUT_MIN_NS;

/// A wait of this part of the round trip ends a flight: ACK clocking fills less, a window more.
const FLIGHT_GAP_NUMERATOR: i64 = 35;
const FLIGHT_GAP_DENOMINATOR: i64 = 100;
/// Below this round trip the gaps between flights drown in scheduling noise.
const RTT_MIN_NS: i64 = 2_000_000;

#[derive(Clone, Copy, Debug)]
struct Flight {
    segments: u32,
    /// ... in its first round trip: more are clocked by acknowledgments, and no window.
    window_segments: u32,
    start_ns: i64,
    end_ns: i64,
}

/// New data of a server.
#[derive(Clone, Copy, Debug)]
pub struct WindowData {
    pub time_ns: i64,
    /// Segments that it was on the wire.
    pub segments: u32,
    /// Of the whole path.
    pub rtt_ns: Option<i64>,
    /// What the slowest link takes for it, as far as that is known.
    pub service_ns: i64,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Windows {
    current: Option<Flight>,
    initial: Option<u32>,
    largest: u32,
}

impl Windows {
    /// Segments of the flow's first flight, once it has ended.
    #[must_use]
    pub fn initial_segments(&self) -> Option<u32> {
        self.initial
    }

    /// Most segments that were sent within a round trip since the last loss.
    #[must_use]
    pub fn largest_segments(&self) -> Option<u32> {
        let current = self.current.map_or(0, |flight| flight.window_segments);
        Some(self.largest.max(current)).filter(|most| *most > 0)
    }

    /// A loss lowers the window: what was shown before tells nothing any more.
    pub fn had_loss(&mut self) {
        self.largest = 0;
        if let Some(current) = self.current.as_mut() {
            current.window_segments = 0;
        }
    }

    /// New data is sent.
    pub fn sent(&mut self, data: WindowData) {
        let ended = self.current.take_if(|flight| {
            let gap_ns = data.time_ns.saturating_sub(flight.end_ns);
            ends_flight(gap_ns.saturating_sub(data.service_ns), data.rtt_ns)
        });
        if let Some(flight) = ended {
            self.initial.get_or_insert(flight.segments);
            self.largest = self.largest.max(flight.window_segments);
        }
        let flight = self.current.get_or_insert(Flight {
            segments: 0,
            window_segments: 0,
            start_ns: data.time_ns,
            end_ns: data.time_ns,
        });
        flight.end_ns = data.time_ns;
        flight.segments = flight.segments.saturating_add(data.segments);
        let age_ns = data.time_ns.saturating_sub(flight.start_ns);
        if data.rtt_ns.is_some_and(|rtt_ns| age_ns <= rtt_ns) {
            flight.window_segments = flight.window_segments.saturating_add(data.segments);
        }
    }
}

/// Whether a wait between two segments is one for acknowledgments. Where the round trip is unknown or too short to see,
/// only an idle period ends a flight.
fn ends_flight(gap_ns: i64, rtt_ns: Option<i64>) -> bool {
    match rtt_ns {
        Some(rtt_ns) if rtt_ns >= RTT_MIN_NS => {
            gap_ns > rtt_ns.saturating_mul(FLIGHT_GAP_NUMERATOR) / FLIGHT_GAP_DENOMINATOR
        }
        _ => gap_ns >= TIMEOUT_MIN_NS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// Segments that leave at these times on a path of 100 ms.
    fn after(times_ms: &[i64]) -> Windows {
        let mut windows = Windows::default();
        for time_ms in times_ms {
            windows.sent(WindowData {
                time_ns: time_ms * MS,
                segments: 1,
                rtt_ns: Some(100 * MS),
                service_ns: 0,
            });
        }
        windows
    }

    #[test]
    fn a_wait_for_acknowledgments_ends_the_first_flight() {
        let windows = after(&[0, 1, 2, 100, 101, 102, 103]);
        assert_eq!(windows.initial_segments(), Some(3));
        assert_eq!(windows.largest_segments(), Some(4));
        assert_eq!(after(&[0, 1]).initial_segments(), None);
    }

    #[test]
    fn what_acknowledgments_clock_and_what_was_before_a_loss_is_no_window() {
        let times: Vec<i64> = (0..20).map(|at| at * 20).collect();
        let mut windows = after(&times);
        assert_eq!(windows.largest_segments(), Some(6));
        windows.had_loss();
        assert_eq!(windows.largest_segments(), None);
    }
}
