//! Since when the link that ACKs come on has been busy: what comes behind others in its pace stood in its queue.
//!
//! A sender whose data stands in a queue sends, and each segment that it sends acknowledges what it has: a timer has
//! no part in when such an ACK is seen, but the queue has.

use crate::byte_time::HEADER_BYTES;
use crate::jitter::CLOSE_NS;

/// Packets with payload that came one right behind the other.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BusyLink {
    /// When the first of them came, and the last.
    run: Option<(i64, i64)>,
}

impl BusyLink {
    /// Data came of so many bytes, on a link that takes so long for as many of a full segment.
    pub(super) fn came(&mut self, time_ns: i64, bytes: u32, full: (i64, u32)) {
        let stood_ns = self.stood_ns(time_ns, bytes, full);
        self.run = Some((time_ns.saturating_sub(stood_ns), time_ns));
    }

    /// How long what comes now, of so many bytes, may have stood in the queue.
    pub(super) fn stood_ns(&self, time_ns: i64, bytes: u32, full: (i64, u32)) -> i64 {
        let Some((since_ns, last_ns)) = self.run else {
            return 0;
        };
        let (full_ns, full_bytes) = full;
        let size = i64::from(bytes).saturating_add(HEADER_BYTES);
        let takes_ns = full_ns
            .saturating_mul(size)
            .checked_div(i64::from(full_bytes))
            .unwrap_or(0);
        let is_right_behind =
            full_ns > 0 && time_ns.saturating_sub(last_ns) <= takes_ns.saturating_add(CLOSE_NS);
        if is_right_behind {
            time_ns.saturating_sub(since_ns)
        } else {
            0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::BusyLink;

    const MS: i64 = 1_000_000;
    const FULL: (i64, u32) = (8 * MS, 1460);

    #[test]
    fn what_comes_in_the_pace_of_the_link_may_have_stood_as_long_as_that_was_busy() {
        let mut link = BusyLink::default();
        assert_eq!(link.stood_ns(0, 1460, FULL), 0);
        for number in 0..4 {
            link.came(100 * MS + number * 8 * MS, 1460, FULL);
        }
        assert_eq!(link.stood_ns(126 * MS, 300, FULL), 26 * MS);
        assert_eq!(link.stood_ns(128 * MS, 0, FULL), 0);
        assert_eq!(link.stood_ns(140 * MS, 1460, FULL), 0);
    }

    #[test]
    fn on_a_link_that_is_not_known_nothing_stood() {
        let mut link = BusyLink::default();
        link.came(0, 1460, (0, 1460));
        assert_eq!(link.stood_ns(0, 1460, (0, 1460)), 0);
    }
}
