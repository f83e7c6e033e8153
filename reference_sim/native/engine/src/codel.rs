//! Controlled delay: a queue that drops or marks packets while they wait too long (RFC 8289, section 5).

use std::collections::VecDeque;

use crate::scenario::CodelLimits;
use crate::stack::Nanoseconds;

/// Target delay (RFC 8289, section 4.3). A shorter wait is no standing queue.
const TARGET: Nanoseconds = 5_000_000;
/// Tolerated duration of a standing queue (RFC 8289, section 4.4).
const INTERVAL: Nanoseconds = 100_000_000;
/// Maximum pause in dropping, in intervals, after which dropping resumes near its last rate.
const MEMORY_INTERVALS: u64 = 16;

/// A packet that waits for the transmitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Index of the packet among the packets in flight.
    pub packet: u32,
    pub bytes: u32,
    pub enqueued: Nanoseconds,
    /// Row in the truth, if hops are recorded.
    pub hop: Option<usize>,
    /// True if the packet's transport supports marks (RFC 3168, section 5).
    pub is_capable: bool,
}

#[derive(Clone, Debug)]
pub struct Codel {
    limits: CodelLimits,
    waiting: VecDeque<Waiting>,
    bytes: u64,
    /// Length of the largest packet so far. Fewer waiting bytes are no queue.
    largest: u32,
    /// Time at which packets will have waited too long for one interval.
    first_above: Option<Nanoseconds>,
    is_dropping: bool,
    drop_next: Nanoseconds,
    count: u64,
    last_count: u64,
}

impl Codel {
    #[must_use]
    pub fn new(limits: CodelLimits) -> Self {
        Codel {
            limits,
            waiting: VecDeque::new(),
            bytes: 0,
            largest: 0,
            first_above: None,
            is_dropping: false,
            drop_next: 0,
            count: 0,
            last_count: 0,
        }
    }

    /// Return the number of waiting packets and their bytes.
    #[must_use]
    pub fn length(&self) -> (u32, u64) {
        (self.waiting.len() as u32, self.bytes)
    }

    /// Accept a packet, unless the queue is full. Return true if it was accepted.
    pub fn offer(&mut self, waiting: Waiting) -> bool {
        if self.waiting.len() >= self.limits.packets as usize {
            return false;
        }
        self.largest = self.largest.max(waiting.bytes);
        self.bytes += u64::from(waiting.bytes);
        self.waiting.push_back(waiting);
        true
    }

    /// Return the next packet for the free transmitter, with a flag for a mark. Packets dropped before it go
    /// to `dropped`.
    pub fn take(
        &mut self,
        now: Nanoseconds,
        dropped: &mut Vec<Waiting>,
    ) -> Option<(Waiting, bool)> {
        let (mut waiting, mut may_drop) = self.pop(now)?;
        if !self.is_dropping && may_drop {
            self.begin(now);
            if self.marks(waiting) {
                return Some((waiting, true));
            }
            dropped.push(waiting);
            return self.pop(now).map(|(next, _)| (next, false));
        }
        self.is_dropping &= may_drop;
        while self.is_dropping && now >= self.drop_next {
            self.count += 1;
            self.drop_next = control_law(self.drop_next, self.count);
            if self.marks(waiting) {
                return Some((waiting, true));
            }
            dropped.push(waiting);
            (waiting, may_drop) = self.pop(now)?;
            self.is_dropping = may_drop;
        }
        Some((waiting, false))
    }

    fn marks(&self, waiting: Waiting) -> bool {
        self.limits.marks && waiting.is_capable
    }

    /// Begin dropping, at the last rate if the last drop period was recent.
    fn begin(&mut self, now: Nanoseconds) {
        let delta = self.count - self.last_count;
        let is_recent = now.saturating_sub(self.drop_next) < MEMORY_INTERVALS * INTERVAL;
        self.count = if delta > 1 && is_recent { delta } else { 1 };
        self.last_count = self.count;
        self.drop_next = control_law(now, self.count);
        self.is_dropping = true;
    }

    /// Remove the first packet. Return it with a flag: true if packets have waited too long for one interval.
    fn pop(&mut self, now: Nanoseconds) -> Option<(Waiting, bool)> {
        let Some(waiting) = self.waiting.pop_front() else {
            self.first_above = None;
            self.is_dropping = false;
            return None;
        };
        self.bytes -= u64::from(waiting.bytes);
        let waited = now - waiting.enqueued;
        if waited < TARGET || self.bytes <= u64::from(self.largest) {
            self.first_above = None;
            return Some((waiting, false));
        }
        let since = *self.first_above.get_or_insert(now + INTERVAL);
        Some((waiting, now >= since))
    }
}

/// Return the time of the next drop. The interval shrinks with the square root of the drop count, so
/// throughput falls linearly.
fn control_law(time: Nanoseconds, count: u64) -> Nanoseconds {
    time + (INTERVAL as f64 / libm::sqrt(count as f64)) as Nanoseconds
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanoseconds = 1_000_000;

    /// Return the times in ms at which a packet is dropped or marked. Packets of 1000 bytes arrive every
    /// millisecond and are taken 20 ms late.
    fn hits(marks: bool, packets: u32) -> Vec<Nanoseconds> {
        let limits = CodelLimits {
            packets: 1000,
            marks,
        };
        let mut codel = Codel::new(limits);
        let mut hits = Vec::new();
        let mut dropped = Vec::new();
        for number in 0..packets {
            let now = u64::from(number) * MS;
            codel.offer(Waiting {
                packet: number,
                bytes: 1000,
                enqueued: now,
                hop: None,
                is_capable: true,
            });
            if number < 20 {
                continue;
            }
            let taken = codel.take(now, &mut dropped);
            let marked = taken.is_some_and(|(_, is_marked)| is_marked);
            hits.extend((marked || !dropped.is_empty()).then_some(now / MS));
            dropped.clear();
        }
        hits
    }

    /// RFC 8289, section 5.4: after 100 ms, then 100, 71, 58, 50 and 45 ms later.
    #[test]
    fn marks_come_sooner_with_the_square_root_of_their_number() {
        assert_eq!(hits(true, 500), [120, 220, 291, 349, 399, 444, 484]);
    }

    #[test]
    fn a_queue_that_drops_grows_no_shorter_than_one_packet() {
        let mut codel = Codel::new(CodelLimits {
            packets: 10,
            marks: false,
        });
        let waiting = |packet| Waiting {
            packet,
            bytes: 1000,
            enqueued: 0,
            hop: None,
            is_capable: false,
        };
        let mut dropped = Vec::new();
        for packet in 0..3 {
            codel.offer(waiting(packet));
        }
        // With one packet after it, the first packet is no queue, whatever its wait.
        assert!(codel.take(0, &mut dropped).is_some());
        assert!(codel.take(500 * MS, &mut dropped).is_some());
        assert!(codel.take(900 * MS, &mut dropped).is_some());
        assert!(codel.take(901 * MS, &mut dropped).is_none());
        assert_eq!(dropped, []);
    }

    #[test]
    fn what_waits_for_less_than_the_target_is_left_alone() {
        assert!(hits(true, 100).is_empty());
    }

    #[test]
    fn what_knows_no_marks_is_dropped() {
        assert_eq!(hits(false, 300).first(), Some(&120));
    }

    #[test]
    fn a_full_queue_takes_no_more() {
        let limits = CodelLimits {
            packets: 1,
            marks: true,
        };
        let mut codel = Codel::new(limits);
        let waiting = Waiting {
            packet: 0,
            bytes: 1,
            enqueued: 0,
            hop: None,
            is_capable: true,
        };
        assert!(codel.offer(waiting));
        assert!(!codel.offer(waiting));
    }
}
