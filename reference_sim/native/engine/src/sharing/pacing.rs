//! Rate-based pacing: a window known from earlier is not sent as one burst. The window is spread over a round
//! trip until ACKs arrive (Visweswaraiah and Heidemann 1997; Heidemann 1996, section 2.4; Eggert 1999,
//! section 3.1).

use super::{Grant, Path};
use crate::stack::Nanoseconds;

/// A smaller window is paced like this number of segments: the minimum rate of Visweswaraiah and Heidemann.
const LEAST_SEGMENTS: u64 = 2;

/// The state of the pacing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pacing {
    #[default]
    Off,
    /// Pacing from the next segment on.
    Armed,
    Going(Pacer),
}

/// A pacer that sends segments at equal intervals.
///
/// The rate is the window per round trip, as Eggert specifies for E-TCP ("paced based on the previously
/// measured RTT and congestion window"). Visweswaraiah and Heidemann's simulations paced three quarters of
/// that. Neither Heidemann 1996 nor Eggert 1999 mentions this factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pacer {
    interval: Nanoseconds,
    next: Nanoseconds,
    /// First paced segment: a stream offset or a packet number.
    first: u64,
}

impl Pacing {
    /// Return the time of the next segment's release, if it is in the future.
    #[must_use]
    pub fn until(&self, now: Nanoseconds) -> Option<Nanoseconds> {
        match self {
            Pacing::Going(pacer) => Some(pacer.next).filter(|next| *next > now),
            Pacing::Off | Pacing::Armed => None,
        }
    }

    /// Return the part of the window's room that is released now: with pacing, one segment at a time.
    #[must_use]
    pub fn grant(&self, room: u64, mss: u64, now: Nanoseconds) -> Grant {
        let paced_until = self.until(now).filter(|_| room > 0);
        let bytes = match paced_until {
            Some(_) => 0,
            None if self.is_on() => room.min(mss),
            None => room,
        };
        Grant {
            bytes,
            paced_until,
            is_of_stack: false,
        }
    }

    #[must_use]
    pub fn is_on(&self) -> bool {
        *self != Pacing::Off
    }

    /// Record the sending of a segment known as `number`. The rate comes from the path at the first segment.
    /// Without a known round trip there is no rate.
    pub fn sent(&mut self, path: Option<Path>, number: u64, now: Nanoseconds) {
        match self {
            Pacing::Off => {}
            Pacing::Going(pacer) => pacer.next = now.saturating_add(pacer.interval),
            Pacing::Armed => {
                let pacer = path.and_then(|path| Pacer::start(path, number, now));
                *self = pacer.map_or(Pacing::Off, Pacing::Going);
            }
        }
    }

    /// Record an ACK of everything before `acknowledged`. Return true if the ACK clock runs and the pacing
    /// ends. An ACK of data sent before the pacing does not end it, because the burst would then follow.
    pub fn on_ack(&mut self, acknowledged: u64) -> bool {
        let is_ended = matches!(self, Pacing::Going(pacer) if acknowledged > pacer.first);
        if is_ended {
            *self = Pacing::Off;
        }
        is_ended
    }
}

impl Pacer {
    fn start(path: Path, first: u64, now: Nanoseconds) -> Option<Self> {
        let round_trip = path.round_trip?.smoothed;
        let segments = (path.cwnd / u64::from(path.mss.max(1))).max(LEAST_SEGMENTS);
        let interval = round_trip / segments;
        Some(Pacer {
            interval,
            next: now.saturating_add(interval),
            first,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sharing::Estimate;

    const MS: Nanoseconds = 1_000_000;

    fn path(segments: u64) -> Option<Path> {
        Some(Path {
            cwnd: segments * 512,
            ssthresh: 64 * 512,
            mss: 512,
            round_trip: Some(Estimate {
                smoothed: 100 * MS,
                variation: 0,
            }),
        })
    }

    #[test]
    fn a_window_is_spread_over_one_round_trip() {
        let mut pacing = Pacing::Armed;
        let mut times = Vec::new();
        let mut now = 7 * MS;
        for number in 0..8 {
            pacing.sent(path(8), number, now);
            times.push(now);
            let next = pacing.until(now).unwrap();
            assert_eq!(pacing.until(next - 1), Some(next));
            assert_eq!(pacing.until(next), None);
            now = next;
        }
        let gaps: Vec<_> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(gaps, [12_500_000; 7]);
    }

    #[test]
    fn a_small_window_is_paced_at_two_segments_a_round_trip() {
        let mut pacing = Pacing::Armed;
        pacing.sent(path(1), 0, 0);
        assert_eq!(pacing.until(0), Some(50 * MS));
    }

    #[test]
    fn a_path_without_a_round_trip_is_not_paced() {
        let mut pacing = Pacing::Armed;
        pacing.sent(None, 0, 0);
        assert!(!pacing.is_on());
    }

    #[test]
    fn only_the_ack_of_a_paced_segment_ends_it() {
        let first = u64::from(u32::MAX) - 100;
        let mut pacing = Pacing::Armed;
        pacing.sent(path(4), first, 0);
        assert!(!pacing.on_ack(first));
        assert!(pacing.is_on());
        assert!(pacing.on_ack(first + 512));
        assert!(!pacing.is_on());
    }
}
