//! Loss recovery with SACK blocks: loss detection, retransmission, and window reduction (RFC 6675, RFC 6937,
//! RFC 8985).
//!
//! A spurious timeout is not undone: neither F-RTO (RFC 5682) nor Eifel (RFC 4015) is modelled.

use crate::stack::{Nanoseconds, Stack};
use crate::tcp::bbr::Repair;
use crate::tcp::congestion::Window;
use crate::tcp::delivery_rate::{DeliveryRate, Sample};
use crate::tcp::rack::{Circumstances, Rack};
use crate::tcp::rate_reduction::RateReduction;
use crate::tcp::scoreboard::{Delivered, Fate, Scoreboard, Sent};
use crate::tcp::tail_loss_probe::{self, Episode, Verdict};
use crate::truth::{Limit, SendReason};

#[derive(Clone, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    /// Fast recovery, until all data sent before its start is acknowledged.
    Recovery {
        until: u64,
        reduction: RateReduction,
        has_sent: bool,
    },
    /// Window reduction for a mark (RFC 3168), without a loss, with the same end.
    Reduction {
        until: u64,
        reduction: RateReduction,
    },
    /// Recovery after a timeout, with the same end.
    Loss {
        until: u64,
    },
}

/// The state of one sender's recovery.
#[derive(Clone, Debug)]
pub struct Selective {
    board: Scoreboard,
    pub(super) delivery: DeliveryRate,
    phase: Phase,
    /// Set with RACK. Otherwise losses are counted (RFC 6675), and no tail-loss probe is sent.
    rack: Option<Rack>,
    threshold: u32,
    mss: u64,
    probe: Option<Episode>,
    probe_timer: Option<Nanoseconds>,
    is_probe_due: bool,
    reordering_timer: Option<Nanoseconds>,
}

/// The fields of an ACK that matter to recovery.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    pub ack: u64,
    pub blocks: [(u64, u64); crate::segment::SACK_BLOCKS],
    pub has_dsack: bool,
    /// True if the ACK reports a mark.
    pub has_echo: bool,
    /// True for an ACK without new data acknowledged, without payload, and with an unchanged window.
    pub is_duplicate: bool,
    /// Sending time of the answered segment, by its timestamp.
    pub echo: Option<Nanoseconds>,
}

/// The effect of an ACK on the rest of the sender.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    pub delivered: Delivered,
    /// True if the window can grow by the delivered data.
    pub may_grow: bool,
    /// True if the ACK started a window reduction for a mark.
    pub is_reduced: bool,
    /// Weight of the data newly marked lost.
    pub lost: u64,
    /// Data in flight before the ACK.
    pub flight_before: u64,
    pub sample: Option<Sample>,
}

impl Selective {
    #[must_use]
    pub fn new(stack: &Stack, mss: u64) -> Self {
        Selective {
            board: Scoreboard::new(stack.window_in_segments.then_some(mss)),
            delivery: DeliveryRate::default(),
            phase: Phase::Open,
            rack: stack.tail_loss_probe.then(Rack::default),
            threshold: stack.retransmission.duplicate_ack_threshold,
            mss,
            probe: None,
            probe_timer: None,
            is_probe_due: false,
            reordering_timer: None,
        }
    }

    /// Return the data in flight that counts against the congestion window.
    #[must_use]
    pub fn pipe(&self) -> u64 {
        self.board.pipe()
    }

    /// Return true if lost data waits for its retransmission.
    #[must_use]
    pub fn has_lost(&self) -> bool {
        self.board.lost() > 0
    }

    #[must_use]
    pub fn repair(&self) -> Repair {
        match self.phase {
            Phase::Open | Phase::Reduction { .. } => Repair::Open,
            Phase::Recovery { .. } => Repair::FastRecovery,
            Phase::Loss { .. } => Repair::Timeout,
        }
    }

    fn is_reducing(&self) -> bool {
        matches!(self.phase, Phase::Recovery { .. } | Phase::Reduction { .. })
    }

    /// Return the sender's limit, if recovery limits it.
    #[must_use]
    pub fn limit(&self) -> Option<Limit> {
        match self.phase {
            Phase::Recovery { .. } => Some(Limit::FastRecovery),
            Phase::Loss { .. } if self.board.lost() > 0 => Some(Limit::Timeout),
            Phase::Loss { .. } | Phase::Reduction { .. } | Phase::Open => None,
        }
    }

    /// Process an ACK: mark losses, start and end recovery, and set the window during recovery.
    pub fn receive(
        &mut self,
        ack: Ack,
        next: u64,
        window: &mut Window,
        smoothed_rtt: Nanoseconds,
        now: Nanoseconds,
    ) -> Outcome {
        let flight = self.board.pipe();
        let blocks = ack.blocks.into_iter().filter(|block| *block != (0, 0));
        let delivered = self.board.receive(ack.ack, blocks);
        let sample = self.delivery.on_ack(&delivered, now);
        if let Some(rack) = &mut self.rack {
            rack.delivered(&delivered.segments, now, ack.echo);
        }
        self.judge_probe(ack, flight, window);
        self.leave(ack.ack, window);
        let lost = self.detect(smoothed_rtt, now);
        if lost > 0 {
            self.enter(next, flight, window);
        }
        let is_reduced = ack.has_echo && self.phase == Phase::Open;
        if is_reduced {
            self.reduce(next, flight, window);
        }
        let is_good_ack = delivered.acked > 0 && lost == 0;
        let pipe = self.board.pipe();
        if let Phase::Recovery { reduction, .. } | Phase::Reduction { reduction, .. } =
            &mut self.phase
        {
            if !window.follows_model() {
                window.cwnd = reduction.window(delivered.weight, pipe, self.mss, is_good_ack);
            }
        }
        Outcome {
            may_grow: delivered.acked > 0 && !self.is_reducing(),
            is_reduced,
            lost,
            flight_before: flight,
            sample,
            delivered,
        }
    }

    /// Mark losses and return their weight.
    fn detect(&mut self, smoothed_rtt: Nanoseconds, now: Nanoseconds) -> u64 {
        let circumstances = Circumstances {
            is_recovering: matches!(self.phase, Phase::Recovery { .. } | Phase::Loss { .. }),
            duplicate_ack_threshold: self.threshold,
            smoothed_rtt,
        };
        match &self.rack {
            None => self.board.lose_by_count(self.threshold, self.mss),
            Some(rack) => {
                let (lost, again) = rack.detect(&mut self.board, now, circumstances);
                self.reordering_timer = again;
                lost
            }
        }
    }

    fn enter(&mut self, next: u64, flight: u64, window: &mut Window) {
        if let Phase::Reduction { reduction, .. } = &self.phase {
            // A loss after a mark in the same round trip is the same congestion.
            self.phase = Phase::Recovery {
                until: next,
                reduction: *reduction,
                has_sent: false,
            };
            self.probe = None;
            self.probe_timer = None;
        }
        if self.phase != Phase::Open {
            return;
        }
        let before = window.cwnd;
        window.reduce(flight);
        self.phase = Phase::Recovery {
            until: next,
            reduction: RateReduction::begin(window.ssthresh, before.min(flight.max(self.mss))),
            has_sent: false,
        };
        self.probe = None;
        self.probe_timer = None;
    }

    /// Reduce the window for a mark by the rule for a loss (Linux, `tcp_enter_cwr`).
    fn reduce(&mut self, next: u64, flight: u64, window: &mut Window) {
        let before = window.cwnd;
        window.reduce(flight);
        self.phase = Phase::Reduction {
            until: next,
            reduction: RateReduction::begin(window.ssthresh, before.min(flight.max(self.mss))),
        };
    }

    /// End recovery once all data sent before its start is acknowledged.
    fn leave(&mut self, ack: u64, window: &mut Window) {
        match self.phase {
            // An ACK beyond `until` proves that CWR reached the receiver (Linux, TCP_CA_CWR).
            Phase::Reduction { until, .. } if ack > until => {
                window.recovered();
                self.phase = Phase::Open;
            }
            Phase::Recovery { until, .. } if ack >= until => {
                window.recovered();
                self.phase = Phase::Open;
            }
            Phase::Loss { until } if ack >= until => self.phase = Phase::Open,
            _ => {}
        }
    }

    /// Judge the outstanding probe. A loss that the probe repaired costs as much as any other loss (RFC 8985,
    /// section 7.4.2).
    fn judge_probe(&mut self, ack: Ack, flight: u64, window: &mut Window) {
        let Some(probe) = self.probe else { return };
        match probe.judge(ack.ack, ack.has_dsack, ack.is_duplicate) {
            Verdict::Open => {}
            Verdict::Unneeded => self.probe = None,
            Verdict::Repaired => {
                self.probe = None;
                if self.phase == Phase::Open {
                    window.reduce(flight);
                    window.recovered();
                }
            }
        }
    }

    /// Handle the retransmission timer. The first segment is lost, and with RACK also each segment sent at
    /// least one round trip ago (RFC 8985, section 6.3). Without RACK all segments are lost (RFC 6675,
    /// section 5.1).
    pub fn on_timeout(&mut self, next: u64, window: &mut Window, now: Nanoseconds) {
        let first = self.board.first().map_or(0, |segment| segment.start);
        let rack_rtt = self.rack.as_ref().map_or(0, Rack::rtt);
        self.board
            .lose(|segment| segment.start == first || segment.sent + rack_rtt <= now);
        window.cwnd = self.board.pipe() + self.mss;
        self.phase = Phase::Loss { until: next };
        self.probe = None;
        self.probe_timer = None;
        self.reordering_timer = None;
    }

    /// Return the next lost segment and its reason, if the window has room.
    #[must_use]
    pub fn lost_to_send(&self, cwnd: u64) -> Option<(Sent, SendReason)> {
        let segment = self.board.next_lost()?;
        let reason = match self.phase {
            Phase::Recovery {
                has_sent: false, ..
            } => SendReason::FastRetransmit,
            Phase::Loss { .. } => SendReason::RetransmissionTimeout,
            Phase::Recovery { .. } | Phase::Reduction { .. } | Phase::Open => SendReason::Recovery,
        };
        (self.board.pipe() < cwnd).then_some((segment, reason))
    }

    /// Record a sent range, new or retransmitted.
    pub fn sent(&mut self, start: u64, end: u64, is_new: bool, now: Nanoseconds) {
        let before = self.board.pipe();
        let snapshot = self.delivery.sent(self.board.segments() == 0, now);
        if is_new {
            self.board.send(start, end, snapshot, now);
        } else {
            self.board.resend(start, snapshot, now);
        }
        let weight = self.board.pipe().saturating_sub(before);
        if let Phase::Recovery {
            reduction,
            has_sent,
            ..
        } = &mut self.phase
        {
            reduction.sent(weight);
            *has_sent |= !is_new;
        }
        if let Phase::Reduction { reduction, .. } = &mut self.phase {
            reduction.sent(weight);
        }
    }

    /// Rearm the probe timer after an ACK of new data, or after new data was sent. The timer runs only
    /// without missing data and without an outstanding probe (RFC 8985, section 7.2). `rto_at` is the expiry
    /// time of the retransmission timer.
    pub fn arm_probe(
        &mut self,
        smoothed_rtt: Option<Nanoseconds>,
        rto_at: Option<Nanoseconds>,
        now: Nanoseconds,
    ) {
        self.probe_timer = None;
        let is_calm = matches!(self.phase, Phase::Open | Phase::Reduction { .. })
            && !self.board.is_disordered();
        let (Some(rto_at), true) = (rto_at, is_calm && self.rack.is_some()) else {
            return;
        };
        let segments = self.board.segments();
        if segments > 0 && self.probe.is_none() && !self.is_probe_due {
            let rto = rto_at.saturating_sub(now);
            self.probe_timer = Some(now + tail_loss_probe::timeout(smoothed_rtt, segments, rto));
        }
    }

    /// Return true if the probe timer has expired and a probe is due.
    pub fn take_probe(&mut self, now: Nanoseconds) -> bool {
        let is_due = self.probe_timer.is_some_and(|time| time <= now);
        if is_due {
            self.probe_timer = None;
            self.is_probe_due = true;
        }
        is_due
    }

    /// Return true once if a probe is due.
    pub fn take_probe_order(&mut self) -> bool {
        std::mem::take(&mut self.is_probe_due)
    }

    /// Record a sent probe. `next` is the first unsent offset after it.
    pub fn probed(&mut self, next: u64, is_retransmission: bool) {
        self.probe = Some(Episode {
            end: next,
            is_retransmission,
        });
    }

    /// Return the segment that a probe retransmits if there is no new data.
    #[must_use]
    pub fn tail(&self) -> Option<Sent> {
        self.board
            .last()
            .filter(|segment| segment.fate == Fate::InFlight)
    }

    /// Handle the reordering timer: segments that are still missing are lost (RFC 8985, section 6.2, step 5).
    pub fn reordering_timeout(
        &mut self,
        next: u64,
        window: &mut Window,
        smoothed_rtt: Nanoseconds,
        now: Nanoseconds,
    ) {
        if self.reordering_timer.is_none_or(|time| time > now) {
            return;
        }
        let flight = self.board.pipe();
        self.reordering_timer = None;
        if self.detect(smoothed_rtt, now) > 0 {
            self.enter(next, flight, window);
            let pipe = self.board.pipe();
            if let Phase::Recovery { reduction, .. } = &mut self.phase {
                if !window.follows_model() {
                    window.cwnd = reduction.window(0, pipe, self.mss, false);
                }
            }
        }
    }

    #[must_use]
    pub fn deadline(&self) -> Option<Nanoseconds> {
        [self.probe_timer, self.reordering_timer]
            .into_iter()
            .flatten()
            .min()
    }
}
