//! Flights: what a sender sends in one round trip, before and after it was idle.
//!
//! A congestion window is not on the wire, but a sender that has more to send than its window
//! shows the window as the number of segments between two waits for ACKs. After an idle period a
//! restarted sender (RFC 5681, section 4.1) shows the small flights of slow start again.

use trace_model::rows::{FlightRow, FlightsTable};

use crate::bounded::Bounded;
use crate::pauses::FinishedResponse;

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
    bytes: u64,
    ends_full: bool,
    /// Segments in its first round trip: more are clocked by ACKs, and no window.
    window_segments: u32,
}

/// A burst at the beginning of a flow or after an idle period, whose response is not complete yet.
#[derive(Debug)]
struct AfterIdle {
    /// Stream offset of its first byte, and after its first flight.
    offset: u64,
    first_flight_end: u64,
    first_flight_resent: u32,
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
    pub bytes: u32,
    pub segments: u32,
    pub segment_bytes: u32,
    /// The flow was seen from its SYN-ACK on.
    pub begins_whole: bool,
    pub rtt_ns: Option<i64>,
    pub receive_window_segments: u32,
}

impl FlightData {
    /// Whether the last segment of it, before offload merged them, is a full one.
    fn ends_full(&self) -> bool {
        self.bytes.checked_rem(self.segment_bytes) == Some(0)
    }
}

#[derive(Debug, Default)]
pub struct FlightTracker {
    current: Option<Flight>,
    largest: u32,
    initial: Option<u32>,
    /// As `largest`, of the first round trip of each flight.
    largest_window: u32,
    segment_bytes: u32,
    retransmissions: u32,
    after_idle: Option<Box<AfterIdle>>,
}

impl FlightTracker {
    /// Segments of the flow's first flight, once it has ended.
    #[must_use]
    pub fn initial_window_segments(&self) -> Option<u32> {
        self.initial
    }

    /// Most segments that were sent within a round trip since the last loss, where flights are seen.
    #[must_use]
    pub fn largest_window_segments(&self) -> Option<u32> {
        let current = self.current.map_or(0, |flight| flight.window_segments);
        Some(self.largest_window.max(current)).filter(|most| *most > 0)
    }

    /// The server sent data from `offset` on again. Loss lowers the window, so what was shown before
    /// says nothing about the window that an idle period may reset.
    pub fn retransmission(&mut self, offset: u64) {
        self.retransmissions = self.retransmissions.saturating_add(1);
        self.largest = 0;
        self.largest_window = 0;
        if let Some(current) = self.current.as_mut() {
            current.window_segments = 0;
        }
        if let Some(after_idle) = self.after_idle.as_mut() {
            if offset < after_idle.first_flight_end {
                after_idle.first_flight_resent = after_idle.first_flight_resent.saturating_add(1);
            }
        }
    }

    /// The server sent new data.
    pub fn server_data(&mut self, data: FlightData) {
        self.segment_bytes = data.segment_bytes;
        let Some(current) = self.current.as_mut() else {
            if data.begins_whole && data.offset == 0 {
                self.begin_after(0, data);
            }
            self.current = Some(Flight::opened_by(data));
            return;
        };
        let gap = data.time_ns.saturating_sub(current.end_ns);
        if !ends_flight(gap, data.rtt_ns) {
            current.add(data);
        } else {
            self.end_flight();
            if gap >= IDLE_MIN_NS {
                self.begin_after(gap, data);
            }
            self.current = Some(Flight::opened_by(data));
        }
        if let Some(after_idle) = self.after_idle.as_mut() {
            after_idle.go_on(data);
        }
    }

    fn begin_after(&mut self, idle_ns: i64, data: FlightData) {
        self.after_idle = Some(Box::new(AfterIdle {
            offset: data.offset,
            first_flight_end: data.offset.saturating_add(u64::from(data.bytes)),
            first_flight_resent: 0,
            idle_ns,
            earlier_flight_segments: self.largest,
            retransmissions: self.retransmissions,
            receive_window_segments: data.receive_window_segments,
            flights: Vec::new(),
        }));
    }

    /// A response is complete: the burst in it that begins the flow or follows an idle period becomes a row.
    pub fn response_ends(
        &mut self,
        response: FinishedResponse,
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
        self.largest_window = self.largest_window.max(flight.window_segments);
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
            bytes: u64::from(data.bytes),
            ends_full: data.ends_full(),
            window_segments: data.rtt_ns.map_or(0, |_| data.segments),
        }
    }

    fn add(&mut self, data: FlightData) {
        self.segments = self.segments.saturating_add(data.segments);
        self.bytes = self.bytes.saturating_add(u64::from(data.bytes));
        self.ends_full = data.ends_full();
        self.end_ns = data.time_ns;
        let age = data.time_ns.saturating_sub(self.start_ns);
        if data.rtt_ns.is_some_and(|rtt| age <= rtt) {
            self.window_segments = self.window_segments.saturating_add(data.segments);
        }
    }
}

impl AfterIdle {
    /// Its response goes on.
    fn go_on(&mut self, data: FlightData) {
        self.receive_window_segments = self
            .receive_window_segments
            .min(data.receive_window_segments);
        if self.flights.is_empty() {
            self.first_flight_end = data.offset.saturating_add(u64::from(data.bytes));
        }
    }

    fn row(&self, response: FinishedResponse, rtt: i64, tracker: &FlightTracker) -> FlightRow {
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
            first_flight_bytes: self.flights.first().map_or(0, |flight| flight.bytes),
            first_flight_ends_full: self.flights.first().is_some_and(|flight| flight.ends_full),
            first_flight_resent: self.first_flight_resent,
            segment_bytes: tracker.segment_bytes,
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
