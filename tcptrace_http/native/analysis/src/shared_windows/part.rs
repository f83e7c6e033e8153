//! The part that a connection has of a threshold which all between two hosts divide.

/// Where slow start of a connection ends, if it has a part of what all have.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Part {
    /// When the client answered the SYN-ACK.
    pub(super) opened_ns: Option<i64>,
    pub(super) is_taken: bool,
    pub(super) threshold: Option<i64>,
}
