//! What a direction has sent and its peer has not acknowledged.

/// Sent data (or a SYN or FIN) that the peer has not acknowledged yet.
#[derive(Clone, Copy, Debug)]
pub struct Outstanding {
    pub end: i64,
    pub frame: u64,
    pub time_ns: i64,
    /// Karn's rule: no round trip is measured on what was, or may have been, sent twice.
    pub is_ambiguous: bool,
    /// Row of the segments table, if one is kept.
    pub row: Option<usize>,
}
