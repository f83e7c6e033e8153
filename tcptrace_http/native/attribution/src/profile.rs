//! What the core has learnt of one direction's sender and path.

use tcptrace_path::Route;
use tcptrace_sender::nagle::{Nagle, Variant};

use crate::learnt::Learnt;

/// A direction's profile: what its sender has shown, and its path.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    pub(crate) learnt: Learnt,
    pub(crate) nagle: Nagle,
    pub(crate) route: Route,
}

impl Profile {
    #[must_use]
    pub fn learnt(&self) -> &Learnt {
        &self.learnt
    }

    #[must_use]
    pub fn route(&self) -> &Route {
        &self.route
    }

    /// The variant of Nagle's algorithm that is left, by what it held and what it released.
    #[must_use]
    pub fn nagle(&self) -> Option<Variant> {
        let has_held_full = self.learnt.held_behind_full > 0;
        let has_held_short = self.learnt.held_behind_short > 0;
        self.nagle.variant(has_held_short, has_held_full)
    }
}
