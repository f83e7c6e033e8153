//! Loss recovery of a sender whose peer sends SACK blocks: what is lost, what goes out again and
//! when, and how the window comes down meanwhile (RFC 6675, RFC 6937, RFC 8985).
//!
//! A spurious timeout is not undone: neither F-RTO (RFC 5682) nor Eifel (RFC 4015) is modelled.

use crate::stack::{Nanoseconds, Stack};
use crate::tcp::congestion::Window;
use crate::tcp::rack::{Circumstances, Rack};
use crate::tcp::rate_reduction::RateReduction;
use crate::tcp::scoreboard::{Delivered, Fate, Scoreboard, Sent};
use crate::tcp::tail_loss_probe::{self, Episode, Verdict};
use crate::truth::{Limit, SendReason};

#[derive(Clone, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    /// Until all that had been sent when it began is acknowledged.
    Recovery {
        until: u64,
        reduction: RateReduction,
        has_sent: bool,
    },
    /// After a timeout, likewise.
    Loss {
        until: u64,
    },
}

/// The state of one sender's recovery.
#[derive(Clone, Debug)]
pub struct Selective {
    board: Scoreboard,
    phase: Phase,
    /// With RACK; otherwise losses are counted (RFC 6675), and the tail is not probed.
    rack: Option<Rack>,
    threshold: u32,
    mss: u64,
    probe: Option<Episode>,
    probe_timer: Option<Nanoseconds>,
    is_probe_due: bool,
    reordering_timer: Option<Nanoseconds>,
}

/// An ACK, as far as recovery is concerned.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    pub ack: u64,
    pub blocks: [(u64, u64); crate::segment::SACK_BLOCKS],
    pub has_dsack: bool,
    /// Of nothing new, without data and with the window as before.
    pub is_duplicate: bool,
    /// When what it answers was sent, by its timestamp.
    pub echo: Option<Nanoseconds>,
}

/// What an ACK means for the rest of the sender.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    pub delivered: Delivered,
    /// The window may grow by what was delivered.
    pub may_grow: bool,
}

impl Selective {
    #[must_use]
    pub fn new(stack: &Stack, mss: u64) -> Self {
        Selective {
            board: Scoreboard::new(stack.window_in_segments.then_some(mss)),
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

    /// What is in flight, for the congestion window.
    #[must_use]
    pub fn pipe(&self) -> u64 {
        self.board.pipe()
    }

    fn is_recovering(&self) -> bool {
        matches!(self.phase, Phase::Recovery { .. })
    }

    /// What holds the sender back, if it is recovery.
    #[must_use]
    pub fn limit(&self) -> Option<Limit> {
        match self.phase {
            Phase::Recovery { .. } => Some(Limit::FastRecovery),
            Phase::Loss { .. } if self.board.lost() > 0 => Some(Limit::Timeout),
            Phase::Loss { .. } | Phase::Open => None,
        }
    }

    /// Takes an ACK: marks losses, begins and ends recovery, and sets the window in it.
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
        if let Some(rack) = &mut self.rack {
            rack.delivered(&delivered.segments, now, ack.echo);
        }
        self.judge_probe(ack, flight, window);
        self.leave(ack.ack, window);
        let lost = self.detect(smoothed_rtt, now);
        if lost > 0 {
            self.enter(next, flight, window);
        }
        let is_good_ack = delivered.acked > 0 && lost == 0;
        let pipe = self.board.pipe();
        if let Phase::Recovery { reduction, .. } = &mut self.phase {
            window.cwnd = reduction.window(delivered.weight, pipe, self.mss, is_good_ack);
        }
        Outcome {
            may_grow: delivered.acked > 0 && !self.is_recovering(),
            delivered,
        }
    }

    /// Marks what is lost; how much.
    fn detect(&mut self, smoothed_rtt: Nanoseconds, now: Nanoseconds) -> u64 {
        let circumstances = Circumstances {
            is_recovering: self.phase != Phase::Open,
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

    /// Recovery ends when all is acknowledged that had been sent when it began.
    fn leave(&mut self, ack: u64, window: &mut Window) {
        match self.phase {
            Phase::Recovery { until, .. } if ack >= until => {
                window.recovered();
                self.phase = Phase::Open;
            }
            Phase::Loss { until } if ack >= until => self.phase = Phase::Open,
            _ => {}
        }
    }

    /// RFC 8985, section 7.4.2: a loss that the probe repaired costs as much as any other.
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

    /// The retransmission timer went off: the first segment is lost, and with it what has been
    /// out for a round trip (RFC 8985, section 6.3; all, without RACK: RFC 6675, section 5.1).
    pub fn timed_out(&mut self, next: u64, window: &mut Window, now: Nanoseconds) {
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

    /// The next lost segment, if the window lets it go, and why it goes.
    #[must_use]
    pub fn lost_to_send(&self, cwnd: u64) -> Option<(Sent, SendReason)> {
        let segment = self.board.next_lost()?;
        let reason = match self.phase {
            Phase::Recovery {
                has_sent: false, ..
            } => SendReason::FastRetransmit,
            Phase::Loss { .. } => SendReason::RetransmissionTimeout,
            Phase::Recovery { .. } | Phase::Open => SendReason::Recovery,
        };
        (self.board.pipe() < cwnd).then_some((segment, reason))
    }

    /// A stretch goes out, the first time or again.
    pub fn sent(&mut self, start: u64, end: u64, is_new: bool, now: Nanoseconds) {
        let before = self.board.pipe();
        if is_new {
            self.board.send(start, end, now);
        } else {
            self.board.resend(start, now);
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
    }

    /// Sets the probe's timer anew, after an ACK of something new or after new data: only while
    /// nothing is missing, and without a probe out (RFC 8985, section 7.2). `rto_at` is when the
    /// retransmission timer goes off.
    pub fn arm_probe(
        &mut self,
        smoothed_rtt: Option<Nanoseconds>,
        rto_at: Option<Nanoseconds>,
        now: Nanoseconds,
    ) {
        self.probe_timer = None;
        let is_calm = self.phase == Phase::Open && !self.board.is_disordered();
        let (Some(rto_at), true) = (rto_at, is_calm && self.rack.is_some()) else {
            return;
        };
        let segments = self.board.segments();
        if segments > 0 && self.probe.is_none() && !self.is_probe_due {
            let rto = rto_at.saturating_sub(now);
            self.probe_timer = Some(now + tail_loss_probe::timeout(smoothed_rtt, segments, rto));
        }
    }

    /// Whether the probe's timer has gone off: a probe is then to be sent.
    pub fn take_probe(&mut self, now: Nanoseconds) -> bool {
        let is_due = self.probe_timer.is_some_and(|time| time <= now);
        if is_due {
            self.probe_timer = None;
            self.is_probe_due = true;
        }
        is_due
    }

    /// Whether a probe is to be sent, once.
    pub fn take_probe_order(&mut self) -> bool {
        std::mem::take(&mut self.is_probe_due)
    }

    /// A probe goes out; `next` is the first offset not sent, after it.
    pub fn probed(&mut self, next: u64, is_retransmission: bool) {
        self.probe = Some(Episode {
            end: next,
            is_retransmission,
        });
    }

    /// The segment that a probe repeats when there is nothing new to send.
    #[must_use]
    pub fn tail(&self) -> Option<Sent> {
        self.board
            .last()
            .filter(|segment| segment.fate == Fate::InFlight)
    }

    /// The reordering timer: what did not come meanwhile is lost (RFC 8985, section 6.2, step 5).
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
                window.cwnd = reduction.window(0, pipe, self.mss, false);
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
