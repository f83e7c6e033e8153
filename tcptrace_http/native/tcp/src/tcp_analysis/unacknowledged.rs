//! Segments of a direction that its peer has not acknowledged.

use trace_model::rows::SegmentRow;
use trace_model::SeqNumber;

use super::SeenSegment;

/// Maximum number of segments, as in Wireshark; a one-sided capture acknowledges none.
const SEGMENTS_MAX: usize = 10_000;

#[derive(Clone, Copy, Debug)]
struct SentSegment {
    frame: u64,
    time_ns: i64,
    seq: SeqNumber,
    end: SeqNumber,
}

/// Segments in send order; a retransmission adds a second entry.
#[derive(Debug, Default)]
pub struct UnackedSegments {
    segments: Vec<SentSegment>,
    /// Lowest and highest number of the segments.
    bounds: Option<(SeqNumber, SeqNumber)>,
}

impl UnackedSegments {
    pub fn push(&mut self, seen: &SeenSegment) {
        if self.segments.len() >= SEGMENTS_MAX {
            return;
        }
        let sent = SentSegment {
            frame: seen.frame,
            time_ns: seen.time_ns,
            seq: seen.seq,
            end: seen.end(),
        };
        self.segments.push(sent);
        self.bounds = Some(widened(self.bounds, sent));
    }

    /// Remove the segments that `ack` covers; the ACK answers the oldest segment with the same end.
    pub fn acknowledge(&mut self, seen: &SeenSegment, row: &mut SegmentRow) {
        let ack = seen.ack;
        if self.bounds.is_none_or(|(least, _)| !ack.is_after(least)) {
            return;
        }
        if let Some(sent) = self.segments.iter().find(|sent| sent.end == ack) {
            row.acks_frame = Some(sent.frame);
            row.ack_rtt = Some(seen.time_ns.saturating_sub(sent.time_ns));
        }
        self.segments.retain(|sent| sent.end.is_after(ack));
        self.bounds = None;
        for sent in &mut self.segments {
            if ack.is_after(sent.seq) {
                sent.seq = ack;
            }
            self.bounds = Some(widened(self.bounds, *sent));
        }
    }

    /// Return the frame and time of the oldest segment: the segment that a retransmission most likely
    /// repeats.
    pub fn oldest(&self) -> Option<(u64, i64)> {
        self.segments.first().map(|sent| (sent.frame, sent.time_ns))
    }

    /// Return the count of numbers from the first unacknowledged byte to the last byte sent.
    pub fn span(&self) -> u32 {
        self.bounds
            .map_or(0, |(least, most)| most.0.wrapping_sub(least.0))
    }
}

fn widened(bounds: Option<(SeqNumber, SeqNumber)>, sent: SentSegment) -> (SeqNumber, SeqNumber) {
    let (least, most) = bounds.unwrap_or((sent.seq, sent.end));
    (
        if least.is_after(sent.seq) {
            sent.seq
        } else {
            least
        },
        if sent.end.is_after(most) {
            sent.end
        } else {
            most
        },
    )
}
