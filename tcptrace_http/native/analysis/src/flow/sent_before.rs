//! Data that comes for the first time, and was sent before.

use super::Flow;
use crate::recoveries::RecoveryKind;

impl Flow {
    /// Whether data of the server that comes for the first time was sent before: an ACK had told of it, or its sender
    /// went back to it. It waits for its repair then, however late the ACK of what was sent again before it comes.
    pub(super) fn was_sent_before(&self, start: i64, recovery: Option<RecoveryKind>) -> bool {
        let was_told_of = recovery.is_some() && start < self.server_half().told_next;
        was_told_of || self.sharing().is_gone_back_to()
    }
}
