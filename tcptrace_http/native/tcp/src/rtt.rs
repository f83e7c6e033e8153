//! Round trips from the observation point to the peer of a direction and back.

use crate::outstanding::Outstanding;

/// Round trips of one direction's data.
#[derive(Debug, Default)]
pub struct Rtt {
    /// The least one.
    pub path_ns: Option<i64>,
    /// The round trip of a SYN with payload whose SYN-ACK had some, too: the application's time is in it.
    pub answered_syn_ns: Option<i64>,
    pub samples: u64,
    /// What ends up to here was in flight when an earlier byte was sent again.
    ambiguous_until: i64,
}

impl Rtt {
    /// Notes that a byte before `next` was sent again: what is in flight gives no more round trips,
    /// for its acknowledgment may have waited for the resent part (Karn's rule, RFC 6298, 3).
    pub fn mark_ambiguous(&mut self, next: i64) {
        self.ambiguous_until = next;
    }

    /// Takes the round trip of `sent`, which an ACK up to `ack` covers, if it gives one.
    #[inline]
    pub(crate) fn sample(&mut self, sent: &Outstanding, ack: i64, time_ns: i64) -> Option<i64> {
        let elapsed = time_ns.saturating_sub(sent.time_ns);
        // Only the segment that the ACK ends on was acknowledged as soon as it came.
        let is_ambiguous = sent.is_ambiguous || sent.end <= self.ambiguous_until;
        let sample = (sent.end == ack && !is_ambiguous && elapsed >= 0).then_some(elapsed)?;
        self.samples = self.samples.saturating_add(1);
        self.path_ns = Some(self.path_ns.map_or(sample, |least| least.min(sample)));
        Some(sample)
    }
}
