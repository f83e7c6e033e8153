//! Which ACK came to the server when it sent something, if that had nothing before it on the slowest link.

use super::ack::Ack;
use super::host_pair::HostPair;
use crate::jitter::CLOSE_NS;

impl HostPair {
    /// When an ACK went by that came to the server as data of so many bytes left.
    pub(super) fn left_ns(&self, time_ns: i64, bytes: u32) -> Option<i64> {
        let longer_ns = self.pace.on_link(bytes)?.longer_ns();
        let left_ns = time_ns.saturating_sub(self.to_server_ns?);
        Some(left_ns.saturating_sub(longer_ns))
    }

    /// The nearest ACK of all connections that acknowledged something new and came when data of so many bytes left.
    pub(super) fn ack_before(&self, time_ns: i64, bytes: u32) -> Option<Ack> {
        let target_ns = self.left_ns(time_ns, bytes)?;
        let off_ns = |ack: &Ack| ack.time_ns.saturating_sub(target_ns).saturating_abs();
        let from_ns = target_ns.saturating_sub(CLOSE_NS);
        let from = self.acks.partition_point(|ack| ack.time_ns < from_ns);
        let close = self.acks.range(from..);
        let close = close.take_while(|ack| ack.time_ns <= target_ns.saturating_add(CLOSE_NS));
        let news = close.filter(|ack| ack.is_new);
        news.min_by_key(|ack| off_ns(ack)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::super::pace::Pace;
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn of_two_acks_data_left_with_the_one_that_is_a_path_and_its_own_time_away() {
        let mut pair = HostPair::with_path(100 * MS);
        let mut pace = Pace::default();
        pace.follows(1_200_000, 1460);
        pair.pace = pace;
        for (time_ns, client_port, is_new) in [
            (1_000_000_000, 1, true),
            (1_002_400_000, 2, true),
            (1_002_400_000, 3, false),
        ] {
            pair.acks.push_back(Ack {
                is_new,
                is_of_data: is_new,
                ..Ack::of_data(time_ns, client_port, 0)
            });
        }
        let left_with = |time_ns| pair.ack_before(time_ns, 1460).map(|ack| ack.client_port);
        assert_eq!(left_with(1_101_200_000), Some(1));
        assert_eq!(left_with(1_103_570_000), Some(2));
        assert_eq!(left_with(1_102_400_000), None);
    }
}
