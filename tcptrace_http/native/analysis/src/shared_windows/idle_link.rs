//! What let data go that came when the slowest link had nothing to send.

use super::host_pair::HostPair;
use super::pace::OnLink;
use super::queue::LetGo;
use crate::jitter::CLOSE_NS;

impl HostPair {
    /// What let data of a connection go, whose data before came at `sent_ns`, if the link was idle between them.
    pub(super) fn leaves_queue(
        &mut self,
        time_ns: i64,
        bytes: u32,
        (sent_ns, was_idle): (i64, bool),
    ) -> LetGo {
        if was_idle {
            let is_by_ack = self.had_ack(time_ns, bytes);
            self.queue.resumes(time_ns, is_by_ack, self.round_trip_ns());
        }
        if sent_ns < self.queue.busy_since_ns {
            self.queue.let_go
        } else {
            LetGo::None
        }
    }

    /// Whether an ACK came when data must have left that did not wait for the link.
    fn had_ack(&self, time_ns: i64, bytes: u32) -> bool {
        let Some(to_server_ns) = self.to_server_ns else {
            return false;
        };
        let longer_ns = self.pace.on_link(bytes).map_or(0, OnLink::longer_ns);
        let target_ns = time_ns
            .saturating_sub(to_server_ns)
            .saturating_sub(longer_ns);
        let newest_ns = target_ns.saturating_add(CLOSE_NS);
        let after = self.acks.partition_point(|ack| ack.time_ns <= newest_ns);
        let nearest = after.checked_sub(1).and_then(|at| self.acks.get(at));
        nearest.is_some_and(|ack| target_ns.saturating_sub(ack.time_ns) <= CLOSE_NS)
    }
}
