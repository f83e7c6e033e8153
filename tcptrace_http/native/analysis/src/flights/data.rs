//! A new data segment, as the flights see it.

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
    /// From the observation point to the server and back.
    pub server_rtt_ns: Option<i64>,
    /// How long the slowest link before the observation point takes for it, as far as that is known.
    pub takes_ns: i64,
    /// ... and how much longer than for a packet without payload, which the path's least round trip has.
    pub longer_ns: i64,
    /// Payload up to it that is not acknowledged.
    pub outstanding_bytes: u64,
    /// Its sender's connections to this client share their window, as far as that is known.
    pub shares_window: bool,
}

impl FlightData {
    /// Whether the last segment of it, before offload merged them, is a full one.
    pub(super) fn ends_full(&self) -> bool {
        self.bytes.checked_rem(self.segment_bytes) == Some(0)
    }

    /// Payload of the first segment of it.
    pub(super) fn first_bytes(&self) -> u32 {
        self.bytes.min(self.segment_bytes.max(1))
    }

    /// ... and of the last one.
    pub(super) fn last_bytes(&self) -> u32 {
        match self.bytes.checked_rem(self.segment_bytes) {
            Some(0) | None => self.first_bytes(),
            Some(rest) => rest,
        }
    }
}
