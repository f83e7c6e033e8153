//! The first segments of answers: when each was begun, and what had held it.

use std::ops::RangeInclusive;

use trace_model::rows::{Cause, RecoveryKind};

use super::super::partition::Moment;
use super::repairs::{is_timed, repair};
use super::shared::window_of;
use super::{Data, Resent, Timeline};
use crate::jitter::RELEASE_MAX_NS;

/// Answers whose transactions are not over: as many as requests wait for theirs.
const OPENINGS_MAX: usize = 1 << 11;

/// What duplicate ACKs, or a timer, have made its sender send again.
#[derive(Clone, Copy, Debug)]
pub(in crate::waits) struct Copied {
    /// When the ACK went by that told of the loss, if one did, and the copy came.
    pub(in crate::waits) asked_ns: Option<i64>,
    pub(in crate::waits) cause: Cause,
    came_ns: i64,
    pub(in crate::waits) bytes: u32,
}

/// The first segment of an answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opening {
    pub(super) time_ns: i64,
    pub(super) bytes: u32,
    /// How long it may have stood before the slowest link.
    pub(super) stood_ns: i64,
    /// ... as the clock of its sender has it.
    pub(super) is_stamped: bool,
    /// When that began to send it.
    pub(super) begun_ns: i64,
    /// The window that it waited for, if another connection's ACK made the room; or it was lost, and sent again.
    pub(super) held: Option<Cause>,
    /// ... if connections share a window, which may show later.
    pub(super) if_shared: Option<Cause>,
    /// It was lost itself before, and how its sender noticed.
    pub(super) repaired: Option<Cause>,
    /// ... as the numbers of its host alone tell.
    pub(super) is_told_by_host: bool,
    /// So long a pacer has held it behind others that a window had held.
    paced_ns: Option<i64>,
    /// An ACK told that it had been sent before.
    was_told_of: bool,
    /// What begins the answer is missing before it.
    opens_hole: bool,
}

impl Timeline {
    /// The other direction has spoken: what comes is another message.
    pub(in crate::waits) fn begins(&mut self) {
        self.is_answer = true;
    }

    /// The first segment of an answer went by at `time_ns`, so much later than the question as it took longer than
    /// the path's least round trip; of `bytes` the question is, and of so many headers more.
    pub(in crate::waits) fn answered(
        &mut self,
        time_ns: i64,
        longer_ns: i64,
        bytes: u32,
        headers: u32,
    ) {
        let opening = self.opening(time_ns).filter(|_| !self.settles_by_ack);
        if let Some(opening_bytes) = opening.map(|it| it.bytes) {
            // A handshake that carried data takes its time on the link as well.
            if self.syn_way.0.is_some() {
                self.arrivals.answered(longer_ns, opening_bytes);
            }
            let bytes = bytes.saturating_add(opening_bytes);
            self.arrivals.may_agree(longer_ns, bytes, headers);
        }
    }

    /// An answer begins with this segment, if there is room to remember it.
    pub(super) fn begins_answer(&mut self, data: Data, is_missed: bool) {
        self.pushes.begins_with(data);
        self.fill.begins_answer(data);
        self.refills.begin_anew();
        if data.opens_hole {
            self.copies.of_opening = None;
        }
        if self.openings.len() >= OPENINGS_MAX {
            return;
        }
        let was_held = data.sharing.by_other || is_missed || data.sharing.paced_ns.is_some();
        let window = Some(window_of(data.sharing)).filter(|_| was_held);
        // A pacer that connections share lets the beginnings of their answers go one by one.
        let is_paced = data.sharing.is_of_pacer && data.sharing.is_shared;
        let paced = is_paced.then_some(self.words.burst);
        let would_be_paced = data.sharing.would_be_of_pacer.then_some(self.words.burst);
        // Nothing before it tells when the wait for what had been lost began.
        let lost = data.recovery.filter(|_| self.sent.is_none());
        let repaired = lost.map(|kind| repair(Some(kind)));
        self.openings.push_back(Opening {
            time_ns: data.at.time_ns,
            bytes: data.bytes,
            stood_ns: data.sharing.stood_ns,
            is_stamped: data.sharing.is_stamped,
            begun_ns: data.at.time_ns.saturating_sub(data.sharing.takes_ns),
            held: paced
                .or(window.filter(|_| data.sharing.is_shared))
                .or(repaired),
            if_shared: would_be_paced.or(window),
            repaired: data.recovery.map(|_| repair(data.recovery)),
            is_told_by_host: data.is_told_by_host,
            paced_ns: data.sharing.paced_ns,
            was_told_of: data.was_told_of,
            opens_hole: data.opens_hole,
        });
    }

    /// Something was sent again: it may be what was missing before the newest answer.
    pub(super) fn note_copied_opening(&mut self, data: Resent) {
        let was_missing = self.openings.back().is_some_and(|it| it.opens_hole);
        let asked_ns = match data.recovery {
            Some(RecoveryKind::FastRecovery) => data.heard.third_duplicate_ns,
            _ => None,
        };
        let is_known = asked_ns.is_some() || is_timed(data.recovery);
        if is_known && was_missing && !self.settles_by_ack {
            self.copies.of_opening.get_or_insert(Copied {
                asked_ns,
                cause: repair(data.recovery),
                came_ns: data.at.time_ns,
                bytes: u32::try_from(data.end.saturating_sub(data.start)).unwrap_or(0),
            });
        }
    }

    /// The copy that brought the beginning of the newest answer, if that was at `came_ns`.
    pub(in crate::waits) fn opening_copied(&self, came_ns: i64) -> Option<Copied> {
        let copied = self.copies.of_opening;
        copied.filter(|copied| copied.came_ns == came_ns)
    }

    /// Whether nothing has been sent yet.
    pub(in crate::waits) fn has_sent_none(&self) -> bool {
        self.sent.is_none()
    }

    /// A response that was asked for in advance begins at `start`, in the newest segment, with no word of the
    /// other direction before it: that segment is its first all the same.
    pub(super) fn note_opening(&mut self, start: i64) {
        let Some((at, _)) = self.sent else {
            return;
        };
        let is_known = self
            .openings
            .back()
            .is_some_and(|it| it.time_ns >= at.time_ns);
        let is_newest = (self.sent_start..self.sent_until).contains(&start);
        if is_newest && !is_known && self.openings.len() < OPENINGS_MAX {
            let bytes = self.sent_until.saturating_sub(self.sent_start);
            self.openings.push_back(Opening {
                is_stamped: false,
                time_ns: at.time_ns,
                bytes: u32::try_from(bytes).unwrap_or(0),
                stood_ns: 0,
                begun_ns: at.time_ns,
                held: None,
                if_shared: None,
                repaired: None,
                is_told_by_host: false,
                paced_ns: None,
                was_told_of: false,
                opens_hole: false,
            });
        }
    }

    /// The answer whose first segment went by at `time_ns`.
    pub(super) fn opening(&self, time_ns: i64) -> Option<&Opening> {
        let mut openings = self.openings.iter();
        openings.find(|opening| opening.time_ns == time_ns)
    }

    /// What held the first segment of an answer, which went by at `time_ns`: a window that was known to be shared,
    /// or the loss of it. If it had been missing, the segment behind it tells, which had left no sooner.
    pub(in crate::waits) fn opening_held(&self, time_ns: i64) -> Option<Cause> {
        let mut openings = self.openings.iter();
        let mut behind = || openings.find(|it| it.opens_hole && it.time_ns < time_ns);
        let held = self.opening(time_ns).and_then(|it| it.held);
        held.or_else(|| behind()?.held)
    }

    /// Until when a window had held the first segment of an answer, which went by at `time_ns` and left at `left`, if a
    /// pacer has held it since.
    pub(in crate::waits) fn opening_had_room(&self, time_ns: i64, left: Moment) -> Option<Moment> {
        let paced_ns = self.opening(time_ns)?.paced_ns?;
        Some(Moment {
            time_ns: left.time_ns.saturating_sub(paced_ns),
            ..left
        })
    }

    /// Whether the first segment of an answer, which went by at `time_ns`, had been sent before an ACK that came sooner.
    pub(in crate::waits) fn opening_was_told_of(&self, time_ns: i64) -> bool {
        self.opening(time_ns).is_some_and(|it| it.was_told_of)
    }

    /// If the newest segment begins an answer, came in this time, and right before its end, the answer had been sent
    /// before.
    pub(in crate::waits) fn was_asked_before(&mut self, came_ns: RangeInclusive<i64>) {
        let sent_ns = self.sent.map(|(at, _)| at.time_ns);
        let opening = self.openings.back_mut();
        let Some(opening) = opening.filter(|it| Some(it.time_ns) == sent_ns) else {
            return;
        };
        let behind_ns = came_ns.end().saturating_sub(opening.time_ns);
        if !came_ns.contains(&opening.time_ns) || behind_ns > RELEASE_MAX_NS {
            return;
        }
        opening.was_told_of = true;
        if self.sent_start <= 1 {
            self.window
                .had_lost_unseen(self.sent_start, self.sent_until, self.full_bytes);
        }
    }

    /// How the sender of the first segment of an answer, which went by at `time_ns`, noticed that it had been
    /// lost.
    pub(in crate::waits) fn opening_repaired(&self, time_ns: i64) -> Option<Cause> {
        self.opening(time_ns)?.repaired
    }
}

#[cfg(test)]
mod tests {
    use super::super::Words;
    use super::*;
    use crate::shared_windows::Sharing;
    use tcptrace_tcp::LastHeard;

    #[test]
    fn an_answer_that_begins_in_the_rhythm_of_others_was_paced_once_windows_turn_out_to_be_shared()
    {
        for (would_be_of_pacer, held) in [(true, Some(Cause::SendLimitedBottleneck)), (false, None)]
        {
            let sharing = Sharing {
                would_be_of_pacer,
                ..Sharing::default()
            };
            let at = Moment {
                time_ns: 1_000_000,
                frame: 1,
            };
            let data = Data {
                sharing,
                ..Data::plain(at, 1001)
            };
            let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
            timeline.begins_answer(data, false);
            assert_eq!(timeline.opening_held(at.time_ns), None);
            timeline.windows_are_shared();
            assert_eq!(timeline.opening_held(at.time_ns), held);
        }
    }

    #[test]
    fn an_answer_that_a_pacer_held_at_last_had_waited_for_the_window_that_all_share() {
        const MS: i64 = 1_000_000;
        for (paced_ns, held, had_room_ms) in [
            (Some(30 * MS), Some(Cause::SendLimitedCwnd), Some(70)),
            (None, None, None),
        ] {
            let sharing = Sharing {
                is_shared: true,
                had_loss: true,
                paced_ns,
                ..Sharing::default()
            };
            let at = Moment::at_ms(120);
            let data = Data {
                sharing,
                ..Data::plain(at, 1001)
            };
            let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
            timeline.begins_answer(data, false);
            assert_eq!(timeline.opening_held(at.time_ns), held);
            let had_room = timeline.opening_had_room(at.time_ns, Moment::at_ms(100));
            assert_eq!(had_room.map(|it| it.time_ns / MS), had_room_ms);
        }
    }

    /// Whether the copy of the first segment of an answer, which came so, is known to have left when the third duplicate ACK
    /// came.
    fn is_copied(recovery: RecoveryKind, third_ms: Option<i64>, opens_hole: bool) -> bool {
        const MS: i64 = 1_000_000;
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        let behind = Data {
            opens_hole,
            ..Data::at_ms(100, 2001)
        };
        timeline.begins_answer(behind, false);
        let at = Moment::at_ms(200);
        timeline.note_copied_opening(Resent {
            at,
            start: 1,
            end: 1001,
            recovery: Some(recovery),
            heard: LastHeard {
                third_duplicate_ns: third_ms.map(|ms| ms * MS),
                ..LastHeard::default()
            },
            has_sack: false,
            is_for_others: false,
            due_ns: None,
        });
        let copied = timeline.opening_copied(at.time_ns);
        copied.is_some_and(|it| it.asked_ns == third_ms.map(|ms| ms * MS) && it.bytes == 1000)
    }

    #[test]
    fn the_beginning_of_an_answer_was_sent_again_when_the_third_duplicate_ack_came() {
        let fast = RecoveryKind::FastRecovery;
        assert!(is_copied(fast, Some(150), true));
        assert!(!is_copied(fast, None, true));
        assert!(!is_copied(fast, Some(150), false));
        assert!(is_copied(RecoveryKind::Timeout, None, true));
    }
}
