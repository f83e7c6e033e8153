//! Which half of an exchange a direction speaks.

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

    pub(super) fn opposite(self) -> Role {
        match self {
            Role::Request => Role::Response,
            Role::Response => Role::Request,
        }
    }
}
