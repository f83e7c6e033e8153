//! Up to when data that left found room in the window that connections share, and since when this had it.

use super::ack::Ack;
use super::host_pair::HostPair;
use crate::jitter::CLOSE_NS;

/// ACKs so close to each other come together.
const TOGETHER_NS: i64 = 1_000_000;

impl HostPair {
    /// When the ACK went by since which the window had room for the newest data, if that was not the one that let it go.
    pub(super) fn had_room_ns(&self) -> Option<i64> {
        let least = self.room.had_room_at?;
        let first = self.acks.partition_point(|ack| ack.acked < least);
        self.acks.get(first).map(|ack| ack.time_ns)
    }

    /// Data of the server comes by, of which so much is new and counted already; it found the slowest link idle,
    /// or left behind other data: up to when data of any connection that left found room.
    pub(super) fn room_until_ns(
        &mut self,
        time_ns: i64,
        (bytes, newly): (u32, i64),
        was_idle: bool,
    ) -> Option<i64> {
        self.room.had_room_at = None;
        if newly <= 0 {
            return self.room.until_ns;
        }
        let left_ns = self.left_ns(time_ns, bytes)?;
        let ack = self.ack_before(time_ns, bytes);
        let come = |until_ns: i64| {
            let after = self.acks.partition_point(|ack| ack.time_ns <= until_ns);
            let newest = after.checked_sub(1).and_then(|at| self.acks.get(at));
            newest.map(|ack: &Ack| ack.acked)
        };
        // Of ACKs that come together any may have let it go: no more was in flight than behind the last.
        let acked = come(left_ns.saturating_add(CLOSE_NS))?;
        // What was lost and never seen is in flight as well.
        if !was_idle || self.may_miss_packets() {
            self.room.goes_on(acked);
            return self.room.until_ns;
        }
        let before_ns = ack.map_or(left_ns, |ack| ack.time_ns.saturating_sub(TOGETHER_NS));
        // Older ACKs are forgotten: nothing tells what was in flight.
        let before = come(before_ns)?;
        let full = i64::from(self.pace.largest_bytes);
        self.room.leaves(time_ns, (before, acked), newly, full);
        self.room.until_ns
    }
}
