//! Whether a receiver delayed an acknowledgment (RFC 1122, section 4.2.3.2; RFC 5681, section 4.2).

/// A timer that sends an acknowledgment sooner delays it by no more than a host's scheduling does.
pub const DELAY_MIN_NS: i64 = 8_000_000;
/// An acknowledgment that rode on data had waited for that data, if it waited so long.
const RIDE_MIN_NS: i64 = 5_000_000;
/// Segments' bytes that a receiver acknowledges at once.
const ACKED_AT_ONCE: i64 = 2;

/// What an acknowledgment waited for at the receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AckKind {
    /// It was sent when the data that it covers came.
    #[default]
    Prompt,
    /// Its timer, or data of its own direction, sent it.
    Delayed { by_ns: i64 },
}

impl AckKind {
    #[must_use]
    pub fn is_delayed(self) -> bool {
        matches!(self, AckKind::Delayed { .. })
    }
}

/// The kind of an acknowledgment that left its receiver `waited_ns` after the last data that it covers had come.
#[must_use]
pub fn kind_of(waited_ns: i64, carries_data: bool) -> AckKind {
    let least_ns = if carries_data {
        RIDE_MIN_NS
    } else {
        DELAY_MIN_NS
    };
    if waited_ns >= least_ns {
        AckKind::Delayed { by_ns: waited_ns }
    } else {
        AckKind::Prompt
    }
}

/// Whether a receiver acknowledges so many bytes at once.
#[must_use]
pub fn is_acked_at_once(bytes: i64, full_bytes: i64) -> bool {
    bytes >= full_bytes.saturating_mul(ACKED_AT_ONCE).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timer_of_forty_milliseconds_delays_an_acknowledgment() {
        let by_ns = 40_000_000;
        assert_eq!(kind_of(by_ns, false), AckKind::Delayed { by_ns });
        assert_eq!(kind_of(1_000_000, false), AckKind::Prompt);
    }

    #[test]
    fn two_full_segments_are_acknowledged_at_once() {
        assert!(is_acked_at_once(2920, 1460));
        assert!(!is_acked_at_once(2919, 1460));
    }
}
