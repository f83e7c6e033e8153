//! Flights: what a sender sends in one round trip, before and after it was idle.
//!
//! A congestion window is not on the wire, but a sender that has more to send than its window
//! shows the window as the number of segments between two waits for ACKs. After an idle period a
//! restarted sender (RFC 5681, section 4.1) shows the small flights of slow start again.

use trace_model::rows::{FlightRow, FlightsTable};

use crate::bounded::Bounded;
use crate::pauses::FinishedMessage;

/// Shorter idle periods restart nothing: the retransmission timeout is at least this long in any
/// stack in use (RFC 6298 asks for 1 s, Linux and the BSDs take 200 ms or more).
const IDLE_MIN_NS: i64 = 200_000_000;
/// A wait of this part of the round trip ends a flight: ACK clocking fills less, a window more.
const FLIGHT_GAP_NUMERATOR: i64 = 35;
const FLIGHT_GAP_DENOMINATOR: i64 = 100;
/// Below this round trip the gaps between flights drown in scheduling noise.
const RTT_MIN_NS: i64 = 2_000_000;
/// Flights of a response that are recorded; by then slow start has long ended.
const FLIGHTS_MAX: usize = 64;

#[derive(Clone, Copy, Debug)]
struct Flight {
    segments: u32,
    first_frame: u64,
    start_ns: i64,
    end_ns: i64,
}

/// A burst after an idle period whose response is not complete yet.
#[derive(Debug)]
struct AfterIdle {
    /// Stream offset of its first byte.
    offset: u64,
    idle_ns: i64,
    earlier_flight_segments: u32,
    /// Retransmissions of the flow before it.
    retransmissions: u32,
    receive_window_segments: u32,
    flights: Vec<Flight>,
}

/// A new data segment of the server, as the flights see it.
#[derive(Clone, Copy, Debug)]
pub struct FlightData {
    pub frame: u64,
    pub time_ns: i64,
    pub offset: u64,
    pub segments: u32,
    pub rtt_ns: Option<i64>,
    pub receive_window_segments: u32,
}

#[derive(Debug, Default)]
pub struct FlightTracker {
    current: Option<Flight>,
    largest: u32,
    initial: Option<u32>,
    retransmissions: u32,
    after_idle: Option<Box<AfterIdle>>,
}

impl FlightTracker {
    /// Segments of the flow's first flight, once it has ended.
    #[must_use]
    pub fn initial_window_segments(&self) -> Option<u32> {
        self.initial
    }

    /// The server sent data again. Loss lowers the window, so what was shown before says nothing
    /// about the window that an idle period may reset.
    pub fn retransmission(&mut self) {
        self.retransmissions = self.retransmissions.saturating_add(1);
        self.largest = 0;
    }

    /// The server sent new data.
    pub fn server_data(&mut self, data: FlightData) {
        let Some(current) = self.current.as_mut() else {
            self.current = Some(Flight::opened_by(data));
            return;
        };
        let gap = data.time_ns.saturating_sub(current.end_ns);
        if !ends_flight(gap, data.rtt_ns) {
            current.segments = current.segments.saturating_add(data.segments);
            current.end_ns = data.time_ns;
        } else {
            self.end_flight();
            if gap >= IDLE_MIN_NS {
                self.after_idle = Some(Box::new(AfterIdle {
                    offset: data.offset,
                    idle_ns: gap,
                    earlier_flight_segments: self.largest,
                    retransmissions: self.retransmissions,
                    receive_window_segments: u32::MAX,
                    flights: Vec::new(),
                }));
            }
            self.current = Some(Flight::opened_by(data));
        }
        if let Some(after_idle) = self.after_idle.as_mut() {
            let least = after_idle
                .receive_window_segments
                .min(data.receive_window_segments);
            after_idle.receive_window_segments = least;
        }
    }

    /// A response is complete: the burst after an idle period in it becomes a row.
    pub fn response_ends(
        &mut self,
        response: FinishedMessage,
        rtt_ns: Option<i64>,
        rows: &mut Bounded<FlightsTable>,
    ) {
        let inside = |after: &AfterIdle| (response.start..response.end).contains(&after.offset);
        if !self.after_idle.as_deref().is_some_and(inside) {
            return;
        }
        let (Some(mut after_idle), Some(rtt)) = (self.after_idle.take(), rtt_ns) else {
            return;
        };
        after_idle.flights.extend(self.current);
        if after_idle.flights.len() > 1 {
            rows.push(&after_idle.row(response, rtt, self));
        }
    }

    fn end_flight(&mut self) {
        let Some(flight) = self.current.take() else {
            return;
        };
        self.initial.get_or_insert(flight.segments);
        self.largest = self.largest.max(flight.segments);
        if let Some(after_idle) = self.after_idle.as_mut() {
            if after_idle.flights.len() < FLIGHTS_MAX {
                after_idle.flights.push(flight);
            }
        }
    }
}

/// Whether a wait between two segments is one for ACKs. Where the round trip is unknown or too
/// short to see, only an idle period ends a flight.
fn ends_flight(gap: i64, rtt_ns: Option<i64>) -> bool {
    match rtt_ns {
        Some(rtt) if rtt >= RTT_MIN_NS => {
            gap > rtt.saturating_mul(FLIGHT_GAP_NUMERATOR) / FLIGHT_GAP_DENOMINATOR
        }
        _ => gap >= IDLE_MIN_NS,
    }
}

impl Flight {
    fn opened_by(data: FlightData) -> Self {
        Flight {
            segments: data.segments,
            first_frame: data.frame,
            start_ns: data.time_ns,
            end_ns: data.time_ns,
        }
    }
}

impl AfterIdle {
    fn row(&self, response: FinishedMessage, rtt: i64, tracker: &FlightTracker) -> FlightRow {
        let start = self.flights.first().map_or(0, |flight| flight.start_ns);
        let since = |time: i64| u64::try_from(time.saturating_sub(start)).unwrap_or(0);
        FlightRow {
            flow: response.flow,
            transaction: response.transaction,
            idle: self.idle_ns,
            start,
            rtt,
            flight_segments: self.flights.iter().map(|flight| flight.segments).collect(),
            flight_first_frames: self
                .flights
                .iter()
                .map(|flight| flight.first_frame)
                .collect(),
            flight_start_ns: self
                .flights
                .iter()
                .map(|flight| since(flight.start_ns))
                .collect(),
            flight_end_ns: self
                .flights
                .iter()
                .map(|flight| since(flight.end_ns))
                .collect(),
            earlier_flight_segments: self.earlier_flight_segments,
            initial_window_segments: tracker.initial.unwrap_or(0),
            receive_window_segments: self.receive_window_segments,
            retransmissions: tracker.retransmissions.saturating_sub(self.retransmissions),
            earlier_retransmissions: self.retransmissions,
        }
    }
}
