//! How late a packet is, as its sender's clock has it, and how long it stood in a queue for that.

/// How much later a packet comes than one that stands in no queue and left when the clock of its sender has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Late {
    /// By others of its connection.
    pub(super) least_ns: i64,
    /// ... and by how late the answer to the SYN was, which need not have been the queue's doing.
    pub(super) most_ns: i64,
}

impl Late {
    /// How long the packet stood in the queue of a link that takes so much longer for it than for its headers, and that has
    /// worked for `busy_ns` without a pause.
    pub(super) fn stood_ns(self, longer_ns: i64, busy_ns: i64) -> i64 {
        let behind_ns = |late_ns: i64| late_ns.saturating_sub(longer_ns).max(0);
        behind_ns(self.most_ns)
            .min(busy_ns)
            .max(behind_ns(self.least_ns))
    }
}
