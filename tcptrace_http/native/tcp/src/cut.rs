//! Payload that the snapshot length cut off.

use trace_model::Segment;

/// Payload bytes of captured segments that the snapshot length cut off.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cut {
    pub segments: u64,
    pub bytes: u64,
    pub first_frame: Option<u64>,
}

impl Cut {
    /// Take a segment with payload.
    #[inline]
    pub fn note(&mut self, frame: u64, segment: &Segment<'_>) {
        let captured = segment.payload.len() as u64;
        let missing = u64::from(segment.payload_bytes).saturating_sub(captured);
        if missing > 0 {
            self.segments = self.segments.saturating_add(1);
            self.bytes = self.bytes.saturating_add(missing);
            self.first_frame.get_or_insert(frame);
        }
    }
}
