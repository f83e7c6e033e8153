//! A response of which the beginning was lost, and sent again when duplicate ACKs told of that, or by a timer.
//!
//! Theory of operation. It waits for its repair from when the server had written it, however soon more of it came. The third
//! duplicate ACK lets the copy go (RFC 5681, section 3.2) behind all that its sender had in flight, which the slowest link
//! still carries: since then it stands in a queue. What a timer sends again finds that link idle, and takes its time there.

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
        let pace_ns = self.responses.alone_on_link_ns(copied.bytes);
        let begun_ns = came.time_ns.saturating_sub(pace_ns);
        let begun_ns = begun_ns.saturating_sub(question_ns);
        let asked_ns = copied.asked_ns.map(|ns| ns.saturating_add(way_ns));
        let asked_ns = asked_ns.map(|ns| ns.saturating_sub(question_ns));
        let repaired_ns = asked_ns.map_or(begun_ns, |ns| ns.min(begun_ns));
        let pieces = [
            (repaired_ns, copied.cause),
            (begun_ns, Cause::NetworkQueueing),
            (came.time_ns, Cause::SendLimitedBottleneck),
        ];
        for (time_ns, cause) in pieces {
            let until = came.earlier(Moment { time_ns, ..came });
            partition.until(until, cause, INFERRED);
        }
    }
}
