//! The pieces that a server's application writes, as their beginnings come by.

use std::collections::VecDeque;

use tcptrace_tcp::{
    HostStep, DELAYED_ACK_MAX_NS, TIMED_OUT_MIN_NS, TIMEOUT_MIN_NS, TIMER_ASKED_FOR_NS,
};
use trace_model::{Segment, SeqNumber};

use super::begun_piece::BegunPiece;
use super::connection::Connection;
use super::departures::Left;
use super::host_pair::HostPair;
use super::rhythm::Written;
use crate::jitter::AT_ONCE_MAX_NS;

/// Segments before one on the slowest link that others have sent meanwhile, as far as that makes pieces uneven.
const SEGMENTS_BEFORE: i64 = 2;

/// Pieces of an answer that are remembered.
const PIECES_MAX: usize = 4;

/// When data was written that begins a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrittenAt {
    /// When it was due, just before it came: nothing but its application held it, and it was not lost.
    OnTime,
    /// So long ago that it would have come then: something has held it since, or a timer has sent it again.
    Earlier { would_come_ns: i64 },
}

impl WrittenAt {
    /// When the data would have come that nothing had held, and that came at `time_ns`.
    #[must_use]
    pub fn came_ns(self, time_ns: i64) -> i64 {
        match self {
            WrittenAt::OnTime => time_ns,
            WrittenAt::Earlier { would_come_ns } => would_come_ns,
        }
    }
}

impl HostPair {
    /// A segment of the server comes by, of which nothing else has been noted yet. What is known of when its
    /// application wrote it.
    pub(super) fn writes(
        &mut self,
        time_ns: i64,
        segment: &Segment<'_>,
        (host_step, left): (Option<HostStep>, Left),
    ) -> Option<WrittenAt> {
        let passed_over = host_step?.passed_over;
        if segment.payload_bytes == 0 || self.is_at_server() {
            return None;
        }
        let begun = BegunPiece {
            start: segment.payload_seq(),
            came_ns: time_ns,
            bytes: segment.payload_bytes,
            stood_ns: left.stood_ns(),
            may_be_held: false,
        };
        let ports = (segment.destination_port, segment.source_port);
        let missing = self.missing.more_than(passed_over);
        if let Some(lost) = self.begins_with_lost(missing, time_ns, segment) {
            self.notes_lost(lost, ports);
            return None;
        }
        let (may_be_lost, is_lost_once) = self.may_be_lost(missing, begun.start, ports)?;
        let pieces = self.begins_piece(time_ns, segment, ports)?;
        let ack = self.ack_before(time_ns, segment.payload_bytes);
        let is_by_ack = ack.is_some_and(|ack| self.is_shared || ack.client_port == ports.0);
        let is_behind_known = pieces.is_empty() || self.is_behind_piece(begun.start, ports);
        let in_rhythm = || {
            self.newest_piece(&pieces, begun)
                .filter(|it| self.rhythm.is_in(*it))
        };
        if is_by_ack && !is_behind_known && in_rhythm().is_none() {
            return None;
        }
        let may_be_held = pieces.is_empty() && ack.is_some() && !self.answers_at_once(begun, ports);
        let begun = BegunPiece {
            may_be_held,
            ..begun
        };
        if !may_be_lost {
            self.connection(ports.0, ports.1)?.has_begun(begun);
        }
        let piece = self.newest_piece(&pieces, begun)?;
        let written = self.written_at(piece, time_ns, (may_be_lost, is_by_ack));
        if ack.is_none() {
            let is_written_then = !may_be_lost && self.is_written_then(time_ns, segment);
            let piece = Written {
                is_written_then,
                ..piece
            };
            self.notes_begun(piece, written, (may_be_lost, is_lost_once));
        }
        if let Some(written) = written {
            let came_ns = written.came_ns(time_ns);
            let connection = self.connection(ports.0, ports.1)?;
            connection.has_begun(BegunPiece { came_ns, ..begun });
        }
        written
    }

    /// Whether data may have been lost before, and if so a single packet was, as far as any is known to be missing.
    fn may_be_lost(
        &mut self,
        missing: u32,
        start: SeqNumber,
        ports: (u16, u16),
    ) -> Option<(bool, bool)> {
        let connection = self.connection(ports.0, ports.1)?;
        let (newest_ns, is_told_of) = (connection.newest_ns, connection.is_told_of(start));
        let lost = self.missing.left_over(newest_ns).count();
        let lost = lost.saturating_add(usize::try_from(missing).unwrap_or(usize::MAX));
        Some((lost > 0 || is_told_of, lost == 1))
    }

    /// Whether an answer begins as soon as path and link let it: no window had held it.
    fn answers_at_once(&mut self, begun: BegunPiece, ports: (u16, u16)) -> bool {
        let takes_ns = self.pace.of(begun.bytes).unwrap_or(0);
        let path_ns = self.round_trip_ns().saturating_add(takes_ns);
        let asked_ns = self
            .connection(ports.0, ports.1)
            .map(|it| it.question.time_ns);
        let elapsed_ns = asked_ns.map(|ns| begun.came_ns.saturating_sub(ns));
        elapsed_ns.is_some_and(|ns| ns <= path_ns.saturating_add(AT_ONCE_MAX_NS))
    }

    /// The first segment of a piece, if that is what is missing before data that comes: its sender had no more before it,
    /// and the one packet that is missing left right before that data, which nothing but its application had held.
    fn begins_with_lost(
        &mut self,
        missing: u32,
        time_ns: i64,
        segment: &Segment<'_>,
    ) -> Option<BegunPiece> {
        let largest_bytes = self.pace.largest_bytes;
        let came_ns = time_ns.saturating_sub(self.pace.of(segment.payload_bytes)?);
        let is_by_none = self.is_let_go_by_none(time_ns, segment);
        let connection = self.connection(segment.destination_port, segment.source_port)?;
        let start = connection.next.filter(|_| missing == 1 && is_by_none)?;
        let bytes = u32::try_from(segment.payload_seq().distance_from(start)).ok()?;
        let is_one = bytes > 0 && bytes <= largest_bytes && !connection.had_more();
        is_one.then_some(BegunPiece {
            start,
            came_ns,
            bytes,
            stood_ns: 0,
            may_be_held: false,
        })
    }

    /// A piece has begun with what is missing.
    fn notes_lost(&mut self, lost: BegunPiece, ports: (u16, u16)) {
        let Some(connection) = self.connection(ports.0, ports.1) else {
            return;
        };
        if connection.is_asked || connection.was_asked_by_syn {
            connection.written.clear();
        }
        let pieces = connection.written.clone();
        connection.has_begun(lost);
        if let Some(piece) = self.newest_piece(&pieces, lost) {
            self.notes(piece);
        }
    }

    /// A piece has begun that no ACK let go.
    fn notes_begun(
        &mut self,
        piece: Written,
        written: Option<WrittenAt>,
        (may_be_lost, is_lost_once): (bool, bool),
    ) {
        if !may_be_lost || written == Some(WrittenAt::OnTime) {
            self.notes(piece);
        } else if let Some(likely) = self.before_a_timer(piece).filter(|_| is_lost_once) {
            self.rhythm.note_likely(likely);
        }
    }

    /// A piece that a timer has sent again, as it was written: as long before as that waits, which another one of the host
    /// has shown, or RFC 6298 asks for. Shorter distances may be those of ACKs.
    fn before_a_timer(&self, piece: Written) -> Option<Written> {
        let timer_ns = self.timer_ns.unwrap_or(TIMER_ASKED_FOR_NS);
        let distance_ns = piece.distance_ns.saturating_sub(timer_ns);
        (distance_ns > self.by_ack_ns()).then_some(Written {
            distance_ns,
            ..piece
        })
    }

    /// Nothing was lost between a piece and the next one: shorter distances may be those of ACKs.
    fn notes(&mut self, piece: Written) {
        if piece.distance_ns > self.by_ack_ns() {
            self.rhythm.note(piece);
        }
    }

    /// A silence longer than that is no wait for an ACK, be it delayed.
    fn by_ack_ns(&self) -> i64 {
        self.round_trip_ns().saturating_add(DELAYED_ACK_MAX_NS)
    }

    /// When a piece was written that comes now, if others before it were in a rhythm.
    fn written_at(
        &self,
        piece: Written,
        time_ns: i64,
        (may_be_lost, is_by_ack): (bool, bool),
    ) -> Option<WrittenAt> {
        let distance_ns = self.rhythm.distance_ns(piece.bytes);
        let is_exact =
            self.rhythm.is_exactly_due(piece) && distance_ns.is_some() || self.rhythm.is_in(piece);
        let is_due = if may_be_lost && !self.is_shared {
            self.rhythm.is_due(piece)
        } else {
            // What is due may find a window full that others have filled, but not to the millisecond.
            is_exact
        };
        // Of what is due to the millisecond an ACK that came then let it go by chance.
        if is_by_ack && is_due && !is_exact || piece.distance_ns <= self.by_ack_ns() {
            return None;
        }
        if is_due {
            return Some(WrittenAt::OnTime);
        }
        let slack_ns = if may_be_lost {
            TIMED_OUT_MIN_NS
        } else {
            piece.late_ns.saturating_add(AT_ONCE_MAX_NS)
        };
        let slack_ns = slack_ns.saturating_add(piece.shorter_ns);
        // One distance and a timer are together no chance, either.
        let before_a_timer = || self.before_a_timer(piece).filter(|_| may_be_lost);
        let agreeing = || before_a_timer().filter(|it| self.rhythm.is_due(*it));
        let distance_ns = distance_ns.or_else(|| agreeing().map(|it| it.distance_ns))?;
        let late_ns = piece.distance_ns.saturating_sub(distance_ns);
        // Behind what a window had held the next was due sooner.
        let is_known = may_be_lost || !piece.may_be_held;
        (is_known && late_ns >= slack_ns).then(|| WrittenAt::Earlier {
            would_come_ns: time_ns.saturating_sub(late_ns),
        })
    }

    /// The piece behind which one has begun: the one that is in the rhythm of others. Of what seemed to begin some may
    /// have been the rest of a piece, which an ACK let go.
    fn newest_piece(&self, pieces: &VecDeque<BegunPiece>, begun: BegunPiece) -> Option<Written> {
        let takes_ns = |bytes| self.pace.of(bytes).unwrap_or(0);
        let left_ns = |it: &BegunPiece| it.came_ns.saturating_sub(takes_ns(it.bytes));
        let late_ns = self.pace.largest_ns().unwrap_or(0);
        let since = |before: &BegunPiece| Written {
            distance_ns: left_ns(&begun).saturating_sub(left_ns(before)),
            bytes: i64::from(begun.start.distance_from(before.start)),
            late_ns: late_ns.saturating_mul(SEGMENTS_BEFORE),
            longer_ns: before.stood_ns,
            shorter_ns: begun.stood_ns,
            may_be_held: before.may_be_held,
            is_written_then: false,
            headers_ns: self.pace.on_link(begun.bytes).map_or(0, |it| it.bare_ns),
        };
        let mut newest_first = pieces.iter().rev().map(since);
        let agreeing = newest_first.clone().find(|it| self.rhythm.agrees(*it));
        let is_known = |it: &Written| self.rhythm.distance_ns(it.bytes).is_some();
        let known = newest_first.clone().find(is_known);
        agreeing.or(known).or(newest_first.next())
    }

    /// Whether new data begins a piece: an answer, what follows a silence when its sender had no more to send, or what
    /// comes behind a piece that is as long as others. Where those before it begin that are of the same answer.
    fn begins_piece(
        &mut self,
        time_ns: i64,
        segment: &Segment<'_>,
        ports: (u16, u16),
    ) -> Option<VecDeque<BegunPiece>> {
        let start = segment.payload_seq();
        let silent_ns = TIMEOUT_MIN_NS.saturating_add(self.round_trip_ns());
        let connection = self.connection(ports.0, ports.1)?;
        let ahead = connection.next.map_or(0, |next| start.distance_from(next));
        if ahead < 0 {
            return connection
                .is_told_of(start)
                .then(|| connection.written.clone());
        }
        if ahead > 0 {
            connection.written.clear();
            return None;
        }
        if connection.is_asked || connection.was_asked_by_syn {
            connection.written.clear();
            return Some(VecDeque::new());
        }
        let is_silent = time_ns.saturating_sub(connection.sent_ns) >= silent_ns;
        let had_more = connection.had_more();
        let pieces = connection.written.clone();
        let is_pause = !had_more && (is_silent || self.is_let_go_by_none(time_ns, segment));
        (is_pause || self.is_behind_piece(start, ports)).then_some(pieces)
    }

    /// Whether data that comes stood behind nothing before the slowest link, and left when no ACK came: nothing but its
    /// application can have held it.
    fn is_let_go_by_none(&self, time_ns: i64, segment: &Segment<'_>) -> bool {
        let bytes = segment.payload_bytes;
        let is_known = self.left_ns(time_ns, bytes).is_some();
        is_known
            && self.queue.is_idle_before(time_ns, self.pace.of(bytes))
            && self.ack_before(time_ns, bytes).is_none()
    }

    /// ... or, while it is not known what the link takes, none came for as long as a slow one may take for a segment.
    fn is_written_then(&self, time_ns: i64, segment: &Segment<'_>) -> bool {
        if self.left_ns(time_ns, segment.payload_bytes).is_some() {
            return self.is_let_go_by_none(time_ns, segment);
        }
        let to_ns = time_ns.saturating_sub(self.round_trip_ns());
        let from_ns = to_ns.saturating_sub(TIMEOUT_MIN_NS);
        let mut acks = self.acks.iter();
        !acks.any(|ack| ack.is_new && (from_ns..=to_ns).contains(&ack.time_ns))
    }

    /// Whether data comes behind a piece that is as long as others, to the byte.
    fn is_behind_piece(&mut self, start: SeqNumber, ports: (u16, u16)) -> bool {
        let Some(pieces) = self
            .connection(ports.0, ports.1)
            .map(|it| it.written.clone())
        else {
            return false;
        };
        // The head of an answer, which was sent alone, is as long as others but for the digits in it.
        let is_one = pieces.len() == 1;
        let mut ahead = pieces.iter().map(|it| {
            (
                i64::from(start.distance_from(it.start)),
                i64::from(it.bytes),
            )
        });
        ahead.any(|(bytes, first)| {
            let is_head = is_one && bytes == first && self.rhythm.distance_ns(bytes).is_some();
            is_head || self.rhythm.is_piece(bytes)
        })
    }
}

impl Connection {
    /// A piece has begun.
    fn has_begun(&mut self, begun: BegunPiece) {
        self.written.retain(|it| it.start != begun.start);
        if self.written.len() >= PIECES_MAX {
            self.written.pop_front();
        }
        self.written.push_back(begun);
    }
}
