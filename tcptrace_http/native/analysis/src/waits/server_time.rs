//! From a request's last byte until its response comes: the path, the server, and what was lost meanwhile.

use tcptrace_tcp::{DELAYED_ACK_MAX_NS, FULL_SEGMENT_BYTES, TIMEOUT_MIN_NS};
use trace_model::rows::{Cause, TransactionRow};

use super::behind::Behind;
use super::partition::{Moment, Partition, ASSUMED, INFERRED, SEEN};
use super::spans::Spans;
use super::timeline::{Piece, Route};
use super::{Path, Waits};
use crate::shared_windows::Ahead;

/// The last segment of a request, as the slowest link carries it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    bytes: u32,
    /// ... without what was sent of the request before.
    last_bytes: u32,
    /// Packets without payload that went right before it: the handshake's last.
    headers: u32,
    /// When it went by: with the SYN (RFC 1644, RFC 7413) before the handshake was done.
    at_ns: Option<i64>,
    /// What stood before it on the link.
    ahead: Ahead,
    /// Where it ends.
    end: Option<i64>,
}

impl Asked {
    pub(super) fn of(row: &TransactionRow, spans: &Spans, behind: &mut Behind) -> Asked {
        let header = row.request_header_bytes.unwrap_or(0);
        let bytes = header.saturating_add(row.request_body_bytes.unwrap_or(0));
        let last = spans.request.map(|(_, last)| last);
        let ending = last.and_then(|last| behind.take(last.frame));
        let bytes = u32::try_from(bytes.min(FULL_SEGMENT_BYTES.into())).unwrap_or(0);
        Asked {
            bytes,
            last_bytes: ending.map_or(bytes, |it| it.bytes.min(FULL_SEGMENT_BYTES)),
            headers: u32::from(spans.opens_connection),
            at_ns: last.map(|last| last.time_ns),
            ahead: ending.map_or(Ahead::default(), |it| it.ahead),
            end: ending.and_then(|it| it.end),
        }
    }
}

/// How a response began.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    /// Its first segment went by.
    pub(super) first: Moment,
    /// Its first byte came to the client.
    pub(super) came: Moment,
    /// What held it, if that was Nagle's algorithm.
    pub(super) held: Option<Cause>,
}

impl Waits {
    /// An answer that came as late as the slowest link is slow shows how slow that is.
    pub(super) fn note_answer(&mut self, asked: Asked, spans: &Spans, path: Path) {
        let Some(((_, asked_at), (first, _))) = spans.request.zip(spans.response) else {
            return;
        };
        let is_alone = self
            .previous_end
            .is_none_or(|previous| previous.time_ns <= asked_at.time_ns);
        if is_alone {
            let elapsed = first.time_ns.saturating_sub(asked_at.time_ns);
            let longer = elapsed.saturating_sub(path.of_responses().to_sender_ns);
            self.responses
                .answered(first.time_ns, longer, asked.bytes, asked.headers);
        }
    }

    /// From the request's last byte until the response came to the client.
    pub(super) fn give_server(
        &self,
        answer: Answer,
        asked: Asked,
        path: Path,
        partition: &mut Partition,
    ) {
        let Answer { first, came, held } = answer;
        let route = path.of_responses();
        let confidence = if path.to_server_ns.is_some() {
            SEEN
        } else {
            ASSUMED
        };
        let pace_ns = if route.is_at_sender {
            0
        } else {
            self.responses.opening_pace_ns(first.time_ns)
        };
        let lost = self.give_lost((asked, answer), route, pace_ns, partition);
        partition.at_most(
            self.responses.bare_way_ns(route),
            came,
            Cause::NetworkPropagation,
            confidence,
        );
        let way_ns = self.give_line(came, (route, confidence), partition);
        let from_ns = partition.time_ns();
        let left = Moment {
            time_ns: first.time_ns.saturating_add(way_ns),
            ..first
        };
        let thought = self
            .repairs_of_response(from_ns, came)
            .next()
            .map_or(left, |piece| piece.start.earlier(left))
            .earlier(came);
        let mut written = thought;
        let mut question_ns = self.question_ns(asked);
        if !route.is_at_sender {
            question_ns = question_ns.max(self.not_there_ns(asked, first, from_ns));
            // The segment itself took its time on the slowest link; the path's least is that of small ones.
            let written_ns = written.time_ns.saturating_sub(pace_ns);
            let room_ns = written_ns.saturating_sub(from_ns);
            written.time_ns = written_ns.saturating_sub(question_ns.min(room_ns).max(0));
        }
        let held = self.responses.opening_held(first.time_ns).or(held);
        let held = held.or(lost).unwrap_or(Cause::ServerThink);
        if let Some(had_room) = self.responses.opening_had_room(first.time_ns, written) {
            self.give_held(had_room, (held, confidence), 0, partition);
            partition.until(written, Cause::SendLimitedBottleneck, INFERRED);
        }
        if !route.is_at_sender {
            // When it came to a queue nobody sees, but the link shows that it stood in one.
            let is_sure = held == Cause::ServerThink;
            let stood_ns = self
                .responses
                .opening_likely_stood_ns(first.time_ns, from_ns);
            let stood_ns = if is_sure { stood_ns } else { 0 };
            let asked_ns = self.responses.standing_ns(asked.ahead.others);
            let joined = Moment {
                time_ns: written
                    .time_ns
                    .saturating_sub(stood_ns.saturating_add(asked_ns)),
                ..written
            };
            self.give_held(joined, (held, confidence), 0, partition);
            if asked_ns > 0 || is_sure {
                partition.until(written, Cause::NetworkQueueing, INFERRED);
            }
        }
        self.give_held(written, (held, confidence), 0, partition);
        self.give_copied(came, question_ns, route, partition);
        partition.until(thought, Cause::SendLimitedBottleneck, INFERRED);
        if route.is_at_sender && way_ns == 0 {
            let way_ns = self.responses.way_ns(route);
            let there = Moment {
                time_ns: thought.time_ns.saturating_add(way_ns),
                ..came
            };
            partition.until(there.earlier(came), Cause::NetworkPropagation, confidence);
        }
        self.give_coming(from_ns, (first, came), route, partition);
    }

    /// A response that stands in line waits for the end of the one before. Next to the sender its way is given first, so
    /// that both ends tell as much of the line: it had left while the client was busy. Returns what was given to that.
    fn give_line(
        &self,
        came: Moment,
        (route, confidence): (Route, f64),
        partition: &mut Partition,
    ) -> i64 {
        let before_ns = partition.time_ns();
        let Some(previous) = self.previous_end.filter(|it| it.time_ns > before_ns) else {
            return 0;
        };
        let mut way_ns = 0;
        if route.is_at_sender {
            way_ns = self.responses.way_ns(route);
            partition.at_most(way_ns, came, Cause::NetworkPropagation, confidence);
        }
        partition.until(previous.earlier(came), Cause::ClientHeadOfLine, SEEN);
        way_ns
    }

    /// How long the last segment of a request takes on the slowest link, behind the others.
    fn question_ns(&self, asked: Asked) -> i64 {
        let own_ns = self.responses.standing_ns(asked.ahead.own);
        let last_ns = self.responses.question_takes_ns(asked.last_bytes);
        last_ns.saturating_add(own_ns)
    }

    /// For how long after `from_ns` the server had not got the whole request, as an ACK of less tells that comes before the
    /// answer. Its last segment then takes its time on the link, unless it was acknowledged sooner.
    fn not_there_ns(&self, asked: Asked, first: Moment, from_ns: i64) -> i64 {
        let Some((end, less)) = asked
            .end
            .and_then(|end| Some((end, self.server_acks.newest_of_less(end)?)))
            .filter(|(_, less)| less.time_ns <= first.time_ns)
        else {
            return 0;
        };
        let last_ns = self.responses.question_takes_ns(asked.last_bytes);
        let until_ns = less.time_ns.saturating_add(last_ns);
        let all_ns = self.server_acks.time_of(end);
        let until_ns = until_ns
            .min(all_ns.unwrap_or(first.time_ns))
            .max(less.time_ns);
        // The ACK may have stood in the queue that the answer stood in.
        let stood_ns = self.responses.opening_stood_ns(first.time_ns, from_ns);
        let there_ns = until_ns.saturating_sub(from_ns);
        there_ns.saturating_sub(stood_ns).max(0)
    }

    /// What the loss of the request held up, and how its loss was noticed if the answer was lost.
    fn give_lost(
        &self,
        (asked, answer): (Asked, Answer),
        route: Route,
        pace_ns: i64,
        partition: &mut Partition,
    ) -> Option<Cause> {
        let Answer { first, came, .. } = answer;
        // What was repaired while the response before was still on its way held nothing up; what was sent
        // again after the response had come belongs to another request.
        let busy_until = self
            .previous_end
            .map_or(i64::MIN, |previous| previous.time_ns);
        // Nor did what was sent again so late that the answer cannot be to it, or when the answer had been sent.
        let mut lost = self.responses.opening_repaired(first.time_ns);
        let asked_ns = asked.at_ns.unwrap_or(partition.time_ns());
        let was_heard = self.server_acks.tell_of_data(asked_ns, first.time_ns);
        let answer_ns = first
            .time_ns
            .saturating_sub(route.to_sender_ns)
            .saturating_sub(pace_ns);
        // What stood in a queue, an ACK before it did, too.
        let stood_ns = |since_ns: i64| {
            let from_ns = since_ns.saturating_add(route.to_sender_ns);
            self.responses.opening_stood_ns(first.time_ns, from_ns)
        };
        let pieces = self.requests.between(partition.time_ns(), came.time_ns);
        let held_up = busy_until.saturating_add(1)..=came.time_ns;
        let repaired =
            pieces.filter(|piece| piece.is_repair() && held_up.contains(&piece.end.time_ns));
        // An ACK of the request's copy that has a number beyond the answer tells that this had been sent before: it was
        // the answer that was lost, and the copy told its sender nothing.
        let was_told_of = self.responses.opening_was_told_of(first.time_ns);
        for piece in repaired {
            lost = lost.or(was_told_of.then_some(Cause::StallTailLoss));
            let since_ns = partition.time_ns().max(busy_until);
            let sent_ns = answer_ns.saturating_sub(stood_ns(since_ns));
            if piece.end.time_ns > sent_ns {
                // A server that works for so long acknowledges the request first: its answer, with the ACK, was lost.
                let is_late = sent_ns.saturating_sub(since_ns) >= TIMEOUT_MIN_NS;
                lost = lost.or((is_late && !was_heard).then_some(Cause::StallTailLoss));
            } else if lost.is_none() {
                partition.until(piece.end, piece.cause, piece.confidence);
            }
        }
        let since_ns = partition.time_ns();
        let sent_ns = answer_ns.saturating_sub(stood_ns(since_ns));
        let is_late = sent_ns.saturating_sub(since_ns) >= DELAYED_ACK_MAX_NS;
        let is_told = !was_heard && !self.lacks_server_acks;
        let is_silent = is_late && is_told && busy_until <= since_ns && !route.is_at_sender;
        lost.or(is_silent.then_some(Cause::StallTailLoss))
    }

    fn repairs_of_response(&self, from_ns: i64, came: Moment) -> impl Iterator<Item = &Piece> {
        let pieces = self.responses.between(from_ns, came.time_ns);
        pieces.filter(|piece| piece.is_repair())
    }

    /// The rest of the way to the client, of what went by at `first`.
    fn give_coming(
        &self,
        from_ns: i64,
        (first, came): (Moment, Moment),
        route: Route,
        partition: &mut Partition,
    ) {
        for piece in self.repairs_of_response(from_ns, came) {
            partition.until(piece.end.earlier(came), piece.cause, piece.confidence);
        }
        let left = came.time_ns.saturating_sub(partition.time_ns());
        let is_pace = left <= self.responses.burst_max_ns(route);
        if !is_pace {
            // What stood behind others then takes its own time on the link.
            let pace_ns = self.responses.first_takes_ns(first.time_ns);
            let begun = Moment {
                time_ns: came.time_ns.saturating_sub(pace_ns),
                ..came
            };
            partition.until(begun, Cause::NetworkQueueing, INFERRED);
        }
        partition.until(came, Cause::SendLimitedBottleneck, INFERRED);
    }
}
