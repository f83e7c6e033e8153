//! Time between two deliveries of a stream: first the pace of the path, then the hold of the segment.

use std::collections::VecDeque;

use tcptrace_path::receiver::AckKind;
use tcptrace_path::{Place, Route};
use tcptrace_sender::congestion::{phase, Phase, Stop};
use trace_model::rows::{Cause, Constraint};

use crate::bound::Bound;
use crate::causes::{cause, word, CauseWords};
use crate::delivery::NewDelivery;
use crate::departure::Departure;
use crate::explained_stream::{Arrival, Copy, ExplainedStream, HoldCause, RepairCause, Span};
use crate::partition::{ASSUMED, INFERRED, SEEN};
use crate::recovery::cause_of;

/// Explainer of departures, once all departures of a log are known.
pub(crate) struct Explainer<'a> {
    pub(crate) route: &'a Route,
    pub(crate) stops: &'a [Stop],
    pub(crate) words: CauseWords,
    /// True if ACKs were not captured: causes that need them are not assigned.
    pub(crate) has_no_acks: bool,
    /// True if arrivals behind holes are explained as well.
    pub(crate) has_streams: bool,
    pub(crate) departures: &'a [Departure],
}

impl Explainer<'_> {
    /// Add the spans and deliveries of all replayed segments.
    pub(crate) fn explain(&self, explained: &mut ExplainedStream) {
        for departure in self.departures {
            if departure.is_first_behind_hole && self.has_streams {
                self.explain_behind_hole(departure, &mut explained.behind_holes);
            }
            if let Some((since_ns, delivered)) = departure.delivered {
                let (held, repaired) =
                    self.explain_delivery(departure, since_ns, delivered, &mut explained.spans);
                explained.arrivals.push_back(Arrival {
                    before: delivered.before,
                    after: delivered.after,
                    time_ns: departure.received_ns,
                    frame: departure.data.frame,
                    passed_ns: departure.data.time_ns,
                    packet_bytes: departure.data.packet_bytes,
                    held,
                    repaired,
                    queued_since_ns: departure.queued_since_ns,
                });
            } else if let Some(repair) = departure.repair {
                explained.copies.push_back(Copy {
                    start: departure.data.start,
                    end: departure.data.end,
                    time_ns: departure.data.time_ns,
                    frame: departure.data.frame,
                    cause: cause_of(repair),
                });
            }
        }
    }

    /// Return the index of the segment in `frame`, if it was replayed.
    fn number_of(&self, frame: u64) -> Option<usize> {
        let found = self
            .departures
            .binary_search_by_key(&frame, |it| it.data.frame);
        found.ok()
    }

    fn lay<'a>(
        &self,
        departure: &Departure,
        at_ns: i64,
        spans: &'a mut VecDeque<Span>,
    ) -> SpanWriter<'a> {
        SpanWriter {
            at_ns,
            unbound: Bound {
                direction: self.words.direction,
                constraint: Constraint::Application,
                released_by: None,
                start: departure.data.start,
                end: departure.data.end,
                behind: None,
                behind_stream: None,
            },
            spans,
        }
    }

    /// Explain the time from the previous arrival to this arrival behind a hole.
    fn explain_behind_hole(&self, departure: &Departure, spans: &mut VecDeque<Span>) {
        let until_ns = departure.received_ns;
        let mut lay = self.lay(departure, departure.last_arrival_ns, spans);
        match departure.repair {
            Some(repair) => lay.until(until_ns, cause_of(repair), Constraint::Loss, INFERRED),
            None => {
                self.plain(departure, until_ns, &mut lay);
            }
        }
        lay.mark(until_ns, departure.data.frame);
    }

    /// Explain the time from the previous delivery to this delivery.
    fn explain_delivery(
        &self,
        departure: &Departure,
        since_ns: i64,
        delivered: NewDelivery,
        spans: &mut VecDeque<Span>,
    ) -> (Option<HoldCause>, Option<RepairCause>) {
        let until_ns = departure.received_ns;
        let mut lay = self.lay(departure, since_ns, spans);
        let behind = delivered.behind.and_then(|(time_ns, frame)| {
            let number = self.number_of(frame)?;
            Some((time_ns, (number, self.departures.get(number)?)))
        });
        if let Some((hole_seen_ns, first)) = behind.filter(|_| departure.repair.is_some()) {
            // The waits of the lost original ended with its departure.
            let mut earlier = self.departures.iter().take(first.0).rev();
            let original = earlier.find(|it| it.data.start <= departure.data.start);
            let original =
                original.filter(|it| it.delivered.is_none() && it.data.end > departure.data.start);
            match original {
                Some(it) => self.plain(it, it.received_ns.min(until_ns), &mut lay),
                None => self.plain(first.1, hole_seen_ns.min(until_ns), &mut lay),
            };
            lay.mark(hole_seen_ns, first.1.data.frame);
            let is_reordered = until_ns.saturating_sub(hole_seen_ns) < self.route.to_sender_ns / 2;
            let cause = match departure.repair {
                Some(repair) if !is_reordered => cause_of(repair),
                _ => Cause::NetworkReordering,
            };
            lay.until(until_ns, cause, Constraint::Loss, SEEN);
            lay.mark(until_ns, departure.data.frame);
            return (None, Some((cause, hole_seen_ns)));
        }
        if let Some(repair) = departure.repair {
            let pace_ns = since_ns.max(departure.last_arrival_ns);
            let pace_ns = pace_ns.saturating_add(departure.service_ns);
            let held_ns = departure.held_until_ns.unwrap_or(pace_ns);
            if held_ns > pace_ns {
                self.plain(departure, held_ns.min(until_ns), &mut lay);
            }
            lay.until(
                pace_ns.min(until_ns),
                self.words.pace,
                Constraint::Link,
                SEEN,
            );
            lay.until(until_ns, cause_of(repair), Constraint::Loss, INFERRED);
            lay.mark(until_ns, departure.data.frame);
            return (None, Some((cause_of(repair), pace_ns)));
        }
        let held = self.plain(departure, until_ns, &mut lay);
        lay.mark(until_ns, departure.data.frame);
        (held, None)
    }

    /// Explain the time before a segment that was not lost: the pace of the path, then its hold.
    fn plain(&self, it: &Departure, until_ns: i64, lay: &mut SpanWriter<'_>) -> Option<HoldCause> {
        let words = self.words;
        let shift_ns = match self.route.place {
            Place::Receiver => 0,
            Place::Sender => it.received_ns.saturating_sub(it.data.time_ns),
        };
        let paced_ns = lay
            .at_ns
            .max(it.last_arrival_ns)
            .saturating_add(it.service_ns);
        let begun_ns = match self.route.place {
            Place::Receiver => paced_ns.max(it.pass_before_ns.saturating_add(it.queued_ns)),
            Place::Sender => paced_ns.max(it.pass_before_ns.saturating_add(shift_ns)),
        };
        lay.until(begun_ns.min(until_ns), words.pace, Constraint::Link, SEEN);
        if !it.is_late {
            // The segment was queued behind other connections for at most the link's busy period.
            let since_ns = it.queued_since_ns.unwrap_or(until_ns).min(until_ns);
            if it.is_behind_others {
                lay.until(
                    since_ns,
                    words.application,
                    Constraint::Application,
                    ASSUMED,
                );
            }
            lay.until(until_ns, words.pace, Constraint::Link, SEEN);
            return None;
        }
        let release = it
            .release
            .filter(|_| !is_ack_coincidence(it, self.departures));
        let is_paced = release.is_none() && is_paced(it, self.departures);
        if self.has_no_acks && !is_paced {
            lay.until(
                until_ns,
                Cause::Unobserved,
                Constraint::Application,
                ASSUMED,
            );
            return None;
        }
        if it.is_corked {
            let bound = Bound {
                constraint: Constraint::Cork,
                ..lay.unbound
            };
            lay.bound(until_ns, Cause::StallCorkTimeout, bound, ASSUMED);
            return Some((Cause::StallCorkTimeout, bound));
        }
        let Some(release) = release else {
            let (cause, constraint) = if is_paced {
                (words.pace, Constraint::Link)
            } else {
                (words.application, Constraint::Application)
            };
            lay.until(until_ns, cause, constraint, INFERRED);
            return None;
        };
        let phase = release.stop.map_or(Phase::SlowStart, |at| {
            phase(
                self.stops,
                at,
                it.data.full_bytes,
                self.route.round_trip_ns(),
            )
        });
        let is_delayed = release.kind.is_delayed();
        let constraint = release.constraint_in(phase);
        let assigned = cause(constraint, is_delayed, phase, release.is_restarted, words);
        // While the serialization time is unknown, the application may have written the segment when the ACK
        // arrived.
        let is_vague = self.route.unknown_ns(it.data.packet_bytes) > self.route.tolerance_ns();
        let confidence = if release.is_tied || is_vague {
            ASSUMED
        } else {
            INFERRED
        };
        let bound = Bound {
            constraint: word(constraint, phase),
            released_by: Some(release.by_frame),
            behind: release.behind,
            ..lay.unbound
        };
        match release.kind {
            AckKind::Delayed { by_ns } if release.waits_for_first => {
                lay.bound(until_ns.saturating_sub(by_ns), assigned, bound, confidence);
                lay.bound(
                    until_ns,
                    Cause::StallDelayedAckFirstSegment,
                    bound,
                    confidence,
                );
            }
            _ => lay.bound(until_ns, assigned, bound, confidence),
        }
        Some((assigned, bound))
    }
}

/// Gaps that differ by less than 1 / `EVEN_SHARE` come from pacing.
const EVEN_SHARE: i64 = 16;

/// Minimum number of even gaps without an ACK before a gap that an ACK seems to end.
const CLOCKED_MIN: usize = 3;
/// Number of segments that are searched for even gaps: timer ticks and ACKs drift apart within them.
const CLOCKED_WITHIN: usize = 16;

/// Return whether a segment follows its sender's clock while an ACK arrives at the same time by chance.
///
/// The ACKs of paced segments arrive at the same pace.
fn is_ack_coincidence(it: &Departure, departures: &[Departure]) -> bool {
    let frame = it.data.frame;
    let place = departures.partition_point(|other| other.data.frame < frame);
    let own_ns = gap_ns(it);
    let is_even =
        |other: &&Departure| gap_ns(other).saturating_sub(own_ns).abs() <= own_ns / EVEN_SHARE;
    let before = departures.iter().take(place).rev().filter(|it| it.is_late);
    let even = before.take(CLOCKED_WITHIN).take_while(is_even);
    let clocked = even.filter(|it| is_free(it));
    clocked.take(CLOCKED_MIN).count() == CLOCKED_MIN
}

fn gap_ns(it: &Departure) -> i64 {
    it.data.time_ns.saturating_sub(it.pass_before_ns)
}

/// Return whether only the sender itself held the segment.
fn is_free(it: &Departure) -> bool {
    it.is_late && it.release.is_none() && it.repair.is_none()
}

/// Return whether a full segment without a releasing ACK follows its sender's clock.
///
/// The gaps before it and beside it are even (rate-based pacing, Visweswaraiah and Heidemann 1997).
fn is_paced(it: &Departure, departures: &[Departure]) -> bool {
    let is_full = |it: &Departure| it.data.end.saturating_sub(it.data.start) >= it.data.full_bytes;
    let frame = it.data.frame;
    let Ok(place) = departures.binary_search_by_key(&frame, |it| it.data.frame) else {
        return false;
    };
    let beside = [place.checked_sub(1), place.checked_add(1)];
    let beside = beside
        .into_iter()
        .flatten()
        .filter_map(|at| departures.get(at));
    let own_ns = gap_ns(it);
    // Consecutive short segments are periodic writes of an application.
    let mut clocked = beside.filter(|other| is_free(other) && (is_full(it) || is_full(other)));
    clocked.any(|other| gap_ns(other).saturating_sub(own_ns).abs() <= own_ns / EVEN_SHARE)
}

/// Writer of consecutive spans.
struct SpanWriter<'a> {
    at_ns: i64,
    /// Bound of the segment that ends the spans, before its constraint is set.
    unbound: Bound,
    spans: &'a mut VecDeque<Span>,
}

impl SpanWriter<'_> {
    fn until(&mut self, end_ns: i64, cause: Cause, constraint: Constraint, confidence: f64) {
        let bound = Bound {
            constraint,
            ..self.unbound
        };
        self.bound(end_ns, cause, bound, confidence);
    }

    /// Set the frame of the span that ends at `time_ns`.
    fn mark(&mut self, time_ns: i64, frame: u64) {
        if let Some(last) = self.spans.back_mut().filter(|it| it.end_ns == time_ns) {
            last.end_frame = Some(frame);
        }
    }

    fn bound(&mut self, end_ns: i64, cause: Cause, bound: Bound, confidence: f64) {
        if end_ns <= self.at_ns {
            return;
        }
        self.spans.push_back(Span {
            start_ns: self.at_ns,
            end_ns,
            cause,
            bound,
            end_frame: None,
            confidence,
        });
        self.at_ns = end_ns;
    }
}
