//! The tables an analysis fills, and how their rows leave them.

use std::collections::{BTreeMap, HashSet};

use trace_model::column::Columns;
use trace_model::rows::{
    FlightsTable, FlowsTable, PausesTable, SegmentRow, SegmentsTable, TransactionsTable,
};
use trace_model::{Anomaly, AnomalyKind};

use crate::anomalies::{push_left_out, Anomalies};
use crate::http::Output;

#[derive(Debug, Default)]
pub struct Tables {
    pub flows: FlowsTable,
    pub transactions: TransactionsTable,
    pub pauses: PausesTable,
    pub flights: FlightsTable,
    pub anomalies: Anomalies,
    /// Kept only on demand: it grows with the capture.
    pub segments: Option<Vec<SegmentRow>>,
    pub last_frame: u64,
    /// Frame of the first packet of each flow that was opened since this was last taken. Kept only
    /// where the flows are shared out, to number them anew.
    pub flow_starts: Vec<u64>,
    /// Where HTTP hands out what it finds; empty between two packets.
    pub(crate) http_output: Output,
    /// Rows that were left behind because their flow was not finished.
    left_behind: BTreeMap<&'static str, Columns>,
}

/// Rows that have left the tables: all those of flows that are finished, by table.
#[derive(Debug, Default)]
pub struct Batch {
    pub tables: BTreeMap<&'static str, Columns>,
    pub anomalies: Anomalies,
    pub segments: Option<Vec<SegmentRow>>,
}

/// The anomalies given out so far, by kind.
#[derive(Debug, Default)]
pub struct AnomaliesGiven(Vec<u64>);

/// The tables whose rows belong to a flow, and the column that orders the rows of one flow.
const OF_FLOWS: [(&str, &str); 4] = [
    ("flows", "flow"),
    ("transactions", "index"),
    ("pauses", "transaction"),
    ("flights", "transaction"),
];

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
        self.anomalies.push(self.last_frame, anomaly);
    }

    /// How many rows there are that [`Tables::take`] may give.
    #[must_use]
    pub fn rows(&self) -> usize {
        let rows = [
            self.flows.len(),
            self.transactions.len(),
            self.pauses.len(),
            self.flights.len(),
        ];
        rows.into_iter().fold(0, usize::saturating_add)
    }

    /// Takes the rows of the flows that are finished.
    #[must_use]
    pub fn take(&mut self) -> Batch {
        let flows = std::mem::take(&mut self.flows).into_columns();
        let finished: HashSet<u32> = flows
            .numbers("flow")
            .unwrap_or_default()
            .iter()
            .copied()
            .collect();
        let others = [
            (
                "transactions",
                std::mem::take(&mut self.transactions).into_columns(),
            ),
            ("pauses", std::mem::take(&mut self.pauses).into_columns()),
            ("flights", std::mem::take(&mut self.flights).into_columns()),
        ];
        let mut tables = BTreeMap::from([("flows", flows)]);
        for (name, rows) in others {
            let mut all = self.left_behind.remove(name).unwrap_or_default();
            all.append(rows);
            let (taken, left) = all.divided_by("flow", |flow| finished.contains(&flow));
            self.left_behind.insert(name, left);
            tables.insert(name, taken);
        }
        Batch {
            tables,
            anomalies: self.anomalies.take(),
            segments: self.segments.take(),
        }
    }
}

impl Batch {
    /// Puts the numbers of the whole capture in place of those of one share.
    pub fn renumber(&mut self, numbers: &[u32]) {
        for (name, _) in OF_FLOWS {
            if let Some(columns) = self.tables.get_mut(name) {
                columns.renumber("flow", numbers);
            }
        }
        self.anomalies.renumber(numbers);
    }

    /// Adds the rows of another share of the same packets.
    pub fn append(&mut self, other: Batch) {
        for (name, columns) in other.tables {
            self.tables.entry(name).or_default().append(columns);
        }
        self.anomalies.append(other.anomalies);
    }

    /// The tables by name, in order: flows by number, their rows as they came.
    #[must_use]
    pub fn into_columns(
        self,
        given: &mut AnomaliesGiven,
        counts: Option<&[u64]>,
    ) -> BTreeMap<&'static str, Columns> {
        let mut tables = self.tables;
        for (name, minor) in OF_FLOWS {
            if let Some(columns) = tables.remove(name) {
                tables.insert(name, columns.sorted_by("flow", minor));
            }
        }
        let mut anomalies = self.anomalies.into_table(&mut given.0);
        if let Some(counts) = counts {
            push_left_out(counts, &mut anomalies);
        }
        tables.insert("anomalies", anomalies.into_columns());
        if let Some(rows) = self.segments {
            let mut table = SegmentsTable::default();
            for row in &rows {
                table.push(row);
            }
            tables.insert("segments", table.into_columns());
        }
        tables
    }
}
