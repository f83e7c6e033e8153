//! How large the server's buffer is, as far as its connection has filled that: others of its host have one as large.

use super::Flow;
use crate::used_window::FullBuffer;

impl Flow {
    #[must_use]
    pub fn full_buffer(&self) -> FullBuffer {
        let waits = self.waits.as_deref();
        waits.map_or_else(FullBuffer::default, |waits| waits.full_buffer())
    }
}
