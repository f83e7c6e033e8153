//! What the slowest link had to carry before an acknowledgment came: its serialization time is no longer than that allows.
//!
//! A packet leaves a queue no sooner than the link has carried all that was sent since the queue was empty (Lindley's
//! recursion); its acknowledgment comes a round trip of the path later, or more. So each acknowledgment bounds the time of
//! a byte from above, and one that was not delayed meets the bound.

use std::collections::VecDeque;

/// Beginnings of bursts that are remembered.
const BURSTS: usize = 16;
/// Packets that are further apart begin a burst of their own.
const APART_NS: i64 = 250_000;

/// A direction's packets as they pass a capture before the slowest link.
#[derive(Clone, Debug, Default)]
pub struct Bursts {
    /// When each began, and the bytes before it.
    begun: VecDeque<(i64, u64)>,
    carried: u64,
    last_ns: Option<i64>,
}

impl Bursts {
    /// A packet passes; returns the bytes up to its end.
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

    /// Bytes of all packets.
    #[must_use]
    pub fn carried(&self) -> u64 {
        self.carried
    }

    /// The time that a number of bytes took at most, if a packet that ends at `carried` and passed at `sent_ns` was behind
    /// the link at `there_ns`, where `known_bytes` are off; the least for a byte.
    #[must_use]
    pub fn at_most(
        &self,
        carried: u64,
        sent_ns: i64,
        there_ns: i64,
        known_bytes: u32,
    ) -> Option<Bound> {
        let begun = self.begun.iter().rev();
        let begun = begun.filter(|(begun_ns, _)| *begun_ns <= sent_ns);
        let bounds = begun.enumerate().filter_map(|(place, (begun_ns, before))| {
            let bytes = carried
                .checked_sub(*before)?
                .checked_sub(known_bytes.into())?;
            Some(Bound {
                took_ns: there_ns.saturating_sub(*begun_ns).max(0),
                bytes: u32::try_from(bytes).ok().filter(|bytes| *bytes > 0)?,
                is_of_one_burst: place == 0,
            })
        });
        // Fractions are compared crosswise.
        let product =
            |of: &Bound, by: &Bound| i128::from(of.took_ns).saturating_mul(by.bytes.into());
        bounds.min_by(|one, other| product(one, other).cmp(&product(other, one)))
    }
}

/// So many bytes took the link so long at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    pub took_ns: i64,
    pub bytes: u32,
    /// They are the packet's own burst: the sender made no pause in between.
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
    fn prompt_acknowledgment_of_a_burst_tells_the_links_time() {
        let mut bursts = Bursts::default();
        bursts.on_packet(0, 1500);
        let carried = bursts.on_packet(0, 1500);
        assert_eq!(bursts.at_most(carried, 0, 2_400_000, 0), Some(BOUND));
    }

    #[test]
    fn packet_behind_an_earlier_burst_tells_of_both() {
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
