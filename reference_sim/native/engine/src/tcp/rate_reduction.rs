//! Proportional rate reduction (RFC 6937): during recovery, delivered data lowers the window evenly to the
//! threshold within a round trip.

/// One recovery, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateReduction {
    threshold: u64,
    /// Flight at the start of the recovery (`RecoverFS`).
    flight: u64,
    delivered: u64,
    out: u64,
}

impl RateReduction {
    #[must_use]
    pub fn begin(threshold: u64, flight: u64) -> Self {
        RateReduction {
            threshold,
            flight: flight.max(1),
            delivered: 0,
            out: 0,
        }
    }

    /// Return the window after an ACK (RFC 6937, section 3). Below the threshold, the slow-start bound
    /// applies only while ACKs advance without new losses, as in Linux.
    pub fn window(&mut self, delivered: u64, pipe: u64, mss: u64, is_good_ack: bool) -> u64 {
        self.delivered += delivered;
        let wanted = if pipe > self.threshold {
            let share = u128::from(self.delivered) * u128::from(self.threshold);
            let share = share.div_ceil(u128::from(self.flight));
            u64::try_from(share)
                .unwrap_or(u64::MAX)
                .saturating_sub(self.out)
        } else {
            let conserved = self.delivered.saturating_sub(self.out).max(delivered);
            let growth = if is_good_ack { mss } else { 0 };
            (conserved + growth).min(self.threshold - pipe)
        };
        // The first retransmission is always released (section 3: "force a fast retransmit").
        let forced = if self.out == 0 { mss } else { 0 };
        pipe + wanted.max(forced)
    }

    /// Record new or retransmitted data sent in recovery (`prr_out`).
    pub fn sent(&mut self, bytes: u64) {
        self.out += bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    /// Return the sends per ACK of one segment, in a recovery of twenty segments with one loss.
    fn sends(threshold: u64) -> Vec<u64> {
        let mut reduction = RateReduction::begin(threshold * MSS, 20 * MSS);
        let mut pipe = 20 * MSS - 4 * MSS;
        let mut sends = Vec::new();
        for ack in 0..16 {
            let delivered = if ack == 0 { 3 * MSS } else { MSS };
            let window = reduction.window(delivered, pipe, MSS, false);
            let sent = window.saturating_sub(pipe) / MSS * MSS;
            reduction.sent(sent);
            sends.push(sent / MSS);
            pipe = pipe + sent - MSS.min(pipe);
        }
        sends
    }

    #[test]
    fn every_second_ack_releases_a_segment_when_the_window_is_halved() {
        let sends = sends(10);
        assert_eq!(sends.get(..6), Some([1, 1, 0, 1, 0, 1].as_slice()));
    }

    #[test]
    fn half_of_the_delivered_data_is_sent_when_the_window_is_halved() {
        // 18 of 20 segments: three on the first ACK, and fifteen more.
        assert_eq!(sends(10).iter().sum::<u64>(), 9);
    }

    #[test]
    fn the_first_ack_of_a_recovery_sends_at_least_one_segment() {
        let mut reduction = RateReduction::begin(2 * MSS, 100 * MSS);
        assert_eq!(reduction.window(MSS, 50 * MSS, MSS, false), 51 * MSS);
    }

    #[test]
    fn below_the_threshold_delivered_data_is_replaced_plus_one_segment_on_good_acks() {
        let mut reduction = RateReduction::begin(10 * MSS, 20 * MSS);
        reduction.sent(MSS);
        assert_eq!(reduction.window(2 * MSS, 4 * MSS, MSS, false), 6 * MSS);
        let mut reduction = RateReduction::begin(10 * MSS, 20 * MSS);
        reduction.sent(MSS);
        assert_eq!(reduction.window(2 * MSS, 4 * MSS, MSS, true), 7 * MSS);
    }
}
