//! When data came to the queue of the slowest link, which other connections' data stands in as well.

use super::Flow;

impl Flow {
    /// ... that goes by at `now_ns`: as long before that as it stood there, as far as that is known.
    #[must_use]
    pub fn joined_queue_ns(&self, now_ns: i64) -> Option<i64> {
        self.waits.as_deref()?.joined_queue_ns(now_ns)
    }
}
