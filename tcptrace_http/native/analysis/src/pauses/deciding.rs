//! Whether an ACK ended a pause: told at once, or when the pace of the slowest link is known and ACKs have settled when
//! data came.

use super::pause::{Ending, OpenPause, Pause, PeerAck, ShortSegment};
use super::{Path, PauseTracker, SentData, UNDECIDED_ACKS_MAX};
use crate::waits::Waits;

/// Pauses that wait for the pace of the link to show: it does with the next two segments that come at once, or near the
/// sender with the ACKs of a few round trips.
const UNDECIDED_MAX: usize = 64;
/// The options of a SYN leave less room for its data (RFC 9293, section 3.1): what fills that is no short segment.
const SYN_OPTIONS_BYTES: u32 = 40;
/// What is short came once as an ACK lets it go by chance, or as its application wrote it then.
const HOLDS_MIN: u32 = 2;

impl PauseTracker {
    /// Looks at the pause between two data segments, which an ACK may have ended. Near the receiver it is told
    /// when the pace of the link is known, at the end of the message if not before.
    pub(super) fn consider(
        &mut self,
        previous: SentData,
        data: SentData,
        is_short: bool,
        path: &Path,
    ) {
        if path.in_loss_recovery || self.was_disturbed {
            return;
        }
        let shorts = &self.shorts;
        let short_of = |ack: &PeerAck| {
            let least = if ack.covers_syn { SYN_OPTIONS_BYTES } else { 0 };
            let is_acked = |short: &&ShortSegment| {
                let is_full = short.bytes.saturating_add(least) > path.segment_bytes;
                short.end <= ack.after && short.end > ack.before && !is_full
            };
            shorts.iter().rev().find(is_acked).copied()
        };
        let ending = |ack: &PeerAck| Ending {
            ack: *ack,
            short: short_of(ack),
        };
        // What a connection has in flight does not show how large a window is that it shares.
        let shown_bytes = if path.may_share_window {
            0
        } else {
            self.shown_window_bytes.max(self.window_before(data, path))
        };
        let largest_flight_bytes = self.largest_flight_bytes.max(shown_bytes);
        let mut pause = Pause {
            previous,
            data,
            is_short,
            path: *path,
            spacing_ns: self.spacing_ns,
            bound_ns: 0,
            drained_ns: if path.is_nearer_to_sender() && !path.is_over_when_sent {
                self.link.drained_ns()
            } else {
                previous.time_ns
            },
            queued_until_ns: self
                .link
                .had_drained_ns(previous.end)
                .filter(|_| path.is_nearer_to_sender()),
            largest_flight_bytes: largest_flight_bytes
                .max(path.window_bytes)
                .max(path.lowered_bytes().unwrap_or(0)),
            made_room_ns: self.made_room_ns(previous, data, path),
            may_have_made_room_ns: self.may_have_made_room_ns(previous, data),
            was_used_up: self.was_used_up(),
            had_loss: self.had_loss,
            waits_for_all: self.waits_for_all(),
            waits_for_short: self.waits_for_short(),
            shorts: self.counted.shorts,
            endings: Vec::new(),
        };
        let heard = self.acks.iter().rev();
        let heard = heard.filter(|ack| path.may_have_heard(ack.time_ns));
        let is_near = path.is_nearer_to_sender();
        // Near the sender of responses the ACKs that are still to come settle when the data had come.
        let may_be_learnt = if is_near {
            !path.is_over_when_sent
        } else {
            path.takes_ns == 0
        };
        if may_be_learnt && self.undecided.len() < UNDECIDED_MAX {
            if !is_near {
                // On a slow link the ACK that ends it counts as heard long before, and it has opened the window.
                let by_ack = u64::from(path.segment_bytes);
                pause.largest_flight_bytes =
                    largest_flight_bytes.max(path.window_bytes.saturating_sub(by_ack));
            }
            let last = heard.take(UNDECIDED_ACKS_MAX);
            pause.endings = last.map(ending).collect();
            self.undecided.push(pause);
            return;
        }
        if let Some(open) = pause.ended_by(heard.map(ending), path.takes_ns) {
            self.holds(open);
        }
    }

    /// Whether its sender is known to hold what is short until all is acknowledged.
    fn waits_for_all(&self) -> bool {
        self.holds_behind_full > 0 && self.full_disproofs == 0
    }

    /// Whether its sender is known to hold what is short behind a short one.
    fn waits_for_short(&self) -> bool {
        self.holds_behind_short >= HOLDS_MIN && self.nagle_disproofs == 0
    }

    fn holds(&mut self, pause: OpenPause) {
        let count = u32::from(pause.waited_for_all);
        self.holds_behind_full = self.holds_behind_full.saturating_add(count);
        let count = u32::from(pause.waited_for_short);
        self.holds_behind_short = self.holds_behind_short.saturating_add(count);
        self.open.push(pause);
    }

    /// Decides on the pauses before `end` for which the pace of the link was not known, if that shows now, or if nothing
    /// more will be learnt of it.
    pub(super) fn decide(&mut self, end: u64, waits: Option<&Waits>, may_learn: bool) {
        if self.undecided.is_empty() {
            return;
        }
        for mut pause in std::mem::take(&mut self.undecided) {
            let path_ns = pause.path.sender_rtt_ns.unwrap_or(0);
            let bytes = pause.data.bytes;
            let known = |takes: fn(&Waits, u32) -> i64| {
                let takes_ns = waits.map_or(0, |it| takes(it, bytes));
                (takes_ns > 0).then_some(takes_ns)
            };
            let takes_ns = known(Waits::response_takes_ns);
            // That no two segments came closer is a bound only, for as long as distances may still agree on a pace.
            if (takes_ns.is_none() && may_learn) || pause.data.start >= end {
                self.undecided.push(pause);
                continue;
            }
            let takes_ns = takes_ns.unwrap_or_else(|| self.behind.of_payload(bytes, path_ns));
            pause.waits_for_all = self.waits_for_all();
            pause.waits_for_short = self.waits_for_short();
            if let Some(waits) = waits {
                pause.is_settled_by(waits);
            }
            pause.bound_ns = known(Waits::response_is_on_link_ns)
                .unwrap_or_else(|| self.behind.of_packet(bytes, path_ns));
            let endings = pause.endings.iter().copied();
            if let Some(open) = pause.ended_by(endings, takes_ns) {
                self.holds(open);
            }
        }
        self.open.sort_by_key(|pause| pause.released_start);
    }

    /// Whether one of the pauses before `end` is undecided.
    pub(super) fn is_undecided(&self, end: u64) -> bool {
        self.undecided.iter().any(|pause| pause.data.start < end)
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_path;
    use super::super::AckSeen;
    use super::*;
    use crate::bounded::Bounded;
    use crate::finished_message::FinishedMessage;
    use crate::waits::Moment;
    use tcptrace_tcp::Acknowledged;
    use trace_model::rows::{Direction, PausesTable, SegmentationTable};

    const MS: i64 = 1_000_000;
    const FULL: u32 = 1460;
    const START: u64 = (1 << 32) - 2000;

    /// A path of 100 ms to the sender and back, whose link takes a millisecond for a segment.
    fn path() -> Path {
        test_path::path(FULL, 100 * MS, MS)
    }

    fn sends(tracker: &mut PauseTracker, time_ms: i64, start: u64, bytes: u32) {
        sends_on(&path(), tracker, time_ms, start, bytes);
    }

    fn sends_on(path: &Path, tracker: &mut PauseTracker, time_ms: i64, start: u64, bytes: u32) {
        let data = test_path::segment(time_ms * MS, start, bytes);
        tracker.sent(data, path, u64::from(bytes));
    }

    fn acks(tracker: &mut PauseTracker, time_ms: i64, before: u64, after: u64) {
        let stream = |offset: u64| i64::try_from(offset).unwrap() + 1;
        let ack = AckSeen {
            frame: 2,
            time_ns: time_ms * MS,
            acknowledged: Acknowledged {
                before: stream(before),
                after: stream(after),
            },
            covered_ns: (time_ms - 50) * MS,
            outstanding_segments: 1,
            outstanding_bytes: after - before,
            offered_until: i64::MAX,
            bytes: 0,
            opens_connection: false,
        };
        tracker.acknowledged(ack, &path());
    }

    /// A full segment, its delayed ACK, and then a short one behind so many bytes that are missing.
    fn covers_all_behind(missing: u64) -> Option<bool> {
        let mut tracker = PauseTracker::default();
        let end = START + u64::from(FULL);
        sends(&mut tracker, 1000, START, FULL);
        tracker.message_opens(START);
        acks(&mut tracker, 1050, START, end);
        sends(&mut tracker, 1151, end + missing, 400);
        tracker.open.first().map(|pause| pause.row.ack_covers_all)
    }

    #[test]
    fn what_is_missing_ahead_of_data_may_have_been_on_its_way_with_the_full_segment_before() {
        assert_eq!(covers_all_behind(0), Some(true));
        assert_eq!(covers_all_behind(u64::from(FULL)), None);
    }

    /// Two full segments at once, an ACK of both, two more so much later, and a short one a round trip later.
    fn had_room_after(gap_ms: i64) -> bool {
        let mut tracker = PauseTracker::default();
        let full = u64::from(FULL);
        acks(&mut tracker, 800, START - 100, START);
        for (time_ms, begins) in [(1000, START), (1020 + gap_ms, START + 2 * full)] {
            sends(&mut tracker, time_ms, begins, FULL);
            tracker.message_opens(begins);
            sends(&mut tracker, time_ms + 1, begins + full, FULL);
            acks(&mut tracker, time_ms + 1, begins, begins + 2 * full);
        }
        sends(&mut tracker, 1122 + gap_ms, START + 4 * full, 400);
        tracker.open.iter().any(|pause| pause.waited_for_all)
    }

    #[test]
    fn an_ack_that_its_sender_had_not_heard_ended_no_pause() {
        let is_ended = |heard_until_ms: i64| {
            let mut tracker = PauseTracker::default();
            let end = START + u64::from(FULL);
            sends(&mut tracker, 1000, START, FULL);
            tracker.message_opens(START);
            acks(&mut tracker, 1050, START, end);
            let path = Path {
                heard_until_ns: Some(heard_until_ms * MS),
                ..path()
            };
            sends_on(&path, &mut tracker, 1151, end, FULL);
            !tracker.open.is_empty()
        };
        assert!(is_ended(1050));
        assert!(!is_ended(1049));
    }

    #[test]
    fn what_a_shared_window_had_room_for_before_its_ack_waited_for_the_ack_of_all() {
        for (had_room_ns, had_room) in [
            (Some(900 * MS), true),
            (Some(1049 * MS), false),
            (None, false),
        ] {
            let path = Path {
                may_share_window: true,
                had_room_ns,
                ..path()
            };
            let mut tracker = PauseTracker::default();
            let end = START + u64::from(FULL);
            sends_on(&path, &mut tracker, 1000, START, FULL);
            tracker.message_opens(START);
            acks(&mut tracker, 1050, START, end);
            sends_on(&path, &mut tracker, 1151, end, 400);
            let waited = tracker.open.iter().any(|pause| pause.waited_for_all);
            assert_eq!(waited, had_room);
        }
    }

    #[test]
    fn acks_have_opened_a_window_beyond_what_was_sent_at_once_unless_its_sender_was_idle_since() {
        assert!(had_room_after(150));
        assert!(had_room_after(280));
        assert!(!had_room_after(330));
    }

    #[test]
    fn a_pause_waits_for_the_pace_of_the_link_until_its_message_is_told() {
        let mut tracker = PauseTracker::default();
        let unknown = Path {
            takes_ns: 0,
            ..path()
        };
        let end = START + 200;
        sends_on(&unknown, &mut tracker, 1000, START, 200);
        tracker.message_opens(START);
        acks(&mut tracker, 1050, START, end);
        sends_on(&unknown, &mut tracker, 1150, end, 400);
        let message = FinishedMessage {
            flow: 1,
            transaction: 0,
            direction: Direction::ServerToClient,
            start: START,
            end: end + 400,
            head_bytes: 200,
        };
        let mut rows = Bounded::<PausesTable>::default();
        let mut segmented = Bounded::<SegmentationTable>::default();
        let begun = Moment {
            time_ns: 0,
            frame: 1,
        };
        let waits = Waits::new(begun, true);
        tracker.message_ends(message, Some(&waits), &mut rows, &mut segmented);
        assert_eq!(rows.take().len(), 0);
        tracker.message_is_told(START, Some(&waits), &mut rows);
        assert_eq!(rows.take().len(), 1);
    }

    #[test]
    fn how_close_two_segments_came_by_chance_tells_no_pace_while_others_may_come_closer() {
        let mut tracker = PauseTracker::default();
        let unknown = Path {
            takes_ns: 0,
            ..path()
        };
        let end = START + 200;
        sends_on(&unknown, &mut tracker, 940, START - 500, 500);
        sends_on(&unknown, &mut tracker, 1000, START, 200);
        tracker.message_opens(START);
        acks(&mut tracker, 1050, START, end);
        sends_on(&unknown, &mut tracker, 1155, end, 400);
        tracker.decide(end + 400, None, true);
        assert!(tracker.is_undecided(end + 400));
        tracker.decide(end + 400, None, false);
        assert!(!tracker.is_undecided(end + 400));
    }

    #[test]
    fn a_window_that_whole_segments_filled_held_until_an_ack_made_room_however_soon_the_next_one_came(
    ) {
        let mut tracker = PauseTracker::default();
        let full = u64::from(FULL);
        acks(&mut tracker, 800, START - 100, START);
        sends(&mut tracker, 1000, START, FULL);
        tracker.message_opens(START);
        sends(&mut tracker, 1001, START + full, FULL);
        acks(&mut tracker, 1001, START, START + full);
        acks(&mut tracker, 1005, START + full, START + 2 * full);
        sends(&mut tracker, 1106, START + 2 * full, 400);
        let could_send_ns = tracker.open.first().map(|it| it.row.could_send_time);
        assert_eq!(could_send_ns, Some(1102 * MS));
    }

    /// When a short segment could have left its sender that waited for the ACK of another one, before a link that was
    /// busy with this until 1,166 ms.
    fn could_send_ms(is_over_when_sent: bool) -> Option<i64> {
        let mut tracker = PauseTracker::default();
        let near = Path {
            sender_rtt_ns: Some(0),
            receiver_rtt_ns: Some(10 * MS),
            is_over_when_sent,
            ..path()
        };
        let full = u64::from(FULL);
        let acks_on = |tracker: &mut PauseTracker, time_ms: i64, before: u64, after: u64| {
            let stream = |offset: u64| i64::try_from(offset).unwrap() + 1;
            let ack = AckSeen {
                frame: 2,
                time_ns: time_ms * MS,
                acknowledged: Acknowledged {
                    before: stream(before),
                    after: stream(after),
                },
                covered_ns: (time_ms - 100) * MS,
                outstanding_segments: 2,
                outstanding_bytes: after - before,
                offered_until: i64::MAX,
                bytes: 0,
                opens_connection: false,
            };
            tracker.acknowledged(ack, &near);
        };
        let sends = |tracker: &mut PauseTracker, time_ms: i64, start: u64, bytes: u32, flight| {
            tracker.sent(
                test_path::segment(time_ms * MS, start, bytes),
                &near,
                flight,
            );
        };
        sends(&mut tracker, 1000, START, FULL, full);
        tracker.message_opens(START);
        sends(&mut tracker, 1000, START + full, FULL, 2 * full);
        acks_on(&mut tracker, 1110, START, START + 2 * full);
        let next = START + 2 * full;
        sends(&mut tracker, 1110, next, FULL, full);
        sends(&mut tracker, 1110, next + full, 200, full + 200);
        acks_on(&mut tracker, 1320, next, next + full + 200);
        sends(&mut tracker, 1320, next + full + 200, 400, 400);
        tracker.decide(u64::MAX, None, false);
        let first = tracker.open.first();
        first.map(|pause| pause.row.could_send_time / MS)
    }

    #[test]
    fn what_waits_to_leave_loses_the_time_that_it_would_have_queued_before_the_link_as_well() {
        assert_eq!(could_send_ms(true), Some(1110));
        assert!(could_send_ms(false) > Some(1110));
    }
}
