//! What a sender has shown of itself and of its receiver, apart from its waits: counters and extremes.

use tcptrace_sender::congestion::{phase, Phase, Stop};

/// Constant stops that show a send buffer.
const CONSTANT_MIN: usize = 3;

/// Data that was in flight together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flight {
    pub bytes: i64,
    pub segments: u32,
    /// The frame of its last segment, or of the acknowledgment that ended it.
    pub frame: u64,
}

impl Flight {
    fn larger(self, other: Flight) -> Flight {
        if other.bytes > self.bytes {
            other
        } else {
            self
        }
    }
}

/// Acknowledgments that their receiver delayed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    pub count: u32,
    pub largest_ns: i64,
    /// The frame of the one that was delayed for the longest time.
    pub frame: u64,
}

impl Delays {
    pub(crate) fn on_delayed(&mut self, by_ns: i64, frame: u64) {
        self.count = self.count.saturating_add(1);
        if by_ns > self.largest_ns {
            self.largest_ns = by_ns;
            self.frame = frame;
        }
    }
}

/// Counters and extremes of one sender.
#[derive(Clone, Copy, Debug, Default)]
pub struct Learnt {
    pub full_bytes: i64,
    /// Sent before any of it was acknowledged.
    pub first_flight: Flight,
    /// The same, if more data waited for the acknowledgment that ended it.
    pub initial_window: Option<Flight>,
    /// Most in flight since the last loss.
    pub largest: Flight,
    /// Least and largest window that the receiver offered.
    pub offered: Option<(i64, i64)>,
    /// Acknowledgments of new data, and those of more than two full segments (RFC 2525, section 2.13).
    pub acks: u32,
    pub stretch_acks: u32,
    pub delays: Delays,
    /// Segments that Nagle's algorithm held behind a short one, and behind full ones alone.
    pub held_behind_short: u32,
    pub held_behind_full: u32,
    /// Idle periods that threw the window away, and that did not.
    pub restarts: u32,
    pub kept_windows: u32,
    pub retransmissions: u32,
    /// Payload of the largest segment that was sent, and of the largest one that was acknowledged.
    pub segment_max: i64,
    pub acked_segment_max: i64,
    /// It stopped with the same flight again and again, without a loss.
    pub send_buffer_bytes: Option<i64>,
}

impl Learnt {
    /// An acknowledgment of `bytes` new ones reaches the sender, and offers `window`.
    pub(crate) fn on_ack(&mut self, bytes: i64, window: i64) {
        let (least, most) = self.offered.unwrap_or((window, window));
        self.offered = Some((least.min(window), most.max(window)));
        if self.full_bytes > 0 && bytes > 0 {
            self.acks = self.acks.saturating_add(1);
            let is_stretch = bytes > self.full_bytes.saturating_mul(2);
            self.stretch_acks = self.stretch_acks.saturating_add(u32::from(is_stretch));
        }
    }

    /// A new segment leaves: then so much is in flight. `is_first`: nothing was acknowledged before.
    pub(crate) fn on_flight(&mut self, flight: Flight, full_bytes: i64, is_first: bool) {
        self.full_bytes = full_bytes;
        self.largest = self.largest.larger(flight);
        if is_first {
            self.first_flight = self.first_flight.larger(flight);
        }
    }

    /// Data waited behind the first flight.
    pub(crate) fn on_first_stop(&mut self, flight: Flight) {
        self.initial_window.get_or_insert(flight);
    }

    pub(crate) fn on_loss(&mut self) {
        self.retransmissions = self.retransmissions.saturating_add(1);
        self.largest = Flight::default();
    }

    /// The flight of stops that are constant without a loss.
    pub(crate) fn on_stops(&mut self, stops: &[Stop], round_trip_ns: i64) {
        let is_constant =
            |at: usize| phase(stops, at, self.full_bytes, round_trip_ns) == Phase::Constant;
        let constant = stops.iter().enumerate();
        let constant = constant.filter(|(at, stop)| !stop.had_loss && is_constant(*at));
        let flights: Vec<i64> = constant.map(|(_, stop)| stop.flight_bytes).collect();
        if flights.len() >= CONSTANT_MIN {
            self.send_buffer_bytes = flights.into_iter().max();
        }
    }
}
