//! The interface between a connection and shared path state.

use crate::sharing::{Grant, Path};
use crate::stack::Nanoseconds;
use crate::tcp::connection::{Connection, State};

impl Connection {
    /// Return the path state of the sender, once the handshake is done.
    #[must_use]
    pub fn path(&self) -> Option<Path> {
        (self.state == State::Established).then(|| self.sender.path())
    }

    /// Return the path state of a closed connection. Return None if the handshake was never done.
    #[must_use]
    pub fn last_path(&self) -> Option<Path> {
        (self.sender.una > 0).then(|| self.sender.path())
    }

    /// Begin a new run of sending.
    pub fn begin_run(&mut self) {
        self.sender.begin_run();
    }

    /// Adopt path state.
    pub fn adopt(&mut self, path: &Path) {
        self.sender.adopt(path, &self.stack);
    }

    /// Pace the first flight of an adopted window, like a flight after idle time.
    pub fn pace(&mut self) {
        self.sender.pace(&self.stack);
    }

    /// Limit new data to this grant, regardless of the own window, until the next grant.
    pub fn grant(&mut self, grant: Grant) {
        self.sender.grant = Some(grant);
    }

    /// Count a duplicate ACK: an ACK of another connection skipped this one's data.
    pub fn skip_ack(&mut self, now: Nanoseconds) {
        if self.state == State::Established && self.sender.una < self.sender.max {
            self.sender.count_duplicate(now, &self.stack);
        }
    }
}
