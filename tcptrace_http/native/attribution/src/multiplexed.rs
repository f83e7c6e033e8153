//! Waits of an HTTP/2 message among other streams (RFC 9113, sections 5 and 5.2).
//!
//! The segments of a direction carry the bytes of all its streams. A stream waits for the constraint of the
//! segment with its own next byte. Before that, the stream waits for a flow-control window or for other
//! streams' bytes. The earlier of these two waits counts. A flow-control window holds from its exhaustion to
//! the WINDOW_UPDATE. Data that the sender writes after a pause was not available before the pause.

use tcptrace_path::{tolerance_ns, Place, Route};
use trace_model::rows::{Cause, Constraint};

use crate::bound::Bound;
use crate::explained_stream::Span;
use crate::partition::{Moment, ASSUMED, INFERRED, SEEN};
use crate::stream::Stream;

/// Frames of a message in the stream of its direction.
#[derive(Clone, Debug, Default)]
pub struct Frames {
    /// Pieces in stream order.
    pub pieces: Vec<Piece>,
    /// Openings in stream order.
    pub openings: Vec<Opening>,
}

/// Consecutive frames.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    pub start: i64,
    pub end: i64,
    /// Stream of the frames directly before the piece.
    pub behind: Option<u32>,
    /// End offset of those frames.
    pub behind_end: i64,
}

/// DATA that a flow-control window had held.
#[derive(Clone, Copy, Debug)]
pub struct Opening {
    /// Start offset of the frame.
    pub at: i64,
    /// End offset of the DATA that exhausted the window.
    pub filled: i64,
    /// True for the window of the stream, false for that of the connection.
    pub is_of_stream: bool,
    /// Packet with the WINDOW_UPDATE.
    pub by: Moment,
}

/// Frames of both messages of a stream, and the history that other streams still need.
#[derive(Clone, Debug, Default)]
pub struct StreamFrames {
    pub request: Frames,
    pub response: Frames,
    /// Start of the oldest unexplained message, and the offsets of its bytes in both directions.
    pub kept_ns: i64,
    pub kept: [Option<i64>; 2],
}

/// View of a direction for one message.
pub(crate) struct View<'a> {
    pub(crate) stream: &'a Stream,
    pub(crate) frames: &'a Frames,
    pub(crate) route: &'a Route,
    /// Cause of time in which the sender's application had not written.
    pub(crate) application: Cause,
}

impl View<'_> {
    /// Return the waits of the message from `from_ns` to `until_ns`.
    pub(crate) fn spans(&self, from_ns: i64, until_ns: i64) -> Vec<Span> {
        let mut output = Vec::new();
        let mut group: Vec<Span> = Vec::new();
        for span in self.arrivals(from_ns, until_ns) {
            group.push(span);
            let is_own = self.piece_in(&span).is_some();
            if is_own && span.end_frame.is_some() {
                self.convert_group(&mut group, from_ns, &mut output);
            }
        }
        self.convert_group(&mut group, from_ns, &mut output);
        output
    }

    /// Return the spans between arrivals.
    ///
    /// While bytes of the message arrive behind a hole, the message waits for these bytes. After the last of
    /// these bytes, the message waits for the hole.
    fn arrivals(&self, from_ns: i64, until_ns: i64) -> Vec<Span> {
        let has_piece = |it: &&Span| {
            it.end_ns <= until_ns && it.end_frame.is_some() && self.piece_in(it).is_some()
        };
        let in_order = self.stream.between(from_ns, until_ns);
        let in_order = in_order.filter(|it| !is_hole(it)).filter(has_piece).last();
        let behind_holes = self.stream.behind_holes(from_ns, until_ns);
        let behind_holes = behind_holes.filter(has_piece).last();
        let last = [in_order, behind_holes].into_iter().flatten();
        let last_ns = last.map(|it| it.end_ns).max().unwrap_or(from_ns);
        let mut output = Vec::new();
        for span in self.stream.between(from_ns, until_ns) {
            let mut at_ns = span.start_ns;
            if is_hole(span) {
                let end_ns = span.end_ns.min(last_ns);
                for it in self.stream.behind_holes(span.start_ns, end_ns) {
                    let start_ns = it.start_ns.max(at_ns);
                    let end_ns = it.end_ns.min(span.end_ns);
                    if end_ns > start_ns {
                        output.push(Span {
                            start_ns,
                            end_ns,
                            ..*it
                        });
                        at_ns = end_ns;
                    }
                }
            }
            if span.end_ns > at_ns {
                output.push(Span {
                    start_ns: at_ns,
                    ..*span
                });
            }
        }
        output
    }

    /// Return the sender's last idle time between two moments, if bytes of other streams arrived then.
    pub(crate) fn idle_until(&self, from_ns: i64, until_ns: i64) -> Option<i64> {
        let spans = self.arrivals(from_ns, until_ns);
        let last = spans.last()?;
        let opening = self.frames.pieces.first()?;
        // Frames outside streams are few and short.
        opening.behind?;
        let windows = self.windows(opening, last, from_ns);
        let mut idle_ns = from_ns;
        let mut has_others = false;
        for span in &spans {
            if self.is_idle(span, &windows) {
                idle_ns = span.end_ns.min(until_ns);
                has_others = false;
            }
            let is_of_others = span.bound.start < opening.behind_end;
            has_others |= is_of_others && span.end_frame.is_some() && span.end_ns < until_ns;
        }
        has_others.then_some(idle_ns)
    }

    /// Return whether the sender had no data to write, and no window held its data.
    ///
    /// A gap within the tolerance of the round trip is no pause: its ACKs come at irregular times.
    fn is_idle(&self, span: &Span, windows: &[Span]) -> bool {
        if span.end_ns.saturating_sub(span.start_ns) <= tolerance_ns(self.route.round_trip_ns()) {
            return false;
        }
        let is_held = windows.iter().any(|it| {
            let from_ns = it.start_ns.max(span.start_ns);
            let held_ns = it.end_ns.min(span.end_ns).saturating_sub(from_ns);
            held_ns > span.end_ns.saturating_sub(span.start_ns) / 2
        });
        // Behind packets of other connections the sender may have had data.
        span.cause == self.application && span.confidence > ASSUMED && !is_held
    }

    /// Return the first piece of the message in the segment that ended a span.
    fn piece_in(&self, span: &Span) -> Option<&Piece> {
        let pieces = &self.frames.pieces;
        let at = pieces.partition_point(|piece| piece.end <= span.bound.start);
        pieces.get(at).filter(|piece| piece.start < span.bound.end)
    }

    /// Convert the spans up to a segment of the message into the message's waits.
    fn convert_group(&self, group: &mut Vec<Span>, from_ns: i64, output: &mut Vec<Span>) {
        let Some(last) = group.last().copied() else {
            return;
        };
        let begun_ns = group
            .first()
            .map_or(from_ns, |first| first.start_ns.max(from_ns));
        let piece = self.piece_in(&last).copied();
        let next = self.frames.pieces.get(
            self.frames
                .pieces
                .partition_point(|piece| piece.end <= last.bound.start),
        );
        let behind = next.and_then(|piece| piece.behind);
        let windows = piece.map_or_else(Vec::new, |piece| self.windows(&piece, &last, begun_ns));
        let idle = group.iter().rposition(|span| self.is_idle(span, &windows));
        for (place, span) in group.iter_mut().enumerate() {
            if self.piece_in(span).is_some() {
                continue;
            }
            span.bound.behind_stream = behind;
            if is_loss(span.cause) || behind.is_none() {
                continue;
            }
            let is_before_pause = idle.is_some_and(|idle| place < idle);
            if is_before_pause {
                span.cause = self.application;
                span.bound.constraint = Constraint::Application;
                span.bound.released_by = None;
            } else if idle != Some(place) {
                span.cause = Cause::SendLimitedMultiplexedBehind;
                span.confidence = INFERRED;
            }
        }
        merge(group);
        overlay(group, &windows, output);
        group.clear();
    }

    /// Return the times in which flow-control windows held the message's DATA in the segment of `last`, in
    /// order.
    fn windows(&self, piece: &Piece, last: &Span, begun_ns: i64) -> Vec<Span> {
        let pieces = &self.frames.pieces;
        let before = pieces.partition_point(|it| it.end <= last.bound.start);
        // Earlier bytes within the piece belong to the message; before the piece come bytes of other streams.
        let since = match before.checked_sub(1).and_then(|at| pieces.get(at)) {
            _ if piece.start < last.bound.start => last.bound.start,
            Some(previous) => previous.end,
            // DATA of other streams may precede the message's HEADERS.
            None => i64::MIN,
        };
        let first = self.frames.openings.partition_point(|it| it.at < since);
        let openings = self.frames.openings.iter().skip(first);
        let openings = openings.take_while(|it| it.at < last.bound.end);
        let own = openings.filter(|it| !it.is_of_stream || it.at >= piece.start);
        let mut spans = Vec::new();
        for opening in own {
            self.window(opening, last, begun_ns, &mut spans);
        }
        spans
    }

    /// Add the time in which a window was closed, up to the answer to its WINDOW_UPDATE.
    fn window(&self, opening: &Opening, last: &Span, begun_ns: i64, spans: &mut Vec<Span>) {
        let held = self.stream.arrival_of(opening.at);
        let Some(arrival) = held.or_else(|| self.stream.arrival_of(last.bound.start)) else {
            return;
        };
        // Segments pass the capture at a time that differs from their arrival.
        let shift_ns = arrival.time_ns.saturating_sub(arrival.passed_ns);
        let answer_ns =
            self.route
                .answer_ns(opening.by.time_ns, UPDATE_BYTES, arrival.packet_bytes);
        let end_ns = answer_ns.saturating_add(shift_ns);
        let end_ns = end_ns.min(arrival.time_ns).min(last.end_ns);
        // The window had allowed data up to this arrival.
        let filled = self.stream.arrival_of(opening.filled.saturating_sub(1));
        let (filled_ns, seen_ns) = filled.map_or((begun_ns, begun_ns), |it| {
            (
                it.time_ns,
                it.passed_ns.saturating_add(self.route.to_receiver_ns),
            )
        });
        // A path delay also affects earlier data, whose ACK is not delayed (RFC 1122, section 4.2.3.2).
        let acked = opening.filled.saturating_sub(UNACKED_BYTES);
        let acked_ns = self.stream.acked_ns(acked).filter(|acked_ns| {
            self.route.place == Place::Sender && *acked_ns <= opening.by.time_ns
        });
        let seen_ns = seen_ns.max(acked_ns.unwrap_or(i64::MIN));
        let start_ns = filled_ns
            .max(begun_ns)
            .max(spans.last().map_or(i64::MIN, |it| it.end_ns));
        let late_ns = opening.by.time_ns.saturating_sub(seen_ns.max(begun_ns));
        let late_ns = if late_ns > self.route.tolerance_ns() {
            late_ns
        } else {
            0
        };
        let late_until_ns = start_ns.saturating_add(late_ns).min(end_ns);
        let (constraint, cause) = if opening.is_of_stream {
            (Constraint::H2StreamWindow, Cause::SendLimitedH2StreamWindow)
        } else {
            (
                Constraint::H2ConnectionWindow,
                Cause::SendLimitedH2ConnectionWindow,
            )
        };
        let bound = Bound {
            constraint,
            released_by: Some(opening.by.frame),
            behind: None,
            behind_stream: None,
            ..last.bound
        };
        let mut add = |start_ns: i64, end_ns: i64, cause| {
            if end_ns > start_ns {
                spans.push(Span {
                    start_ns,
                    end_ns,
                    cause,
                    bound,
                    end_frame: None,
                    confidence: SEEN,
                });
            }
        };
        add(start_ns, late_until_ns, Cause::SendLimitedH2WindowUpdate);
        add(late_until_ns, end_ns, cause);
    }
}

/// Size of a packet with a WINDOW_UPDATE: 13 bytes behind the IP and TCP headers.
const UPDATE_BYTES: u32 = 65;
/// Data that a receiver may leave without an ACK: less than two full segments on Ethernet.
const UNACKED_BYTES: i64 = 2 * 1460;

/// Return whether the arrived data was behind a hole during the whole span.
fn is_hole(span: &Span) -> bool {
    is_loss(span.cause) && span.bound.constraint == Constraint::Loss
}

fn is_loss(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::StallFastRecovery
            | Cause::StallRetransmissionTimeout
            | Cause::StallTailLoss
            | Cause::NetworkReordering
    )
}

/// Merge consecutive spans behind the same stream.
fn merge(spans: &mut Vec<Span>) {
    spans.dedup_by(|next, last| {
        let is_behind = |it: &Span| it.cause == Cause::SendLimitedMultiplexedBehind;
        let is_one = is_behind(next)
            && is_behind(last)
            && next.bound.behind_stream == last.bound.behind_stream;
        if is_one {
            *last = Span {
                start_ns: last.start_ns,
                ..*next
            };
        }
        is_one
    });
}

/// Append the spans, with the window times on top of them.
fn overlay(spans: &[Span], windows: &[Span], output: &mut Vec<Span>) {
    let mut windows = windows.iter().peekable();
    for span in spans {
        let mut at_ns = span.start_ns;
        while let Some(window) = windows.peek().filter(|it| it.start_ns < span.end_ns) {
            if window.start_ns > at_ns {
                output.push(Span {
                    start_ns: at_ns,
                    end_ns: window.start_ns,
                    end_frame: None,
                    ..*span
                });
            }
            let end_ns = window.end_ns.min(span.end_ns);
            if end_ns > at_ns {
                let end_frame = span.end_frame.filter(|_| end_ns == span.end_ns);
                let begun = output
                    .last_mut()
                    .filter(|_| window.start_ns < span.start_ns);
                match begun {
                    Some(begun) => (begun.end_ns, begun.end_frame) = (end_ns, end_frame),
                    None => output.push(Span {
                        start_ns: window.start_ns.max(at_ns),
                        end_ns,
                        end_frame,
                        ..**window
                    }),
                }
                at_ns = end_ns;
            }
            if window.end_ns > span.end_ns {
                break;
            }
            windows.next();
        }
        if span.end_ns > at_ns {
            output.push(Span {
                start_ns: at_ns,
                ..*span
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_model::rows::Direction;

    fn span(start_ns: i64, end_ns: i64, cause: Cause) -> Span {
        Span {
            start_ns,
            end_ns,
            cause,
            bound: Bound {
                direction: Direction::ServerToClient,
                constraint: Constraint::Link,
                released_by: None,
                start: 0,
                end: 0,
                behind: None,
                behind_stream: None,
            },
            end_frame: Some(1),
            confidence: SEEN,
        }
    }

    #[test]
    fn windows_replace_spans_without_overlap_or_gap() {
        let spans = [
            span(0, 10, Cause::SendLimitedCwnd),
            span(10, 30, Cause::ServerDataUnavailable),
            span(30, 40, Cause::SendLimitedCwnd),
        ];
        let window = Cause::SendLimitedH2StreamWindow;
        for (start, end) in [
            (0, 40),
            (5, 15),
            (10, 30),
            (12, 20),
            (29, 31),
            (0, 5),
            (35, 40),
        ] {
            let mut output = Vec::new();
            overlay(&spans, &[span(start, end, window)], &mut output);
            let mut at_ns = 0;
            for piece in &output {
                assert_eq!(piece.start_ns, at_ns, "{start} {end}");
                at_ns = piece.end_ns;
            }
            assert_eq!(at_ns, 40);
            let held: i64 = output
                .iter()
                .filter(|it| it.cause == window)
                .map(|it| it.end_ns - it.start_ns)
                .sum();
            assert_eq!(held, end - start);
        }
    }
}
