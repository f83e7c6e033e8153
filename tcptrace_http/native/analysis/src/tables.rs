//! The tables an analysis fills.

use trace_model::rows::{
    AnomaliesTable, AnomalyRow, FlightsTable, FlowStatisticsTable, FlowsTable, PausesTable,
    SegmentRow, TransactionsTable,
};
use trace_model::{Anomaly, AnomalyKind};

use crate::http::Output;

/// Anomaly rows of one kind that are kept. A broken capture has one at every packet; the first
/// thousand tell what is wrong, and a last row tells how many there were.
const ANOMALIES_OF_A_KIND_MAX: u64 = 1000;

#[derive(Debug, Default)]
pub struct Tables {
    pub flows: FlowsTable,
    pub transactions: TransactionsTable,
    pub pauses: PausesTable,
    pub flights: FlightsTable,
    pub anomalies: AnomaliesTable,
    /// Kept only on demand: it grows with the capture.
    pub segments: Option<Vec<SegmentRow>>,
    /// Kept only on demand: a row for each of `flows`.
    pub flow_statistics: Option<FlowStatisticsTable>,
    pub last_frame: u64,
    /// Where HTTP hands out what it finds; empty between two packets.
    pub(crate) http_output: Output,
    anomaly_counts: Vec<u64>,
}

impl Tables {
    /// Empty tables; `segments` asks for the segments table, `statistics` for those of flows.
    #[must_use]
    pub fn new(segments: bool, statistics: bool) -> Self {
        Tables {
            segments: segments.then(Vec::new),
            flow_statistics: statistics.then(FlowStatisticsTable::default),
            ..Tables::default()
        }
    }

    /// Adds an anomaly row about a flow.
    pub fn anomaly(&mut self, kind: AnomalyKind, frame: Option<u64>, flow: u32, detail: String) {
        self.push_anomaly(Anomaly {
            kind,
            frame,
            flow: Some(flow),
            offset: None,
            detail,
        });
    }

    /// Adds an anomaly row, unless there are very many of its kind already.
    pub fn push_anomaly(&mut self, anomaly: Anomaly) {
        let at = anomaly.kind as usize;
        if self.anomaly_counts.len() <= at {
            self.anomaly_counts.resize(at.saturating_add(1), 0);
        }
        let Some(count) = self.anomaly_counts.get_mut(at) else {
            return;
        };
        *count = count.saturating_add(1);
        if *count <= ANOMALIES_OF_A_KIND_MAX {
            self.anomalies.push(&AnomalyRow {
                kind: anomaly.kind,
                frame: anomaly.frame,
                flow: anomaly.flow,
                offset: anomaly.offset,
                detail: anomaly.detail,
            });
        }
    }

    /// Says how many anomaly rows were left out.
    pub fn finish_anomalies(&mut self) {
        for (word, count) in AnomalyKind::WORDS
            .iter()
            .zip(std::mem::take(&mut self.anomaly_counts))
        {
            let left_out = count.saturating_sub(ANOMALIES_OF_A_KIND_MAX);
            if left_out > 0 {
                self.anomalies.push(&AnomalyRow {
                    kind: AnomalyKind::LimitReached,
                    detail: format!("{left_out} more anomalies of kind {word} are not listed"),
                    ..AnomalyRow::default()
                });
            }
        }
    }
}
