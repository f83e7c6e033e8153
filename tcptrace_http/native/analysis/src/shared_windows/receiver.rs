//! How many full segments a receiver waits for before it acknowledges them at once.
//!
//! RFC 1122 (section 4.2.3.2) has it acknowledge every second full segment. One that counts what its peer's options take
//! as missing (NetBSD 1.2.1) or that puts segments together before it looks at them waits for a third one, and
//! acknowledges two when its timer runs out.

use tcptrace_tcp::DELAYED_ACK_MAX_NS;

/// So many ACKs of a single segment that nothing delays show that none is: one of them may be of a reader.
const EACH_MIN: u32 = 2;
/// ... and of two that are late show that those are delayed, whatever is known of three.
const LATE_TWOS_MIN: u32 = 2;

/// ACKs of full segments that nothing was lost of, by their number and whether they came when they were due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Receiver {
    prompt_ones: u32,
    late_ones: u32,
    prompt_twos: u32,
    late_twos: u32,
    acks_three: bool,
}

impl Receiver {
    /// No ACK has come.
    pub(crate) const UNHEARD: Receiver = Receiver {
        prompt_ones: 0,
        late_ones: 0,
        prompt_twos: 0,
        late_twos: 0,
        acks_three: false,
    };

    /// An ACK of so many full segments came so much later than due, and may have by so much although nothing delayed it.
    pub(super) fn acks(&mut self, segments: i64, late_ns: i64, late_max_ns: i64) {
        let is_prompt = late_ns <= late_max_ns;
        let is_late = !is_prompt && late_ns <= DELAYED_ACK_MAX_NS;
        self.acks_three |= segments > 2 && is_prompt;
        if segments == 1 {
            self.prompt_ones = self.prompt_ones.saturating_add(u32::from(is_prompt));
            self.late_ones = self.late_ones.saturating_add(u32::from(is_late));
        }
        if segments == 2 {
            self.prompt_twos = self.prompt_twos.saturating_add(u32::from(is_prompt));
            self.late_twos = self.late_twos.saturating_add(u32::from(is_late));
        }
    }

    /// It acknowledges each segment as soon as it has it.
    pub(crate) fn acks_each(self) -> bool {
        self.late_ones == 0 && self.prompt_ones >= EACH_MIN
    }

    /// It delays the ACK of two.
    pub(crate) fn waits_for_three(self) -> bool {
        let is_shown = self.acks_three || self.late_twos >= LATE_TWOS_MIN;
        self.late_twos > self.prompt_twos && is_shown
    }
}

#[cfg(test)]
impl Receiver {
    /// Has shown that it waits for three.
    pub(crate) const OF_THREE: Receiver = Receiver {
        prompt_ones: 0,
        late_ones: 0,
        prompt_twos: 0,
        late_twos: 1,
        acks_three: true,
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn waits_for_three(acks: &[(i64, i64)]) -> bool {
        let mut receiver = Receiver::default();
        for (segments, late_ms) in acks {
            receiver.acks(*segments, late_ms * MS, 2 * MS);
        }
        receiver.waits_for_three()
    }

    #[test]
    fn who_acknowledges_one_at_once_again_and_again_does_not_wait_for_another() {
        for (acks, acks_each) in [
            (&[(1, 1)][..], false),
            (&[(1, 1), (1, 0)], true),
            (&[(1, 1), (1, 0), (1, 150)], false),
        ] {
            let mut receiver = Receiver::default();
            for (segments, late_ms) in acks {
                receiver.acks(*segments, late_ms * MS, 2 * MS);
            }
            assert_eq!(receiver.acks_each(), acks_each);
        }
    }

    #[test]
    fn who_acknowledges_three_at_once_and_two_late_waits_for_three() {
        assert!(!waits_for_three(&[(2, 150)]));
        assert!(waits_for_three(&[(2, 150), (3, 0)]));
        assert!(!waits_for_three(&[(2, 150), (3, 0), (2, 1)]));
        assert!(waits_for_three(&[(2, 150), (3, 0), (2, 1), (2, 90)]));
    }

    #[test]
    fn who_acknowledges_two_late_again_waits_for_three_though_none_came_together() {
        assert!(waits_for_three(&[(2, 150), (2, 150)]));
        assert!(!waits_for_three(&[(2, 150), (2, 1), (2, 150), (2, 1)]));
    }

    #[test]
    fn who_acknowledges_two_at_once_or_one_late_does_not() {
        assert!(!waits_for_three(&[(2, 1), (3, 0), (1, 150)]));
        assert!(!waits_for_three(&[(2, 1), (2, 150)]));
        // A repair, no timer of a receiver.
        assert!(!waits_for_three(&[(2, 900), (3, 0)]));
    }
}
