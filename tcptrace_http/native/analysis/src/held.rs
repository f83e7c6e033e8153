//! Memory limit of all flows together for waiting data.
//!
//! Each flow bounds its own data: segments behind a hole, incomplete heads, unanswered requests,
//! unacknowledged data. A hostile capture may have many flows, so this file sums their memory. If the sum
//! exceeds the limit, the flow that grows emits its data as at its end. Each share of a capture has its part
//! of the limit. Only the dropped data depends on the number of shares.

/// Memory limit: hundreds of large windows with a hole, or ten thousand small ones.
///
/// The busiest server captures of the test data need less than 1 MiB.
pub const HELD_BYTES_MAX: u64 = 256 << 20;

#[derive(Debug)]
pub struct HeldMemory {
    bytes: u64,
    most: u64,
    /// Number of times that a flow dropped its data, and the sum of the dropped bytes.
    times_given_up: u64,
    given_up_bytes: u64,
}

impl Default for HeldMemory {
    fn default() -> Self {
        HeldMemory::of_one(1)
    }
}

impl HeldMemory {
    /// Create the limit of one of `shares` shares.
    #[must_use]
    pub fn of_one(shares: usize) -> Self {
        let shares = u64::try_from(shares).unwrap_or(u64::MAX).max(1);
        HeldMemory {
            bytes: 0,
            most: HELD_BYTES_MAX.checked_div(shares).unwrap_or(0),
            times_given_up: 0,
            given_up_bytes: 0,
        }
    }

    /// Update the memory of a flow from `before` to `now`.
    #[inline]
    pub fn change(&mut self, before: u64, now: u64) {
        self.bytes = self.bytes.saturating_sub(before).saturating_add(now);
    }

    #[inline]
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.bytes > self.most
    }

    /// Count the bytes that a flow drops, and return whether it is the first flow to do so.
    pub fn give_up(&mut self, bytes: u64) -> bool {
        self.times_given_up = self.times_given_up.saturating_add(1);
        self.given_up_bytes = self.given_up_bytes.saturating_add(bytes);
        self.times_given_up == 1
    }

    /// Return the message about dropped data for the end.
    #[must_use]
    pub fn complaint(&self) -> Option<String> {
        (self.times_given_up > 0).then(|| {
            format!(
                "the flows together reached the limit of {} MiB for waiting data; flows dropped their data \
                 {} times, {} bytes in all: data behind holes was delivered early, and unfinished \
                 heads and unanswered requests were reported as they were",
                self.most >> 20,
                self.times_given_up,
                self.given_up_bytes
            )
        })
    }

    /// Set another limit than the program's.
    #[cfg(test)]
    pub fn limit(&mut self, most: u64) {
        self.most = most;
    }
}
