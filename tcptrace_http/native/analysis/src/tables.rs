//! The tables an analysis fills.

use trace_model::rows::{
    AnomaliesTable, AnomalyRow, FlightsTable, FlowsTable, PausesTable, SegmentRow,
    TransactionsTable,
};
use trace_model::{Anomaly, AnomalyKind};

use crate::bounded::Bounded;
use crate::held::Held;
use crate::http::Output;

/// Anomaly rows of one kind that are kept. A broken capture has one at every packet; the first
/// thousand tell what is wrong, and a last row tells how many there were.
const ANOMALIES_OF_A_KIND_MAX: u64 = 1000;

#[derive(Debug, Default)]
pub struct Tables {
    pub flows: Bounded<FlowsTable>,
    pub transactions: Bounded<TransactionsTable>,
    pub pauses: Bounded<PausesTable>,
    pub flights: Bounded<FlightsTable>,
    pub anomalies: AnomaliesTable,
    /// Kept only on demand: it grows with the capture.
    pub segments: Option<Vec<SegmentRow>>,
    pub last_frame: u64,
    /// Where HTTP hands out what it finds; empty between two packets.
    pub(crate) http_output: Output,
    /// What all flows hold for later.
    pub(crate) held: Held,
    anomaly_counts: Vec<u64>,
}

impl Tables {
    /// Empty tables; `segments` asks for the segments table.
    #[must_use]
    pub fn new(segments: bool) -> Self {
        Tables {
            segments: segments.then(Vec::new),
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

    /// Says how many rows were left out, and how much was given up.
    pub fn finish_anomalies(&mut self) {
        let complaints = [
            self.flows.complaint(),
            self.transactions.complaint(),
            self.pauses.complaint(),
            self.flights.complaint(),
            self.held.complaint(),
        ];
        for detail in complaints.into_iter().flatten() {
            self.anomalies.push(&AnomalyRow {
                kind: AnomalyKind::LimitReached,
                detail,
                ..AnomalyRow::default()
            });
        }
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
