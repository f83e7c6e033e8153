//! Packets that a host numbered and that never came by: which of its connections they were of, as far as others tell.
//!
//! Theory of operation. A host that counts its packets together shows that one is missing, but not of which
//! connection. What a connection shows of its own accounts for some: a hole in its numbers, or data that comes when
//! a timer has had time to send it again. A packet is missed once, so that what one connection has accounted for
//! tells nothing of another one that was silent meanwhile.

use crate::timeouts::TIMEOUT_MIN_NS;
use std::collections::VecDeque;

/// Packets that are remembered: a flight of which nothing came.
const MISSING_MAX: usize = 256;

#[derive(Clone, Copy, Debug)]
struct Missing {
    /// When the packets of the host before and after it came by.
    after_ns: i64,
    noticed_ns: i64,
    is_accounted_for: bool,
}

/// The missing packets of one host.
#[derive(Debug, Default)]
pub struct MissingPackets {
    missing: VecDeque<Missing>,
    /// How many the host's numbers have passed over so far.
    passed_over: u32,
    last_ns: i64,
}

impl MissingPackets {
    /// The host's numbers have passed over so many packets when one came by at `time_ns`.
    pub fn note(&mut self, passed_over: u32, time_ns: i64) {
        let before = std::mem::replace(&mut self.passed_over, passed_over);
        let after_ns = std::mem::replace(&mut self.last_ns, time_ns);
        for _ in passed_over..before {
            // One came late.
            self.missing.pop_back();
        }
        let more = passed_over.saturating_sub(before) as usize;
        for _ in 0..more.min(MISSING_MAX) {
            if self.missing.len() >= MISSING_MAX {
                self.missing.pop_front();
            }
            self.missing.push_back(Missing {
                after_ns,
                noticed_ns: time_ns,
                is_accounted_for: false,
            });
        }
    }

    /// A hole shows that so many of them were of its connection, since `since_ns`.
    pub fn account_for_hole(&mut self, count: u32, since_ns: i64) {
        let free = self.missing.iter_mut().rev();
        let free = free.filter(|it| !it.is_accounted_for && it.noticed_ns > since_ns);
        for it in free.take(count as usize) {
            it.is_accounted_for = true;
        }
    }

    /// Data of a connection that had been silent since `since_ns` comes at `time_ns`: a timer may have sent it again.
    /// Between which times it was missed first.
    pub fn account_for_timer(&mut self, since_ns: i64, time_ns: i64) -> Option<(i64, i64)> {
        let latest_ns = time_ns.saturating_sub(TIMEOUT_MIN_NS);
        let may_be_its = |it: &&mut Missing| {
            !it.is_accounted_for && it.noticed_ns > since_ns && it.after_ns <= latest_ns
        };
        let it = self.missing.iter_mut().find(may_be_its)?;
        it.is_accounted_for = true;
        Some((it.after_ns.max(since_ns), it.noticed_ns.min(latest_ns)))
    }

    /// Data of a connection that had been silent since `since_ns` comes when ACKs have told of a packet that was
    /// noticed to be missing then. Between which times it was missed first.
    pub fn account_for_told(
        &mut self,
        since_ns: i64,
        is_told: impl Fn(i64) -> bool,
    ) -> Option<(i64, i64)> {
        let may_be_its = |it: &&mut Missing| {
            !it.is_accounted_for && it.noticed_ns > since_ns && is_told(it.noticed_ns)
        };
        let it = self.missing.iter_mut().find(may_be_its)?;
        it.is_accounted_for = true;
        Some((it.after_ns.max(since_ns), it.noticed_ns))
    }

    /// How many since `since_ns` other connections have accounted for.
    pub fn accounted_for(&self, since_ns: i64) -> u32 {
        let recent = self.missing.iter().rev();
        let recent = recent.take_while(|it| it.noticed_ns > since_ns);
        u32::try_from(recent.filter(|it| it.is_accounted_for).count()).unwrap_or(u32::MAX)
    }

    /// Whether a packet was noticed to be missing since `since_ns` that no connection has accounted for.
    pub fn has_unaccounted(&self, since_ns: i64) -> bool {
        let recent = self.missing.iter().rev();
        let mut recent = recent.take_while(|it| it.noticed_ns > since_ns);
        recent.any(|it| !it.is_accounted_for)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn a_packet_is_missed_by_one_connection_only() {
        let mut missing = MissingPackets::default();
        missing.note(2, 100 * MS);
        assert_eq!(missing.accounted_for(0), 0);
        let missed = missing.account_for_timer(0, 1000 * MS);
        assert_eq!(missed, Some((0, 100 * MS)));
        assert_eq!(missing.accounted_for(0), 1);
        assert!(missing.account_for_timer(0, 1000 * MS).is_some());
        assert_eq!(missing.account_for_timer(0, 1000 * MS), None);
        assert_eq!(missing.accounted_for(0), 2);
    }

    #[test]
    fn what_went_missing_before_a_silence_or_too_late_for_a_timer_is_not_accounted_for_by_it() {
        let mut missing = MissingPackets::default();
        missing.note(1, 100 * MS);
        missing.note(1, 890 * MS);
        missing.note(2, 900 * MS);
        assert_eq!(missing.account_for_timer(100 * MS, 1000 * MS), None);
        assert_eq!(missing.accounted_for(0), 0);
    }

    #[test]
    fn a_hole_accounts_for_the_newest_packets() {
        let mut missing = MissingPackets::default();
        missing.note(1, 100 * MS);
        missing.note(3, 200 * MS);
        missing.account_for_hole(2, 0);
        assert!(missing.has_unaccounted(0) && !missing.has_unaccounted(100 * MS));
        assert_eq!(missing.accounted_for(100 * MS), 2);
        assert_eq!(missing.accounted_for(0), 2);
    }

    #[test]
    fn a_packet_of_which_acks_have_told_is_accounted_for_once() {
        let mut missing = MissingPackets::default();
        missing.note(1, 100 * MS);
        missing.note(2, 200 * MS);
        let told = |noticed_ns: i64| noticed_ns == 200 * MS;
        assert_eq!(missing.account_for_told(300 * MS, told), None);
        let between = missing.account_for_told(50 * MS, told);
        assert_eq!(between, Some((100 * MS, 200 * MS)));
        assert_eq!(missing.account_for_told(50 * MS, told), None);
    }

    #[test]
    fn a_packet_that_comes_late_is_not_missing() {
        let mut missing = MissingPackets::default();
        missing.note(2, 100 * MS);
        missing.note(1, 110 * MS);
        assert!(missing.account_for_timer(0, 1000 * MS).is_some());
        assert_eq!(missing.account_for_timer(0, 1000 * MS), None);
    }
}
