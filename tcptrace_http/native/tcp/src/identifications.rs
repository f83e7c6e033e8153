//! IP identifications of a sender's packets, as evidence of lost packets.

use crate::hosts::HostStep;
use crate::numbering::Numbering;

/// Packets that were numbered and are missing from the capture.
#[derive(Debug, Default)]
pub struct Identifications {
    pub numbering: Numbering,
    /// Missing packets since the last packet with payload.
    pub skipped: u32,
    /// Missing packets at the newest data.
    pub missing_before: u32,
    /// Missing packets by the connection's own numbers.
    own_skipped: u32,
    /// Missing packets of the host at the newest data, over all its connections.
    host_passed_over: Option<u32>,
}

impl Identifications {
    /// Take the number of a packet of `segments` wire segments, and the result of its host's counter.
    ///
    /// Return whether the packet was sent before an earlier captured packet.
    #[inline]
    pub fn number(
        &mut self,
        identification: u32,
        segments: u32,
        host_step: Option<HostStep>,
        is_from_proxy: bool,
    ) -> bool {
        let step = self.numbering.step(identification, segments);
        if !self.numbering.has_own_counter() {
            self.skipped = 0;
            return false;
        }
        self.own_skipped = self.own_skipped.saturating_add(step.skipped);
        if let Some(host_step) = host_step {
            let before = *self.host_passed_over.get_or_insert(host_step.passed_over);
            self.skipped = if is_from_proxy {
                0
            } else {
                host_step.passed_over.saturating_sub(before)
            };
            return host_step.is_late;
        }
        self.skipped = self.own_skipped;
        step.is_late
    }

    /// Return whether the connection's own numbers show all missing packets.
    #[must_use]
    pub fn is_own_gap(&self) -> bool {
        self.skipped == self.own_skipped
    }

    /// Restart the count behind a packet, and return the packets that were missing before it.
    #[inline]
    pub fn restart(&mut self, host_passed_over: Option<u32>) -> u32 {
        self.host_passed_over = host_passed_over;
        self.own_skipped = 0;
        std::mem::take(&mut self.skipped)
    }
}
