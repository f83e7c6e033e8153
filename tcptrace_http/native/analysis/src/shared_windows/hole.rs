//! What is missing of a connection, as what comes behind it shows.

use tcptrace_tcp::FULL_SEGMENT_BYTES;

use super::host_pair::HostPair;
use super::missing_packets::Missing;

impl HostPair {
    /// So many bytes are missing of a connection, which were sent since `since_ns`: the first packet of those.
    pub(super) fn shows_hole(
        &mut self,
        bytes: u32,
        since_ns: i64,
        until_ns: i64,
    ) -> Option<Missing> {
        let full_bytes = match self.pace.largest_bytes {
            0 => FULL_SEGMENT_BYTES,
            largest => largest,
        };
        let lost = bytes.div_ceil(full_bytes);
        self.missing.account_for_hole(lost, since_ns, until_ns)
    }

    /// When a missing packet would have come: as the ACK has it that let it go, else as late as it can have.
    pub(super) fn would_come_ns(&self, missing: &Missing) -> i64 {
        let let_go = self.likely_before(missing);
        let come_ns = let_go.map(|ack| ack.time_ns.saturating_add(self.full_way_ns()));
        let latest_ns = missing.noticed_ns;
        come_ns.map_or(latest_ns, |ns| ns.clamp(missing.after_ns, latest_ns))
    }
}
