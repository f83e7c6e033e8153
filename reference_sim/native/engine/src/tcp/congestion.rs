//! The congestion window: its growth, and its reaction to losses.

use crate::stack::{Congestion, Nanoseconds, Stack};
use crate::tcp::cubic::{Acked, Cubic};

/// No threshold: slow start until the first loss (RFC 5681, section 3.1).
const UNLIMITED: u64 = u64::MAX / 4;
/// Segments that have left the network at the third duplicate ACK (RFC 5681, section 3.2).
const DUPLICATES: u64 = 3;

/// The congestion window of one sender, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    pub cwnd: u64,
    pub ssthresh: u64,
    mss: u64,
    initial: u64,
    kind: Congestion,
    cubic: Cubic,
    /// Bytes acknowledged since congestion avoidance last added a segment (RFC 3465).
    counted: u64,
    /// Number of window reductions by duplicate ACKs.
    pub losses: u32,
    /// Number of window reductions by the retransmission timer.
    pub timeouts: u32,
}

impl Window {
    #[must_use]
    pub fn new(stack: &Stack, mss: u32) -> Self {
        let initial = stack.initial_window.bytes(mss);
        let ssthresh = stack.initial_ssthresh_segments;
        Window {
            cwnd: if stack.congestion == Congestion::FixedWindow {
                UNLIMITED
            } else {
                initial
            },
            ssthresh: ssthresh.map_or(UNLIMITED, |count| u64::from(count) * u64::from(mss)),
            mss: u64::from(mss),
            initial,
            kind: stack.congestion,
            cubic: Cubic::default(),
            counted: 0,
            losses: 0,
            timeouts: 0,
        }
    }

    #[must_use]
    pub fn is_in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Return true in the slow start before the first loss: the threshold is unlimited (RFC 5681, section
    /// 3.1).
    #[must_use]
    pub fn is_in_first_slow_start(&self) -> bool {
        self.ssthresh >= UNLIMITED
    }

    /// End slow start: the threshold becomes the window.
    pub fn end_slow_start(&mut self) {
        self.ssthresh = self.cwnd;
    }

    /// Grow on an ACK of new data outside of recovery.
    pub fn on_ack(&mut self) {
        if self.kind == Congestion::FixedWindow {
            return;
        }
        let growth = if self.is_in_slow_start() {
            self.mss
        } else {
            // Growth of about one segment per round trip (RFC 5681, equation 3).
            (self.mss * self.mss / self.cwnd).max(1)
        };
        self.cwnd = (self.cwnd + growth).min(UNLIMITED);
    }

    /// Grow on an ACK of new data outside of recovery, with byte counting (RFC 3465). In slow start the
    /// growth has no limit, as in Linux.
    pub fn acknowledged_bytes(&mut self, acked: Acked) {
        let mut rest = acked.bytes;
        if self.is_in_slow_start() {
            let grown = self.cwnd.saturating_add(rest).min(self.ssthresh);
            rest -= grown - self.cwnd;
            self.cwnd = grown;
        }
        if rest == 0 {
            return;
        }
        if self.kind == Congestion::Cubic {
            let acked = Acked {
                bytes: rest,
                ..acked
            };
            self.cwnd = self.cubic.grown(self.cwnd, acked).min(UNLIMITED);
            return;
        }
        self.counted += rest;
        if self.counted >= self.cwnd {
            self.counted -= self.cwnd;
            self.cwnd = (self.cwnd + self.mss).min(UNLIMITED);
        }
    }

    /// Shrink the window to `cwnd` after a period of low use (RFC 2861, section 3.1).
    pub fn shrink(&mut self, cwnd: u64) {
        self.ssthresh = self.ssthresh.max(self.cwnd / 4 * 3);
        self.cwnd = cwnd;
    }

    /// Return true if BBR's model sets the window. Neither growth nor losses then change it here.
    #[must_use]
    pub fn follows_model(&self) -> bool {
        self.kind == Congestion::Bbr
    }

    #[must_use]
    pub fn initial(&self) -> u64 {
        self.initial
    }

    /// Resume sending after an idle time without data in flight.
    pub fn resumed(&mut self, idle: Nanoseconds) {
        self.cubic.resumed(idle);
    }

    /// React to the third duplicate ACK: half of the flight, at least two segments.
    pub fn on_loss(&mut self, flight: u64) {
        self.losses += 1;
        self.reduce(flight);
        match self.kind {
            Congestion::Tahoe => self.cwnd = self.mss,
            Congestion::FixedWindow => {}
            // Packet conservation: each further duplicate ACK releases a segment.
            Congestion::Bbr => self.cwnd = flight,
            _ => self.cwnd = self.ssthresh + DUPLICATES * self.mss,
        }
    }

    /// Inflate the window on a further duplicate ACK in fast recovery: a segment has left the network.
    pub fn inflate(&mut self) {
        if self.kind != Congestion::FixedWindow {
            self.cwnd += self.mss;
        }
    }

    /// Deflate the window on a partial ACK in NewReno's recovery (RFC 6582, section 3.2, step 3).
    pub fn deflate(&mut self, acked: u64) {
        if self.kind == Congestion::FixedWindow {
            return;
        }
        let added = if acked >= self.mss { self.mss } else { 0 };
        self.cwnd = (self.cwnd.saturating_sub(acked) + added).max(self.mss);
    }

    /// End fast recovery.
    pub fn recovered(&mut self) {
        if !matches!(self.kind, Congestion::FixedWindow | Congestion::Bbr) {
            self.cwnd = self.ssthresh;
        }
    }

    /// End BayFullTcp's fast recovery: this ACK releases at most two segments.
    pub fn recovered_to(&mut self, flight: u64) {
        if self.cwnd > self.ssthresh {
            self.cwnd = (flight.div_ceil(self.mss) + 2) * self.mss;
        }
    }

    /// React to a retransmission timeout: one segment (RFC 5681, section 3.1, equation 4).
    pub fn on_timeout(&mut self, flight: u64, is_first: bool) {
        self.timeouts += 1;
        if is_first || self.kind == Congestion::BayReno {
            self.reduce(flight);
        }
        self.cubic.on_timeout();
        if self.kind != Congestion::FixedWindow {
            self.cwnd = self.mss;
        }
    }

    /// Reset to the restart window, which is at most the initial window (RFC 5681, section 4.1).
    pub fn restart(&mut self) {
        if self.kind == Congestion::FixedWindow {
            return;
        }
        self.cwnd = self.cwnd.min(self.initial);
    }

    /// Halve the window per RTO of idle time (RFC 2861, section 3).
    pub fn decay(&mut self, idle: Nanoseconds, timeout: Nanoseconds) {
        if self.kind == Congestion::FixedWindow {
            return;
        }
        self.ssthresh = self.ssthresh.max(self.cwnd / 4 * 3);
        let mut passed = idle;
        while passed > timeout && self.cwnd > self.initial {
            // Whole segments, as in Linux.
            self.cwnd = (self.cwnd / 2 / self.mss * self.mss).max(self.initial);
            passed -= timeout;
        }
    }

    /// Limit the window to this number of segments. The window grows again from there.
    pub fn cap(&mut self, segments: u32) {
        if self.kind != Congestion::FixedWindow {
            self.cwnd = self.cwnd.min(u64::from(segments) * self.mss);
        }
    }

    /// Lower the threshold after a loss (RFC 5681, equation 4; RFC 9438, section 4.6).
    pub fn reduce(&mut self, flight: u64) {
        self.counted = 0;
        match self.kind {
            Congestion::FixedWindow | Congestion::Bbr => {}
            Congestion::Cubic => {
                self.ssthresh = self.cubic.threshold_after_loss(self.cwnd, self.mss);
            }
            _ => {
                let half = flight.min(self.cwnd) / 2;
                self.ssthresh = (half / self.mss * self.mss).max(2 * self.mss);
            }
        }
    }
}
