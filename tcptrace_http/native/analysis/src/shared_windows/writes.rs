//! The pieces that a server's application writes, as their beginnings come by.

use trace_model::{Segment, SeqNumber};

use super::host_pair::HostPair;
use super::rhythm::Written;
use crate::hosts::HostStep;
use crate::timeouts::{TIMED_OUT_MIN_NS, TIMEOUT_MIN_NS};

/// Segments before one on the slowest link that others have sent meanwhile, as far as that makes pieces uneven.
const SEGMENTS_BEFORE: i64 = 2;

/// When data was written that comes when packets of its host are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrittenAt {
    /// When it was due, just before it came: it was not lost.
    OnTime,
    /// So long ago that it would have come then: a timer has sent it again.
    Earlier { would_come_ns: i64 },
}

impl HostPair {
    /// A segment of the server comes by, of which nothing else has been noted yet. What is known of when its
    /// application wrote it, if a packet is missing that it may have been.
    pub(super) fn writes(
        &mut self,
        time_ns: i64,
        segment: &Segment<'_>,
        host_step: Option<HostStep>,
    ) -> Option<WrittenAt> {
        let passed_over = host_step?.passed_over;
        if segment.payload_bytes == 0 || self.is_at_server() {
            return None;
        }
        let takes_ns = self.pace.of(segment.payload_bytes).unwrap_or(0);
        let begun_ns = time_ns.saturating_sub(takes_ns);
        let start = segment.payload_seq();
        let ports = (segment.destination_port, segment.source_port);
        let newest_ns = self.connection(ports.0, ports.1)?.newest_ns;
        let may_be_lost = self.missing.more_than(passed_over) > 0
            || self.missing.left_over(newest_ns).next().is_some();
        let before = self.begins_piece(time_ns, start, ports)?;
        let connection = self.connection(ports.0, ports.1)?;
        connection.written = (!may_be_lost).then_some((start, begun_ns));
        let (before_start, before_ns) = before?;
        let piece = Written {
            distance_ns: begun_ns.saturating_sub(before_ns),
            bytes: i64::from(start.distance_from(before_start)),
            late_ns: self
                .pace
                .largest_ns()
                .unwrap_or(0)
                .saturating_mul(SEGMENTS_BEFORE),
        };
        if !may_be_lost {
            self.rhythm.note(piece);
            return None;
        }
        // What is due may find a window full that others have filled.
        if self.rhythm.is_due(piece) && !self.is_shared {
            self.connection(ports.0, ports.1)?.written = Some((start, begun_ns));
            return Some(WrittenAt::OnTime);
        }
        let due_ns = before_ns.saturating_add(self.rhythm.distance_ns(piece.bytes)?);
        if due_ns > begun_ns.saturating_sub(TIMED_OUT_MIN_NS) {
            return None;
        }
        self.connection(ports.0, ports.1)?.written = Some((start, due_ns));
        Some(WrittenAt::Earlier {
            would_come_ns: due_ns.saturating_add(takes_ns),
        })
    }

    /// Whether new data begins a piece: an answer, or what follows a silence when its sender had no more to send. Where
    /// the piece before began, if it was of the same answer.
    fn begins_piece(
        &mut self,
        time_ns: i64,
        start: SeqNumber,
        ports: (u16, u16),
    ) -> Option<Option<(SeqNumber, i64)>> {
        let silent_ns = TIMEOUT_MIN_NS.saturating_add(self.round_trip_ns());
        let connection = self.connection(ports.0, ports.1)?;
        let ahead = connection.next.map_or(0, |next| start.distance_from(next));
        if ahead < 0 {
            return None;
        }
        if ahead > 0 {
            connection.written = None;
            return None;
        }
        if connection.is_asked || connection.was_asked_by_syn {
            return Some(None);
        }
        let is_silent = time_ns.saturating_sub(connection.sent_ns) >= silent_ns;
        (is_silent && !connection.had_more()).then_some(connection.written)
    }
}
