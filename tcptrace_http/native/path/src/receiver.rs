//! Delayed ACKs of a receiver (RFC 1122, section 4.2.3.2; RFC 5681, section 4.2).

/// Shortest delay of a delayed ACK; host scheduling causes shorter delays.
pub const DELAY_MIN_NS: i64 = 8_000_000;
/// Shortest delay of a delayed ACK on a data segment: it waited for that data.
const RIDE_MIN_NS: i64 = 5_000_000;
/// Full segments that a receiver acknowledges at once.
const ACKED_AT_ONCE: i64 = 2;

/// Reason for the time at which a receiver sent an ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AckKind {
    /// The arrival of the covered data released the ACK.
    #[default]
    Prompt,
    /// The delayed-ACK timer, or data of the receiver's own, released the ACK.
    Delayed { by_ns: i64 },
}

impl AckKind {
    #[must_use]
    pub fn is_delayed(self) -> bool {
        matches!(self, AckKind::Delayed { .. })
    }
}

/// Classify an ACK that left the receiver `waited_ns` after the last covered data arrived.
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

/// Return whether a receiver acknowledges `bytes` at once.
#[must_use]
pub fn is_acked_at_once(bytes: i64, full_bytes: i64) -> bool {
    bytes >= full_bytes.saturating_mul(ACKED_AT_ONCE).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forty_millisecond_timer_delays_an_ack() {
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
