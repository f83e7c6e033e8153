//! One frame of a capture with its bytes.

use trace_model::LinkType;

/// A frame as the capture has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptFrame {
    pub time_ns: i64,
    pub link_type: LinkType,
    pub wire_bytes: u32,
    pub bytes: Vec<u8>,
}
