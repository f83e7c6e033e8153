//! The two directions of a flow.

use crate::rows::Direction;

impl Direction {
    #[must_use]
    pub fn reverse(self) -> Self {
        match self {
            Direction::ClientToServer => Direction::ServerToClient,
            Direction::ServerToClient => Direction::ClientToServer,
        }
    }
}
