//! What a window was used for, and what the ACKs since have made of it.

/// In slow start each ACK adds a segment to a window (RFC 5681, section 3.1), be it used or not: the least that it is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Used {
    /// The largest flight, in whole segments, and how many ACKs had come by then.
    bytes: u64,
    acks: u64,
}

impl Used {
    /// So much was in flight at once, in whole segments, when so many ACKs had come: the least that the window was.
    pub(super) fn shows(&mut self, whole: u64, acks: u64, full: u64) -> u64 {
        let window = self.grown(acks, full);
        if whole > window {
            *self = Used { bytes: whole, acks };
        }
        whole.max(window)
    }

    fn grown(&self, acks: u64, full: u64) -> u64 {
        let newly = acks.saturating_sub(self.acks);
        self.bytes.saturating_add(newly.saturating_mul(full))
    }

    /// The window may be a smaller one when so many ACKs have come: after an idle period (RFC 5681, section 4.1).
    pub(super) fn begins_anew(&mut self, acks: u64) {
        *self = Used { bytes: 0, acks };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: u64 = 1460;

    #[test]
    fn each_ack_adds_a_segment_to_what_was_used_at_once() {
        let mut used = Used::default();
        assert_eq!(used.shows(2 * FULL, 5, FULL), 5 * FULL);
        used.begins_anew(5);
        assert_eq!(used.shows(2 * FULL, 5, FULL), 2 * FULL);
        assert_eq!(used.shows(FULL, 7, FULL), 4 * FULL);
    }
}
