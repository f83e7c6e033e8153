//! A connection's first answer that was lost before it was seen.
//!
//! Who works on an answer for longer than an ACK may be delayed acknowledges the question first (RFC 1122, section
//! 4.2.3.2). So the ACK was lost that no packet brought, and with it the answer. Its timer sent it again, and left a
//! window of a segment and a threshold of two (RFC 5681, section 3.1). Later answers may stand in queues of their own
//! connection, which are as long.

use tcptrace_tcp::DELAYED_ACK_MAX_NS;
use trace_model::rows::RecoveryKind;

use super::timeline::Data;
use super::{Path, Waits};

impl Waits {
    /// `data` of the server, which a timer has sent again if it is an answer that was lost so.
    pub(super) fn if_lost_before(&self, data: Data, path: Path) -> Data {
        let route = path.of_responses();
        let asked_ns = self.question.map(|it| it.time_ns);
        let is_first = !route.is_at_sender && self.responses.has_sent_none();
        let Some(asked_ns) = asked_ns.filter(|_| is_first) else {
            return data;
        };
        let stood_ns = self.responses.takes_ns(data.bytes);
        let stood_ns = stood_ns.saturating_add(data.sharing.queued_ns);
        let late_ns = route.to_sender_ns.saturating_add(stood_ns);
        let left_ns = data.at.time_ns.saturating_sub(late_ns);
        let is_late = left_ns.saturating_sub(asked_ns) >= DELAYED_ACK_MAX_NS;
        let was_heard = self.server_acks.tell_of_data(asked_ns, data.at.time_ns);
        // Else it was the question that was lost, and the copy of that was answered at once.
        let is_asked_again = self.asked_again_ns.is_some_and(|ns| ns <= left_ns);
        let is_lost = is_late && !was_heard && !is_asked_again;
        Data {
            recovery: data.recovery.or(is_lost.then_some(RecoveryKind::TailLoss)),
            ..data
        }
    }

    /// The server acknowledges at `time_ns` once more what its newest data did: it has got the question twice. If both
    /// left together, the copy came as its own timer sent the answer again, which had been lost.
    pub fn server_repeats_ack(&mut self, time_ns: i64, path: Path) {
        let Some(again_ns) = self.asked_again_ns else {
            return;
        };
        let came_ns = again_ns.saturating_add(path.of_responses().to_sender_ns);
        self.responses.was_asked_before(came_ns..=time_ns);
    }
}
