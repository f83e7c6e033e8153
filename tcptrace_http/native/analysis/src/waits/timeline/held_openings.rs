//! Responses whose first segment Nagle's algorithm held, or a window.
//!
//! Theory of operation. A response may be written while the one before it is unacknowledged: its request came with
//! that one's, or before its ACK. Nagle's algorithm holds the response's short first segment then (RFC 896) until an
//! ACK of all that was sent before comes, so it goes by the path's time after that ACK. A server's work does not end
//! so: it begins with the request, and ends whenever it is done. A window that the response before fills holds a full
//! segment until an ACK of any of that comes.

use tcptrace_tcp::{DELAYED_ACK_MIN_NS, DELAYED_ACK_SEGMENTS};
use trace_model::rows::Cause;

use super::super::acks::Acks;
use super::super::pace::BURST_MIN_NS;
use super::super::partition::Moment;
use super::{Data, Route, Timeline, OPTIONS_BYTES};
use crate::jitter::{CLOSE_NS, RELEASE_RTT_SHARE};

/// Answers whose transactions are not over: as many as requests wait for theirs.
const HELD_MAX: usize = 1 << 11;

/// A segment that may have waited for an ACK: a short one for that of all data before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct LetGo {
    /// Offsets of the segment.
    pub(super) start: i64,
    pub(super) end: i64,
    /// When the ACK went by, how much later the segment, and what that ACK came with.
    pub(super) ack_ns: i64,
    pub(super) elapsed_ns: i64,
    pub(super) ack_bytes: u32,
    pub(super) route: Route,
    pub(super) cause: Cause,
    /// The segment before, if its ACK may have been delayed.
    pub(super) before: Option<Before>,
}

/// A segment whose ACK let the next one go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    /// What its ACK tells of for the first time, and in so many segments at least.
    bytes: u32,
    segments: u32,
    /// By how much that ACK came later than the path takes, and than what had been acknowledged before.
    late_ns: i64,
}

impl LetGo {
    /// What held the segment, and when it came or would have come.
    pub(super) fn would_come(self) -> (Cause, i64) {
        (self.cause, self.ack_ns.saturating_add(self.elapsed_ns))
    }
}

/// A segment that was held and in which responses begin.
pub(super) type HeldOpening = LetGo;

impl Timeline {
    /// Remembers whether the ACK of all before let this segment go, which comes behind the one `before`.
    pub(super) fn note_let_go(&mut self, data: Data, before: Moment, route: Route, acks: &Acks) {
        self.let_go = None;
        if data.is_full() || data.opens_hole || data.recovery.is_some() {
            return;
        }
        let start = data.start();
        let Some((ack, newly)) = acks.of_all_before(start) else {
            return;
        };
        let ack_ns = ack.time_ns;
        let at_once = i64::from(data.full_bytes.saturating_mul(DELAYED_ACK_SEGMENTS));
        let late_ns = ack_ns.saturating_sub(self.would_be_acked_ns(before, route, acks));
        let before = (newly < at_once).then(|| {
            let bytes = u32::try_from(newly).unwrap_or(0);
            Before {
                bytes,
                segments: 1 + u32::from(bytes > self.sent_bytes),
                late_ns,
            }
        });
        self.let_go = Some(LetGo {
            start,
            end: data.end,
            ack_ns,
            elapsed_ns: data.at.time_ns.saturating_sub(ack_ns),
            ack_bytes: ack.bytes,
            route,
            cause: Cause::StallNagleHold,
            before,
        });
    }

    /// When the ACK of the segment before went by if nothing delayed it and it took no time: to its sender, ACKs show how
    /// long what had been sent before it stood on the slowest link.
    fn would_be_acked_ns(&self, before: Moment, route: Route, acks: &Acks) -> i64 {
        let came_ns = before.time_ns.saturating_add(route.to_receiver_ns);
        let stood = acks
            .of_all_before(self.sent_start)
            .filter(|_| route.is_at_sender);
        stood.map_or(came_ns, |(ack, _)| came_ns.max(ack.time_ns))
    }

    /// What held a segment that an ACK let go, by all that is known of the slowest link now.
    fn held_by(&self, held: LetGo) -> Cause {
        let is_delayed = held.before.is_some_and(|before| {
            let takes_ns = if held.route.is_at_sender {
                let came_ns = self.link.of(before.bytes, before.segments);
                came_ns.saturating_add(self.link.of(held.ack_bytes, 0))
            } else {
                0
            };
            before.late_ns >= DELAYED_ACK_MIN_NS.saturating_add(takes_ns)
        });
        if is_delayed {
            Cause::StallNagleDelayedAck
        } else {
            held.cause
        }
    }

    /// Remembers which ACK a full segment followed that has waited for room in the window: a response may begin in it.
    pub(super) fn note_let_go_by_window(
        &mut self,
        (data, cause): (Data, Option<(Cause, f64)>),
        route: Route,
        acks: &Acks,
    ) {
        let windows = [
            Cause::SendLimitedSlowStart,
            Cause::StallSlowStartRestart,
            Cause::SendLimitedCwnd,
            Cause::SendLimitedSendBuffer,
        ];
        let cause = cause
            .map(|(cause, _)| cause)
            .filter(|it| windows.contains(it));
        let is_alone = !data.opens_hole && data.recovery.is_none() && !data.sharing.is_shared;
        let Some(cause) = cause.filter(|_| data.is_full() && is_alone) else {
            return;
        };
        let path_ns = route.to_sender_ns.saturating_add(self.takes_ns(data.bytes));
        let Some(ack) = acks.newest_by(Acks::known_by(data.at.time_ns, path_ns)) else {
            return;
        };
        self.let_go = Some(LetGo {
            start: data.start(),
            end: data.end,
            ack_ns: ack.time_ns,
            elapsed_ns: data.at.time_ns.saturating_sub(ack.time_ns),
            ack_bytes: ack.bytes,
            route,
            cause,
            before: None,
        });
    }

    /// A response begins at `start`, in the newest segment.
    pub(super) fn note_held_opening(&mut self, start: i64) {
        // Of several that begin in one segment only the last one may be told.
        let opening = self.let_go.filter(|it| (it.start..it.end).contains(&start));
        // A restart would have held the rest of the response before, which Nagle's algorithm may have as well.
        let opening = opening.filter(|it| it.cause != Cause::StallSlowStartRestart);
        if let Some(held) = opening.filter(|_| self.held_openings.len() < HELD_MAX) {
            self.let_go = None;
            self.held_openings.push_back(held);
        }
    }

    /// Whether the newest segment, in which a response begins at `start`, came when its request let it go, which went by
    /// at `asked_ns`.
    pub(super) fn is_let_go_by_request(&self, start: i64, asked_ns: i64) -> bool {
        let newest = self.let_go.filter(|it| (it.start..it.end).contains(&start));
        newest.is_some_and(|it| it.ack_ns == asked_ns && self.was_let_go_by(it))
    }

    /// Why the first segment of the response that begins at `start` was held, if its request, which was there at
    /// `asked_ns`, had come before the ACK that let it go; they are asked for in order.
    pub(in crate::waits) fn take_held_opening(
        &mut self,
        start: i64,
        asked_ns: i64,
    ) -> Option<Cause> {
        while self.held_openings.front().is_some_and(|it| it.end <= start) {
            self.held_openings.pop_front();
        }
        let held = self.held_openings.front().filter(|it| it.start <= start)?;
        let is_of_buffer = held.cause == Cause::SendLimitedSendBuffer;
        (!is_of_buffer && held.ack_ns > asked_ns && self.was_let_go_by(*held))
            .then(|| self.held_by(*held))
    }

    /// Whether the segment came when its ACK let it go, by all that is known of the slowest link now.
    pub(super) fn was_let_go_by(&self, held: LetGo) -> bool {
        let takes_ns = |bytes: u32| {
            if held.route.is_at_sender {
                0
            } else {
                self.takes_ns(bytes)
            }
        };
        let bytes = u32::try_from(held.end.saturating_sub(held.start)).unwrap_or(0);
        let on_link_ns = takes_ns(bytes);
        // An ACK that came with data takes as long as that on the link, which is taken to be as slow in its direction.
        let carrier_ns = takes_ns(held.ack_bytes);
        // A link that is not known is no slower than those of which the pace shows; round trips vary by a share.
        let late_ns = if on_link_ns > 0 {
            CLOSE_NS
        } else {
            BURST_MIN_NS.max(held.route.to_sender_ns / RELEASE_RTT_SHARE)
        };
        let off_ns = held
            .elapsed_ns
            .saturating_sub(held.route.to_sender_ns)
            .saturating_sub(on_link_ns)
            .saturating_sub(carrier_ns);
        // The path was measured with a SYN, whose options take their time as well.
        let early_ns = CLOSE_NS.saturating_add(takes_ns(OPTIONS_BYTES));
        off_ns >= early_ns.saturating_neg() && off_ns <= late_ns
    }
}

#[cfg(test)]
mod tests {
    use super::super::Words;
    use super::*;
    use crate::arrivals::Arrivals;

    const MS: i64 = 1_000_000;
    const START: i64 = (1 << 32) - 300;

    /// A response whose first segment of 500 bytes comes so long after the ACK of all before it, on a path of 50 ms,
    /// when the slowest link takes 38 ms for it: whether it was held, as far as that is known.
    fn is_held(elapsed_ms: i64, is_known: bool) -> bool {
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        let route = Route::at_receiver(50);
        let mut acks = Acks::default();
        acks.push(0, START - 1000, 60_000, 50 * MS);
        acks.push(100 * MS, START, 60_000, 50 * MS);
        let at = |time_ms: i64| Moment::at_ms(time_ms);
        let data = Data {
            bytes: 500,
            full_bytes: 1000,
            is_pushed: true,
            ..Data::plain(at(100 + elapsed_ms), START + 500)
        };
        timeline.note_let_go(data, at(100), route, &acks);
        timeline.note_held_opening(START);
        timeline.full_bytes = 1000;
        if is_known {
            let mut link = Arrivals::default();
            for _ in 0..3 {
                link.came_after(80 * MS, 1000, 1, 50 * MS);
            }
            timeline.shared_arrivals = link;
        }
        timeline.take_held_opening(START, 50 * MS).is_some()
    }

    #[test]
    fn how_long_a_held_opening_took_on_the_link_may_show_after_it() {
        assert!(!is_held(88, false));
        assert!(is_held(88, true));
        assert!(!is_held(60, true));
    }

    #[test]
    fn a_held_opening_may_come_sooner_than_a_path_that_was_measured_with_the_options_of_a_syn() {
        assert!(is_held(86, true));
        assert!(!is_held(83, true));
    }

    /// A response whose first segment is full and comes so long after the ACK of a part of what was before it, on a path
    /// of 50 ms, for this cause: whether that is told of the response, which was asked for at this time.
    fn held_by_window(elapsed_ms: i64, cause: Cause, asked_ms: i64) -> Option<Cause> {
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        let route = Route::at_receiver(50);
        let mut acks = Acks::default();
        acks.push(0, START - 2000, 60_000, 50 * MS);
        acks.push(100 * MS, START - 1000, 60_000, 50 * MS);
        let at = Moment {
            time_ns: (100 + elapsed_ms) * MS,
            frame: 1,
        };
        let data = Data::plain(at, START + 1000);
        timeline.note_let_go_by_window((data, Some((cause, 0.7))), route, &acks);
        timeline.note_held_opening(START);
        timeline.take_held_opening(START, asked_ms * MS)
    }

    #[test]
    fn a_full_segment_that_begins_a_response_as_an_ack_makes_room_in_the_window_waited_for_that() {
        let window = Cause::SendLimitedSlowStart;
        assert_eq!(held_by_window(50, window, 90), Some(window));
        assert_eq!(
            held_by_window(50, window, 110),
            None,
            "it was not asked for"
        );
        assert_eq!(held_by_window(80, window, 90), None, "its server worked");
        let idle = Cause::ServerDataUnavailable;
        assert_eq!(held_by_window(50, idle, 90), None);
    }
}
