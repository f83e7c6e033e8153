//! The role of a direction in an exchange.

use super::start_line::{self, StartLine};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Request,
    Response,
}

impl Role {
    pub(super) fn start_line(self, bytes: &[u8]) -> StartLine {
        match self {
            Role::Request => start_line::request_line(bytes),
            Role::Response => start_line::status_line(bytes),
        }
    }

    /// Return true if the bytes begin with a grammatical start line, the target of a search after a loss.
    pub(super) fn is_begun_by(self, bytes: &[u8]) -> bool {
        let line = match self {
            Role::Request => start_line::strict_request_line(bytes),
            Role::Response => start_line::status_line(bytes),
        };
        line == StartLine::Whole
    }

    pub(super) fn opposite(self) -> Role {
        match self {
            Role::Request => Role::Response,
            Role::Response => Role::Request,
        }
    }
}
