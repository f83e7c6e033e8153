//! Round trips of one direction: of all segments, of full segments, and of retransmitted segments.

use super::ledger::{AckEffect, Sample};
use super::moments::Moments;

#[derive(Debug, Default)]
pub struct RoundTrips {
    pub all: Moments,
    /// Round trips of data segments with the largest payload so far.
    pub full: Moments,
    full_bytes: i64,
    /// Round trips since the last send of retransmitted segments.
    pub resent: Moments,
    pub ambiguous: u64,
    pub post_loss: u64,
    pub cumulatively_acked: u64,
    pub handshake_ns: Option<i64>,
    syn: Option<Syn>,
}

/// SYN that waits for its ACK.
#[derive(Clone, Copy, Debug)]
struct Syn {
    time_ns: i64,
    end: i64,
}

impl RoundTrips {
    /// Take the direction's SYN (its `count`th), which ends at `end`, behind the payload of a fast open.
    pub fn syn(&mut self, count: u64, end: i64, time_ns: i64) {
        self.syn = (count == 1).then_some(Syn { time_ns, end });
    }

    /// Take the peer's ACK up to `ack` with its effect `acked`.
    pub fn acknowledged(&mut self, ack: i64, acked: AckEffect, time_ns: i64) {
        if let Some(syn) = self.syn.take_if(|_| ack >= 1) {
            if ack == 1 || ack == syn.end {
                self.handshake_ns =
                    Some(time_ns.saturating_sub(syn.time_ns)).filter(|rtt| *rtt >= 0);
            }
        }
        self.cumulatively_acked = self.cumulatively_acked.saturating_add(acked.cumulatively);
        match acked.sample {
            Some(Sample::RoundTrip(elapsed, numbers)) => self.sample(elapsed, numbers, ack),
            Some(Sample::Ambiguous(elapsed)) => {
                self.ambiguous = self.ambiguous.saturating_add(1);
                self.resent.add(elapsed);
            }
            Some(Sample::PostLoss) => self.post_loss = self.post_loss.saturating_add(1),
            None => {}
        }
    }

    fn sample(&mut self, elapsed: i64, numbers: i64, ack: i64) {
        self.all.add(elapsed);
        // A SYN or a FIN without data takes one number.
        if numbers <= 1 || ack <= 1 {
            return;
        }
        if numbers > self.full_bytes {
            self.full_bytes = numbers;
            self.full = Moments::default();
        }
        if numbers == self.full_bytes {
            self.full.add(elapsed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(elapsed: i64, numbers: i64) -> AckEffect {
        AckEffect {
            sample: Some(Sample::RoundTrip(elapsed, numbers)),
            cumulatively: 0,
        }
    }

    #[test]
    fn full_segments_are_the_largest_with_data() {
        let mut trips = RoundTrips::default();
        trips.acknowledged(1, round_trip(9, 1), 9);
        trips.acknowledged(101, round_trip(8, 100), 20);
        trips.acknowledged(1561, round_trip(5, 1460), 30);
        trips.acknowledged(3021, round_trip(7, 1460), 40);
        trips.acknowledged(3022, round_trip(1, 1), 50);
        assert_eq!((trips.all.count, trips.all.least()), (5, Some(1)));
        assert_eq!((trips.full.count, trips.full.least()), (2, Some(5)));
    }

    #[test]
    fn retransmitted_syn_measures_no_handshake() {
        let mut trips = RoundTrips::default();
        trips.syn(1, 1, 0);
        trips.syn(2, 1, 1_000);
        trips.acknowledged(1, AckEffect::default(), 1_050);
        assert_eq!(trips.handshake_ns, None);
        let mut trips = RoundTrips::default();
        trips.syn(1, 1, 0);
        trips.acknowledged(1, AckEffect::default(), 40);
        trips.acknowledged(1, AckEffect::default(), 90);
        assert_eq!(trips.handshake_ns, Some(40));
    }
}
