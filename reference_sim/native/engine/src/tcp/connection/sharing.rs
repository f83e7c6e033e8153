//! What whoever shares a path among connections reads from one, and tells it.

use crate::sharing::{Grant, Path};
use crate::stack::Nanoseconds;
use crate::tcp::connection::{Connection, State};

impl Connection {
    /// What the sender knows of its path, once the handshake is done.
    #[must_use]
    pub fn path(&self) -> Option<Path> {
        (self.state == State::Established).then(|| self.sender.path())
    }

    /// The same after it was closed; none if the handshake was never done.
    #[must_use]
    pub fn last_path(&self) -> Option<Path> {
        (self.sender.una > 0).then(|| self.sender.path())
    }

    /// What comes next is a run of sending of its own.
    pub fn begin_run(&mut self) {
        self.sender.begin_run();
    }

    /// The sender goes on with what is known of its path.
    pub fn adopt(&mut self, path: &Path) {
        self.sender.adopt(path, &self.stack);
    }

    /// The first flight of a window that was adopted, not grown, is like one after idle time.
    pub fn pace(&mut self) {
        self.sender.pace(&self.stack);
    }

    /// New data goes as far as this, whatever the own window says; until the next grant.
    pub fn grant(&mut self, grant: Grant) {
        self.sender.grant = Some(grant);
    }

    /// An ACK of another connection skipped this one's data: it counts as a duplicate ACK.
    pub fn skip_ack(&mut self, now: Nanoseconds) {
        if self.state == State::Established && self.sender.una < self.sender.max {
            self.sender.count_duplicate(now, &self.stack);
        }
    }
}
