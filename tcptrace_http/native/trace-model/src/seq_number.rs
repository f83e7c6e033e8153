//! TCP sequence numbers: points on a circle of 2^32 (RFC 9293, section 3.4).

/// A raw 32-bit sequence number. The type implements no order. Two numbers are compared by their distance on
/// the circle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct SeqNumber(pub u32);

impl SeqNumber {
    /// Return the number `bytes` further on.
    #[must_use]
    pub fn plus(self, bytes: u32) -> SeqNumber {
        SeqNumber(self.0.wrapping_add(bytes))
    }

    /// Return the signed distance from `earlier` to `self`, in [-2^31, 2^31).
    #[must_use]
    pub fn distance_from(self, earlier: SeqNumber) -> i32 {
        self.0.wrapping_sub(earlier.0) as i32
    }

    /// Return true if `self` lies strictly after `other`.
    #[must_use]
    pub fn is_after(self, other: SeqNumber) -> bool {
        self.distance_from(other) > 0
    }

    /// Return the 64-bit offset of `self` from `initial`, unwrapped to the value nearest to `near`.
    ///
    /// Offsets count from the initial sequence number (the SYN is offset 0, the first byte 1) and never wrap.
    /// An offset before the initial number is negative.
    #[must_use]
    pub fn unwrapped(self, initial: SeqNumber, near: i64) -> i64 {
        // The low 32 bits of `near` are its position on the circle.
        let here = initial.plus(near as u32);
        near.wrapping_add(i64::from(self.distance_from(here)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_survives_the_wrap() {
        let before = SeqNumber(u32::MAX - 5);
        let after = before.plus(10);
        assert_eq!(after, SeqNumber(4));
        assert!(after.is_after(before));
        assert!(!before.is_after(after));
        assert_eq!(before.distance_from(after), -10);
    }

    #[test]
    fn offsets_grow_past_two_to_the_32() {
        let initial = SeqNumber(u32::MAX - 1);
        let mut offset = 0_i64;
        let mut seq = initial;
        for _ in 0..10 {
            seq = seq.plus(1 << 30);
            offset = seq.unwrapped(initial, offset);
        }
        assert_eq!(offset, 10 * (1_i64 << 30));
    }

    #[test]
    fn a_number_before_the_initial_one_is_negative() {
        let initial = SeqNumber(3);
        assert_eq!(SeqNumber(u32::MAX).unwrapped(initial, 0), -4);
    }
}
