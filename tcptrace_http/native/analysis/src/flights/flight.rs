//! A flight: what a sender sends until it waits for ACKs.

use tcptrace_tcp::TIMEOUT_MIN_NS;

use super::data::FlightData;

/// A wait of this part of the round trip ends a flight: ACK clocking fills less, a window more.
const FLIGHT_GAP_NUMERATOR: i64 = 35;
const FLIGHT_GAP_DENOMINATOR: i64 = 100;
/// Below this round trip the gaps between flights drown in scheduling noise.
const RTT_MIN_NS: i64 = 2_000_000;
/// A flight this much larger than the one before shows a window that opens: slow start doubles it, and
/// with an ACK for each second segment only it grows by half.
const GROWTH_NUMERATOR: u32 = 3;
const GROWTH_DENOMINATOR: u32 = 2;
/// So many flights in a row that do not grow are notable: a window that is used up for that long.
const STEADY_ROUNDS_MIN: usize = 3;

#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    /// Stream offset of its first byte.
    pub(super) offset: u64,
    pub(super) segments: u32,
    pub(super) first_frame: u64,
    pub(super) start_ns: i64,
    pub(super) end_ns: i64,
    pub(super) bytes: u64,
    /// Payload of its first and of its last segment.
    pub(super) first_bytes: u32,
    pub(super) last_bytes: u32,
    pub(super) ends_full: bool,
    /// By how much it missed when an ACK would have let it go.
    pub(super) off_ack_ns: u64,
    /// What of the data before it ACKs had not acknowledged then.
    pub(super) behind_bytes: u64,
    /// Most that was not acknowledged.
    pub(super) outstanding_bytes: u64,
    /// Segments in its first round trip: more are clocked by ACKs, and no window.
    pub(super) window_segments: u32,
    /// Something was sent again meanwhile: it shows a window that is no more.
    pub(super) saw_loss: bool,
}

impl Flight {
    pub(super) fn opened_by(data: FlightData, off_ack_ns: u64, behind_bytes: u64) -> Self {
        Flight {
            offset: data.offset,
            segments: data.segments,
            first_frame: data.frame,
            start_ns: data.time_ns,
            end_ns: data.time_ns,
            bytes: u64::from(data.bytes),
            first_bytes: data.first_bytes(),
            last_bytes: data.last_bytes(),
            ends_full: data.ends_full(),
            off_ack_ns,
            behind_bytes,
            outstanding_bytes: data.outstanding_bytes,
            window_segments: data.rtt_ns.map_or(0, |_| data.segments),
            saw_loss: false,
        }
    }

    pub(super) fn add(&mut self, data: FlightData) {
        self.segments = self.segments.saturating_add(data.segments);
        self.bytes = self.bytes.saturating_add(u64::from(data.bytes));
        self.last_bytes = data.last_bytes();
        self.ends_full = data.ends_full();
        self.end_ns = data.time_ns;
        self.outstanding_bytes = self.outstanding_bytes.max(data.outstanding_bytes);
        let age = data.time_ns.saturating_sub(self.start_ns);
        if data.rtt_ns.is_some_and(|rtt| age <= rtt) {
            self.window_segments = self.window_segments.saturating_add(data.segments);
        }
    }
}

/// Whether flights followed each other without growing. The last one is what was left to send.
pub(super) fn are_steady(flights: &[Flight]) -> bool {
    let whole = flights.split_last().map_or(flights, |(_, whole)| whole);
    let mut rounds = 0_usize;
    for (before, after) in whole.iter().zip(whole.iter().skip(1)) {
        let grown = before.segments.saturating_mul(GROWTH_NUMERATOR) / GROWTH_DENOMINATOR;
        rounds = if after.segments <= grown {
            rounds.saturating_add(1)
        } else {
            0
        };
        if rounds >= STEADY_ROUNDS_MIN {
            return true;
        }
    }
    false
}

/// Whether a wait between two segments is one for ACKs. Where the round trip is unknown or too
/// short to see, only an idle period ends a flight.
pub(super) fn ends_flight(gap: i64, rtt_ns: Option<i64>) -> bool {
    match rtt_ns {
        Some(rtt) if rtt >= RTT_MIN_NS => {
            gap > rtt.saturating_mul(FLIGHT_GAP_NUMERATOR) / FLIGHT_GAP_DENOMINATOR
        }
        _ => gap >= TIMEOUT_MIN_NS,
    }
}
