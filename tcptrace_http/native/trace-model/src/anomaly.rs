//! Strange traffic as data: what was odd, where, never an error that stops the analysis.

pub use crate::rows::AnomalyKind;

/// One row of the anomalies table, as it is reported while packets are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anomaly {
    pub kind: AnomalyKind,
    /// The frame at which it was noticed, if it is about one.
    pub frame: Option<u64>,
    /// The flow, if it is about one.
    pub flow: Option<u32>,
    /// Offset in the capture file, if it is about the file.
    pub offset: Option<u64>,
    pub detail: String,
}
