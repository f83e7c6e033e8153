//! Nagle's algorithm: a short segment waits until the outstanding data is acknowledged.
//!
//! RFC 896 (RFC 1122, section 4.2.3.4) waits for the ACK of all outstanding data. Minshall's variant (Linux,
//! tcp_minshall_check) waits for the ACK of the last short segment. A short segment that leaves earlier
//! refutes a variant permanently.

/// Number of holds that excludes chance.
const HOLDS_MIN: u32 = 3;
/// Minimum number of segments that follow writes, in total and per hold.
const WRITES_MIN: u32 = 2;
const WRITES_PER_HOLD: u32 = 4;

/// Evidence about a sender's use of Nagle's algorithm, and its outstanding short segments.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nagle {
    /// End of the last short segment.
    last_short_end: i64,
    /// True if the sender sent a short segment while another short segment was outstanding.
    refutes_minshall: bool,
    /// True if the sender sent a short segment while any data was outstanding.
    refutes_rfc896: bool,
    /// Short segments that an ACK released, and short segments that left later than their ACK.
    released: u32,
    written_later: u32,
}

/// Variants of the algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    Off,
    Minshall,
    Rfc896,
}

/// Variants of the algorithm that explain a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    No,
    /// A short segment was outstanding: every variant holds.
    BehindShort,
    /// Only full segments were outstanding: RFC 896 holds.
    BehindAny,
}

/// Segment to which Nagle's algorithm applies.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    pub end: i64,
    pub is_short: bool,
    /// Offset of the next new byte before the segment is sent.
    pub snd_nxt: i64,
    /// True if the segment carries a FIN: the algorithm does not hold it.
    pub has_fin: bool,
}

impl Nagle {
    /// Take a new segment; all data up to `snd_una` was acknowledged when it left.
    ///
    /// BSD checks for outstanding data before it sends a write (tcp_output, `idle`). A short segment at the
    /// end of the first write after an idle period is therefore no evidence.
    pub fn on_send(&mut self, segment: Candidate, snd_una: i64, run_began_idle: &mut bool) {
        if !segment.is_short {
            return;
        }
        let ends_first_write = std::mem::take(run_began_idle);
        if !segment.has_fin && snd_una < segment.snd_nxt {
            self.refutes_rfc896 |= !ends_first_write;
            self.refutes_minshall |= self.last_short_end > snd_una;
        }
        self.last_short_end = segment.end;
    }

    /// Return the remaining variant, if the sender has held segments behind short or behind full segments.
    #[must_use]
    pub fn variant(&self, has_held_short: bool, has_held_full: bool) -> Option<Variant> {
        match (self.refutes_minshall, self.refutes_rfc896) {
            (true, _) => Some(Variant::Off),
            (false, true) => has_held_short.then_some(Variant::Minshall),
            (false, false) => has_held_full.then_some(Variant::Rfc896),
        }
    }

    /// Return the earliest ACK that releases a segment under the remaining variants; none if no variant holds
    /// it.
    #[must_use]
    pub fn releasing_ack(&self, segment: Candidate) -> Option<i64> {
        let is_held = segment.is_short && !segment.has_fin && !self.refutes_minshall;
        is_held.then_some(self.last_short_end)
    }

    /// Return the end of the last short segment.
    #[must_use]
    pub fn last_short_end(&self) -> i64 {
        self.last_short_end
    }

    /// Count a short segment behind another short segment: it left at the ACK (`is_released`) or later.
    pub fn on_behind_short(&mut self, is_released: bool) {
        let count = if is_released {
            &mut self.released
        } else {
            &mut self.written_later
        };
        *count = count.saturating_add(1);
    }

    /// Return whether ACKs have often released short segments, more often than writes came later than ACKs.
    #[must_use]
    pub fn has_proven_holds(&self) -> bool {
        self.released >= HOLDS_MIN && !self.is_write_clocked()
    }

    /// Return whether segments follow writes more often than ACKs: a match with an ACK is likely chance.
    #[must_use]
    pub fn is_write_clocked(&self) -> bool {
        self.written_later > self.released
    }

    /// Return whether nearly all segments follow writes: a write that coincides with an ACK does so by
    /// chance.
    #[must_use]
    pub fn is_independent_of_acks(&self) -> bool {
        let holds = self.released.saturating_mul(WRITES_PER_HOLD);
        self.written_later >= WRITES_MIN && self.written_later >= holds
    }

    /// Return the variant that held a short segment until the ACK that moved `snd_una` from `before` to
    /// `after`.
    #[must_use]
    pub fn hold_released_by(&self, segment: Candidate, before: i64, after: i64) -> Hold {
        if segment.has_fin || before >= segment.snd_nxt {
            return Hold::No;
        }
        let minshall = self.last_short_end > before && self.last_short_end <= after;
        if minshall && !self.refutes_minshall {
            Hold::BehindShort
        } else if after >= segment.snd_nxt && !self.refutes_rfc896 {
            Hold::BehindAny
        } else {
            Hold::No
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short(start: i64, bytes: i64) -> Candidate {
        Candidate {
            end: start + bytes,
            is_short: true,
            snd_nxt: start,
            has_fin: false,
        }
    }

    #[test]
    fn second_short_segment_waits_for_the_first() {
        let mut nagle = Nagle::default();
        nagle.on_send(short(1, 200), 1, &mut true);
        assert_eq!(
            nagle.hold_released_by(short(201, 500), 1, 201),
            Hold::BehindShort
        );
    }

    #[test]
    fn short_segment_without_a_wait_shows_that_nagle_is_off() {
        let mut nagle = Nagle::default();
        nagle.on_send(short(1, 200), 1, &mut true);
        nagle.on_send(short(201, 500), 1, &mut false);
        assert_eq!(nagle.hold_released_by(short(701, 100), 201, 701), Hold::No);
    }

    #[test]
    fn one_release_per_five_writes_is_chance_and_one_per_four_may_be_a_hold() {
        let mut nagle = Nagle::default();
        nagle.on_behind_short(true);
        for _ in 0..3 {
            nagle.on_behind_short(false);
        }
        assert!(nagle.is_write_clocked());
        assert!(!nagle.is_independent_of_acks());
        nagle.on_behind_short(false);
        assert!(nagle.is_independent_of_acks());
    }

    #[test]
    fn short_end_of_the_first_write_does_not_refute_rfc_896() {
        let mut nagle = Nagle::default();
        nagle.on_send(short(1461, 588), 1, &mut true);
        assert_eq!(
            nagle.hold_released_by(short(4969, 287), 3509, 4969),
            Hold::BehindAny
        );
    }
}
