//! Round trips from the capture point to the receiver of a direction and back.

use crate::outstanding::OutstandingSegment;

/// Round trips of one direction's data.
#[derive(Debug, Default)]
pub struct Rtt {
    /// Smallest round trip.
    pub path_ns: Option<i64>,
    /// Round trip of a SYN with payload whose SYN-ACK had payload: it includes the application's time.
    pub answered_syn_ns: Option<i64>,
    pub samples: u64,
    /// Offset up to which data was in flight when an earlier byte was retransmitted.
    ambiguous_until: i64,
}

impl Rtt {
    /// Exclude the data in flight from RTT samples after a retransmission before `next`.
    ///
    /// Its ACK may have waited for the retransmitted data (Karn's algorithm, RFC 6298, section 3).
    pub fn mark_ambiguous(&mut self, next: i64) {
        self.ambiguous_until = next;
    }

    /// Return the RTT sample of the segment `sent` for an ACK up to `ack`, if it gives a sample.
    #[inline]
    pub(crate) fn sample(
        &mut self,
        sent: &OutstandingSegment,
        ack: i64,
        time_ns: i64,
    ) -> Option<i64> {
        let elapsed = time_ns.saturating_sub(sent.time_ns);
        // An ACK gives a sample for the segment at its end only: that segment was acknowledged on arrival.
        let is_ambiguous = sent.is_ambiguous || sent.end <= self.ambiguous_until;
        let sample = (sent.end == ack && !is_ambiguous && elapsed >= 0).then_some(elapsed)?;
        self.samples = self.samples.saturating_add(1);
        self.path_ns = Some(self.path_ns.map_or(sample, |least| least.min(sample)));
        Some(sample)
    }
}
