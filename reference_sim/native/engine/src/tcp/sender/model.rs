//! BBR's model in a sender: its start, idle times, and application limits.

use crate::random::Random;
use crate::stack::Nanoseconds;
use crate::tcp::bbr::{Bbr, Mode};
use crate::tcp::sender::Sender;

impl Sender {
    /// Return BBR's state, if the stack has it.
    #[must_use]
    pub fn model_state(&self) -> Option<Mode> {
        self.bbr.as_deref().map(Bbr::mode)
    }

    /// Begin BBR's model with the RTT of the handshake.
    pub fn begin_model(&mut self, random: Option<Random>, now: Nanoseconds) {
        if let Some(bbr) = &mut self.bbr {
            bbr.begin(self.round_trip.smoothed(), self.window.cwnd, now);
            if let Some(random) = random {
                bbr.draw_from(random);
            }
        }
    }

    /// Tell BBR of the first segment after a time without data in flight, if the application had no data
    /// (draft-cardwell-iccrg-bbr-congestion-control-00, section 4.3.4.4).
    pub(super) fn restart_model(&mut self, now: Nanoseconds) {
        let (Some(bbr), Some(selective)) = (&mut self.bbr, &self.selective) else {
            return;
        };
        if selective.pipe() == 0 && selective.delivery.is_app_limited() {
            bbr.restart(&mut self.window, now);
        }
    }

    /// Note before a write that the application left the path unused
    /// (draft-cheng-iccrg-delivery-rate-estimation-00, section 3.4): less than a segment is unsent, the
    /// window has room, and nothing lost waits.
    pub(super) fn note_application_limit(&mut self) {
        let unsent = self.written.saturating_sub(self.next);
        let Some(selective) = &mut self.selective else {
            return;
        };
        let flight = selective.pipe();
        if unsent < self.mss && flight < self.window.cwnd && !selective.has_lost() {
            selective.delivery.limit_by_application(flight);
        }
    }
}
