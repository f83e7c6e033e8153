//! When data of the server came to the queue of the slowest link.

use super::Waits;

impl Waits {
    /// ... that goes by at `now_ns`: when it would have, if it had stood behind nothing, as far as it is known which ACK
    /// let it go.
    pub fn joined_queue_ns(&self, now_ns: i64) -> Option<i64> {
        self.responses.joined_queue_ns(now_ns)
    }
}
