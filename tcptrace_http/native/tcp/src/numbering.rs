//! IPv4 identification counter of a sender.
//!
//! Linux increments the identification by one per packet of a connection. A missing number is a packet that
//! was lost before the capture point. A lower number belongs to an overtaken packet. RFC 6864 allows senders
//! other schemes, so the numbers must show that a sender counts.

/// Number of single steps that shows a counter, and number of single steps per other step.
///
/// A random number follows another by one once in 65,536 packets. A path that loses every fourth packet
/// carries no useful traffic.
const STEPS_MIN: u32 = 1;
const OTHER_STEPS_SHARE: u32 = 4;
/// A step of at most this size also shows a counter: a random number is within this distance once in 4,096
/// packets.
const SHORT_STEP: i16 = 16;
/// A longer step does not come from lost packets of one connection.
const LONGEST_STEP: i16 = 1000;
/// Missing numbers before a lone data segment: the segment and an ACK.
const SKIPPED_BY_PROBE: u32 = 2;

/// State of a sender's identification counter.
#[derive(Clone, Copy, Debug, Default)]
pub struct Numbering {
    expected: Option<u16>,
    steps: u32,
    short_steps: u32,
    other_steps: u32,
    is_shared: bool,
    /// Time of the newest data, if numbers were skipped in the silence before it.
    skipped_ns: Option<i64>,
    is_refuted: bool,
}

/// Result of a packet's number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Number of missing packets before it.
    pub skipped: u32,
    /// True if the packet was sent before an earlier captured packet.
    pub is_late: bool,
}

impl Numbering {
    /// Take a packet of `segments` wire segments; the result is empty for a sender without a counter.
    #[inline]
    pub fn step(&mut self, identification: u32, segments: u32) -> Step {
        // Linux sends a SYN-ACK with number 0, because no connection exists yet.
        if identification == 0 {
            return Step::default();
        }
        let number = identification as u16;
        let next = number.wrapping_add(segments.max(1) as u16);
        let Some(expected) = self.expected else {
            self.expected = Some(next);
            return Step::default();
        };
        let ahead = number.wrapping_sub(expected) as i16;
        if ahead == 0 {
            self.steps = self.steps.saturating_add(1);
            self.expected = Some(next);
            return Step::default();
        }
        self.other_step(ahead, next)
    }

    fn other_step(&mut self, ahead: i16, next: u16) -> Step {
        let counts = self.counts();
        let is_near = counts && ahead.unsigned_abs() <= LONGEST_STEP.unsigned_abs();
        let is_late = is_near && ahead < 0;
        if !is_late {
            if (1..=SHORT_STEP).contains(&ahead) {
                self.short_steps = self.short_steps.saturating_add(1);
            } else {
                self.other_steps = self.other_steps.saturating_add(1);
            }
            self.expected = Some(next);
        }
        let skipped = if is_near { ahead.max(0) } else { 0 };
        Step {
            skipped: u32::from(skipped.unsigned_abs()),
            is_late,
        }
    }

    /// Return whether this is the number of the next packet.
    pub fn expects(&self, identification: u16) -> bool {
        self.expected == Some(identification)
    }

    /// Mark the counter as shared by the host's connections: numbers were skipped without a loss.
    pub fn mark_shared(&mut self) {
        self.is_shared = true;
    }

    /// Take new data at `time_ns` behind all sent data, after a silence with `skipped` missing numbers.
    ///
    /// An ACK of other data releases this data at the earliest after `rtt_ns`. A timeout sends exactly one
    /// segment (RFC 6298, section 5.4; RFC 5681, section 3.1). A probe sends the last segment (RFC 8985,
    /// section 7.3). If several numbers were skipped and further data follows at once, no repair took place:
    /// other traffic used the numbers.
    pub fn on_new_data(&mut self, time_ns: i64, skipped: u32, rtt_ns: Option<i64>) {
        let at_once = |then: i64| {
            let most_ns = rtt_ns.map_or(0, |ns| ns / 2);
            time_ns.saturating_sub(then) < most_ns
        };
        if self.skipped_ns.take().is_some_and(at_once) {
            self.is_refuted = true;
        }
        self.skipped_ns = (skipped > SKIPPED_BY_PROBE).then_some(time_ns);
    }

    /// Refute the counter: several hosts share it, for example behind a NAT.
    pub fn refute_shared_counter(&mut self) {
        self.is_refuted = true;
    }

    /// Return whether the counter may belong to the connection, or to a host whose packets are all captured.
    ///
    /// The counter is refuted once skipped numbers belong to packets outside the capture.
    #[must_use]
    pub fn has_own_counter(&self) -> bool {
        !self.is_refuted
    }

    /// Return whether the sender counts the packets of this connection.
    #[must_use]
    pub fn counts(&self) -> bool {
        let others = self.other_steps.saturating_mul(OTHER_STEPS_SHARE);
        let steps = self.steps.saturating_add(self.short_steps);
        !self.is_shared && self.has_own_counter() && self.steps >= STEPS_MIN && others <= steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_number_of_a_counting_sender_is_a_lost_packet() {
        let mut numbering = Numbering::default();
        for number in 65_525..=65_533 {
            assert_eq!(numbering.step(number, 1), Step::default());
        }
        assert_eq!(numbering.step(65_535, 3).skipped, 1);
        assert_eq!(
            numbering.step(2, 1),
            Step::default(),
            "three segments have three numbers"
        );
        assert!(numbering.step(65_534, 1).is_late);
        assert_eq!(numbering.step(3, 1), Step::default());
    }

    #[test]
    fn two_consecutive_numbers_show_a_counter() {
        let mut numbering = Numbering::default();
        numbering.step(7, 1);
        assert_eq!(numbering.step(9, 1).skipped, 0);
        let mut numbering = Numbering::default();
        numbering.step(7, 1);
        numbering.step(8, 1);
        assert_eq!(numbering.step(17, 1).skipped, 8);
    }

    #[test]
    fn repeated_small_gaps_show_a_counter_with_unseen_packets() {
        let mut numbering = Numbering::default();
        for number in [7, 8, 10, 13, 15, 17, 20] {
            numbering.step(number, 1);
        }
        assert!(numbering.counts());
        assert_eq!(numbering.step(24, 1).skipped, 3);
    }

    #[test]
    fn random_numbers_are_no_counter() {
        let mut numbering = Numbering::default();
        for number in [7, 90, 11, 12, 13, 800, 3, 40, 41] {
            assert_eq!(numbering.step(number, 1), Step::default());
        }
    }

    #[test]
    fn skipped_numbers_before_immediate_data_are_not_lost() {
        const MS: i64 = 1_000_000;
        let is_own = |skipped: u32, then_ms: i64, rtt_ms: Option<i64>| {
            let mut numbering = Numbering::default();
            let rtt_ns = rtt_ms.map(|ms| ms * MS);
            numbering.on_new_data(450 * MS, skipped, rtt_ns);
            numbering.on_new_data((450 + then_ms) * MS, 0, rtt_ns);
            numbering.has_own_counter()
        };
        assert!(!is_own(8, 1, Some(20)), "a burst is no repair");
        assert!(
            is_own(8, 20, Some(20)),
            "the ACK of the retransmission released it"
        );
        assert!(is_own(1, 1, Some(20)), "a probe and later writes");
        assert!(is_own(8, 1, None), "the path may be this short");
    }

    #[test]
    fn refuted_counter_reports_no_losses() {
        let mut numbering = Numbering::default();
        for number in 7..=20 {
            numbering.step(number, 1);
        }
        numbering.refute_shared_counter();
        assert!(!numbering.counts());
        assert_eq!(numbering.step(24, 1), Step::default());
    }
}
