//! Nagle's algorithm: a short segment waits until what is outstanding is acknowledged.
//!
//! RFC 896 (RFC 1122, section 4.2.3.4): until all is. Minshall (Linux, tcp_minshall_check): until the last short
//! segment is. A short segment that left earlier refutes a variant, for good.

/// So many holds are no chance.
const HOLDS_MIN: u32 = 3;
/// A sender whose segments follow its writes has shown so at least twice, and at least so many times as often as a hold.
const WRITES_MIN: u32 = 2;
const WRITES_PER_HOLD: u32 = 4;

/// What a sender has shown of Nagle's algorithm, and which short segments are outstanding.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nagle {
    /// End of the last segment that was less than full.
    last_short_end: i64,
    /// It sent a short segment while another one was outstanding.
    refutes_minshall: bool,
    /// It sent a short segment while anything was outstanding.
    refutes_rfc896: bool,
    /// Short segments that left when an acknowledgment released them, and those that came later than theirs.
    released: u32,
    written_later: u32,
}

/// The variants of the algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    Off,
    Minshall,
    Rfc896,
}

/// Which variant of the algorithm explains a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    No,
    /// A short segment was outstanding: every variant holds.
    BehindShort,
    /// Full segments alone were outstanding: RFC 896 holds.
    BehindAny,
}

/// A segment as Nagle's algorithm looks at it.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    pub end: i64,
    pub is_short: bool,
    /// Bytes sent before it.
    pub snd_nxt: i64,
    /// It carries a FIN, which is not held.
    pub has_fin: bool,
}

impl Nagle {
    /// A new segment left when all up to `snd_una` had been acknowledged, at the latest. BSD asks whether anything is
    /// outstanding before it sends a write (tcp_output, `idle`): the short end of the first write of a run that began
    /// idle tells nothing.
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

    /// The variant that is left, if a sender has held segments behind short ones, or behind full ones alone.
    #[must_use]
    pub fn variant(&self, has_held_short: bool, has_held_full: bool) -> Option<Variant> {
        match (self.refutes_minshall, self.refutes_rfc896) {
            (true, _) => Some(Variant::Off),
            (false, true) => has_held_short.then_some(Variant::Minshall),
            (false, false) => has_held_full.then_some(Variant::Rfc896),
        }
    }

    /// The acknowledgment up to which a segment waits at least, by the variants that are left; none, if no variant holds it.
    #[must_use]
    pub fn releasing_ack(&self, segment: Candidate) -> Option<i64> {
        let is_held = segment.is_short && !segment.has_fin && !self.refutes_minshall;
        is_held.then_some(self.last_short_end)
    }

    /// End of the last segment that was less than full.
    #[must_use]
    pub fn last_short_end(&self) -> i64 {
        self.last_short_end
    }

    /// A short segment behind a short one left, as soon as that was acknowledged or later.
    pub fn on_behind_short(&mut self, is_released: bool) {
        let count = if is_released {
            &mut self.released
        } else {
            &mut self.written_later
        };
        *count = count.saturating_add(1);
    }

    /// Whether acknowledgments have released its short segments often, and it wrote none later than they did.
    #[must_use]
    pub fn is_known_to_hold(&self) -> bool {
        self.released >= HOLDS_MIN && !self.follows_writes()
    }

    /// Whether the sender's segments follow its writes more often than acknowledgments: one that follows an acknowledgment
    /// then does so by chance, as likely as not.
    #[must_use]
    pub fn follows_writes(&self) -> bool {
        self.written_later > self.released
    }

    /// Whether nearly all of its segments follow its writes: a write that meets an acknowledgment does so by chance.
    #[must_use]
    pub fn meets_acks_by_chance(&self) -> bool {
        let holds = self.released.saturating_mul(WRITES_PER_HOLD);
        self.written_later >= WRITES_MIN && self.written_later >= holds
    }

    /// How surely the algorithm held a short segment until the acknowledgment came that moved `snd_una` from `before`
    /// to `after`.
    #[must_use]
    pub fn holds_until(&self, segment: Candidate, before: i64, after: i64) -> Hold {
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
            nagle.holds_until(short(201, 500), 1, 201),
            Hold::BehindShort
        );
    }

    #[test]
    fn short_segment_that_does_not_wait_shows_that_the_algorithm_is_off() {
        let mut nagle = Nagle::default();
        nagle.on_send(short(1, 200), 1, &mut true);
        nagle.on_send(short(201, 500), 1, &mut false);
        assert_eq!(nagle.holds_until(short(701, 100), 201, 701), Hold::No);
    }

    #[test]
    fn one_acknowledgment_in_five_writes_is_met_by_chance_and_one_in_four_may_be_a_hold() {
        let mut nagle = Nagle::default();
        nagle.on_behind_short(true);
        for _ in 0..3 {
            nagle.on_behind_short(false);
        }
        assert!(nagle.follows_writes());
        assert!(!nagle.meets_acks_by_chance());
        nagle.on_behind_short(false);
        assert!(nagle.meets_acks_by_chance());
    }

    #[test]
    fn short_end_of_the_first_write_tells_nothing_of_rfc_896() {
        let mut nagle = Nagle::default();
        nagle.on_send(short(1461, 588), 1, &mut true);
        assert_eq!(
            nagle.holds_until(short(4969, 287), 3509, 4969),
            Hold::BehindAny
        );
    }
}
