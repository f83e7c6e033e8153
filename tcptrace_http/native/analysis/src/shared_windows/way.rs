//! The way from the server's end of a path to the client and back, as the answer to a SYN-ACK measures it.

use crate::byte_time::takes_ns;

/// A way with a request in it takes no longer than so many times as one without.
const MEASURED_TOO_LONG: i64 = 4;

/// The least round trip to the client and back, and the payload that was measured with it: where no bare ACK answered
/// a SYN-ACK but the request, that took its time on the link as well.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    pub(super) elapsed_ns: i64,
    pub(super) bytes: u32,
}

impl Way {
    /// Without the request, if it is known what a byte takes: the link is taken to be as slow in that direction.
    pub(super) fn bare_ns(self, byte_ps: Option<i64>) -> i64 {
        let asked_ns = takes_ns(byte_ps.unwrap_or(0), i64::from(self.bytes));
        let bare_ns = self.elapsed_ns.saturating_sub(asked_ns);
        bare_ns.max(self.elapsed_ns / MEASURED_TOO_LONG)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAY: Way = Way {
        elapsed_ns: 70_000_000,
        bytes: 500,
    };

    #[test]
    fn a_way_is_shorter_by_what_the_request_took() {
        assert_eq!(WAY.bare_ns(None), 70_000_000);
        assert_eq!(WAY.bare_ns(Some(100_000_000)), 20_000_000);
    }

    #[test]
    fn no_request_was_the_whole_way() {
        assert_eq!(WAY.bare_ns(Some(139_000_000)), 17_500_000);
    }
}
