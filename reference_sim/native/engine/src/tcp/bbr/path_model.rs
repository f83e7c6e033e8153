//! BBR's model of a path: bottleneck bandwidth, round-trip propagation time, and their windows (section 4.1 of
//! the draft).

use crate::stack::Nanoseconds;
use crate::tcp::delivery_rate::Sample;

/// Window of the maximum rate, in round trips: `BtlBwFilterLen` (section 4.1.1.2).
const RATE_ROUNDS: u64 = 10;
/// Number of kept maxima, one per round trip of the window and one for the current round trip.
const KEPT: usize = 11;
/// Window of the minimum RTT: `RTpropFilterLen` (section 4.1.2.2).
const MIN_RTT_WINDOW: Nanoseconds = 10_000_000_000;
/// Growth of the rate per round trip while the pipe is not full: 25 % (section 4.3.2.2).
const GROWTH_PERCENT: u64 = 125;
/// Round trips below that growth that prove a full pipe (section 4.3.2.2).
const FULL_ROUNDS: u32 = 3;
/// Round trips of each of the two windows of the excess (Linux, `bbr_extra_acked_win_rtts`).
const EXCESS_ROUNDS: u32 = 5;

#[derive(Clone, Debug, Default)]
pub struct PathModel {
    /// Estimated bottleneck bandwidth in bytes per second: the windowed maximum.
    pub rate: u64,
    /// Maximum rate of each recent round trip, with the number of the round trip.
    maxima: [(u64, u64); KEPT],
    round: u64,
    /// Delivered data at the end of the current round trip.
    round_end: u64,
    /// True if the current ACK starts a round trip.
    pub is_round_start: bool,
    pub min_rtt: Option<Nanoseconds>,
    pub min_rtt_at: Nanoseconds,
    /// Rate that the next round trips must exceed in startup.
    full_rate: u64,
    full_rounds: u32,
    /// True once startup has filled the pipe.
    pub is_full: bool,
}

impl PathModel {
    /// Apply a rate sample of an ACK (section 4.1.1.5). `delivered` is the total after the ACK.
    pub fn sample_rate(&mut self, sample: Option<&Sample>, delivered: u64) {
        self.is_round_start = false;
        let Some(sample) = sample else { return };
        let Some(rate) = sample.rate(self.min_rtt.unwrap_or(0)) else {
            return;
        };
        if sample.prior_delivered >= self.round_end {
            self.round += 1;
            self.is_round_start = true;
            self.start_round(delivered);
        }
        if rate >= self.rate || !sample.is_app_limited {
            self.add(rate);
        }
        self.check_full(sample.is_app_limited);
    }

    /// Start a round trip now: it ends once data sent from now on is delivered.
    pub fn start_round(&mut self, delivered: u64) {
        self.round_end = delivered;
    }

    fn add(&mut self, rate: u64) {
        let round = self.round;
        let place = (round % self.maxima.len() as u64) as usize;
        if let Some((at, maximum)) = self.maxima.get_mut(place) {
            *maximum = if *at == round {
                rate.max(*maximum)
            } else {
                rate
            };
            *at = round;
        }
        let is_recent = |at: u64| round - at <= RATE_ROUNDS;
        let recent = self.maxima.iter().filter(|(at, _)| is_recent(*at));
        self.rate = recent.map(|(_, rate)| *rate).max().unwrap_or(0);
    }

    /// Look for a full pipe at the start of a round trip (section 4.3.2.2).
    fn check_full(&mut self, is_app_limited: bool) {
        if self.is_full || !self.is_round_start || is_app_limited {
            return;
        }
        if self.rate >= self.full_rate.saturating_mul(GROWTH_PERCENT) / 100 {
            self.full_rate = self.rate;
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.is_full = self.full_rounds >= FULL_ROUNDS;
    }

    /// Forget the rate that startup compares with (Linux, `bbr_set_state`).
    pub fn on_timeout(&mut self) {
        self.full_rate = 0;
    }

    /// Apply an RTT sample (section 4.1.2.3). Return true if the minimum was out of date.
    pub fn sample_rtt(&mut self, rtt: Option<Nanoseconds>, now: Nanoseconds) -> bool {
        let is_expired = now > self.min_rtt_at + MIN_RTT_WINDOW;
        if let Some(rtt) = rtt {
            if is_expired || self.min_rtt.is_none_or(|minimum| rtt < minimum) {
                self.min_rtt = Some(rtt);
                self.min_rtt_at = now;
            }
        }
        is_expired
    }
}

/// Excess of the acknowledged data over the estimated rate: ACKs that arrive in bursts need a larger window
/// (Linux, `bbr_update_ack_aggregation`).
#[derive(Clone, Copy, Debug, Default)]
pub struct Excess {
    since: Nanoseconds,
    acked: u64,
    rounds: u32,
    maxima: [u64; 2],
}

impl Excess {
    /// Restart the measurement at the first segment after an idle time.
    pub fn restart(&mut self, now: Nanoseconds) {
        self.since = now;
        self.acked = 0;
    }

    /// Apply an ACK of `delivered` bytes. `cwnd` bounds the excess.
    pub fn on_ack(&mut self, delivered: u64, model: &PathModel, cwnd: u64, now: Nanoseconds) {
        if model.is_round_start {
            self.rounds += 1;
            if self.rounds >= EXCESS_ROUNDS {
                self.rounds = 0;
                self.maxima = [0, self.maxima[0]];
            }
        }
        let mut expected = bytes_in(model.rate, now.saturating_sub(self.since));
        if self.acked <= expected {
            self.restart(now);
            expected = 0;
        }
        self.acked += delivered;
        let excess = self.acked.saturating_sub(expected).min(cwnd);
        self.maxima[0] = self.maxima[0].max(excess);
    }

    #[must_use]
    pub fn maximum(&self) -> u64 {
        self.maxima[0].max(self.maxima[1])
    }
}

/// Return the bytes sent at a rate per second in this time.
#[must_use]
pub fn bytes_in(rate: u64, time: Nanoseconds) -> u64 {
    let bytes = u128::from(rate) * u128::from(time) / 1_000_000_000;
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
