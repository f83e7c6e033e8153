//! The acknowledgments that data may have waited for: what each let the sender send.

mod heard;
mod in_order;

use std::collections::VecDeque;

use crate::echoes::HeardOf;
use crate::jitter::{late_max_ns, CLOSE_NS, EARLY_MAX_NS};

/// ACKs of one round trip of a fast path: 6 MB in flight at one ACK for two full segments.
const ACKS_MAX: usize = 2048;
/// ... and of a few transactions that are told later.
const ACKS_MIN: usize = 16;
/// An ACK older than the path's round trip by more than this releases nothing any more: the longest
/// scheduling delay seen on busy hosts.
const AGE_SLACK_NS: i64 = 100_000_000;
/// A receiver tells of room when that is two segments (RFC 1122, section 4.2.3.3), and acknowledges at least each
/// second one: a window that opens by more than what comes has been read in.
const OPENED_BY_READING_MIN: i64 = 3;
/// ACKs this close together let data go together.
const TOGETHER_NS: i64 = 1_000_000;

/// An ACK that acknowledged something new, or moved the window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ack {
    pub(super) time_ns: i64,
    pub(super) acked: i64,
    pub(super) window: u32,
    /// Payload of the packet that it came with.
    pub(super) bytes: u32,
    /// The furthest offset that this ACK and those before it let the sender send.
    pub(super) edge: i64,
}

/// What a segment waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Released {
    /// By room in the receiver's window, which had been none at all.
    ByOpenedWindow,
    /// By a window that moved although nothing more was acknowledged: the receiver has read.
    ByReading,
    /// By room in the receiver's window, as the ACKs moved it on.
    ByWindow,
    /// By an acknowledgment, though the receiver's window had room.
    ByAck,
    /// The window had room, and no acknowledgment came when it went.
    ByNone,
    /// No acknowledgment is known.
    Unknown,
}

#[derive(Debug, Default)]
pub(super) struct Acks {
    ring: VecDeque<Ack>,
    /// When the window was closed last, and when a window of zero was opened.
    closed_ns: Option<i64>,
    opened_ns: Option<i64>,
    /// What the sender of the data that comes now had heard, and of the data before.
    heard: HeardOf,
    heard_before: HeardOf,
}

impl Acks {
    pub(super) fn push(&mut self, time_ns: i64, acked: i64, window: u32, rtt_ns: i64) {
        let was_closed = self.ring.back().is_some_and(|last| last.window == 0);
        if was_closed && window > 0 {
            self.opened_ns = Some(time_ns);
        } else if !was_closed && window == 0 {
            self.closed_ns = Some(time_ns);
        }
        let edge = acked.saturating_add(i64::from(window));
        let edge = self.ring.back().map_or(edge, |last| last.edge.max(edge));
        let oldest = time_ns
            .saturating_sub(rtt_ns.saturating_mul(2))
            .saturating_sub(AGE_SLACK_NS);
        // One that is too old still tells the edge before the next.
        while self.ring.len() > ACKS_MIN
            && self.ring.get(1).is_some_and(|next| next.time_ns < oldest)
            || self.ring.len() >= ACKS_MAX
        {
            self.ring.pop_front();
        }
        self.ring.push_back(Ack {
            time_ns,
            acked,
            window,
            bytes: 0,
            edge,
        });
    }

    /// The ACK that went by at `time_ns` came with so much of its sender's own data.
    pub(super) fn came_with(&mut self, time_ns: i64, bytes: u32) {
        if let Some(ack) = self.ring.back_mut() {
            if ack.time_ns == time_ns && ack.bytes == 0 {
                ack.bytes = bytes;
            }
        }
    }

    /// What data up to `end`, seen at `time_ns`, waited for: `path_ns` is the way of an ACK to the
    /// sender and of the data back, and the data itself takes up to `pace_ns` longer on a slow link.
    /// `is_in_order` is whether nothing but an ACK of something new lets data go. Where round trips do not vary with the
    /// length of the path, `if_steady_ns` is what the slowest link may take besides.
    pub(super) fn released_in_order(
        &self,
        (time_ns, end): (i64, i64),
        (path_ns, pace_ns): (i64, i64),
        (is_in_order, if_steady_ns): (bool, Option<i64>),
    ) -> Released {
        // The path is the least there was: what an ACK lets go comes no sooner.
        let target = time_ns.saturating_sub(path_ns).saturating_add(EARLY_MAX_NS);
        let before = self.heard_by(target);
        let nearest = before
            .checked_sub(1)
            .or_else(|| self.first_of_an_accelerated_open(time_ns, path_ns))
            .and_then(|at| Some((at, self.ring.get(at)?)));
        let in_order = |it| self.in_order(it, (time_ns.saturating_sub(path_ns), pace_ns));
        let in_order = nearest.map(in_order).filter(|_| is_in_order);
        let Some((at, ack)) = in_order.or(nearest) else {
            return Released::Unknown;
        };
        // With data of its sender it takes longer on the slowest link itself.
        let slack = late_max_ns((path_ns, pace_ns), if_steady_ns.filter(|_| ack.bytes == 0));
        let follows = target.saturating_sub(ack.time_ns) <= slack || self.let_go_at_once(*ack);
        let known = if follows {
            let earlier = ack.time_ns.saturating_sub(TOGETHER_NS);
            let earlier = self.ring.partition_point(|ack| ack.time_ns <= earlier);
            earlier.min(at).checked_sub(1)
        } else {
            Some(at)
        };
        let Some(known) = known.and_then(|at| self.ring.get(at)) else {
            return if follows {
                Released::ByAck
            } else {
                Released::Unknown
            };
        };
        // A window that is taken back stops its sender as well (RFC 9293, section 3.8.6).
        let had_no_room = end > known.edge || known.window == 0;
        match (had_no_room, follows) {
            (true, _) if known.window == 0 => Released::ByOpenedWindow,
            (true, true) if self.tells_of_reading(*ack, *known) => Released::ByReading,
            (true, _) => Released::ByWindow,
            (false, true) => Released::ByAck,
            (false, false) => Released::ByNone,
        }
    }

    /// Whether an ACK opens the window, behind the one that was known before, because the receiver has read. One that
    /// had not read for a while, so that the window did not move as data came, tells at once when it has (RFC 1122,
    /// section 4.2.3.3), and acknowledges with that what it has not yet.
    fn tells_of_reading(&self, ack: Ack, known: Ack) -> bool {
        let newly = ack.acked.saturating_sub(known.acked);
        let at = self.ring.partition_point(|it| it.acked < known.acked);
        let before = at.checked_sub(1).and_then(|at| self.ring.get(at));
        let stood_still = before.is_some_and(|before| before.edge == known.edge);
        let opened = ack.edge.saturating_sub(known.edge);
        newly == 0 || (stood_still && opened >= newly.saturating_mul(OPENED_BY_READING_MIN))
    }

    /// The furthest offset that the sender may send, as far as it is told by ACKs that go by here until `time_ns`.
    pub(super) fn edge_by(&self, time_ns: i64) -> Option<i64> {
        let before = self.heard_by(time_ns);
        before
            .checked_sub(1)
            .and_then(|at| self.ring.get(at))
            .map(|ack| ack.edge)
    }

    /// Whether the receiver's window had room for data up to `end`, as the newest ACK until `time_ns` has it: a receiver
    /// may take back what it had offered (RFC 9293, section 3.8.6).
    pub(super) fn had_room_for(&self, end: i64, time_ns: i64) -> bool {
        let before = self.heard_by(time_ns);
        let newest = before.checked_sub(1).and_then(|at| self.ring.get(at));
        newest.is_none_or(|ack| end <= ack.acked.saturating_add(i64::from(ack.window)))
    }

    /// What had been acknowledged by `time_ns`, ACK by ACK since `from_ns`.
    pub(super) fn between(&self, from_ns: i64, time_ns: i64) -> impl Iterator<Item = Ack> + '_ {
        let from = self.ring.partition_point(|ack| ack.time_ns <= from_ns);
        let until = self.heard_by(time_ns).max(from);
        self.ring.range(from..until).copied()
    }

    /// The newest ACK that went by here until `time_ns`.
    pub(super) fn newest_by(&self, time_ns: i64) -> Option<Ack> {
        let before = self.heard_by(time_ns);
        self.ring.get(before.checked_sub(1)?).copied()
    }

    /// When all up to `end` was acknowledged first.
    pub(super) fn time_of(&self, end: i64) -> Option<i64> {
        let at = self.ring.partition_point(|ack| ack.acked < end);
        self.ring.get(at).map(|ack| ack.time_ns)
    }

    /// The newest ACK of less than all up to `end`.
    pub(super) fn newest_of_less(&self, end: i64) -> Option<Ack> {
        let at = self.ring.partition_point(|ack| ack.acked < end);
        self.ring.get(at.checked_sub(1)?).copied()
    }

    /// Up to where all had been acknowledged by `time_ns`.
    pub(super) fn acked_by(&self, time_ns: i64) -> i64 {
        let before = self.heard_by(time_ns);
        let newest = before.checked_sub(1).and_then(|at| self.ring.get(at));
        newest.map_or(0, |ack| ack.acked)
    }

    /// Up to when an ACK goes by here that its receiver knows when it sends what goes by at `time_ns`.
    pub(super) fn known_by(time_ns: i64, path_ns: i64) -> i64 {
        time_ns.saturating_sub(path_ns).saturating_add(EARLY_MAX_NS)
    }

    /// ... before any of those that may have let it go: it may have stood behind others' data meanwhile.
    pub(super) fn known_before_release(time_ns: i64, path_ns: i64, pace_ns: i64) -> i64 {
        Acks::known_by(time_ns, path_ns).saturating_sub(late_max_ns((path_ns, pace_ns), None))
    }

    /// Whether data seen at `time_ns` came when an ACK let it go, which takes `after_ns` from the one to the other: so
    /// closely that it is no chance.
    pub(super) fn let_go_closely(&self, time_ns: i64, after_ns: i64) -> bool {
        self.let_go_within(time_ns, after_ns, 0)
    }

    /// ... or by no more than `slack_ns` less closely.
    pub(super) fn let_go_within(&self, time_ns: i64, after_ns: i64, slack_ns: i64) -> bool {
        let target = time_ns.saturating_sub(after_ns);
        let slack_ns = slack_ns.saturating_add(CLOSE_NS);
        let earliest_ns = target.saturating_sub(slack_ns);
        let from = self.ring.partition_point(|ack| ack.time_ns < earliest_ns);
        self.heard_by(target.saturating_add(slack_ns)) > from
    }

    /// Whether an ACK of more than a SYN came after the one time and before the other.
    pub(super) fn tell_of_data(&self, after_ns: i64, before_ns: i64) -> bool {
        let mut since = self.between(after_ns, before_ns.saturating_sub(1));
        since.any(|ack| ack.acked > 1)
    }

    /// How much later data came by at `time_ns` than the newest ACK that could let it go makes it, on a path of
    /// `path_ns`: that is what the slowest link takes for the data, if this ACK did.
    pub(super) fn late_ns(&self, time_ns: i64, path_ns: i64) -> Option<i64> {
        let target = time_ns.saturating_sub(path_ns).saturating_add(EARLY_MAX_NS);
        let before = self.heard_by(target);
        let newest = before.checked_sub(1).and_then(|at| self.ring.get(at))?;
        Some(
            time_ns
                .saturating_sub(path_ns)
                .saturating_sub(newest.time_ns),
        )
    }

    /// The ACK that was of all before `start` and of something new, and of how much.
    pub(super) fn of_all_before(&self, start: i64) -> Option<(Ack, i64)> {
        let at = self.ring.partition_point(|ack| ack.acked < start);
        let ack = self.ring.get(at)?;
        let before = self.ring.get(at.checked_sub(1)?)?;
        (ack.acked == start).then(|| (*ack, start.saturating_sub(before.acked)))
    }

    /// How long after a segment from `start` to `end`, which was there at `came_ns`, its ACK went; none unless the
    /// ACK is of that segment alone, and was with the sender when data left that comes by a path of `path_ns` at
    /// `next_ns`: else the ACK before it let that go.
    pub(super) fn delay_of(
        &self,
        (came_ns, start, end): (i64, i64, i64),
        (next_ns, path_ns): (i64, i64),
    ) -> Option<i64> {
        let at = self.ring.partition_point(|ack| ack.acked < end);
        let heard = self.heard_by(Acks::known_by(next_ns, path_ns));
        let ack = self.ring.get(at).filter(|_| at < heard);
        let ack = ack.filter(|ack| ack.acked == end)?;
        let before = self.ring.get(at.checked_sub(1)?)?;
        (before.acked == start).then(|| ack.time_ns.saturating_sub(came_ns))
    }

    /// When the window was closed last.
    pub(super) fn closed_ns(&self) -> Option<i64> {
        self.closed_ns
    }

    /// When a window of zero was opened last.
    pub(super) fn opened_ns(&self) -> Option<i64> {
        self.opened_ns
    }

    /// Memory that the ACKs take.
    pub(super) fn held_bytes(&self) -> u64 {
        size_of::<Ack>().saturating_mul(self.ring.capacity()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) const MS: i64 = 1_000_000;

    pub(super) fn acks(list: &[(i64, i64, u32)]) -> Acks {
        let mut acks = Acks::default();
        for (time, acked, window) in list {
            acks.push(time * MS, *acked, *window, 100 * MS);
        }
        acks
    }

    #[test]
    fn the_ack_that_is_a_path_away_releases_not_the_latest() {
        let acks = acks(&[(0, 1000, 9000), (100, 2000, 9000), (180, 3000, 9000)]);
        assert_eq!(acks.released(200 * MS, 6000, 100 * MS, 0), Released::ByAck);
        assert_eq!(acks.released(250 * MS, 6000, 100 * MS, 0), Released::ByNone);
    }

    #[test]
    fn on_a_steady_path_what_comes_later_than_a_busy_host_has_it_was_let_go_by_no_ack() {
        let start = 1 << 32;
        let mut acks = acks(&[(0, start, 9000), (100, start + 1000, 9000)]);
        let at = |came_ms: i64| (came_ms * MS, start + 2000);
        for (came_ms, if_steady_ns, released) in [
            (108, None, Released::ByAck),
            (108, Some(0), Released::ByNone),
            (108, Some(6 * MS), Released::ByAck),
            (102, Some(0), Released::ByAck),
        ] {
            let path = (100 * MS, 0);
            let told = acks.released_in_order(at(100 + came_ms), path, (true, if_steady_ns));
            assert_eq!(told, released);
        }
        acks.came_with(100 * MS, 600);
        let told = acks.released_in_order(at(208), (100 * MS, 0), (true, Some(0)));
        assert_eq!(told, Released::ByAck, "the ACK brought data on a slow link");
    }

    #[test]
    fn data_beyond_the_edge_before_it_waited_for_the_window() {
        let moved = acks(&[(0, 1000, 4000), (100, 3000, 4000)]);
        assert_eq!(moved.released(101 * MS, 6000, MS, 0), Released::ByWindow);
        assert_eq!(moved.released(101 * MS, 5000, MS, 0), Released::ByAck);
        let read = acks(&[(0, 1000, 4000), (100, 1000, 9000)]);
        assert_eq!(read.released(101 * MS, 6000, MS, 0), Released::ByReading);
        let closed = acks(&[(0, 1000, 0), (100, 1000, 9000)]);
        assert_eq!(
            closed.released(101 * MS, 6000, MS, 0),
            Released::ByOpenedWindow
        );
    }

    #[test]
    fn a_window_that_is_taken_back_to_nothing_stops_its_sender() {
        let acks = acks(&[(0, 1000, 64_000), (50, 2000, 0), (100, 2000, 64_000)]);
        let released = acks.released(101 * MS, 6000, MS, 0);
        assert_eq!(released, Released::ByOpenedWindow);
    }

    #[test]
    fn a_window_that_stood_still_and_opens_by_more_than_is_acknowledged_was_closed_by_what_was_not_read(
    ) {
        let read = acks(&[(0, 1000, 4000), (50, 2000, 3000), (100, 3000, 8000)]);
        assert_eq!(read.released(101 * MS, 6000, MS, 0), Released::ByReading);
        assert_eq!(read.edge_by(60 * MS), Some(5000));
        let moves = acks(&[(0, 1000, 4000), (50, 2000, 3500), (100, 3000, 8000)]);
        assert_eq!(moves.released(101 * MS, 6000, MS, 0), Released::ByWindow);
    }

    #[test]
    fn the_delay_of_an_ack_is_known_of_a_segment_that_was_alone() {
        let acks = acks(&[(0, 1000, 9000), (250, 2000, 9000), (300, 4000, 9000)]);
        let next = (400 * MS, 100 * MS);
        assert_eq!(acks.delay_of((50 * MS, 1000, 2000), next), Some(200 * MS));
        assert_eq!(acks.delay_of((280 * MS, 3000, 4000), next), None);
        assert_eq!(acks.delay_of((280 * MS, 2000, 3000), next), None);
    }

    #[test]
    fn an_ack_that_was_still_on_its_way_delayed_nothing_that_came_before_it_could_let_it_go() {
        let acks = acks(&[(0, 1000, 9000), (250, 2000, 9000)]);
        assert_eq!(
            acks.delay_of((50 * MS, 1000, 2000), (300 * MS, 100 * MS)),
            None
        );
        let on_time = acks.delay_of((50 * MS, 1000, 2000), (350 * MS, 100 * MS));
        assert_eq!(on_time, Some(200 * MS));
    }

    #[test]
    fn the_ack_of_all_before_is_told_with_what_it_acknowledges_and_came_with() {
        let mut acks = acks(&[(0, 1000, 9000), (250, 1400, 9000)]);
        acks.came_with(250 * MS, 300);
        let (ack, newly) = acks.of_all_before(1400).unwrap();
        assert_eq!((ack.time_ns, ack.bytes, newly), (250 * MS, 300, 400));
        assert!(acks.of_all_before(1300).is_none());
    }

    #[test]
    fn data_behind_an_ack_did_not_come_with_it() {
        let mut acks = acks(&[(0, 1000, 9000)]);
        acks.came_with(0, 300);
        acks.came_with(0, 700);
        acks.came_with(10 * MS, 900);
        assert_eq!(acks.ring.back().map(|ack| ack.bytes), Some(300));
    }

    #[test]
    fn data_is_as_late_as_it_comes_after_the_path_from_the_newest_ack_that_it_can_follow() {
        let acks = acks(&[(0, 1000, 9000), (100, 2000, 9000), (140, 3000, 9000)]);
        assert_eq!(acks.late_ns(230 * MS, 100 * MS), Some(30 * MS));
        assert_eq!(acks.late_ns(90 * MS, 100 * MS), None);
    }

    #[test]
    fn an_ack_of_a_syn_alone_tells_nothing_of_data() {
        let acks = acks(&[(100, 1, 9000), (150, 85, 9000)]);
        assert!(!acks.tell_of_data(0, 150 * MS));
        assert!(acks.tell_of_data(0, 151 * MS));
        assert!(!acks.tell_of_data(150 * MS, 400 * MS));
    }

    #[test]
    fn without_acks_nothing_is_known() {
        assert_eq!(Acks::default().released(5, 10, 1, 0), Released::Unknown);
    }
}
