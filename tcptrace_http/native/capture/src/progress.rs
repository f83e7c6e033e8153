//! What a container format made of the bytes at hand.

/// The outcome of looking for one record at the start of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// So many bytes were used up.
    Advanced(usize),
    /// So many bytes have to be there before anything can be said.
    Incomplete(usize),
    /// So many bytes are of no interest and need not be kept.
    Skip(u64),
    /// From here on the file cannot be read, and why.
    Malformed(String),
}
