//! Waits become pieces of the time, once it is known how they ended.

use super::super::pace::PACE_STRETCHED_MAX_NS;
use super::super::partition::{Moment, INFERRED, SEEN};
use super::ack_delay::{is_window, AckDelay};
use super::{Data, Missed, Pending, Piece, Route, Stall, Timeline, Waited};
use trace_model::rows::Cause;

/// Waits that are remembered until their transaction is over: 4,000 round trips of a long download.
const PIECES_MAX: usize = 1 << 13;

impl Timeline {
    /// The receiver has all data up to `end`.
    pub(super) fn settle(&mut self, end: i64, at: Moment, route: Route) {
        while let Some(data) = self.pending.front().copied() {
            if data.end > end {
                return;
            }
            self.pending.pop_front();
            self.append(data, at.time_ns, route);
        }
    }

    pub(super) fn append(&mut self, mut data: Pending, time_ns: i64, route: Route) {
        let start = data.start();
        if let Some(delayed) = self.delayed_ack.filter(|it| it.until == start) {
            if !data.is_let_go_by_other {
                data.ack_delay = AckDelay {
                    ns: delayed.delay_ns,
                    is_told: true,
                    is_if_shared: true,
                };
            }
        }
        self.note_drained(data, start, route);
        let frame = data.at.frame;
        let arrived_ns = if self.settles_by_ack {
            self.expected_ns(data, route)
        } else {
            data.missing_since().time_ns
        };
        let arrived_ns = arrived_ns.min(time_ns);
        let came = self.came.unwrap_or(Moment {
            time_ns: arrived_ns,
            frame,
        });
        let end = Moment {
            time_ns: time_ns.max(came.time_ns),
            frame,
        };
        let undisturbed = Moment {
            time_ns: arrived_ns.clamp(came.time_ns, end.time_ns),
            frame,
        };
        let until = if data.stall.is_some() {
            undisturbed
        } else {
            end
        };
        let later_ns = self.later_ns(data, until);
        self.later_ns = later_ns;
        match data.missed {
            Some(missed) => self.missed(data, missed, came, until, route),
            None => self.plain(data, came, until, route),
        }
        if let Some(Stall { cause, frame, .. }) = data.stall {
            self.push(Piece {
                start: until,
                end: Moment { frame, ..end },
                cause,
                confidence: SEEN,
                if_shared: None,
                waited: None,
                later_ns,
            });
        }
        self.came = Some(end);
        self.copies.forget_until(data.end);
        self.note_extents(data.end);
    }

    /// Time before a segment that was not lost: first the pace, then the wait.
    pub(super) fn plain(&mut self, data: Pending, start: Moment, end: Moment, route: Route) {
        let gap = end.time_ns.saturating_sub(start.time_ns);
        let later_ns = self.later_ns(data, end);
        let (pace, most) = self.pace_of(data, route);
        let is_queue = self.settles_by_ack && gap > most.max(PACE_STRETCHED_MAX_NS);
        let wait = data
            .cause
            .or_else(|| is_queue.then_some((Cause::NetworkQueueing, INFERRED)));
        // The link carried what was sent again since, if that came before it.
        let released = end.time_ns.saturating_sub(data.gap_ns);
        let is_carried = !self.settles_by_ack || data.follows_copy;
        let carried_ns = Some(released).filter(|_| is_carried);
        let since_ns = carried_ns.map_or(start.time_ns, |ns| ns.max(start.time_ns));
        let burst_end = match wait {
            // Its sender held it for no longer than it left behind the segment before.
            Some(_) => since_ns.saturating_add(pace).max(released).min(end.time_ns),
            None => end.time_ns,
        };
        // The next packet is the one that was waited for.
        let middle = Moment {
            time_ns: burst_end,
            frame: if wait.is_some() && (self.settles_by_ack || burst_end < end.time_ns) {
                start.frame
            } else {
                end.frame
            },
        };
        self.push(Piece {
            start,
            end: middle,
            cause: self.words.burst,
            confidence: INFERRED,
            if_shared: None,
            waited: None,
            later_ns,
        });
        let Some((cause, confidence)) = wait else {
            return;
        };
        let waited = Waited {
            since_ns,
            until_ns: end.time_ns,
            bytes: data.bytes,
            segments: data.segments,
            if_on_link: data.if_on_link,
            stopped_with: data.stopped_with,
            is_told_by_host: data.is_told_by_host,
        };
        let Some(persists_from_ns) = data.persists_from_ns else {
            let is_of_sharing = data.is_shared && is_window(cause);
            let waited = Some(waited).filter(|_| !self.settles_by_ack && !is_of_sharing);
            // A window of one segment waits for its round trip, and for its receiver's timer.
            let told_alike = (cause, data.if_shared);
            let delay = data.ack_delay.causes(cause, data.if_shared);
            // A window that others fill as well looks like a buffer.
            let is_like_buffer = self.settles_by_ack && data.is_shared;
            let is_delayed = data.ack_delay.may_be_of(cause, is_like_buffer) && delay != told_alike;
            let delayed_ns = end.time_ns.saturating_sub(data.ack_delay.ns);
            let delayed = Moment {
                time_ns: delayed_ns.max(middle.time_ns),
                ..middle
            };
            let border = if is_delayed { delayed } else { end };
            let first = data.waited_first.filter(|(_, ns)| *ns > middle.time_ns);
            let first_cause = first.map_or(cause, |(cause, _)| cause);
            // What stands before the link waits for a window that others share.
            let if_stood = data.if_shared.filter(|_| first_cause == self.words.burst);
            let first = first.map_or(middle, |(_, ns)| Moment {
                time_ns: ns.min(border.time_ns),
                ..end
            });
            let pieces = [
                (middle, first, first_cause, if_stood),
                (first, border, cause, data.if_shared),
                (border, end, delay.0, delay.1),
            ];
            for (start, end, cause, if_shared) in pieces {
                self.push(Piece {
                    start,
                    end,
                    cause,
                    confidence,
                    if_shared,
                    waited,
                    later_ns,
                });
            }
            return;
        };
        let opened = Moment {
            time_ns: persists_from_ns.clamp(middle.time_ns, end.time_ns),
            frame: start.frame,
        };
        self.push(Piece {
            start: middle,
            end: opened,
            cause: Cause::SendLimitedZeroWindow,
            confidence: SEEN,
            if_shared: None,
            waited: None,
            later_ns,
        });
        self.push(Piece {
            start: opened,
            end,
            cause: Cause::StallPersist,
            confidence: INFERRED,
            if_shared: None,
            waited: None,
            later_ns,
        });
    }

    /// Time before a segment that may have been missed: if connections share a window, it waited for that, and then
    /// for a timer.
    fn missed(&mut self, data: Pending, missed: Missed, start: Moment, end: Moment, route: Route) {
        let would_come = Moment {
            time_ns: missed.would_come_ns.min(end.time_ns),
            frame: start.frame,
        };
        let begun = match self.came {
            Some(_) => start,
            None => start.earlier(would_come),
        };
        let later_ns = self.later_ns(data, end);
        let mut told = None;
        if !data.is_shared {
            self.plain(data, start, end, route);
            let last = self.pieces.back().filter(|piece| piece.end == end);
            told = last.copied();
            if told.is_some() {
                self.pieces.pop_back();
            }
        }
        let begun = told.map_or(begun, |told| told.start);
        let border = would_come.later(begun);
        // What had others before it on the link waited for that.
        let is_held = told.is_some_and(|told| told.cause != self.words.burst);
        let is_known = data.is_shared || (missed.is_gone_back_to && is_held);
        for (start, end, cause) in [(begun, border, missed.window), (border, end, missed.repair)] {
            let told_cause = told.map_or(self.words.idle, |told| told.cause);
            self.push(Piece {
                start,
                end,
                cause: if is_known { cause } else { told_cause },
                confidence: INFERRED,
                if_shared: Some(cause).filter(|_| !is_known),
                waited: told.and_then(|told| told.waited),
                later_ns,
            });
        }
    }

    /// What data takes on the slowest link, and what that with its jitter may be taken for.
    pub(super) fn pace_of(&self, data: Pending, route: Route) -> (i64, i64) {
        if self.settles_by_ack {
            let pace = self.link.of(data.bytes, data.segments);
            (
                pace,
                self.link.jitter_ns(self.full_bytes).saturating_add(pace),
            )
        } else {
            let most = self.pace.burst_max_ns(data.segments, route.rtt_ns());
            let pace = self.takes(data.bytes, data.segments, self.full_bytes);
            let least = if data.is_shared { data.service_ns } else { 0 };
            (pace.max(least), most)
        }
    }

    pub(super) fn push(&mut self, piece: Piece) {
        if piece.end.time_ns <= piece.start.time_ns {
            return;
        }
        let is_burst = piece.cause == self.words.burst;
        let continued = self.pieces.back_mut().filter(|last| {
            let goes_on = last.cause == piece.cause && last.end.time_ns == piece.start.time_ns;
            is_burst && goes_on && last.waited.is_none() && piece.waited.is_none()
        });
        if let Some(last) = continued {
            last.end = piece.end;
            return;
        }
        if self.pieces.len() >= PIECES_MAX {
            let oldest = self.pieces.pop_front();
            self.forgotten_until_ns = oldest.map(|oldest| oldest.end.time_ns);
        }
        self.pieces.push_back(piece);
    }
}

/// What the slowest link takes for a segment, by what it took for full ones of any connection to the host.
pub(super) fn service_ns(data: Data) -> i64 {
    let full = i64::from(data.full_bytes.max(1));
    let bytes = i64::from(data.bytes).min(full);
    let service_ns = data.sharing.service_ns.unwrap_or(0);
    service_ns
        .saturating_mul(bytes)
        .checked_div(full)
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::super::acks::Acks;
    use super::super::Words;
    use super::*;
    use crate::byte_time::ByteTime;
    use crate::shared_windows::{MissedBefore, Sharing};

    const MS: i64 = 1_000_000;

    fn data(time_ms: i64, end: i64, sharing: Sharing) -> Data {
        Data {
            is_pushed: true,
            sharing,
            ..Data::at_ms(time_ms, end)
        }
    }

    #[test]
    fn who_had_sent_all_waits_for_a_window_that_connections_share_once_that_is_full() {
        let route = Route::at_receiver(100);
        let mut acks = Acks::default();
        acks.push(0, 1, 60_000, 100 * MS);
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        timeline.new_data(data(100, 1001, Sharing::default()), None, route, &acks);
        acks.push(110 * MS, 1001, 60_000, 100 * MS);
        let sharing = Sharing {
            is_shared: true,
            by_other: true,
            is_let_go_by_other: true,
            room_until_ns: Some(450 * MS),
            ..Sharing::default()
        };
        timeline.new_data(data(500, 2001, sharing), None, route, &acks);
        let pieces = timeline.between(100 * MS, 500 * MS);
        let told: Vec<_> = pieces
            .map(|piece| (piece.cause, piece.end.time_ns / MS))
            .collect();
        assert_eq!(
            told,
            [
                (Cause::ServerDataUnavailable, 450),
                (Cause::SendLimitedSlowStart, 500)
            ]
        );
    }

    /// Near the server: from when on a segment of 1000 bytes waited, that left 250 ms after one of 100 bytes on a path of
    /// 20 ms with a link that takes 105 ms for it, and stood so long behind others' data.
    fn waited_from_ms(behind_ms: i64) -> Option<i64> {
        let route = Route {
            byte_time: Some(ByteTime::with_frames(100_000_000)),
            ..Route::at_sender(20)
        };
        let acks = Acks::default();
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        timeline.shook_hands(20 * MS, 0, route);
        let first = Data {
            bytes: 100,
            ..data(0, 101, Sharing::default())
        };
        timeline.new_data(first, None, route, &acks);
        timeline.acknowledged(Moment::at_ms(30), 101, route);
        let came_ms = 250 + 126 + behind_ms;
        let sharing = Sharing {
            due_ns: Some(came_ms * MS),
            ..Sharing::default()
        };
        timeline.new_data(data(250, 1101, sharing), None, route, &acks);
        timeline.acknowledged(Moment::at_ms(came_ms), 1101, route);
        timeline.settle_waiting(route);
        let waited = timeline.between(30 * MS, came_ms * MS).last()?;
        Some(waited.start.time_ns / MS)
    }

    #[test]
    fn near_the_server_data_waits_from_when_the_link_had_carried_it_behind_the_data_before() {
        assert_eq!(waited_from_ms(0), Some(30 + 105));
        // For no longer than its sender held it: others' data was before it then.
        assert_eq!(waited_from_ms(60), Some(126 + 60));
    }

    #[test]
    fn what_a_sender_went_back_to_waited_for_its_repair_alone_though_windows_are_not_known_to_be_shared(
    ) {
        let route = Route::at_receiver(100);
        let told = |is_gone_back_to: bool| {
            let mut acks = Acks::default();
            acks.push(0, 1, 60_000, 100 * MS);
            let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
            timeline.new_data(data(100, 1001, Sharing::default()), None, route, &acks);
            // Delayed by 200 ms.
            acks.push(300 * MS, 1001, 60_000, 100 * MS);
            let missed = Some(MissedBefore {
                would_come_ns: 90 * MS,
                is_told: false,
                is_gone_back_to,
            });
            let sharing = Sharing {
                missed,
                ..Sharing::default()
            };
            timeline.new_data(data(400, 2001, sharing), None, route, &acks);
            let pieces = timeline.between(100 * MS, 400 * MS);
            let told = pieces.map(|it| (it.cause, it.start.time_ns / MS, it.end.time_ns / MS));
            told.collect::<Vec<_>>()
        };
        assert_eq!(told(true), [(Cause::StallTailLoss, 100, 400)]);
        assert_ne!(told(false), told(true));
    }
}
