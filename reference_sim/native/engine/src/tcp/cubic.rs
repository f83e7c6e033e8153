//! CUBIC (RFC 9438), with fast convergence. HyStart++ is a separate parameter.
//!
//! Windows are counted in segments, like the constants of the RFC. The code uses only the four basic
//! operations and `libm`, so the result is equal on every machine.

use crate::stack::Nanoseconds;

/// RFC 9438, section 5: C, in segments per second cubed.
const C: f64 = 0.4;
/// RFC 9438, section 4.6.
const BETA: f64 = 0.7;
/// RFC 9438, section 4.3: with this factor, the estimate grows on average like Reno's window.
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
/// RFC 9438, section 4.2: the window grows by at most half per round trip.
const MAX_GROWTH: f64 = 1.5;
/// RFC 9438, section 4.6: the minimum threshold, in segments.
const MIN_THRESHOLD: f64 = 2.0;
const NANOSECONDS: f64 = 1e9;

/// An ACK of new data above the slow-start threshold.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    pub bytes: u64,
    pub mss: u64,
    pub now: Nanoseconds,
    pub smoothed_rtt: Nanoseconds,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cubic {
    /// Window before the last reduction. 0: no reduction since the start or the last timeout.
    max: f64,
    /// Window directly before the last reduction, without fast convergence.
    prior: f64,
    epoch: Option<Epoch>,
    /// Growth below one byte, carried over.
    fraction: f64,
}

/// A period of congestion avoidance between two reductions.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Epoch {
    start: Nanoseconds,
    /// Window at the plateau of the curve.
    plateau: f64,
    /// Time of the plateau, in seconds from the start.
    k: f64,
    /// Estimate of Reno's window.
    estimate: f64,
}

impl Cubic {
    /// Return the window after an ACK (sections 4.2 to 4.5).
    pub fn grown(&mut self, window: u64, acked: Acked) -> u64 {
        let mss = acked.mss as f64;
        let segments = window as f64 / mss;
        let prior = self.prior;
        let (origin, max) = (acked.now, self.max);
        let epoch = self
            .epoch
            .get_or_insert_with(|| Epoch::new(origin, segments, max));
        let acked_segments = acked.bytes as f64 / mss;
        epoch.estimate += reno_slope(epoch.estimate, prior) * acked_segments / segments;
        let now = acked.now.saturating_sub(epoch.start);
        let more = if epoch.at(now) < epoch.estimate {
            (epoch.estimate - segments).max(0.0)
        } else {
            let target = epoch.at(now + acked.smoothed_rtt);
            let target = target.clamp(segments, MAX_GROWTH * segments);
            (target - segments) / segments * acked_segments
        };
        let bytes = more * mss + self.fraction;
        self.fraction = bytes - libm::floor(bytes);
        window + bytes as u64
    }

    /// Return the threshold after a loss, by multiplicative decrease and fast convergence (sections 4.6 and
    /// 4.7). The window stands for the flight, as in Linux, because an unused window does not grow.
    pub fn threshold_after_loss(&mut self, window: u64, mss: u64) -> u64 {
        let segments = window as f64 / mss as f64;
        self.max = if segments < self.max {
            segments * (1.0 + BETA) / 2.0
        } else {
            segments
        };
        self.prior = segments;
        self.epoch = None;
        self.fraction = 0.0;
        ((segments * BETA).max(MIN_THRESHOLD) * mss as f64) as u64
    }

    /// Reset after a timeout. The next stage of congestion avoidance starts at the plateau, from its initial
    /// window (section 4.8).
    pub fn on_timeout(&mut self) {
        self.max = 0.0;
        self.epoch = None;
    }

    /// Shift the epoch by the idle time. Time without data in flight does not count (section 5.8).
    pub fn resumed(&mut self, idle: Nanoseconds) {
        if let Some(epoch) = &mut self.epoch {
            epoch.start += idle;
        }
    }
}

impl Epoch {
    /// Start an epoch with K = cubic root of (W_max - cwnd_epoch) / C (section 4.2, figure 2). If the window
    /// is above W_max, K is 0 and the plateau is the window (sections 4.8 and 4.10).
    fn new(start: Nanoseconds, window: f64, max: f64) -> Self {
        let plateau = max.max(window);
        Epoch {
            start,
            plateau,
            k: libm::cbrt((plateau - window) / C),
            estimate: window,
        }
    }

    /// Return W_cubic(t) = C (t - K)^3 + W_max (figure 1).
    fn at(&self, elapsed: Nanoseconds) -> f64 {
        let t = elapsed as f64 / NANOSECONDS - self.k;
        C * t * t * t + self.plateau
    }
}

/// Return the slope of the estimate. Once the estimate has reached the window before the reduction, it grows
/// as fast as Reno (section 4.3).
fn reno_slope(estimate: f64, prior: f64) -> f64 {
    if estimate < prior {
        ALPHA
    } else {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;
    const SECOND: Nanoseconds = 1_000_000_000;

    /// Return the windows in whole segments after each round trip. Each round trip acknowledges a whole
    /// window.
    fn rounds(cubic: &mut Cubic, mut window: u64, rtt: Nanoseconds, count: u64) -> Vec<u64> {
        (0..count)
            .map(|round| {
                for _ in 0..window / MSS {
                    window = cubic.grown(
                        window,
                        Acked {
                            bytes: MSS,
                            mss: MSS,
                            now: round * rtt,
                            smoothed_rtt: rtt,
                        },
                    );
                }
                window / MSS
            })
            .collect()
    }

    #[test]
    fn a_loss_leaves_seven_tenths_of_the_window_and_at_least_two_segments() {
        assert_eq!(
            Cubic::default().threshold_after_loss(100 * MSS, MSS),
            70 * MSS
        );
        assert_eq!(Cubic::default().threshold_after_loss(2 * MSS, MSS), 2 * MSS);
    }

    #[test]
    fn a_second_loss_below_the_last_maximum_lowers_the_plateau() {
        let mut cubic = Cubic::default();
        cubic.threshold_after_loss(100 * MSS, MSS);
        assert_eq!(cubic.max, 100.0);
        cubic.threshold_after_loss(80 * MSS, MSS);
        assert_eq!(cubic.max, 80.0 * 1.7 / 2.0);
        assert_eq!(cubic.prior, 80.0);
    }

    #[test]
    fn the_window_reaches_its_plateau_after_k_seconds() {
        let mut cubic = Cubic::default();
        let window = cubic.threshold_after_loss(1000 * MSS, MSS);
        // K = cbrt(1000 * 0.3 / 0.4) = 9.086 s: round 91 of 100 ms.
        let windows = rounds(&mut cubic, window, SECOND / 10, 130);
        let at = |round: usize| windows.get(round).copied().unwrap_or_default();
        assert!((998..=1000).contains(&at(90)), "{}", at(90));
        assert!(at(100) - at(80) < 3, "flat around K");
        assert!(at(20) - at(0) > 100, "steep far below the plateau");
        assert!(at(129) > 1010, "convex beyond the plateau");
    }

    #[test]
    fn a_short_round_trip_gives_reno_growth() {
        let mut cubic = Cubic::default();
        let window = cubic.threshold_after_loss(20 * MSS, MSS);
        // At 10 ms, the curve needs K = 2.47 s for six segments. The estimate needs 11 rounds.
        let windows = rounds(&mut cubic, window, SECOND / 100, 12);
        assert_eq!(windows.last(), Some(&20));
        let later = rounds(&mut { cubic }, 20 * MSS, SECOND / 100, 11);
        assert_eq!(
            later.last(),
            Some(&31),
            "one segment a round trip beyond the last maximum"
        );
    }

    #[test]
    fn after_a_timeout_the_curve_starts_flat_at_the_current_window() {
        let mut cubic = Cubic::default();
        cubic.threshold_after_loss(100 * MSS, MSS);
        cubic.on_timeout();
        rounds(&mut cubic, 70 * MSS, SECOND, 1);
        let epoch = cubic.epoch.unwrap_or_else(|| Epoch::new(0, 0.0, 0.0));
        assert_eq!((epoch.plateau, epoch.k), (70.0, 0.0));
    }

    #[test]
    fn idle_time_does_not_move_along_the_curve() {
        let mut cubic = Cubic::default();
        let window = cubic.threshold_after_loss(1000 * MSS, MSS);
        rounds(&mut cubic, window, SECOND, 2);
        let mut idle = cubic;
        idle.resumed(100 * SECOND);
        let acked = |now| Acked {
            bytes: MSS,
            mss: MSS,
            now,
            smoothed_rtt: SECOND,
        };
        assert_eq!(
            cubic.grown(800 * MSS, acked(3 * SECOND)),
            idle.grown(800 * MSS, acked(103 * SECOND))
        );
    }
}
