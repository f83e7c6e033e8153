//! The tables an analysis fills.

use trace_model::rows::{
    AnomaliesTable, AnomalyRow, FlightsTable, FlowsTable, PausesTable, TransactionsTable,
};
use trace_model::{Anomaly, AnomalyKind};

use crate::http::Output;
use crate::segments::Segments;

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
    pub segments: Option<Segments>,
    pub last_frame: u64,
    /// Where HTTP hands out what it finds; empty between two packets.
    pub(crate) http_output: Output,
    anomaly_counts: Vec<u64>,
}

impl Tables {
    /// Empty tables; `segments` is the segments table, if it is asked for.
    #[must_use]
    pub fn new(segments: Option<Segments>) -> Self {
        Tables {
            segments,
            ..Tables::default()
        }
    }

    /// Drops the rows of all tables but the segments: nobody wants them.
    pub fn drop_rows(&mut self) {
        self.flows = FlowsTable::default();
        self.transactions = TransactionsTable::default();
        self.pauses = PausesTable::default();
        self.flights = FlightsTable::default();
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

    /// Says how many anomaly rows were left out, and what else was.
    pub fn finish_anomalies(&mut self) {
        if let Some(detail) = self.segments.as_ref().and_then(Segments::limit_reached) {
            self.push_anomaly(Anomaly {
                kind: AnomalyKind::LimitReached,
                frame: None,
                flow: None,
                offset: None,
                detail,
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
