//! Transactions that were over before it was known whether the server's connections share their window, or that it is the
//! largest of its stack.
//!
//! Theory of operation. That windows are shared shows in what several connections send, so of the first of them it shows
//! when they are over; and so does that their window has stopped to grow. What they waited for is told then, as far as
//! that is not long after.

use super::Flow;
use crate::shared_windows::SharedWindows;
use crate::waits::Waits;

impl Flow {
    /// Whether it may show later what its transactions waited for that are over: the slowest link may turn out to be slow,
    /// or the window to be shared or the largest of its stack.
    pub(super) fn may_learn_of_waits(&self) -> bool {
        let path = self.waits_path();
        let is_open = |waits: &Waits| waits.may_learn_link(path);
        let may_learn_link = !self.is_over() && self.waits.as_deref().is_some_and(is_open);
        let sharing = self.sharing();
        let may_learn_sharing = sharing.may_be_shared && !sharing.is_shared;
        may_learn_link || may_learn_sharing || sharing.phases.may_turn_out_largest()
    }

    /// Before the flow is forgotten: other connections may have shown since its last packet that they share a window, and how
    /// large it was.
    pub fn learns_of_sharing(&mut self, shared_windows: &SharedWindows) {
        if self.unacknowledged.is_empty() {
            return;
        }
        let [first, second] = self.endpoints;
        let hosts = (first.address, second.address);
        let path = self.waits_path();
        if let Some((largest, waits)) = shared_windows.phases(hosts).zip(self.waits.as_deref_mut())
        {
            waits.window_was_largest(largest, path);
        }
        if self.sharing().is_shared {
            return;
        }
        let Some(phases) = shared_windows.shared_phases(hosts) else {
            return;
        };
        self.followed().sharing.is_shared = true;
        if let Some(waits) = self.waits.as_deref_mut() {
            waits.window_was_shared(phases);
        }
    }
}
