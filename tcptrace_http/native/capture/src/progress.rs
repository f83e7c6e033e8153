//! The outcome of a container format's read.

/// The outcome of the search for one record at the start of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Number of consumed bytes.
    Advanced(usize),
    /// Number of bytes needed before the next step.
    Incomplete(usize),
    /// Number of bytes to skip without keeping them.
    Skip(u64),
    /// The reason why the rest of the file is unreadable.
    Malformed(String),
}
