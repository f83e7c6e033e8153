//! BBR, version 1: the pacing rate and the window follow a model of the path, not losses
//! (draft-cardwell-iccrg-bbr-congestion-control-00, whose sections are cited here).
//!
//! The details that the draft leaves open are Linux's (net/ipv4/tcp_bbr.c). Not modelled: the long-term rate
//! behind a policer, and the undo of a needless recovery. Retransmissions are not paced.

mod path_model;

use crate::random::Random;
use crate::stack::Nanoseconds;
use crate::tcp::bbr::path_model::{bytes_in, Excess, PathModel};
use crate::tcp::congestion::Window;
use crate::tcp::delivery_rate::{DeliveryRate, Sample};
use crate::tcp::rate_pacing::{burst_segments, Pace};

/// Unit of gains.
const UNIT: u64 = 1000;
/// `HighGain`, 2 / ln 2: the smallest gain that doubles the rate per round trip (section 4.3.2.1).
const STARTUP_GAIN: u64 = 2885;
/// The inverse of it drains the queue of startup in one round trip (section 4.3.3).
const DRAIN_GAIN: u64 = 347;
/// Pacing gains of the phases of ProbeBW (section 4.3.4.2).
const CYCLE: [u64; 8] = [1250, 750, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// Window gain in ProbeBW (section 4.2.3.2).
const WINDOW_GAIN: u64 = 2000;
/// `BBRMinPipeCwnd` in segments (section 4.2.3.3).
const MIN_SEGMENTS: u64 = 4;
/// `ProbeRTTDuration` (section 4.3.5).
const PROBE_RTT_TIME: Nanoseconds = 200_000_000;
/// Nominal RTT before the first sample (section 4.2.1).
const NOMINAL_RTT: Nanoseconds = 1_000_000;
/// Pacing below the estimate keeps the queue short (Linux, `bbr_pacing_margin_percent`).
const MARGIN_PERCENT: u64 = 1;
/// Below 1.2 Mb/s, a burst is one segment (section 4.2.2), in bytes per second.
const SINGLE_SEGMENT_RATE: u64 = 1_200_000 / 8;
/// Maximum of the excess in a window (Linux, `bbr_extra_acked_max_us`).
const EXCESS_TIME: Nanoseconds = 100_000_000;
const SECOND: u64 = 1_000_000_000;

/// A state of section 3.4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Startup,
    Drain,
    ProbeBw {
        phase: usize,
        since: Nanoseconds,
    },
    /// `ends` is set once the flight is small enough.
    ProbeRtt {
        ends: Option<Nanoseconds>,
        has_round: bool,
    },
}

/// State of loss recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Repair {
    #[default]
    Open,
    FastRecovery,
    /// Recovery after a timeout.
    Timeout,
}

/// An ACK, after loss detection.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ack {
    /// Weight of the newly delivered data.
    pub delivered: u64,
    /// Weight of the data newly marked lost.
    pub lost: u64,
    /// Data in flight before and after the ACK.
    pub flights: [u64; 2],
    pub rtt: Option<Nanoseconds>,
    pub smoothed_rtt: Option<Nanoseconds>,
    pub sample: Option<Sample>,
    pub repair: Repair,
    /// Earliest time at which the pacer releases a segment.
    pub next_release: Nanoseconds,
    pub now: Nanoseconds,
}

#[derive(Clone, Debug)]
pub struct Bbr {
    mss: u64,
    initial: u64,
    mode: Mode,
    model: PathModel,
    excess: Excess,
    pacing_rate: u64,
    has_rtt: bool,
    /// True from the first segment after an idle time until the next delivery.
    is_restarting: bool,
    repair: Repair,
    /// True in the first round trip of fast recovery (section 4.2.3.4).
    conserves: bool,
    /// Window before recovery or ProbeRTT.
    prior_cwnd: u64,
    random: Random,
}

impl Bbr {
    #[must_use]
    pub fn new(mss: u64, initial: u64, random: Random) -> Self {
        let mut bbr = Bbr {
            mss: mss.max(1),
            initial,
            mode: Mode::Startup,
            model: PathModel::default(),
            excess: Excess::default(),
            pacing_rate: 0,
            has_rtt: false,
            is_restarting: false,
            repair: Repair::Open,
            conserves: false,
            prior_cwnd: 0,
            random,
        };
        bbr.pacing_rate = bbr.initial_rate(initial, NOMINAL_RTT);
        bbr
    }

    /// Begin with the RTT of the handshake, if it gave a sample.
    pub fn begin(&mut self, rtt: Option<Nanoseconds>, cwnd: u64, now: Nanoseconds) {
        self.model.min_rtt_at = now;
        self.model.sample_rtt(rtt, now);
        self.excess.restart(now);
        self.note_first_rtt(rtt, cwnd);
    }

    pub fn draw_from(&mut self, random: Random) {
        self.random = random;
    }

    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    #[must_use]
    pub fn pace(&self) -> Pace {
        Pace {
            rate: Some(self.pacing_rate).filter(|rate| *rate > 0),
            burst_segments: self.quantum_segments(),
        }
    }

    /// Handle the first segment after a time without data in flight (section 4.3.4.4). The application, not
    /// the path, limited the rate before.
    pub fn restart(&mut self, window: &mut Window, now: Nanoseconds) {
        self.is_restarting = true;
        self.excess.restart(now);
        match self.mode {
            Mode::ProbeBw { .. } => self.set_pacing_rate(UNIT),
            Mode::ProbeRtt { .. } => self.end_probe_rtt(window, now),
            Mode::Startup | Mode::Drain => {}
        }
    }

    /// Handle the retransmission timer before the window comes down (section 4.2.3.4).
    pub fn on_timeout(&mut self, cwnd: u64) {
        self.save(cwnd);
        self.repair = Repair::Timeout;
        self.model.on_timeout();
    }

    /// Enter fast recovery without SACK before the window comes down (section 4.2.3.4).
    pub fn enter_recovery(&mut self, cwnd: u64) {
        self.save(cwnd);
        self.repair = Repair::FastRecovery;
        self.conserves = true;
    }

    /// Apply an ACK: the model, the state, the pacing rate and the window, in this order (section 3.5).
    pub fn on_ack(&mut self, ack: &Ack, delivery: &mut DeliveryRate, window: &mut Window) {
        self.model
            .sample_rate(ack.sample.as_ref(), delivery.delivered);
        self.conserves &= !self.model.is_round_start;
        if ack.delivered > 0 && ack.sample.is_some() {
            self.excess
                .on_ack(ack.delivered, &self.model, window.cwnd, ack.now);
        }
        self.advance_cycle(ack, delivery.delivered_at);
        self.drain(ack, delivery.delivered_at, window);
        self.probe_rtt(ack, delivery, window);
        self.note_first_rtt(ack.smoothed_rtt, window.cwnd);
        self.set_pacing_rate(self.pacing_gain());
        self.set_window(ack, delivery, window);
    }

    fn pacing_gain(&self) -> u64 {
        match self.mode {
            Mode::Startup => STARTUP_GAIN,
            Mode::Drain => DRAIN_GAIN,
            Mode::ProbeBw { phase, .. } => CYCLE.get(phase).copied().unwrap_or(UNIT),
            Mode::ProbeRtt { .. } => UNIT,
        }
    }

    fn window_gain(&self) -> u64 {
        match self.mode {
            Mode::Startup | Mode::Drain => STARTUP_GAIN,
            Mode::ProbeBw { .. } => WINDOW_GAIN,
            Mode::ProbeRtt { .. } => UNIT,
        }
    }

    fn initial_rate(&self, cwnd: u64, rtt: Nanoseconds) -> u64 {
        let rate = u128::from(cwnd) * u128::from(SECOND) / u128::from(rtt.max(1));
        self.paced(u64::try_from(rate).unwrap_or(u64::MAX), STARTUP_GAIN)
    }

    fn paced(&self, rate: u64, gain: u64) -> u64 {
        scaled(rate, gain, UNIT) / 100 * (100 - MARGIN_PERCENT)
    }

    /// Set the initial pacing rate once an RTT is known (section 4.2.1).
    fn note_first_rtt(&mut self, smoothed: Option<Nanoseconds>, cwnd: u64) {
        if let Some(rtt) = smoothed.filter(|_| !self.has_rtt) {
            self.has_rtt = true;
            self.pacing_rate = self.initial_rate(cwnd, rtt);
        }
    }

    /// Set the pacing rate (section 4.2.1). Startup never lowers it.
    fn set_pacing_rate(&mut self, gain: u64) {
        let rate = self.paced(self.model.rate, gain);
        if self.model.is_full || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// Return the send quantum in segments (section 4.2.2).
    fn quantum_segments(&self) -> u64 {
        let least = if self.pacing_rate < SINGLE_SEGMENT_RATE {
            1
        } else {
            2
        };
        burst_segments(self.pacing_rate, self.mss, least)
    }

    /// Return the estimated bandwidth-delay product, times a gain (section 4.2.3.2).
    fn bdp(&self, gain: u64) -> u64 {
        self.model.min_rtt.map_or(self.initial, |rtt| {
            scaled(bytes_in(self.model.rate, rtt), gain, UNIT)
        })
    }

    /// Return a window for this flight in the network: three quanta more for the hosts (section 4.2.3.2), an
    /// even number of segments against delayed ACKs, and two more while probing (Linux,
    /// `bbr_quantization_budget`).
    fn window_for(&self, flight: u64) -> u64 {
        let segments = flight.div_ceil(self.mss) + 3 * self.quantum_segments();
        let is_probing = matches!(self.mode, Mode::ProbeBw { phase: 0, .. });
        let more = if is_probing { 2 } else { 0 };
        (segments.next_multiple_of(2) + more) * self.mss
    }

    /// Return the flight at the next release of the pacer (Linux, `bbr_packets_in_net_at_edt`).
    fn flight_at_release(&self, flight: u64, ack: &Ack) -> u64 {
        let until = ack.next_release.saturating_sub(ack.now);
        let quantum = if self.pacing_gain() > UNIT {
            self.quantum_segments() * self.mss
        } else {
            0
        };
        (flight + quantum).saturating_sub(bytes_in(self.model.rate, until))
    }

    /// Go to the next phase of ProbeBW if the current one is over (section 4.3.4.3).
    fn advance_cycle(&mut self, ack: &Ack, delivered_at: Nanoseconds) {
        let Mode::ProbeBw { phase, since } = self.mode else {
            return;
        };
        let is_long = delivered_at.saturating_sub(since) > self.model.min_rtt.unwrap_or(0);
        let gain = self.pacing_gain();
        let [before, _] = ack.flights;
        let flight = self.flight_at_release(before, ack);
        let is_over = if gain > UNIT {
            is_long && (ack.lost > 0 || flight >= self.window_for(self.bdp(gain)))
        } else if gain < UNIT {
            is_long || flight <= self.window_for(self.bdp(UNIT))
        } else {
            is_long
        };
        if is_over {
            self.enter_phase(phase + 1, delivered_at);
        }
    }

    fn enter_phase(&mut self, phase: usize, since: Nanoseconds) {
        self.mode = Mode::ProbeBw {
            phase: phase % CYCLE.len(),
            since,
        };
    }

    /// Enter ProbeBW in a random phase, but not in the one that drains (section 4.3.4.3).
    fn enter_probe_bw(&mut self, now: Nanoseconds) {
        let choices = CYCLE.len() as u64 - 1;
        let drawn = (self.random.word() % choices) as usize;
        self.enter_phase(CYCLE.len() - drawn, now);
    }

    /// Enter Drain once the pipe is full, and leave it once the queue is empty (section 4.3.3).
    fn drain(&mut self, ack: &Ack, delivered_at: Nanoseconds, window: &mut Window) {
        if self.mode == Mode::Startup && self.model.is_full {
            self.mode = Mode::Drain;
            window.ssthresh = self.window_for(self.bdp(UNIT));
        }
        let [_, flight] = ack.flights;
        if self.mode == Mode::Drain
            && self.flight_at_release(flight, ack) <= self.window_for(self.bdp(UNIT))
        {
            self.enter_probe_bw(delivered_at);
        }
    }

    /// Update the minimum RTT, and probe it if it is out of date (section 4.3.5).
    fn probe_rtt(&mut self, ack: &Ack, delivery: &mut DeliveryRate, window: &mut Window) {
        let is_expired = self.model.sample_rtt(ack.rtt, ack.now);
        let is_probing = matches!(self.mode, Mode::ProbeRtt { .. });
        if is_expired && !is_probing && !self.is_restarting {
            self.save(window.cwnd);
            self.mode = Mode::ProbeRtt {
                ends: None,
                has_round: false,
            };
        }
        if let Mode::ProbeRtt { ends, has_round } = self.mode {
            let [_, flight] = ack.flights;
            // Low rates while probing are no fault of the path.
            delivery.limit_by_application(flight);
            let has_round = has_round || self.model.is_round_start;
            if ends.is_some() {
                self.mode = Mode::ProbeRtt { ends, has_round };
                if has_round {
                    self.end_probe_rtt(window, ack.now);
                }
            } else if flight <= MIN_SEGMENTS * self.mss {
                self.model.start_round(delivery.delivered);
                self.mode = Mode::ProbeRtt {
                    ends: Some(ack.now + PROBE_RTT_TIME),
                    has_round: false,
                };
            }
        }
        if ack.delivered > 0 {
            self.is_restarting = false;
        }
    }

    /// Leave ProbeRTT if its time is over, and restore the window.
    fn end_probe_rtt(&mut self, window: &mut Window, now: Nanoseconds) {
        let Mode::ProbeRtt {
            ends: Some(ends), ..
        } = self.mode
        else {
            return;
        };
        if now <= ends {
            return;
        }
        self.model.min_rtt_at = now;
        window.cwnd = window.cwnd.max(self.prior_cwnd);
        if self.model.is_full {
            self.enter_probe_bw(now);
        } else {
            self.mode = Mode::Startup;
        }
    }

    /// Save the window before a temporary reduction (section 4.2.3.4).
    fn save(&mut self, cwnd: u64) {
        let is_reduced = self.repair != Repair::Open || matches!(self.mode, Mode::ProbeRtt { .. });
        self.prior_cwnd = if is_reduced {
            self.prior_cwnd.max(cwnd)
        } else {
            cwnd
        };
    }

    /// Set the window (section 4.2.3.6).
    fn set_window(&mut self, ack: &Ack, delivery: &DeliveryRate, window: &mut Window) {
        if ack.delivered > 0 {
            self.modulate(ack, delivery.delivered, window);
            if !self.conserves {
                window.cwnd = self.grown(window.cwnd, ack.delivered, delivery.delivered);
            }
        }
        if matches!(self.mode, Mode::ProbeRtt { .. }) {
            // Section 4.2.3.5.
            window.cwnd = window.cwnd.min(MIN_SEGMENTS * self.mss);
        }
    }

    /// Return the window after growth towards its target.
    fn grown(&self, cwnd: u64, acked: u64, delivered: u64) -> u64 {
        let excess = if self.model.is_full {
            let most = bytes_in(self.model.rate, EXCESS_TIME);
            self.excess.maximum().min(most)
        } else {
            0
        };
        let target = self.window_for(self.bdp(self.window_gain()) + excess);
        let grown = if self.model.is_full {
            (cwnd + acked).min(target)
        } else if cwnd < target || delivered < self.initial {
            cwnd + acked
        } else {
            cwnd
        };
        grown.max(MIN_SEGMENTS * self.mss)
    }

    /// Adapt the window to loss recovery: its first round trip sends as much as is delivered, and its end
    /// restores the window (section 4.2.3.4).
    fn modulate(&mut self, ack: &Ack, delivered: u64, window: &mut Window) {
        let [_, flight] = ack.flights;
        let mut cwnd = window.cwnd;
        if ack.repair == Repair::FastRecovery && self.repair != Repair::FastRecovery {
            self.save(cwnd);
            self.conserves = true;
            self.model.start_round(delivered);
            cwnd = flight + ack.delivered;
        } else if ack.repair == Repair::Open && self.repair != Repair::Open {
            self.conserves = false;
            cwnd = cwnd.max(self.prior_cwnd);
        } else {
            cwnd = cwnd.saturating_sub(ack.lost).max(self.mss);
        }
        self.repair = ack.repair;
        if self.conserves {
            cwnd = cwnd.max(flight + ack.delivered);
        }
        window.cwnd = cwnd;
    }
}

fn scaled(value: u64, by: u64, unit: u64) -> u64 {
    let scaled = u128::from(value) * u128::from(by) / u128::from(unit);
    u64::try_from(scaled).unwrap_or(u64::MAX)
}
