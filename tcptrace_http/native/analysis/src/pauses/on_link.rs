//! What the segments around a pause took on the slowest link, be that before the observation point or behind it.

use super::pause::{Pause, PeerAck};

/// So many segments may be lost of a flight of which the rest shows that they had their time on the link.
const LOST_MAX: i64 = 3;

impl Pause {
    /// How long it may have stood behind what was lost right before it, which may have taken its time on the link.
    pub(super) fn lost_ns(&self, takes_ns: i64) -> i64 {
        let missing = self.data.start.saturating_sub(self.previous.end);
        let most = i64::from(self.path.segment_bytes).saturating_mul(LOST_MAX);
        let missing = i64::try_from(missing).unwrap_or(i64::MAX).min(most);
        takes_ns
            .saturating_mul(missing)
            .checked_div(i64::from(self.data.bytes))
            .unwrap_or(0)
    }

    /// What the segment before took on the link to its receiver, and what the ACK brought took on the way back, where
    /// it may have stood in a queue.
    pub(super) fn there_ns(&self, ack: &PeerAck) -> i64 {
        let bytes = i64::from(self.previous.bytes).saturating_add(i64::from(ack.bytes));
        let full = i64::from(self.path.segment_bytes);
        let takes_ns = self.path.there_ns.saturating_mul(bytes);
        let took_ns = takes_ns.checked_div(full).unwrap_or(0);
        took_ns.saturating_add(ack.stood_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::super::pause::tests::{acknowledged, pause_between};
    use super::super::test_path::{path, segment};
    use crate::pauses::Path;

    const MS: i64 = 1_000_000;
    const START: u64 = (1 << 32) - 500;

    #[test]
    fn what_a_full_segment_and_its_ack_took_on_the_link_is_no_delay_of_the_ack() {
        let near = Path {
            there_ns: 8 * MS,
            ..path(1000, 0, 0)
        };
        let (first, second) = (segment(0, START, 1000), segment(60 * MS, START + 1000, 400));
        let pause = pause_between(first, second, near);
        let mut ack = acknowledged(60 * MS, 0).ack;
        assert_eq!(pause.there_ns(&ack), 8 * MS);
        ack.bytes = 500;
        assert_eq!(pause.there_ns(&ack), 12 * MS);
        ack.stood_ns = 30 * MS;
        assert_eq!(pause.there_ns(&ack), 42 * MS);
    }
}
