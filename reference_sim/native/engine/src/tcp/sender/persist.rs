//! Probes of a window without room (RFC 9293, section 3.8.6.1).

use crate::stack::{Nanoseconds, Stack};
use crate::tcp::sender::{Sender, Stretch};
use crate::truth::SendReason;

/// Payload of a probe of a closed window.
const PROBE_BYTES: u64 = 1;
/// Maximum interval between two probes (4.4BSD: TCPTV_PERSMAX).
const PERSIST_MAX_NS: Nanoseconds = 60_000_000_000;

impl Sender {
    /// Return a probe of a peer window without room for a full segment. No data is in flight, and the persist
    /// timer has expired. The probe uses the available room (4.4BSD: t_force).
    pub fn probe(&mut self, now: Nanoseconds, stack: &Stack) -> Option<Stretch> {
        let is_stuck = self.una == self.max
            && self.next < self.written
            && self.edge < self.written.min(self.next + self.mss);
        if !is_stuck {
            self.persist_timer = None;
            return None;
        }
        let is_time = self.persist_timer.is_some_and(|time| time <= now);
        if self.persist_timer.is_none() || is_time {
            self.persist_backoff += u32::from(is_time);
            self.persist_timer = Some(now + self.persist_timeout(stack));
        }
        if !is_time {
            return None;
        }
        let room = self.edge.saturating_sub(self.next).min(self.mss);
        if room > 0 {
            return Some(self.send(self.next, room, SendReason::WindowProbe, now, stack));
        }
        self.last_sent = now;
        self.probed = self.next + PROBE_BYTES;
        let stretch = self.stretch(self.next, PROBE_BYTES, SendReason::WindowProbe, stack);
        Some(Stretch {
            has_fin: false,
            ..stretch
        })
    }

    pub(super) fn persist_timeout(&self, stack: &Stack) -> Nanoseconds {
        let timeout = self.round_trip.timeout(&stack.retransmission);
        (timeout << self.persist_backoff.min(8)).min(PERSIST_MAX_NS)
    }
}
