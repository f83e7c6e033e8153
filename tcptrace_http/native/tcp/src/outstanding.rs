//! Sent segments that the peer has not acknowledged.

/// Sent data, SYN or FIN that the peer has not acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct OutstandingSegment {
    pub end: i64,
    pub frame: u64,
    pub time_ns: i64,
    /// True for data that was or may have been sent twice: it gives no RTT sample (Karn's algorithm).
    pub is_ambiguous: bool,
    /// Row of the segments table, if the table is kept.
    pub row: Option<usize>,
}
