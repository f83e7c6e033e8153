//! What ACKs of other connections have told to be lost.

use tcptrace_tcp::DUPLICATE_ACKS;

use super::super::ack::Ack;
use super::super::departures::Left;
use super::super::host_pair::HostPair;
use super::super::missing_packets::Missing;

impl HostPair {
    /// What was missed is sent again when so many ACKs of data that was sent later have come: in an ensemble those of
    /// other connections are as good as duplicate ones (E-TCP, section 3). When a timer runs out all that has left is
    /// taken for lost, of which no ACK tells any more (RFC 6582, section 3.2).
    pub(in crate::shared_windows) fn told_by(
        &self,
        left: Left,
        since_ns: i64,
        client_port: u16,
    ) -> Option<(usize, Option<Ack>)> {
        let from_ns = self.acks_when(left).next()?.time_ns;
        let to_ns = self.acks_when(left).next_back()?.time_ns;
        let since_ns = since_ns.max(self.threshold.cleared_ns());
        // An ACK of something new of its own begins the count anew (RFC 5681, section 3.2).
        let is_own = |ack: &&Ack| ack.is_new && ack.client_port == client_port;
        let mut until = self.acks.iter().rev().filter(|ack| ack.time_ns <= to_ns);
        let own_ns = until.find(is_own).map_or(i64::MIN, |ack| ack.time_ns);
        let told = |missing: &Missing| {
            let counted_ns = missing.noticed_ns.max(own_ns.saturating_add(1));
            let at = self.acks.partition_point(|ack| ack.time_ns < counted_ns);
            let of_later =
                |ack: &&Ack| ack.is_new && ack.is_of_data && ack.of_ns >= missing.noticed_ns;
            let mut signs = self.acks.range(at..).filter(of_later);
            let third = signs.nth(DUPLICATE_ACKS.saturating_sub(1) as usize);
            third.is_some_and(|ack| (from_ns..=to_ns).contains(&ack.time_ns))
        };
        let mut left_over = self.missing.left_over(since_ns);
        let (place, missing) =
            left_over.find(|(_, missing)| !missing.is_claimed && told(missing))?;
        Some((place, self.likely_before(missing).copied()))
    }
}
