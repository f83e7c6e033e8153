//! Packets that a host numbered and that never came by: which of its connections they were of, as far as others tell.
//!
//! Theory of operation. A host that counts its packets together shows that one is missing, but not of which
//! connection. What a connection shows of its own accounts for some: a hole in its numbers, or data that comes when
//! a timer has had time to send it again. A packet is missed once, so that what one connection has accounted for
//! tells nothing of another one that was silent meanwhile.

use std::collections::VecDeque;

use tcptrace_tcp::TIMEOUT_MIN_NS;

use super::departures::Left;
use crate::jitter::CLOSE_NS;

/// Packets that are remembered: a flight of which nothing came.
const MISSING_MAX: u32 = 256;

/// What was lost is sent again within this: a timer waits 1 s (RFC 6298, section 2.4), which an ACK of what came before it
/// starts anew, half a second late at the most (RFC 1122, section 4.2.3.2), and a round trip.
const REPAIRED_WITHIN_NS: i64 = 1_700_000_000;
/// So often packets that were lost are not all the last ones of what their connections had to send.
const ELSEWHERE_MIN: usize = 4;

/// ... nor do so many get lost, so often, from between data that comes without a hole.
const BETWEEN_TIMES_MIN: u32 = 2;
const BETWEEN_MIN: u32 = 5;

/// A packet that never came by.
#[derive(Clone, Copy, Debug)]
pub struct Missing {
    /// When the packets of the host before and after it came by.
    pub after_ns: i64,
    pub noticed_ns: i64,
    /// As soon as the one before may have left, and as late as the one after.
    pub from_ns: i64,
    to_ns: i64,
    /// So many more were missing there behind it.
    pub more: u32,
    /// A connection has sent it again, if all share their window.
    pub is_claimed: bool,
    account: Account,
}

/// Which connection has shown that a missing packet was its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Account {
    None,
    /// One that has a hole, so that of those missing between these times one was its own, be it this or another.
    Hole {
        since_ns: i64,
        until_ns: i64,
    },
    /// One that has sent it again, or was asked to.
    Copy,
    /// The one of this port, whose SYN it answered.
    Answer {
        client_port: u16,
    },
}

impl Missing {
    /// When it may have left.
    pub fn left(&self) -> Left {
        Left {
            from_ns: self.from_ns,
            to_ns: self.to_ns,
            likely_ns: self.from_ns,
        }
    }
}

/// The missing packets of one host.
#[derive(Debug, Default)]
pub struct MissingPackets {
    missing: VecDeque<Missing>,
    /// How many the host's numbers have passed over so far.
    passed_over: u32,
    last_ns: i64,
    last_from_ns: i64,
    /// How many were missing between data of a connection and what came right behind it without a hole, and how often.
    between: u32,
    between_times: u32,
    /// Data has shown a hole, whatever the host's numbers tell.
    was_shown: bool,
}

impl MissingPackets {
    /// How many more are missing than before, if the host's numbers have passed over so many.
    pub fn more_than(&self, passed_over: u32) -> u32 {
        passed_over.saturating_sub(self.passed_over)
    }

    /// The host's numbers have passed over so many packets when one came by at `time_ns`.
    pub fn note(&mut self, passed_over: u32, time_ns: i64, Left { from_ns, to_ns, .. }: Left) {
        let before = std::mem::replace(&mut self.passed_over, passed_over);
        let after_ns = std::mem::replace(&mut self.last_ns, time_ns);
        let after_from_ns = std::mem::replace(&mut self.last_from_ns, from_ns);
        for _ in passed_over..before {
            // One came late.
            self.missing.pop_back();
        }
        let more = passed_over.saturating_sub(before);
        for nth in 0..more.min(MISSING_MAX) {
            if self.missing.len() >= MISSING_MAX as usize {
                self.missing.pop_front();
            }
            self.missing.push_back(Missing {
                after_ns,
                noticed_ns: time_ns,
                from_ns: after_from_ns,
                to_ns,
                more: more.saturating_sub(nth).saturating_sub(1),
                is_claimed: false,
                account: Account::None,
            });
        }
    }

    /// A hole before data shows that some are missing.
    pub fn shown_by_hole(&mut self) {
        self.was_shown = true;
    }

    /// Whether any was ever missing.
    pub fn had_any(&self) -> bool {
        self.was_shown || !self.missing.is_empty()
    }

    /// So many are missing between data of a connection and what comes right behind it without a hole.
    pub fn are_between(&mut self, missing: u32) {
        self.between = self.between.saturating_add(missing);
        self.between_times = self.between_times.saturating_add(1);
    }

    /// One of those that were noticed since `since_ns` was the answer to the SYN of this port.
    pub fn account_for_answer(&mut self, client_port: u16, since_ns: i64) {
        let account = Account::Answer { client_port };
        if self.missing.iter().any(|it| it.account == account) {
            return;
        }
        let mut recent = self.missing.iter_mut();
        let it = recent.find(|it| it.noticed_ns > since_ns && it.account == Account::None);
        if let Some(it) = it {
            it.account = account;
        }
    }

    /// The place of the one that was the answer to the SYN of this port.
    pub fn answer_to(&self, client_port: u16) -> Option<usize> {
        let account = Account::Answer { client_port };
        self.missing.iter().position(|it| it.account == account)
    }

    /// The client has sent a FIN again that it sent at this time: what left when that reached the server was its ACK.
    pub fn account_for_ack(&mut self, fin_ns: i64) {
        let is_ack = |it: &&mut Missing| {
            let from_ns = it.from_ns.saturating_sub(CLOSE_NS);
            let to_ns = it.to_ns.saturating_add(CLOSE_NS);
            it.account == Account::None && (from_ns..=to_ns).contains(&fin_ns)
        };
        if let Some(it) = self.missing.iter_mut().find(is_ack) {
            it.account = Account::Copy;
        }
    }

    /// The SYN of this port was answered late, and not before: what is missing is something else.
    pub fn was_no_answer(&mut self, client_port: u16) {
        let mut all = self.missing.iter_mut();
        if let Some(it) = all.find(|it| it.account == Account::Answer { client_port }) {
            it.account = Account::None;
        }
    }

    /// How many were noticed since `since_ns` of which no connection shows anything.
    pub fn in_flight(&self, since_ns: i64) -> i64 {
        let recent = self.missing.iter().rev();
        let recent = recent.take_while(|it| it.noticed_ns > since_ns);
        let count = recent.filter(|it| it.account == Account::None).count();
        i64::try_from(count).unwrap_or(i64::MAX)
    }

    /// A hole shows at `until_ns` that so many of them were of its connection, since `since_ns`; the first of those.
    pub fn account_for_hole(
        &mut self,
        count: u32,
        since_ns: i64,
        until_ns: i64,
    ) -> Option<Missing> {
        let free = self.missing.iter_mut().rev();
        let free = free.filter(|it| it.account == Account::None && it.noticed_ns > since_ns);
        let mut first = None;
        for it in free.take(count as usize) {
            it.account = Account::Hole { since_ns, until_ns };
            first = Some(*it);
        }
        first
    }

    /// Those of which no connection has shown that they were its own, as far as they were noticed since `since_ns`,
    /// the oldest first; each with its place.
    pub fn left_over(&self, since_ns: i64) -> impl Iterator<Item = (usize, &Missing)> {
        let recent = self.missing.partition_point(|it| it.noticed_ns <= since_ns);
        let missing = self.missing.iter().enumerate().skip(recent);
        missing.filter(|(_, it)| self.is_left_over(it))
    }

    /// If all connections share their window, the missing packet at this place was of one that has sent it again.
    pub fn claim(&mut self, place: usize) -> Option<Missing> {
        let it = self.missing.get_mut(place)?;
        it.is_claimed = true;
        Some(*it)
    }

    /// When the one at this place was noticed to be missing.
    pub fn noticed_ns(&self, place: usize) -> Option<i64> {
        self.missing.get(place).map(|it| it.noticed_ns)
    }

    /// The place of the first that was noticed then of which no connection has shown anything.
    pub fn noticed_at(&self, noticed_ns: i64) -> Option<usize> {
        let mut left_over = self.left_over(noticed_ns.saturating_sub(1));
        let first = left_over
            .next()
            .filter(|(_, it)| it.noticed_ns == noticed_ns);
        first.map(|(place, _)| place)
    }

    fn is_left_over(&self, missing: &Missing) -> bool {
        match missing.account {
            Account::None => true,
            Account::Hole { since_ns, until_ns } => self.other_for(since_ns, until_ns).is_some(),
            Account::Copy | Account::Answer { .. } => false,
        }
    }

    /// Another missing packet that a hole may be, which shows of its connection between these times.
    fn other_for(&self, since_ns: i64, until_ns: i64) -> Option<usize> {
        let from = self.missing.partition_point(|it| it.noticed_ns <= since_ns);
        let mut others = self.missing.iter().enumerate().skip(from);
        let other = others.find(|(_, it)| it.account == Account::None)?;
        (other.1.noticed_ns <= until_ns).then_some(other.0)
    }

    /// The missing packet at this place was of a connection that has sent it again.
    pub fn account_for(&mut self, place: usize) -> Option<Missing> {
        let it = self.missing.get_mut(place)?;
        let before = std::mem::replace(&mut it.account, Account::Copy);
        let missing = *it;
        if let Account::Hole { since_ns, until_ns } = before {
            let other = self.other_for(since_ns, until_ns);
            if let Some(other) = other.and_then(|at| self.missing.get_mut(at)) {
                other.account = before;
            }
        }
        Some(missing)
    }

    /// Whether packets were missing time and again, from among others of their host, that no connection between the two
    /// has lost, as none had sent them again by `time_ns` or all came that was around them: where no data has shown a
    /// loss, the host sends them to others, by another way.
    pub fn go_elsewhere(&self, time_ns: i64) -> bool {
        let latest_ns = time_ns.saturating_sub(REPAIRED_WITHIN_NS);
        let mut before_ns = i64::MIN;
        let nobodys = self.missing.iter().filter(|it| {
            let is_dense = it.noticed_ns.saturating_sub(it.after_ns) < TIMEOUT_MIN_NS;
            let is_nobodys = it.account == Account::None && it.noticed_ns <= latest_ns;
            let is_next = std::mem::replace(&mut before_ns, it.noticed_ns) != it.noticed_ns;
            is_dense && is_nobodys && is_next
        });
        let are_between = self.between_times >= BETWEEN_TIMES_MIN && self.between >= BETWEEN_MIN;
        are_between || nobodys.count() >= ELSEWHERE_MIN
    }

    /// How many since `since_ns` other connections have accounted for.
    pub fn accounted_for(&self, since_ns: i64) -> u32 {
        let recent = self.missing.iter().rev();
        let recent = recent.take_while(|it| it.noticed_ns > since_ns);
        u32::try_from(recent.filter(|it| it.account != Account::None).count()).unwrap_or(u32::MAX)
    }

    /// Whether a packet was noticed to be missing since `since_ns` that no connection has accounted for.
    pub fn has_unaccounted(&self, since_ns: i64) -> bool {
        self.unaccounted_ns(since_ns).is_some()
    }

    /// ... and when the newest of them was.
    pub fn unaccounted_ns(&self, since_ns: i64) -> Option<i64> {
        let recent = self.missing.iter().rev();
        let mut recent = recent.take_while(|it| it.noticed_ns > since_ns);
        let newest = recent.find(|it| it.account == Account::None);
        newest.map(|it| it.noticed_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn note(missing: &mut MissingPackets, passed_over: u32, time_ms: i64) {
        let left_ns = (time_ms - 50) * MS;
        let left = Left {
            from_ns: left_ns,
            to_ns: left_ns,
            likely_ns: left_ns,
        };
        missing.note(passed_over, time_ms * MS, left);
    }

    #[test]
    fn a_packet_is_missed_by_one_connection_only() {
        let mut missing = MissingPackets::default();
        note(&mut missing, 2, 100);
        assert_eq!(missing.accounted_for(0), 0);
        let first = missing.left_over(0).next().map(|(place, _)| place);
        missing.account_for(first.unwrap());
        assert_eq!(missing.accounted_for(0), 1);
        let (place, second) = missing.left_over(0).next().unwrap();
        assert_eq!((second.noticed_ns, second.more), (100 * MS, 0));
        missing.account_for(place);
        assert!(missing.left_over(0).next().is_none());
        assert_eq!(missing.accounted_for(0), 2);
    }

    #[test]
    fn a_missing_packet_left_between_those_around_it() {
        let mut missing = MissingPackets::default();
        note(&mut missing, 0, 100);
        note(&mut missing, 1, 200);
        let (_, it) = missing.left_over(0).next().unwrap();
        assert_eq!((it.from_ns, it.to_ns), (50 * MS, 150 * MS));
        assert_eq!((it.after_ns, it.noticed_ns), (100 * MS, 200 * MS));
        assert!(missing.left_over(200 * MS).next().is_none());
    }

    #[test]
    fn a_hole_accounts_for_the_newest_packets() {
        let mut missing = MissingPackets::default();
        note(&mut missing, 1, 100);
        note(&mut missing, 3, 200);
        missing.account_for_hole(2, 0, 200 * MS);
        assert!(missing.has_unaccounted(0) && !missing.has_unaccounted(100 * MS));
        assert_eq!(missing.accounted_for(100 * MS), 2);
        assert_eq!(missing.accounted_for(0), 2);
    }

    #[test]
    fn a_hole_leaves_to_who_sends_it_again_what_may_be_another_packet() {
        let mut missing = MissingPackets::default();
        note(&mut missing, 1, 100);
        note(&mut missing, 2, 200);
        missing.account_for_hole(1, 50 * MS, 250 * MS);
        let (place, _) = missing.left_over(150 * MS).next().unwrap();
        missing.account_for(place);
        assert!(missing.left_over(0).next().is_none());
        assert_eq!(missing.accounted_for(0), 2);
    }

    #[test]
    fn packets_that_nobody_sends_again_went_elsewhere() {
        let mut missing = MissingPackets::default();
        note(&mut missing, 0, 10);
        for nth in 1..=4 {
            note(&mut missing, nth, 100 * i64::from(nth));
        }
        // A delayed ACK of what came before has started the timer anew.
        assert!(!missing.go_elsewhere(2000 * MS));
        assert!(missing.go_elsewhere(2100 * MS));
        missing.account_for_hole(1, 0, 400 * MS);
        assert!(!missing.go_elsewhere(2100 * MS));
    }

    #[test]
    fn packets_missing_time_and_again_from_between_data_without_a_hole_went_elsewhere() {
        let goes_elsewhere = |between: &[u32]| {
            let mut missing = MissingPackets::default();
            for count in between {
                missing.are_between(*count);
            }
            missing.go_elsewhere(0)
        };
        assert!(goes_elsewhere(&[4, 1]));
        assert!(!goes_elsewhere(&[5]), "a burst of another connection's");
        assert!(
            !goes_elsewhere(&[1, 1]),
            "each the last of its connection's"
        );
    }

    #[test]
    fn a_packet_that_comes_late_is_not_missing() {
        let mut missing = MissingPackets::default();
        note(&mut missing, 2, 100);
        note(&mut missing, 1, 110);
        assert_eq!(missing.left_over(0).count(), 1);
    }
}
