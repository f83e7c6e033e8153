//! One frame of a capture, including its bytes.

use trace_model::LinkType;

/// A frame as captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptFrame {
    pub time_ns: i64,
    pub link_type: LinkType,
    pub wire_bytes: u32,
    pub bytes: Vec<u8>,
}
