//! A response of which the beginning was lost, and sent again when duplicate ACKs told of that.
//!
//! Theory of operation. The third duplicate ACK lets the copy go (RFC 5681, section 3.2): behind all that its sender had in
//! flight, which the slowest link still carries. Until that ACK came the response waited for its repair, and since then
//! in a queue.

use trace_model::rows::Cause;

use super::partition::{Moment, Partition, INFERRED};
use super::timeline::Route;
use super::Waits;

impl Waits {
    /// From when the server had written a response until it came, near the client, if a copy brought its beginning; its
    /// request took so long on the slowest link.
    pub(super) fn give_copied(
        &self,
        came: Moment,
        question_ns: i64,
        route: Route,
        partition: &mut Partition,
    ) {
        let copied = self.responses.opening_copied(came.time_ns);
        let Some(copied) = copied.filter(|_| !route.is_at_sender) else {
            return;
        };
        let way_ns = self.responses.bare_way_ns(route);
        let repaired_ns = copied.asked_ns.saturating_add(way_ns);
        let repaired_ns = repaired_ns.saturating_sub(question_ns);
        let pace_ns = self.responses.alone_on_link_ns(copied.bytes);
        let begun_ns = came.time_ns.saturating_sub(pace_ns);
        let begun_ns = begun_ns.saturating_sub(question_ns);
        let pieces = [
            (repaired_ns.min(begun_ns), Cause::StallFastRecovery),
            (begun_ns, Cause::NetworkQueueing),
            (came.time_ns, Cause::SendLimitedBottleneck),
        ];
        for (time_ns, cause) in pieces {
            let until = came.earlier(Moment { time_ns, ..came });
            partition.until(until, cause, INFERRED);
        }
    }
}
