//! Shared state in a sender: the path, an ensemble's grant, pacing, and data on a SYN.

use crate::sharing::pacing::Pacing;
use crate::sharing::{Estimate, Grant, Path};
use crate::stack::{IdleRestart, Nanoseconds, Stack};
use crate::tcp::rate_pacing::Flow;
use crate::tcp::sender::{Sender, Stretch};
use crate::truth::SendReason;

impl Sender {
    pub(super) fn granted(&self, now: Nanoseconds) -> Grant {
        let own = || self.pacing.grant(self.own_room(), self.mss, now);
        let grant = self.grant.unwrap_or_else(own);
        match self.rate_pacer.and_then(|pacer| pacer.until(now)) {
            Some(until) if grant.bytes > 0 => Grant {
                bytes: 0,
                paced_until: Some(until),
                ..grant
            },
            _ => grant,
        }
    }

    /// Record new data for the pacer, which then knows the time of the next release.
    pub(super) fn note_paced(&mut self, payload: u64, now: Nanoseconds) {
        let flow = Flow {
            cwnd: self.window.cwnd,
            ssthresh: self.window.ssthresh,
            mss: self.mss,
            smoothed_rtt: self.round_trip.smoothed().unwrap_or(0),
        };
        let pace = self
            .bbr
            .as_ref()
            .map_or_else(|| flow.pace(), |bbr| bbr.pace());
        if let Some(pacer) = &mut self.rate_pacer {
            pacer.sent(payload, pace, now);
        }
    }

    pub(in crate::tcp) fn end_pacing(&mut self, ack: u64) {
        let flight = self.max - self.una;
        if self.pacing.on_ack(ack) && self.paced_until.take().is_some() {
            self.window.cwnd = self.window.cwnd.min(flight.max(self.mss));
        }
    }

    #[must_use]
    pub fn path(&self) -> Path {
        let estimate = |smoothed| Estimate {
            smoothed,
            variation: self.round_trip.variation(),
        };
        Path {
            cwnd: self.window.cwnd,
            ssthresh: self.window.ssthresh,
            mss: u32::try_from(self.mss).unwrap_or(u32::MAX),
            round_trip: self.round_trip.smoothed().map(estimate),
        }
    }

    /// Adopt path state.
    pub fn adopt(&mut self, path: &Path, stack: &Stack) {
        self.window.cwnd = path.cwnd;
        self.window.ssthresh = path.ssthresh;
        if let Some(estimate) = path.round_trip {
            self.round_trip.learn(estimate, &stack.retransmission);
        }
    }

    /// Arm pacing for the next flight, if the stack paces unused windows.
    pub fn pace(&mut self, stack: &Stack) {
        if stack.restarts() == IdleRestart::Pace {
            self.pacing = Pacing::Armed;
        }
    }

    /// Return true if lost data waits for retransmission.
    #[must_use]
    pub fn is_sending_again(&self) -> bool {
        self.again.is_some() || self.next < self.max && self.next < self.written
    }

    #[must_use]
    pub fn has_unsent_data(&self) -> bool {
        self.next < self.written
    }

    /// Send the first data, and a FIN after it, as far as both fit on a SYN (RFC 1644, section 3.3). The
    /// SYN's timer and round trip apply to them.
    pub fn on_syn(&mut self, mss: u32, now: Nanoseconds, stack: &Stack) -> Option<Stretch> {
        let payload = (self.written - 1).min(u64::from(mss));
        if payload == 0 && !self.is_closing {
            return None;
        }
        let stretch = self.send(1, payload, SendReason::New, now, stack);
        self.retransmission_timer = None;
        self.timed = None;
        self.flying.clear();
        Some(stretch)
    }

    /// Forget the data sent on a SYN that the peer accepted without it. The data counts as new again (RFC
    /// 7413, section 4.2.2).
    pub fn forget_sent(&mut self) {
        self.next = 1;
        self.max = 1;
        self.fin_sent = false;
        self.last_short_end = 0;
    }

    /// Retransmit the first data: the peer accepted the SYN without its data.
    pub fn send_first_again(&mut self) {
        self.again = (self.max > 1).then_some((1, SendReason::New));
    }
}
