//! Whether a host paces what it sends.
//!
//! Theory of operation. What a clock lets go that lay in the sender's buffer shows that the host paces a window that was
//! not in use (Visweswaraiah and Heidemann 1997; Eggert 1999, section 3.1). A host keeps its stack: what leaves it later
//! by a clock, so soon after data that no application is slower, is paced too, though the data before was pushed, as the
//! head of a response is before its writer goes on with the body.

/// So often data must have left the buffer by a clock.
const SIGNS_MIN: u32 = 2;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pacer {
    signs: u32,
}

impl Pacer {
    /// A clock let data go that lay in the sender's buffer.
    pub(super) fn shows(&mut self) {
        self.signs = self.signs.saturating_add(1);
    }

    pub(super) fn is_shown(self) -> bool {
        self.signs >= SIGNS_MIN
    }
}
