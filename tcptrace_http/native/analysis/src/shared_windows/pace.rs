//! What the slowest link takes for a segment, as far as segments that came at once tell.

use super::host_pair::SEGMENT_BYTES;
use super::release::FULL_BYTES_MIN;

/// Headers of IP and TCP.
const HEADER_BYTES: u32 = 40;

/// What the slowest link takes for a segment, as far as two that came at once tell.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    /// The quickest: its time and its bytes.
    pub(super) quickest: Option<(i64, u32)>,
    /// Payload of the largest segment.
    pub(super) largest_bytes: u32,
}

impl Pace {
    /// A segment came so long after another one.
    pub(super) fn follows(&mut self, gap_ns: i64, bytes: u32) {
        if !(FULL_BYTES_MIN..=SEGMENT_BYTES).contains(&bytes) {
            return;
        }
        self.largest_bytes = self.largest_bytes.max(bytes);
        let is_quicker = self.of(bytes).is_none_or(|takes_ns| gap_ns < takes_ns);
        if is_quicker {
            self.quickest = Some((gap_ns, bytes));
        }
    }

    /// What a segment takes, if that is known.
    pub(super) fn of(&self, bytes: u32) -> Option<i64> {
        let (gap_ns, quickest_bytes) = self.quickest?;
        let wire = |payload: u32| i64::from(payload.saturating_add(HEADER_BYTES));
        gap_ns
            .saturating_mul(wire(bytes))
            .checked_div(wire(quickest_bytes))
    }

    pub(super) fn largest_ns(&self) -> Option<i64> {
        self.of(self.largest_bytes)
    }
}
