//! Since when the window of all connections is another one, which a pacer has begun anew.

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BegunAnew {
    /// SYNs until then were looked at.
    pub(super) looked_ns: i64,
    /// When the data before the first came that is paced, and when that did, if no ACK has let more go yet.
    pub(super) paced: Option<(i64, i64)>,
    /// From when the ACKs are counted that take the window to its threshold.
    pub(super) counted_ns: Option<i64>,
}

impl BegunAnew {
    /// Something was lost, or the window is paced again: it is another one.
    pub(super) fn is_another(&mut self) {
        (self.paced, self.counted_ns) = (None, None);
    }

    /// Whether the ACKs that have opened the window by that time are counted from the one that began it.
    pub(super) fn is_counted(&self, time_ns: i64) -> bool {
        self.counted_ns.is_some_and(|ns| ns <= time_ns)
    }
}
