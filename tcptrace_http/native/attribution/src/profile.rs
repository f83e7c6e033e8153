//! Profile of one direction: knowledge about its sender and path.

use tcptrace_path::Route;
use tcptrace_sender::nagle::{Nagle, Variant};

use crate::learnt::LearntState;

/// Profile of a direction's sender and path.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    pub(crate) learnt: LearntState,
    pub(crate) nagle: Nagle,
    pub(crate) route: Route,
}

impl Profile {
    #[must_use]
    pub fn learnt(&self) -> &LearntState {
        &self.learnt
    }

    #[must_use]
    pub fn route(&self) -> &Route {
        &self.route
    }

    /// Return the remaining variant of Nagle's algorithm, from its holds and releases.
    #[must_use]
    pub fn nagle(&self) -> Option<Variant> {
        let has_held_full = self.learnt.held_behind_full > 0;
        let has_held_short = self.learnt.held_behind_short > 0;
        self.nagle.variant(has_held_short, has_held_full)
    }
}
