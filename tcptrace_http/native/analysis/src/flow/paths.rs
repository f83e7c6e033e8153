//! Path of a connection: its own round trips, and those of all connections between its hosts.

use tcptrace_tcp::Side;

use super::Flow;
use crate::pair_view::PairView;

impl Flow {
    /// Return the path facts of all connections between the hosts.
    #[must_use]
    pub(super) fn pair(&self) -> &PairView {
        self.record
            .as_deref()
            .map_or(&PairView::NONE, |it| &it.pair)
    }

    /// Return the smallest round trip to one side of all connections between the hosts.
    ///
    /// The connection's own round trip may include waits for data, delayed ACKs or queues.
    pub(super) fn least_way_ns(&self, to: Side) -> Option<i64> {
        let [first_ns, second_ns] = self.pair().round_trips.map(|it| it.map(|it| it.time_ns));
        let of_pair_ns = match to {
            Side::First => first_ns,
            Side::Second => second_ns,
        };
        let own_ns = self.half(to.other()).rtt.path_ns;
        own_ns.into_iter().chain(of_pair_ns).min()
    }

    /// Return the round trip of the whole path: both parts as seen from the capture point.
    #[must_use]
    pub fn path_rtt_ns(&self) -> Option<i64> {
        let to_server_ns = self.client_half().rtt.path_ns?;
        Some(to_server_ns.saturating_add(self.server_half().rtt.path_ns.unwrap_or(0)))
    }

    /// Return the bottleneck's serialization time of a side's packet, estimated from arrivals.
    pub(super) fn service_ns(&self, of: Side, packet_bytes: u32) -> i64 {
        let [first, second] = self.pair().links;
        let link = match of {
            Side::First => first,
            Side::Second => second,
        };
        link.time_ns(packet_bytes)
    }
}
