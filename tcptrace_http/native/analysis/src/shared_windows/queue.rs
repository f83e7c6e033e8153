//! The queue before the slowest link, which all connections of two hosts feed.

use super::host_pair::HostPair;
use super::release::Ack;

/// Scheduling on a host, and a packet of somebody else, make a shorter pause.
const IDLE_MIN_NS: i64 = 500_000;
/// Data follows the ACK that lets it go by the path, what it takes itself and no more than this, if the link was idle.
const CLOSE_NS: i64 = 500_000;

/// When the link was busy, as the packets show that come from it: it sends whatever waits without a pause, in the
/// order in which it came (a work-conserving queue).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Queue {
    /// When the newest packet had come.
    came_ns: Option<i64>,
}

impl Queue {
    /// A packet came that takes so long on the link: how long the link had had nothing to send before it.
    pub(super) fn idle_before(&mut self, time_ns: i64, takes_ns: Option<i64>) -> Option<i64> {
        let before_ns = self.came_ns.replace(time_ns)?;
        let gap_ns = time_ns.saturating_sub(before_ns);
        takes_ns.map(|takes_ns| gap_ns.saturating_sub(takes_ns).max(0))
    }
}

impl HostPair {
    /// The client's port of the connection whose ACK let data of so many bytes go, if that had nothing before it on
    /// the slowest link, and left when an ACK came.
    pub(super) fn let_go_by(&mut self, time_ns: i64, bytes: u32) -> Option<u16> {
        let takes_ns = self.pace.of(bytes);
        let idle_ns = self.queue.idle_before(time_ns, takes_ns).unwrap_or(0);
        if idle_ns <= takes_ns.unwrap_or(0).max(IDLE_MIN_NS) {
            return None;
        }
        self.ack_before(time_ns, bytes).map(|ack| ack.client_port)
    }

    /// The ACK that came to the server when data of so many bytes left, if that had nothing before it on the slowest
    /// link: the nearest one that acknowledged something new.
    pub(super) fn ack_before(&self, time_ns: i64, bytes: u32) -> Option<Ack> {
        // The path's least round trip has the headers.
        let longer_ns = self.pace.of(bytes)?.saturating_sub(self.pace.of(0)?);
        let target_ns = time_ns
            .saturating_sub(self.to_server_ns?)
            .saturating_sub(longer_ns);
        let off_ns = |ack: &Ack| ack.time_ns.saturating_sub(target_ns).saturating_abs();
        let from = target_ns.saturating_sub(CLOSE_NS);
        let from = self.acks.partition_point(|ack| ack.time_ns < from);
        let close = self
            .acks
            .range(from..)
            .take_while(|ack| ack.time_ns <= target_ns.saturating_add(CLOSE_NS));
        close
            .filter(|ack| ack.is_new)
            .min_by_key(|ack| off_ns(ack))
            .copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_link_is_idle_between_packets_that_come_further_apart_than_the_later_one_takes() {
        let mut queue = Queue::default();
        assert_eq!(queue.idle_before(10, Some(4)), None);
        assert_eq!(queue.idle_before(14, Some(4)), Some(0));
        assert_eq!(queue.idle_before(24, Some(4)), Some(6));
        assert_eq!(queue.idle_before(28, None), None);
        assert_eq!(queue.idle_before(30, Some(4)), Some(0));
    }
}
