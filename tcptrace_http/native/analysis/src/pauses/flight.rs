//! What a sender had in flight when data left, as the ACKs that had come to it by then tell.

use super::pause::PeerAck;
use super::used::Growth;
use super::{Path, PauseTracker, SentData};
use super::{DISPROOF_MARGIN_NS, RELEASE_MAX_NS, RELEASE_RTT_SHARE};
use crate::timeouts::TIMEOUT_MIN_NS;

impl PauseTracker {
    /// Whether all had been acknowledged, early enough for that to have released the data.
    pub(super) fn may_be_released(&self, previous: SentData, data: SentData, path: &Path) -> bool {
        let left_ns = data.time_ns.saturating_sub(path.sender_rtt_ns.unwrap_or(0));
        let acked = self.acks.iter().rev().find(|ack| ack.time_ns <= left_ns);
        acked.is_some_and(|ack| ack.after >= previous.end)
    }

    /// What its sender had in flight with this segment, at least: the ACKs that had not come to it when the
    /// segment left, which was no later than the path and the slowest link tell. A link that takes a round trip
    /// for a segment has each acknowledged before the next one is seen.
    pub(super) fn flight_at_sender(&self, data: SentData, path: &Path) -> u64 {
        let acked = self
            .had_come(data, path)
            .map(|ack| ack.after)
            .or_else(|| self.acks.front().map(|ack| ack.before))
            .unwrap_or(data.start);
        data.end.saturating_sub(acked)
    }

    /// The newest ACK that had come to the sender when this segment left.
    fn had_come(&self, data: SentData, path: &Path) -> Option<&PeerAck> {
        let took_ns = path
            .sender_rtt_ns
            .unwrap_or(0)
            .saturating_add(path.takes_ns);
        // What comes sooner behind an ACK than path and link take was not let go by that; a link that is not known
        // may take any time.
        let least_ns = if path.takes_ns > 0 {
            DISPROOF_MARGIN_NS
        } else {
            RELEASE_MAX_NS
        };
        let slack_ns = least_ns.max(took_ns / RELEASE_RTT_SHARE);
        let left_ns = data
            .time_ns
            .saturating_sub(took_ns)
            .saturating_add(slack_ns);
        self.acks.iter().rev().find(|ack| ack.time_ns <= left_ns)
    }

    /// How many ACKs had come to the sender when it sent data from this offset on again: none that acknowledges that,
    /// be it older where it was seen.
    pub(super) fn acks_before_resent(&self, start: u64) -> u64 {
        let later = self.acks.iter().find(|ack| ack.after > start);
        later.map_or(self.acks_counted, |ack| ack.number.saturating_sub(1))
    }

    /// Follows the window as it grows in slow start.
    pub(super) fn note_window(&mut self, data: SentData, path: &Path) {
        let acks = self.had_come(data, path).map_or(0, |ack| ack.number);
        let full = u64::from(path.segment_bytes.max(1));
        let flight = self.flight_at_sender(data, path);
        let mut whole = flight.div_ceil(full).saturating_mul(full);
        let growth = self.growth(path);
        // In fast recovery duplicate ACKs let go what no window has room for (RFC 5681, section 3.2).
        if data.end.saturating_sub(flight) < self.recovery_end {
            whole = 0;
            self.used.begins_anew(acks);
            self.used_since_idle.begins_anew(acks);
        }
        let window = self.used.shows(whole, acks, full, growth);
        self.shown_window_bytes = self.used_since_idle.shows(whole, acks, full, growth);
        self.last_flight_bytes = flight;
        self.last_window_bytes = window;
    }

    fn growth(&self, path: &Path) -> Growth {
        // Once something was lost a window need not grow so; and those who offer SACK came to ask whether a window
        // is used before they let it grow (RFC 2018 and RFC 2861 are of one time).
        match (self.had_loss, path.sender_permits_sack) {
            (false, _) => Growth::SlowStart,
            (true, false) => Growth::Avoidance,
            (true, true) => Growth::Unknown,
        }
    }

    /// The least that the window was when all ACKs had come but the one that may have let `data` go.
    pub(super) fn window_before(&self, data: SentData, path: &Path) -> u64 {
        let newest = self.had_come(data, path).map_or(0, |ack| ack.number);
        let full = u64::from(path.segment_bytes.max(1));
        let before = newest.saturating_sub(1);
        self.used_since_idle.at(before, full, self.growth(path))
    }

    /// When the ACK went by that made room for `data` in the window, if that had none when the segment before left:
    /// until then the window held it, whatever would have held it besides.
    pub(super) fn made_room_ns(
        &self,
        previous: SentData,
        data: SentData,
        path: &Path,
    ) -> Option<i64> {
        // How a window grows that was lowered is not known so well: that it was used up shows in whole segments.
        let may_have_room = self.had_loss && !self.was_used_up();
        let is_told = !path.may_share_window && !may_have_room;
        self.may_have_made_room_ns(previous, data)
            .filter(|_| is_told)
    }

    /// ... if the window is no larger than it was shown to be.
    pub(super) fn may_have_made_room_ns(&self, previous: SentData, data: SentData) -> Option<i64> {
        let window = self.largest_flight_bytes.max(self.last_window_bytes);
        let bytes = u64::from(data.bytes);
        let fits = |in_flight: u64| in_flight.saturating_add(bytes) <= window;
        if fits(self.last_flight_bytes) {
            return None;
        }
        let acked = previous.end.saturating_sub(self.last_flight_bytes);
        let makes_room =
            |ack: &&PeerAck| ack.after > acked && fits(previous.end.saturating_sub(ack.after));
        let first = self.acks.iter().find(makes_room);
        first.map(|ack| ack.time_ns)
    }

    /// Whether what was in flight filled the window to its last byte: there was no room for one more.
    pub(super) fn was_used_up(&self) -> bool {
        let window = self.largest_flight_bytes.max(self.last_window_bytes);
        window > 0 && self.last_flight_bytes == window
    }

    /// Whether all had been acknowledged for longer than an ACK takes to release data, and nothing was sent for longer
    /// than a retransmission timeout, which no round trip is longer than: the sender may have thrown its window away
    /// (RFC 5681, section 4.1).
    pub(super) fn was_idle(&self, previous: SentData, data: SentData, path: &Path) -> bool {
        let sent_ns = self
            .resent_ns
            .map_or(previous.time_ns, |it| it.max(previous.time_ns));
        let gap = data.time_ns.saturating_sub(sent_ns);
        let timer_ns = TIMEOUT_MIN_NS
            .saturating_add(path.sender_rtt_ns.unwrap_or(0))
            .saturating_add(path.receiver_rtt_ns.unwrap_or(0));
        if gap < timer_ns {
            return false;
        }
        let released_by = path
            .sender_rtt_ns
            .unwrap_or(0)
            .saturating_add(path.takes_ns)
            .saturating_add(RELEASE_MAX_NS);
        self.acks.back().is_some_and(|ack| {
            ack.after >= previous.end && data.time_ns.saturating_sub(ack.time_ns) > released_by
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_path;
    use super::super::AckSeen;
    use super::*;
    use crate::half::Acknowledged;

    const MS: i64 = 1_000_000;
    const FULL: u32 = 1460;

    /// A path of 4 ms to the sender and back, behind a link that takes so long for a full segment.
    fn path(takes_ns: i64) -> Path {
        test_path::path(FULL, 4 * MS, takes_ns)
    }

    /// The second of two full segments, so long after the ACK of the first one.
    fn flight_of_second(after_ack_ns: i64, path: &Path) -> u64 {
        let mut tracker = PauseTracker::default();
        let ack = AckSeen {
            frame: 1,
            time_ns: 100 * MS,
            acknowledged: Acknowledged {
                before: 1,
                after: 1 + i64::from(FULL),
            },
            covered_ns: 100 * MS,
            outstanding_segments: 1,
            outstanding_bytes: u64::from(FULL),
            offered_until: i64::MAX,
            bytes: 0,
            opens_connection: false,
        };
        tracker.acknowledged(ack, path);
        let second = SentData {
            frame: 2,
            time_ns: 100 * MS + after_ack_ns,
            start: u64::from(FULL),
            end: u64::from(2 * FULL),
            bytes: FULL,
            has_fin: false,
        };
        tracker.flight_at_sender(second, path)
    }

    #[test]
    fn the_largest_segment_so_far_is_short_once_a_larger_one_comes() {
        let mut tracker = PauseTracker::default();
        let segment = |frame, start: u64, bytes: u32| SentData {
            frame,
            time_ns: i64::try_from(frame).unwrap_or(0) * 100 * MS,
            start,
            end: start + u64::from(bytes),
            bytes,
            has_fin: false,
        };
        let known = |segment_bytes| Path {
            segment_bytes,
            ..path(0)
        };
        tracker.sent(segment(1, 0, 1024), &known(1024), 1024);
        assert!(tracker.shorts.is_empty());
        tracker.sent(segment(2, 1024, FULL), &known(FULL), u64::from(FULL));
        let short = tracker.shorts.back().map(|short| short.bytes);
        assert_eq!(short, Some(1024));
    }

    #[test]
    fn what_comes_sooner_behind_an_ack_than_path_and_link_take_was_in_flight_with_what_that_acknowledges(
    ) {
        assert_eq!(flight_of_second(8 * MS, &path(8 * MS)), u64::from(2 * FULL));
        assert_eq!(flight_of_second(12 * MS, &path(8 * MS)), u64::from(FULL));
    }

    /// When a window had room for the short end that follows two flights, of one segment and of so many, of the
    /// second of which the first half is acknowledged.
    fn room_behind_flight_of(segments: u32, path: &Path) -> Option<i64> {
        let mut tracker = PauseTracker::default();
        let segment = |time_ns, start: u32, bytes: u32| SentData {
            frame: 1,
            time_ns,
            start: u64::from(start),
            end: u64::from(start + bytes),
            bytes,
            has_fin: false,
        };
        let acked = |time_ns, before: u32, after: u32| AckSeen {
            frame: 1,
            time_ns,
            acknowledged: Acknowledged {
                before: 1 + i64::from(before),
                after: 1 + i64::from(after),
            },
            covered_ns: time_ns,
            outstanding_segments: 1,
            outstanding_bytes: u64::from(after - before),
            offered_until: i64::MAX,
            bytes: 0,
            opens_connection: false,
        };
        tracker.sent(segment(0, 0, FULL), path, 0);
        tracker.acknowledged(acked(MS, 0, FULL), path);
        let mut last = segment(0, 0, FULL);
        for number in 1..=segments {
            last = segment(100 * MS, number * FULL, FULL);
            tracker.sent(last, path, 0);
        }
        let half = FULL * (1 + segments / 2);
        tracker.acknowledged(acked(101 * MS, FULL, half), path);
        let end = segment(205 * MS, FULL * (1 + segments), 300);
        tracker.made_room_ns(last, end, path)
    }

    #[test]
    fn a_window_that_is_used_up_has_room_for_a_short_end_once_a_part_of_it_is_acknowledged() {
        assert_eq!(room_behind_flight_of(4, &path(MS)), Some(101 * MS));
    }

    #[test]
    fn a_window_that_acks_have_opened_beyond_what_is_in_flight_had_room_before() {
        assert_eq!(room_behind_flight_of(1, &path(MS)), None);
    }

    #[test]
    fn what_a_connection_has_in_flight_does_not_show_how_large_a_window_is_that_it_shares() {
        let path = Path {
            may_share_window: true,
            ..path(MS)
        };
        assert_eq!(room_behind_flight_of(4, &path), None);
    }

    /// An ACK of all up to `after`.
    fn acked(time_ns: i64, before: u64, after: u64) -> AckSeen {
        let stream = |offset: u64| i64::try_from(offset).unwrap_or(0) + 1;
        AckSeen {
            frame: 1,
            time_ns,
            acknowledged: Acknowledged {
                before: stream(before),
                after: stream(after),
            },
            covered_ns: time_ns,
            outstanding_segments: 1,
            outstanding_bytes: after - before,
            offered_until: i64::MAX,
            bytes: 0,
            opens_connection: false,
        }
    }

    #[test]
    fn a_segment_that_an_ack_let_go_and_the_link_took_long_for_ends_no_idle_period() {
        let start = (1 << 32) - u64::from(FULL);
        let was_idle_on = |takes_ns| {
            let mut tracker = PauseTracker::default();
            let path = path(takes_ns);
            let first = test_path::segment(0, start, FULL);
            tracker.sent(first, &path, 0);
            tracker.acknowledged(acked(300 * MS, start, first.end), &path);
            tracker.was_idle(first, test_path::segment(334 * MS, first.end, FULL), &path)
        };
        assert!(was_idle_on(MS));
        assert!(!was_idle_on(30 * MS));
    }

    /// The window that is shown by a full segment that follows one which was sent again from `resent` on, so long after
    /// the ACK of both.
    fn shown_segments_after(resent: u64, after_ms: i64) -> u64 {
        let full = u64::from(FULL);
        let start = (1 << 32) - full;
        let mut tracker = PauseTracker::default();
        let path = path(MS);
        let first = test_path::segment(0, start, FULL);
        tracker.acknowledged(acked(0, start - 1, start), &path);
        tracker.sent(first, &path, full);
        tracker.acknowledged(acked(900 * MS, start, first.end), &path);
        tracker.sent_again(test_path::segment(901 * MS, resent, 0), &path);
        let next = test_path::segment((900 + after_ms) * MS, first.end, FULL);
        tracker.sent(next, &path, full);
        tracker.shown_window_bytes / full
    }

    #[test]
    fn what_was_acknowledged_before_it_is_seen_again_left_before_that_ack_came_which_opens_the_window(
    ) {
        let start = (1 << 32) - u64::from(FULL);
        assert_eq!(shown_segments_after(start, 8), 2);
        let end = 1 << 32;
        assert_eq!(shown_segments_after(end, 8), 1, "that ACK had come");
    }

    #[test]
    fn who_sends_again_is_not_idle_meanwhile() {
        let start = (1 << 32) - u64::from(FULL);
        assert_eq!(shown_segments_after(start, 150), 2);
        assert_eq!(shown_segments_after(start, 300), 1);
    }

    #[test]
    fn what_is_sent_before_a_recovery_ends_shows_no_window_and_acks_open_it_after() {
        let full = u64::from(FULL);
        let start = (1 << 32) - 2 * full;
        let mut tracker = PauseTracker::default();
        let path = path(MS);
        let sends = |tracker: &mut PauseTracker, time_ms: i64, number: u64| {
            let segment = test_path::segment(time_ms * MS, start + number * full, FULL);
            tracker.sent(segment, &path, full);
        };
        tracker.acknowledged(acked(0, start - 1, start), &path);
        for number in 0..4 {
            sends(&mut tracker, 50, number);
        }
        tracker.sent_again(test_path::segment(55 * MS, start, FULL), &path);
        sends(&mut tracker, 60, 4);
        assert_eq!(tracker.shown_window_bytes, 0);
        tracker.acknowledged(acked(70 * MS, start, start + 5 * full), &path);
        sends(&mut tracker, 90, 5);
        sends(&mut tracker, 91, 6);
        assert_eq!(tracker.shown_window_bytes, 2 * full);
        for number in 5..9 {
            let before = start + number * full;
            tracker.acknowledged(acked(100 * MS, before, before + full), &path);
        }
        sends(&mut tracker, 120, 9);
        assert_eq!(tracker.shown_window_bytes, 3 * full);
    }

    #[test]
    fn on_a_link_that_is_not_known_an_ack_may_have_let_go_whatever_follows_it() {
        assert_eq!(flight_of_second(8 * MS, &path(0)), u64::from(FULL));
    }
}
