//! Flights: what a sender sends in one round trip, before and after it was idle.
//!
//! A congestion window is not on the wire, but a sender that has more to send than its window
//! shows the window as the number of segments between two waits for ACKs. After an idle period a
//! restarted sender (RFC 5681, section 4.1) shows the small flights of slow start again; one that is kept
//! by its own buffer shows flights of one size, though nothing was lost and the receiver would take more.

mod after_idle;
mod data;
mod flight;

use tcptrace_tcp::TIMEOUT_MIN_NS;
use trace_model::rows::{FlightRow, FlightsTable};

use crate::bounded::Bounded;
use crate::finished_message::FinishedMessage;
use crate::grown_window::GrownWindow;
use after_idle::AfterIdle;
use flight::{are_steady, ends_flight, Flight};

pub use data::FlightData;

/// Data that follows an ACK by no more than this beyond what the path takes may have been released by it.
const RELEASE_MAX_NS: i64 = 10_000_000;
/// Round trips vary, and what an ACK lets go may seem to come before it.
const EARLY_MAX_NS: i64 = 2_000_000;
/// Flights of a response that are recorded; by then slow start has long ended.
const FLIGHTS_MAX: usize = 64;
/// ACKs of a flight that are remembered: those of its first segments let the next one begin.
const ACKS_MAX: usize = 64;
/// Idle periods of responses that are not complete: a server that writes piece by piece is idle before each.
const IDLES_MAX: usize = 64;

/// An ACK for more segments than this one is a stretch ACK (RFC 2525, section 2.13; RFC 5681, 4.2).
const ACKED_SEGMENTS_USUAL: u64 = 2;

/// When an ACK went by, and the offset in the stream up to which it acknowledged.
#[derive(Clone, Copy, Debug)]
struct AckOfFlight {
    time_ns: i64,
    acked: u64,
}

/// An idle period that may have reset the window, which opens again over the responses after it.
#[derive(Clone, Copy, Debug)]
struct Restart {
    idle_ns: i64,
    earlier_flight_segments: u32,
    earlier_window_segments: u32,
    retransmissions: u32,
}

#[derive(Debug, Default)]
pub struct FlightTracker {
    current: Option<Flight>,
    /// Ended flights of responses that are not complete.
    flights: Vec<Flight>,
    /// Since the last complete response.
    acks: u32,
    stretch_acks: u32,
    least_window_segments: Option<u32>,
    largest: u32,
    initial: Option<u32>,
    /// As `largest`, of the first round trip of each flight.
    largest_window: u32,
    grown_window: GrownWindow,
    segment_bytes: u32,
    retransmissions: u32,
    shares_window: bool,
    /// In the order of their offsets.
    after_idle: Vec<AfterIdle>,
    /// The newest idle period, while no flight since was as large as those before it.
    restart: Option<Restart>,
    /// When the client last acknowledged something new.
    acknowledged_ns: Option<i64>,
    /// All its ACKs since the present flight began, as far as they matter.
    acks_of_flight: Vec<AckOfFlight>,
    /// Where the last complete response ended.
    response_end: u64,
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
        self.lowered_window();
        if let Some(current) = self.current.as_mut() {
            current.window_segments = 0;
            current.saw_loss = true;
        }
        if let Some(after_idle) = self.after_idle.last_mut() {
            if offset < after_idle.first_flight_end {
                after_idle.first_flight_resent = after_idle.first_flight_resent.saturating_add(1);
            }
        }
    }

    /// The newest segment was lost before it was seen: a silence before it need not have been idle.
    pub fn was_lost_unseen(&mut self) {
        let begun = self.current.map(|flight| flight.offset);
        self.after_idle
            .pop_if(|after| after.idle_ns > 0 && Some(after.offset) == begun);
        self.lowered_window();
    }

    /// The window is lower since the newest segment.
    fn lowered_window(&mut self) {
        self.restart = None;
        self.largest = 0;
        self.largest_window = 0;
        self.grown_window.forget();
    }

    /// The server sent new data.
    pub fn server_data(&mut self, data: FlightData) {
        self.segment_bytes = data.segment_bytes;
        self.shares_window |= data.shares_window;
        let least = self.least_window_segments.get_or_insert(u32::MAX);
        *least = (*least).min(data.receive_window_segments);
        let Some(current) = self.current.as_mut() else {
            if data.begins_whole && data.offset == 0 {
                self.begin_after(0, data);
            }
            self.current = Some(self.opened_by(data));
            return;
        };
        let gap = data.time_ns.saturating_sub(current.end_ns);
        if !ends_flight(gap.saturating_sub(data.takes_ns), data.rtt_ns) {
            current.add(data);
        } else {
            self.end_flight();
            if gap >= TIMEOUT_MIN_NS && !self.was_held(data) {
                self.begin_after(gap, data);
            }
            self.current = Some(self.opened_by(data));
            self.acks_of_flight.clear();
        }
        if let Some(after_idle) = self.after_idle.last_mut() {
            after_idle.go_on(data);
        }
    }

    /// Whether data inside a response came as soon as an ACK could release it, on a slow link after its time there:
    /// its sender was not idle, the ACK was delayed, or the path is that long.
    fn was_held(&self, data: FlightData) -> bool {
        let (Some(acked_ns), Some(path_ns)) = (self.acknowledged_ns, data.server_rtt_ns) else {
            return false;
        };
        let since_ack = data.time_ns.saturating_sub(acked_ns);
        let released_ns = path_ns
            .saturating_add(data.takes_ns)
            .saturating_add(RELEASE_MAX_NS);
        data.offset > self.response_end && since_ack <= released_ns
    }

    fn opened_by(&self, data: FlightData) -> Flight {
        let path_ns = data.server_rtt_ns.unwrap_or(0);
        let off = |ack: &AckOfFlight| {
            let let_go_ns = ack
                .time_ns
                .saturating_add(path_ns)
                .saturating_add(data.longer_ns);
            data.time_ns.saturating_sub(let_go_ns)
        };
        let acks = || self.acks_of_flight.iter();
        let off_ack_ns = acks().map(|ack| off(ack).unsigned_abs()).min();
        // The last that had come by then lets go what one before it had not.
        let heard = acks().rfind(|ack| off(ack) >= -EARLY_MAX_NS);
        let behind_bytes = heard.map_or(0, |ack| data.offset.saturating_sub(ack.acked));
        Flight::opened_by(data, off_ack_ns.unwrap_or(u64::MAX), behind_bytes)
    }

    fn begin_after(&mut self, idle_ns: i64, data: FlightData) {
        let earlier_window_segments = self.grown_window.segments();
        // It may have been thrown away, or have decayed: it shows anew.
        self.grown_window.forget();
        self.restart = Some(Restart {
            idle_ns,
            earlier_flight_segments: self.largest,
            earlier_window_segments,
            retransmissions: self.retransmissions,
        });
        if self.after_idle.len() >= IDLES_MAX {
            return;
        }
        self.after_idle.push(AfterIdle {
            offset: data.offset,
            first_flight_end: data.offset.saturating_add(u64::from(data.bytes)),
            first_flight_has_ended: false,
            first_flight_resent: 0,
            begins_flow: idle_ns == 0,
            idle_ns,
            earlier_flight_segments: self.largest,
            earlier_window_segments,
            retransmissions: self.retransmissions,
            receive_window_segments: data.receive_window_segments,
        });
    }

    /// The client acknowledged so many new bytes at once, up to the offset `acked` of the stream.
    pub fn acknowledged(&mut self, bytes: u64, acked: u64, segment_bytes: u32, time_ns: i64) {
        self.acknowledged_ns = Some(time_ns);
        if self.acks_of_flight.len() < ACKS_MAX {
            self.acks_of_flight.push(AckOfFlight { time_ns, acked });
        }
        let is_of_flight = self.current.is_some_and(|flight| acked > flight.offset);
        self.grown_window.acknowledged(is_of_flight);
        self.acks = self.acks.saturating_add(1);
        if bytes > u64::from(segment_bytes).saturating_mul(ACKED_SEGMENTS_USUAL) {
            self.stretch_acks = self.stretch_acks.saturating_add(1);
        }
    }

    /// Memory that what is remembered takes.
    #[inline]
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        let flights = self.flights.len().saturating_mul(size_of::<Flight>());
        let idles = self.after_idle.len().saturating_mul(size_of::<AfterIdle>());
        let acks = self
            .acks_of_flight
            .len()
            .saturating_mul(size_of::<AckOfFlight>());
        flights.saturating_add(idles).saturating_add(acks) as u64
    }

    /// A response is complete: it becomes a row if it begins the flow or came after an idle period, or in
    /// flights that did not grow although nothing was lost.
    pub fn response_ends(
        &mut self,
        response: FinishedMessage,
        rtt_ns: Option<i64>,
        rows: &mut Bounded<FlightsTable>,
    ) {
        self.response_end = response.end;
        let Some(rtt) = rtt_ns else {
            self.forget_before(response.end);
            return;
        };
        let (start, end) = (response.start, response.end);
        let idles = self.after_idle.partition_point(|it| it.offset < end);
        let idles: Vec<AfterIdle> = self.after_idle.drain(..idles).collect();
        let mut flights = std::mem::take(&mut self.flights);
        flights.extend(self.current);
        flights.retain(|flight| (start..end).contains(&flight.offset));
        let went_on = idles.iter().all(|after| after.offset < start);
        if went_on && self.retransmissions == 0 && are_steady(&flights) {
            rows.push(&self.row(None, &flights, response, rtt));
        } else if let Some(after) = self.still_restarted(&flights, &idles, response) {
            rows.push(&self.row(Some(&after), &flights, response, rtt));
        }
        let ends = idles.iter().skip(1).map(|next| next.offset).chain([end]);
        for (after, until) in idles.iter().zip(ends) {
            let is_of_it = |it: &&Flight| (after.offset..until).contains(&it.offset);
            let of_it: Vec<Flight> = flights.iter().filter(is_of_it).copied().collect();
            if after.offset >= start && of_it.len() > 1 {
                rows.push(&self.row(Some(after), &of_it, response, rtt));
            }
        }
        self.forget_before(end);
    }

    /// A response after one that had come after an idle period, with flights of its own: the window that was reset
    /// is not as large again.
    fn still_restarted(
        &self,
        flights: &[Flight],
        idles: &[AfterIdle],
        response: FinishedMessage,
    ) -> Option<AfterIdle> {
        // Losses make windows small as well.
        let restart = self.restart.filter(|_| self.retransmissions == 0)?;
        let [first, _, ..] = flights else {
            return None;
        };
        let is_own = first.offset == response.start && idles.is_empty();
        is_own.then_some(AfterIdle {
            offset: response.start,
            first_flight_end: response.start,
            first_flight_has_ended: true,
            first_flight_resent: 0,
            begins_flow: false,
            idle_ns: restart.idle_ns,
            earlier_flight_segments: restart.earlier_flight_segments,
            earlier_window_segments: restart.earlier_window_segments,
            retransmissions: restart.retransmissions,
            receive_window_segments: self.least_window_segments.unwrap_or(0),
        })
    }

    /// A response ended at `end`: the next one is looked at by itself.
    fn forget_before(&mut self, end: u64) {
        self.after_idle.retain(|after| after.offset >= end);
        self.flights.clear();
        self.acks = 0;
        self.stretch_acks = 0;
        self.least_window_segments = None;
    }

    /// Gives back what is remembered: the flow is over.
    pub fn release(&mut self) {
        self.flights = Vec::new();
        self.after_idle = Vec::new();
        self.acks_of_flight = Vec::new();
    }

    fn end_flight(&mut self) {
        let Some(flight) = self.current.take() else {
            return;
        };
        self.initial.get_or_insert(flight.segments);
        if !flight.saw_loss {
            self.largest = self.largest.max(flight.segments);
        }
        let is_as_large = |restart: Restart| flight.segments >= restart.earlier_flight_segments;
        if self.restart.is_some_and(is_as_large) {
            self.restart = None;
        }
        self.largest_window = self.largest_window.max(flight.window_segments);
        self.grown_window.flight_ends(flight.window_segments);
        if let Some(after_idle) = self.after_idle.last_mut() {
            after_idle.first_flight_has_ended = true;
        }
        if self.flights.len() < FLIGHTS_MAX {
            self.flights.push(flight);
        }
    }

    fn row(
        &self,
        after_idle: Option<&AfterIdle>,
        flights: &[Flight],
        response: FinishedMessage,
        rtt: i64,
    ) -> FlightRow {
        let start = flights.first().map_or(0, |flight| flight.start_ns);
        let since = |time: i64| u64::try_from(time.saturating_sub(start)).unwrap_or(0);
        let retransmissions = after_idle.map_or(0, |after| after.retransmissions);
        let window = after_idle.map_or(self.least_window_segments.unwrap_or(0), |after| {
            after.receive_window_segments
        });
        FlightRow {
            flow: response.flow,
            transaction: response.transaction,
            idle: after_idle.map_or(0, |after| after.idle_ns),
            start,
            rtt,
            flight_segments: flights.iter().map(|flight| flight.segments).collect(),
            flight_first_frames: flights.iter().map(|flight| flight.first_frame).collect(),
            begins_flow: after_idle.is_some_and(|after| after.begins_flow),
            first_flight_bytes: flights.first().map_or(0, |flight| flight.bytes),
            first_flight_ends_full: flights.first().is_some_and(|flight| flight.ends_full),
            flight_first_bytes: flights.iter().map(|flight| flight.first_bytes).collect(),
            flight_last_bytes: flights.iter().map(|flight| flight.last_bytes).collect(),
            flight_off_ack_ns: flights.iter().map(|flight| flight.off_ack_ns).collect(),
            flight_behind_bytes: flights.iter().map(|flight| flight.behind_bytes).collect(),
            first_flight_resent: after_idle.map_or(0, |after| after.first_flight_resent),
            flight_outstanding_bytes: flights.iter().map(|it| it.outstanding_bytes).collect(),
            shares_window: self.shares_window,
            segment_bytes: self.segment_bytes,
            flight_start_ns: flights
                .iter()
                .map(|flight| since(flight.start_ns))
                .collect(),
            flight_end_ns: flights.iter().map(|flight| since(flight.end_ns)).collect(),
            earlier_flight_segments: after_idle.map_or(0, |after| after.earlier_flight_segments),
            earlier_window_segments: after_idle.map_or(0, |after| after.earlier_window_segments),
            initial_window_segments: self.initial.unwrap_or(0),
            receive_window_segments: window,
            acks: self.acks,
            stretch_acks: self.stretch_acks,
            retransmissions: self.retransmissions.saturating_sub(retransmissions),
            earlier_retransmissions: retransmissions,
        }
    }
}

#[cfg(test)]
mod tests;
