//! A burst at the beginning of a flow or after an idle period.

use super::data::FlightData;

/// A burst at the beginning of a flow or after an idle period, whose response is not complete yet.
#[derive(Debug)]
pub(super) struct AfterIdle {
    /// Stream offset of its first byte, and after its first flight.
    pub(super) offset: u64,
    pub(super) first_flight_end: u64,
    pub(super) first_flight_has_ended: bool,
    pub(super) first_flight_resent: u32,
    pub(super) begins_flow: bool,
    pub(super) idle_ns: i64,
    pub(super) earlier_flight_segments: u32,
    pub(super) earlier_window_segments: u32,
    /// Retransmissions of the flow before it.
    pub(super) retransmissions: u32,
    pub(super) receive_window_segments: u32,
}

impl AfterIdle {
    /// Its response goes on.
    pub(super) fn go_on(&mut self, data: FlightData) {
        self.receive_window_segments = self
            .receive_window_segments
            .min(data.receive_window_segments);
        if !self.first_flight_has_ended {
            self.first_flight_end = data.offset.saturating_add(u64::from(data.bytes));
        }
    }
}
