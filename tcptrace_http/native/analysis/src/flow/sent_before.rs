//! Data that comes for the first time, and was sent before.

use super::Flow;
use crate::recoveries::RecoveryKind;
use trace_model::{flags, Segment};

impl Flow {
    /// Whether data of the server that comes for the first time was sent before: an ACK had told of it, or its sender
    /// went back to it. It waits for its repair then, however late the ACK of what was sent again before it comes.
    pub(super) fn was_sent_before(&self, start: i64, recovery: Option<RecoveryKind>) -> bool {
        let was_told_of = recovery.is_some() && start < self.server_half().told_next;
        was_told_of || self.sharing().is_gone_back_to()
    }
}

/// Whether the number of a segment tells that nothing has left that did not come by: a segment without data has that of what its
/// sender will send next (RFC 9293, section 3.10.7.4). What is missing before it were ACKs.
pub(super) fn sends_nothing_before(segment: &Segment<'_>, start: i64, next: i64) -> bool {
    let is_control = segment.flags & (flags::SYN | flags::FIN | flags::RST) != 0;
    segment.payload_bytes == 0 && segment.has(flags::ACK) && !is_control && start == next
}
