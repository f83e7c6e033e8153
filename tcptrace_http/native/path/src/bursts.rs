//! Upper bounds of the bottleneck's serialization time, from ACKs.
//!
//! A packet leaves a queue only after the link has carried all data since the queue was empty (Lindley's
//! recursion). Its ACK comes at least one round trip of the path later. Each ACK therefore bounds the time
//! per byte from above. An ACK without delay meets the bound.

use std::collections::VecDeque;

/// Maximum number of burst starts in memory.
const BURSTS: usize = 16;
/// A longer gap between packets starts a new burst.
const APART_NS: i64 = 250_000;

/// Packets of one direction, captured before the bottleneck.
#[derive(Clone, Debug, Default)]
pub struct Bursts {
    /// Start time of each burst, and the bytes before it.
    begun: VecDeque<(i64, u64)>,
    carried: u64,
    last_ns: Option<i64>,
}

impl Bursts {
    /// Take a packet and return the bytes up to its end.
    pub fn on_packet(&mut self, time_ns: i64, bytes: u32) -> u64 {
        let last_ns = self.last_ns.replace(time_ns);
        if last_ns.is_none_or(|last_ns| time_ns.saturating_sub(last_ns) > APART_NS) {
            if self.begun.len() >= BURSTS {
                self.begun.pop_front();
            }
            self.begun.push_back((time_ns, self.carried));
        }
        self.carried = self.carried.saturating_add(u64::from(bytes));
        self.carried
    }

    /// Return the bytes of all packets.
    #[must_use]
    pub fn carried(&self) -> u64 {
        self.carried
    }

    /// Return the smallest upper bound of the time per byte.
    ///
    /// The packet ends at byte `carried`, passed the capture at `sent_ns` and passed the link before
    /// `received_ns`. The base round trip includes `known_bytes`, which the bound subtracts.
    #[must_use]
    pub fn at_most(
        &self,
        carried: u64,
        sent_ns: i64,
        received_ns: i64,
        known_bytes: u32,
    ) -> Option<Bound> {
        let begun = self.begun.iter().rev();
        let begun = begun.filter(|(begun_ns, _)| *begun_ns <= sent_ns);
        let bounds = begun.enumerate().filter_map(|(place, (begun_ns, before))| {
            let bytes = carried
                .checked_sub(*before)?
                .checked_sub(known_bytes.into())?;
            Some(Bound {
                took_ns: received_ns.saturating_sub(*begun_ns).max(0),
                bytes: u32::try_from(bytes).ok().filter(|bytes| *bytes > 0)?,
                is_of_one_burst: place == 0,
            })
        });
        // Compare the fractions by cross multiplication.
        let product =
            |of: &Bound, by: &Bound| i128::from(of.took_ns).saturating_mul(by.bytes.into());
        bounds.min_by(|one, other| product(one, other).cmp(&product(other, one)))
    }
}

/// Upper bound: the link took at most `took_ns` for `bytes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    pub took_ns: i64,
    pub bytes: u32,
    /// True if the bytes are those of the packet's own burst: the sender made no pause between them.
    pub is_of_one_burst: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUND: Bound = Bound {
        took_ns: 2_400_000,
        bytes: 3000,
        is_of_one_burst: true,
    };

    #[test]
    fn prompt_ack_of_a_burst_bounds_the_serialization_time() {
        let mut bursts = Bursts::default();
        bursts.on_packet(0, 1500);
        let carried = bursts.on_packet(0, 1500);
        assert_eq!(bursts.at_most(carried, 0, 2_400_000, 0), Some(BOUND));
    }

    #[test]
    fn packet_behind_an_earlier_burst_is_bounded_by_both() {
        let mut bursts = Bursts::default();
        bursts.on_packet(0, 1500);
        let carried = bursts.on_packet(300_000, 1500);
        let both = Bound {
            is_of_one_burst: false,
            ..BOUND
        };
        assert_eq!(bursts.at_most(carried, 300_000, 2_400_000, 0), Some(both));
    }
}
