//! The identifications of a sender's packets, as far as they tell of packets that never came by.

use crate::hosts::HostStep;
use crate::numbering::Numbering;

/// Packets that were numbered and never came by.
#[derive(Debug, Default)]
pub struct Identifications {
    pub numbering: Numbering,
    /// Since the last packet with payload.
    pub skipped: u32,
    /// When the newest data came.
    pub missing_before: u32,
    /// As the numbers of this connection alone tell.
    own_skipped: u32,
    /// Packets of its host that had not come by at the newest data, of whichever connection.
    host_passed_over: Option<u32>,
}

impl Identifications {
    /// Takes the number of a packet that was so many segments on the wire, and what the numbers of its host tell.
    /// Whether it was sent before one that came by.
    #[inline]
    pub fn number(
        &mut self,
        identification: u32,
        segments: u32,
        host_step: Option<HostStep>,
        goes_elsewhere: bool,
    ) -> bool {
        let step = self.numbering.step(identification, segments);
        if !self.numbering.counter_is_own() {
            self.skipped = 0;
            return false;
        }
        self.own_skipped = self.own_skipped.saturating_add(step.skipped);
        if let Some(host_step) = host_step {
            let before = *self.host_passed_over.get_or_insert(host_step.passed_over);
            self.skipped = if goes_elsewhere {
                0
            } else {
                host_step.passed_over.saturating_sub(before)
            };
            return host_step.is_late;
        }
        self.skipped = self.own_skipped;
        step.is_late
    }

    /// Whether the numbers of this connection alone tell of all that were skipped.
    #[must_use]
    pub fn are_own(&self) -> bool {
        self.skipped == self.own_skipped
    }

    /// Counts anew, behind a packet at which its host had passed over so many. Gives the packets skipped before it.
    #[inline]
    pub fn restart(&mut self, host_passed_over: Option<u32>) -> u32 {
        self.host_passed_over = host_passed_over;
        self.own_skipped = 0;
        std::mem::take(&mut self.skipped)
    }
}
