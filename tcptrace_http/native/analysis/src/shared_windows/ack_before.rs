//! Which ACK came to the server when it sent something, if that had nothing before it on the slowest link.

use super::ack::Ack;
use super::host_pair::HostPair;
use crate::jitter::CLOSE_NS;

/// A frame has so many bytes more than the headers of IP and TCP: those of Ethernet (IEEE 802.3, 3.2) are 18.
const FRAME_BYTES: u32 = 18;

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
        let until_ns = target_ns.saturating_add(CLOSE_NS.max(self.headers_ns()));
        let close = self.acks.range(from..);
        let close = close.take_while(|ack| ack.time_ns <= until_ns);
        let news = close.filter(|ack| ack.is_new);
        news.min_by_key(|ack| off_ns(ack)).copied()
    }

    /// What is longer than the SYNs that measured the way seems to have left earlier by so much, at most: for frames, which
    /// are not counted, and for the options that only those have.
    fn headers_ns(&self) -> i64 {
        let with_ns = self
            .pace
            .of(FRAME_BYTES.saturating_add(self.headers.syn_longer_bytes()));
        let headers_ns = with_ns
            .zip(self.pace.of(0))
            .map(|(with_ns, without_ns)| with_ns.saturating_sub(without_ns));
        headers_ns.unwrap_or(0)
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

    #[test]
    fn on_a_slow_link_data_comes_as_much_sooner_behind_its_ack_as_frames_take_there() {
        let mut pair = HostPair::with_path(100 * MS);
        let mut pace = Pace::default();
        pace.follows(17_687_500, 512);
        pair.pace = pace;
        pair.acks.push_back(Ack::of_data(1000 * MS, 1, 0));
        // Of 17.7 ms 16.4 are its payload's, if nothing but the headers of IP and TCP is left.
        let left_with = |time_ns| pair.ack_before(time_ns, 512).map(|ack| ack.client_port);
        assert_eq!(left_with(1_115_900_000), Some(1));
        assert_eq!(left_with(1_115_700_000), None);
    }
}
