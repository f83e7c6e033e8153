//! Anomalies: strange traffic reported as data. No anomaly stops the analysis.

pub use crate::rows::AnomalyKind;

/// One row of the anomalies table, reported while packets are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anomaly {
    pub kind: AnomalyKind,
    /// Frame at which the decoder or the analyzer noticed the anomaly, if it concerns a frame.
    pub frame: Option<u64>,
    /// Flow, if the anomaly concerns a flow.
    pub flow: Option<u32>,
    /// Offset in the capture file, if the anomaly concerns the file.
    pub offset: Option<u64>,
    pub detail: String,
}
