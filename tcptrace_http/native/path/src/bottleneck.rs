//! Serialization time of a path's bottleneck, from packet pairs (Keshav, SIGCOMM 1991).
//!
//! The smallest dispersion that recurs is the bottleneck's: cross traffic between two packets only increases
//! dispersion.

/// Maximum number of candidates; the smallest stay.
const CANDIDATES: usize = 12;
/// Two candidates are equal if they differ by less than 1 / `SAME_SHARE`.
const SAME_SHARE: u64 = 24;
/// Number of pairs that confirm a candidate.
const CONFIRMED: u32 = 2;
/// Smallest packet that gives a sample: headers and jitter dominate the gap of a smaller packet.
pub(crate) const PACKET_BYTES_MIN: u32 = 200;
/// Lengths that differ by 1 / `LENGTHS_SHARE` show whether the time is in proportion to the length.
const LENGTHS_SHARE: u32 = 4;
const PICOSECONDS: i64 = 1000;
/// Bits per byte times picoseconds per second.
const PICOBITS: u64 = 8_000_000_000_000;

/// Serialization time per byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Serialization {
    picoseconds_per_byte: u64,
}

impl Serialization {
    /// Return the serialization time of `bytes`.
    #[must_use]
    pub fn time_ns(self, bytes: u32) -> i64 {
        let picoseconds = self.picoseconds_per_byte.saturating_mul(u64::from(bytes));
        i64::try_from(picoseconds).unwrap_or(i64::MAX) / PICOSECONDS
    }

    /// Return the difference between the serialization times of `bytes` and of `than_bytes`.
    #[must_use]
    pub fn longer_ns(self, bytes: u32, than_bytes: u32) -> i64 {
        self.time_ns(bytes.saturating_sub(than_bytes))
    }

    /// Return the upper bound that follows if `bytes` took at most `time_ns`.
    #[must_use]
    pub fn at_most(time_ns: i64, bytes: u32) -> Option<Self> {
        let picoseconds = u64::try_from(time_ns).ok()?.checked_mul(1000)?;
        let picoseconds_per_byte = picoseconds.checked_div(u64::from(bytes))?;
        Some(Serialization {
            picoseconds_per_byte,
        })
    }

    /// Return the serialization time with this number of picoseconds per byte.
    #[must_use]
    pub const fn from_picoseconds(picoseconds_per_byte: u64) -> Self {
        Serialization {
            picoseconds_per_byte,
        }
    }

    /// Return the bit rate in bits per second, if known.
    #[must_use]
    pub fn bits_per_second(self) -> Option<u64> {
        PICOBITS.checked_div(self.picoseconds_per_byte)
    }

    #[must_use]
    pub const fn picoseconds(self) -> u64 {
        self.picoseconds_per_byte
    }

    #[must_use]
    pub fn is_known(self) -> bool {
        self.picoseconds_per_byte > 0
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Candidate {
    picoseconds_per_byte: u64,
    count: u32,
    /// The shortest and the longest packet of the samples.
    bytes: (u32, u32),
    /// True if at least one sample did not answer an ACK.
    is_of_link: bool,
}

impl Candidate {
    /// Return whether the samples come from a link.
    ///
    /// The time on a link is in proportion to the packet length. The pace of an application or of ACKs is
    /// not.
    fn is_confirmed(&self) -> bool {
        let (least, most) = self.bytes;
        let is_in_proportion = most.saturating_sub(least) >= least / LENGTHS_SHARE;
        self.count >= CONFIRMED && (self.is_of_link || is_in_proportion)
    }
}

/// Estimator of the serialization time of one direction's bottleneck.
#[derive(Clone, Debug, Default)]
pub struct Bottleneck {
    /// Candidates in ascending order.
    candidates: Vec<Candidate>,
    /// The smallest dispersion that recurred.
    serialization: Serialization,
}

impl Bottleneck {
    /// Take a packet pair: the second packet has `bytes` and follows after `gap_ns`.
    ///
    /// If `may_be_answer`, the ACK of the first packet may have released the second.
    pub fn on_pair(&mut self, gap_ns: i64, bytes: u32, may_be_answer: bool) {
        self.on_sample(gap_ns, bytes, 1, !may_be_answer);
    }

    /// Take a bound: an ACK shows that `bytes` took at most `took_ns`. A loose bound needs confirmation by
    /// others.
    pub fn on_bound(&mut self, took_ns: i64, bytes: u32, is_tight: bool) {
        let weight = if is_tight { CONFIRMED } else { 1 };
        self.on_sample(took_ns, bytes, weight, true);
    }

    fn on_sample(&mut self, gap_ns: i64, bytes: u32, weight: u32, is_of_link: bool) {
        if bytes >= PACKET_BYTES_MIN {
            self.note(gap_ns, bytes, weight, is_of_link);
            let confirmed = self.candidates.iter().find(|it| it.is_confirmed());
            self.serialization = Serialization {
                picoseconds_per_byte: confirmed.map_or(0, |it| it.picoseconds_per_byte),
            };
        }
    }

    fn note(&mut self, gap_ns: i64, bytes: u32, weight: u32, is_of_link: bool) {
        let Ok(gap_ns) = u64::try_from(gap_ns) else {
            return;
        };
        let found = gap_ns
            .saturating_mul(1000)
            .checked_div(u64::from(bytes))
            .unwrap_or(0);
        let same = self.candidates.iter_mut().find(|it| {
            it.picoseconds_per_byte.abs_diff(found) <= it.picoseconds_per_byte / SAME_SHARE
        });
        if let Some(same) = same {
            let (least, most) = same.bytes;
            same.bytes = (least.min(bytes), most.max(bytes));
            same.is_of_link |= is_of_link;
            same.count = same.count.saturating_add(weight);
            same.picoseconds_per_byte = same.picoseconds_per_byte.min(found);
            return;
        }
        let at = self
            .candidates
            .partition_point(|it| it.picoseconds_per_byte < found);
        if at >= CANDIDATES {
            return;
        }
        if self.candidates.len() >= CANDIDATES {
            // The largest candidate that never recurred makes room.
            let single = self.candidates.iter().rposition(|it| it.count < CONFIRMED);
            let Some(single) = single.filter(|single| *single >= at) else {
                return;
            };
            self.candidates.remove(single);
        }
        let candidate = Candidate {
            picoseconds_per_byte: found,
            count: weight,
            bytes: (bytes, bytes),
            is_of_link,
        };
        self.candidates.insert(at, candidate);
    }

    /// Return the smallest dispersion that recurred.
    #[must_use]
    pub fn serialization(&self) -> Serialization {
        self.serialization
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OF_1500_BYTES_NS: i64 = 1_200_000;

    #[test]
    fn recurring_dispersion_is_the_serialization_time() {
        let mut bottleneck = Bottleneck::default();
        bottleneck.on_pair(90_000_000, 1500, false);
        assert!(
            !bottleneck.serialization().is_known(),
            "one gap is no evidence"
        );
        bottleneck.on_pair(OF_1500_BYTES_NS, 1500, false);
        bottleneck.on_pair(OF_1500_BYTES_NS, 1500, false);
        assert_eq!(bottleneck.serialization().time_ns(1500), OF_1500_BYTES_NS);
    }

    #[test]
    fn equal_gaps_of_answers_count_only_in_proportion_to_packet_length() {
        let mut bottleneck = Bottleneck::default();
        for _ in 0..3 {
            bottleneck.on_pair(30_000_000, 1500, true);
        }
        assert!(!bottleneck.serialization().is_known());
        bottleneck.on_pair(15_000_000, 750, true);
        assert!(bottleneck.serialization().is_known());
    }
}
