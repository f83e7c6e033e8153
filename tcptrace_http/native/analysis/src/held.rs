//! Memory that the flows take together for what they wait for.
//!
//! Each flow bounds what it keeps (segments behind a hole, a head that is not whole, requests that
//! were not answered, data that was not acknowledged), but a hostile capture has many flows. So
//! each flow's part is added up here, and when the sum is over its limit the flow that makes it
//! grow hands on what it has, as it would at its end. Where the flows are shared out to threads each
//! share has its part of the limit: only what is given up depends on their number.

/// Some hundred large windows with a hole, or ten thousand small ones. The busiest captures of
/// servers that we have keep less than 1 MiB.
pub const HELD_BYTES_MAX: u64 = 256 << 20;

#[derive(Debug)]
pub struct Held {
    bytes: u64,
    most: u64,
    /// How often a flow gave up what it held, and how much that was.
    times_given_up: u64,
    given_up_bytes: u64,
}

impl Default for Held {
    fn default() -> Self {
        Held::of_one(1)
    }
}

impl Held {
    /// What the flows of one of so many shares may hold.
    #[must_use]
    pub fn of_one(shares: usize) -> Self {
        let shares = u64::try_from(shares).unwrap_or(u64::MAX).max(1);
        Held {
            bytes: 0,
            most: HELD_BYTES_MAX.checked_div(shares).unwrap_or(0),
            times_given_up: 0,
            given_up_bytes: 0,
        }
    }

    /// A flow that held `before` now holds `now`.
    #[inline]
    pub fn change(&mut self, before: u64, now: u64) {
        self.bytes = self.bytes.saturating_sub(before).saturating_add(now);
    }

    #[inline]
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.bytes > self.most
    }

    /// A flow gives up so many bytes; whether it is the first to do so.
    pub fn give_up(&mut self, bytes: u64) -> bool {
        self.times_given_up = self.times_given_up.saturating_add(1);
        self.given_up_bytes = self.given_up_bytes.saturating_add(bytes);
        self.times_given_up == 1
    }

    /// What to say at the end of what was given up.
    #[must_use]
    pub fn complaint(&self) -> Option<String> {
        (self.times_given_up > 0).then(|| {
            format!(
                "flows together held {} MiB for later, and {} times one of them gave up its part, \
                 {} bytes in all: segments behind a hole were handed on without waiting for it, \
                 unfinished heads and unanswered requests as they were",
                self.most >> 20,
                self.times_given_up,
                self.given_up_bytes
            )
        })
    }

    /// Another limit than that of the program.
    #[cfg(test)]
    pub fn limit(&mut self, most: u64) {
        self.most = most;
    }
}
