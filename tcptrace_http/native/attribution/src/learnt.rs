//! Counters and extremes of a sender and of its receiver.

use tcptrace_sender::congestion::{phase, Phase, Stop};

/// Number of constant stops that show a send buffer.
const CONSTANT_MIN: usize = 3;

/// Data in flight at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flight {
    pub bytes: i64,
    pub segments: u32,
    /// Frame of its last segment, or of the ACK that ended it.
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

/// Delayed ACKs of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    pub count: u32,
    pub largest_ns: i64,
    /// Frame of the ACK with the longest delay.
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
pub struct LearntState {
    pub full_bytes: i64,
    /// Data sent before the first ACK.
    pub first_flight: Flight,
    /// First flight, if more data waited for the ACK that ended it.
    pub initial_window: Option<Flight>,
    /// Largest flight since the last loss.
    pub largest: Flight,
    /// Smallest and largest window that the receiver offered.
    pub offered: Option<(i64, i64)>,
    /// ACKs of new data, and ACKs of more than two full segments (RFC 2525, section 2.13).
    pub acks: u32,
    pub stretch_acks: u32,
    pub delays: Delays,
    /// Segments that Nagle's algorithm held behind a short segment, and behind full segments only.
    pub held_behind_short: u32,
    pub held_behind_full: u32,
    /// Idle periods that reset cwnd, and idle periods that did not.
    pub restarts: u32,
    pub kept_windows: u32,
    pub retransmissions: u32,
    /// Payload of the largest segment sent, and of the largest segment acknowledged.
    pub segment_max: i64,
    pub acked_segment_max: i64,
    /// Send buffer size: the sender stopped repeatedly with this flight and without a loss.
    pub send_buffer_bytes: Option<i64>,
}

impl LearntState {
    /// Take an ACK of `bytes` of new data that offers `window`.
    pub(crate) fn on_ack(&mut self, bytes: i64, window: i64) {
        let (least, most) = self.offered.unwrap_or((window, window));
        self.offered = Some((least.min(window), most.max(window)));
        if self.full_bytes > 0 && bytes > 0 {
            self.acks = self.acks.saturating_add(1);
            let is_stretch = bytes > self.full_bytes.saturating_mul(2);
            self.stretch_acks = self.stretch_acks.saturating_add(u32::from(is_stretch));
        }
    }

    /// Take the flight after a new segment; `is_first` is true before the first ACK.
    pub(crate) fn on_flight(&mut self, flight: Flight, full_bytes: i64, is_first: bool) {
        self.full_bytes = full_bytes;
        self.largest = self.largest.larger(flight);
        if is_first {
            self.first_flight = self.first_flight.larger(flight);
        }
    }

    /// Record that data waited behind the first flight.
    pub(crate) fn on_first_stop(&mut self, flight: Flight) {
        self.initial_window.get_or_insert(flight);
    }

    pub(crate) fn on_loss(&mut self) {
        self.retransmissions = self.retransmissions.saturating_add(1);
        self.largest = Flight::default();
    }

    /// Set the send buffer from stops that are constant without a loss.
    pub(crate) fn on_stops(&mut self, stops: &[Stop], round_trip_ns: i64) {
        let is_constant =
            |at: usize| phase(stops, at, self.full_bytes, round_trip_ns) == Phase::Constant;
        let constant = stops.iter().enumerate();
        let constant = constant.filter(|(at, stop)| !stop.was_reduced && is_constant(*at));
        let flights: Vec<i64> = constant.map(|(_, stop)| stop.flight_bytes).collect();
        if flights.len() >= CONSTANT_MIN {
            self.send_buffer_bytes = flights.into_iter().max();
        }
    }
}
