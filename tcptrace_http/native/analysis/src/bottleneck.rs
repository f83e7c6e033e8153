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

    /// An ACK shows that byte `after` had left the link by `left_ns`; `next` is the end of what was sent.
    pub fn acknowledged(&mut self, after: u64, next: u64, left_ns: i64, segment_bytes: u32) {
        let Some(burst) = self.burst else { return };
        let bytes = after.saturating_sub(burst.offset);
        let was_known = self.pace > 0;
        if bytes >= u64::from(segment_bytes).saturating_mul(PACE_SEGMENTS_MIN) && bytes > 0 {
            let elapsed = left_ns.saturating_sub(burst.time_ns).max(0);
            // Compared before it is divided: most ACKs tell nothing new.
            if self.pace == 0 || elapsed < self.takes(bytes) {
                let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
                self.pace = elapsed.saturating_mul(1 << PACE_SHIFT) / bytes;
            }
        }
        let rest = self.takes(next.saturating_sub(after));
        let latest_ns = left_ns.saturating_add(rest);
        self.drained_ns = match (was_known, self.pace > 0) {
            (false, false) => self.drained_ns,
            (false, true) => {
                self.known_since = after;
                latest_ns
            }
            _ => self.drained_ns.min(latest_ns),
        };
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
