//! When the path behind the observation point had drained: what was sent meanwhile lost no time.
//!
//! Theory of operation. Near the sender, data is seen before it queues at the slowest link of the path.
//! A burst that begins with nothing in flight leaves that link no faster than the link carries it, so the
//! time from its first byte to the ACK of a later one, less the path there and back, is never below the
//! bytes between them at the link's pace: the least such time a byte is the pace. With it a queue is kept
//! that each segment joins and that no ACK finds fuller than it says. Near the receiver the link is behind
//! the data, and its gaps are what they seem.

/// A delayed ACK covers less than two full segments (RFC 1122, section 4.2.3.2), so from this many on
/// an ACK tells of the link and not of the receiver's timer.
const PACE_SEGMENTS_MIN: u64 = 2;
/// The pace is kept in units of 1/1024 ns a byte: a gigabit is 8 ns a byte, and faster links cost nothing.
const PACE_SHIFT: u32 = 10;

/// What was sent with nothing in flight.
#[derive(Clone, Copy, Debug)]
struct Burst {
    offset: u64,
    time_ns: i64,
}

#[derive(Debug, Default)]
pub struct Bottleneck {
    burst: Option<Burst>,
    /// Time a byte takes, in 1/1024 ns; 0 while it is not known.
    pace: i64,
    /// The least that ACKs of less told while it is not known: the link takes no longer for a byte.
    bound: Option<i64>,
    /// What the ACK had acknowledged that showed it first: that one may have been delayed.
    known_since: u64,
    /// When the last byte sent so far will have left the slowest link.
    drained_ns: i64,
}

impl Bottleneck {
    /// Bytes `start` to `end` were sent; `is_alone` if nothing else was in flight.
    pub fn sent(&mut self, start: u64, end: u64, time_ns: i64, is_alone: bool) {
        if is_alone {
            self.burst = Some(Burst {
                offset: start,
                time_ns,
            });
        }
        let began = if is_alone {
            time_ns
        } else {
            self.drained_ns.max(time_ns)
        };
        self.drained_ns = began.saturating_add(self.takes(end.saturating_sub(start)));
    }

    /// Data was sent again: ACKs of what is in flight tell of its loss, and not of the link.
    pub fn had_loss(&mut self) {
        self.burst = None;
    }

    /// An ACK shows that byte `after` had left the link by `left_ns`; `next` is the end of what was sent.
    pub fn acknowledged(&mut self, after: u64, next: u64, left_ns: i64, segment_bytes: u32) {
        let Some(burst) = self.burst else { return };
        let bytes = after.saturating_sub(burst.offset);
        let was_known = self.pace > 0;
        let full_bytes = u64::from(segment_bytes).max(1);
        if bytes >= full_bytes {
            let elapsed = left_ns.saturating_sub(burst.time_ns).max(0);
            let is_sure = bytes >= full_bytes.saturating_mul(PACE_SEGMENTS_MIN);
            // Compared before it is divided: most ACKs tell nothing new.
            if !was_known || elapsed < self.takes(bytes) {
                self.learn(elapsed, bytes, is_sure);
            }
        }
        let rest = self.takes(next.saturating_sub(after));
        let latest_ns = left_ns.saturating_add(rest);
        self.drained_ns = match (was_known, self.pace > 0) {
            (false, false) => self.drained_ns,
            (false, true) => {
                self.known_since = after;
                let left_at_once = self.left_ns(burst, next).max(self.drained_ns);
                latest_ns.min(left_at_once)
            }
            _ => self.drained_ns.min(latest_ns),
        };
    }

    /// The ACK of so many bytes shows that the link took no longer for them.
    fn learn(&mut self, elapsed_ns: i64, bytes: u64, is_sure: bool) {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX).max(1);
        let pace = elapsed_ns.saturating_mul(1 << PACE_SHIFT) / bytes;
        if self.pace > 0 || is_sure {
            self.pace = self.bound.map_or(pace, |bound| bound.min(pace));
        }
        // Less than nothing is how round trips vary, and bounds nothing.
        if pace > 0 {
            self.bound = Some(self.bound.map_or(pace, |bound| bound.min(pace)));
        }
    }

    /// When the bytes up to `end` of a burst had left the slowest link, if all were sent as it began.
    fn left_ns(&self, burst: Burst, end: u64) -> i64 {
        let bytes = end.saturating_sub(burst.offset);
        burst.time_ns.saturating_add(self.takes(bytes))
    }

    /// When the data sent so far had left the slowest link.
    #[must_use]
    pub fn drained_ns(&self) -> i64 {
        self.drained_ns
    }

    /// As before, as far as ACKs before the one up to `after` tell.
    #[must_use]
    pub fn had_drained_ns(&self, after: u64) -> Option<i64> {
        (self.pace > 0 && after > self.known_since).then_some(self.drained_ns)
    }

    fn takes(&self, bytes: u64) -> i64 {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        bytes.saturating_mul(self.pace) >> PACE_SHIFT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// Ten segments in 10 ms, the first two acknowledged as the link lets them through.
    fn with_a_known_pace() -> Bottleneck {
        let mut link = Bottleneck::default();
        for number in 0..10 {
            link.sent(number * 1000, (number + 1) * 1000, 0, number == 0);
        }
        link.acknowledged(2000, 10_000, 2 * MS, 1000);
        link
    }

    #[test]
    fn the_least_time_a_byte_is_the_pace_of_the_link() {
        let mut link = with_a_known_pace();
        assert!((link.drained_ns() - 10 * MS).abs() < MS / 10);
        // An ACK that was late shows nothing about the link, and does not make the queue longer.
        link.acknowledged(10_000, 10_000, 25 * MS, 1000);
        assert!((link.drained_ns() - 10 * MS).abs() < MS / 10);
    }

    #[test]
    fn the_ack_that_shows_the_pace_first_tells_nothing_of_its_own_delay() {
        let mut link = with_a_known_pace();
        assert_eq!(link.had_drained_ns(2000), None);
        link.acknowledged(4000, 10_000, 4 * MS, 1000);
        assert_eq!(link.had_drained_ns(4000), Some(link.drained_ns()));
    }

    #[test]
    fn a_delayed_ack_of_one_segment_gives_no_pace() {
        let mut link = Bottleneck::default();
        link.sent(0, 900, 0, true);
        link.acknowledged(900, 900, 40 * MS, 1000);
        link.sent(900, 1800, 50 * MS, true);
        assert_eq!(link.drained_ns(), 50 * MS);
    }

    #[test]
    fn an_ack_that_repairs_a_loss_tells_nothing_of_the_link() {
        let mut link = Bottleneck::default();
        link.sent(0, 1000, 0, true);
        link.sent(1000, 2000, 0, false);
        link.had_loss();
        link.acknowledged(2000, 2000, 1000 * MS, 1000);
        link.sent(2000, 3000, 1100 * MS, true);
        assert_eq!(link.drained_ns(), 1100 * MS);
    }

    #[test]
    fn what_the_first_acks_bounded_is_what_a_delayed_one_drained_by() {
        let mut link = Bottleneck::default();
        link.sent(0, 200, 0, true);
        link.sent(200, 1200, 0, false);
        link.sent(1200, 2200, 0, false);
        link.acknowledged(1200, 2200, 2 * MS, 1000);
        link.acknowledged(2200, 2200, 200 * MS, 1000);
        assert!(link.drained_ns() < 4 * MS);
    }

    #[test]
    fn what_is_sent_into_an_empty_link_waits_for_nothing() {
        let mut link = with_a_known_pace();
        link.acknowledged(10_000, 10_000, 10 * MS, 1000);
        link.sent(10_000, 11_000, 100 * MS, true);
        assert!((link.drained_ns() - 101 * MS).abs() < MS / 10);
    }

    #[test]
    fn while_no_pace_is_known_a_delayed_ack_shows_no_queue() {
        let mut link = Bottleneck::default();
        link.sent(0, 900, 0, true);
        link.acknowledged(900, 900, 40 * MS, 1000);
        assert_eq!(link.drained_ns(), 0);
    }
}
