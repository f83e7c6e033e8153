//! Tables of an analysis, and the removal of their rows.

use std::collections::BTreeMap;

use tcptrace_http_messages::Output;
use tcptrace_tcp::Segments;
use tcptrace_tls::Keys;
use trace_model::blocks::Blocks;
use trace_model::column::Columns;
use trace_model::rows::{
    EndingsTable, FlawsTable, FlowStatisticsTable, FlowsTable, H2ConnectionsTable, H2WindowRow,
    H2WindowsTable, ProfilesTable, QueuesTable, RecoveriesTable, SegmentationTable,
    TlsHandshakesTable, TlsRecordRow, TlsRecordsTable, TransactionsTable, WaitsTable,
};
use trace_model::{Anomaly, AnomalyKind};

use crate::anomalies::{push_left_out, Anomalies};
use crate::asked::RequestedFrame;
use crate::bounded::BoundedTable;
use crate::documents::{Document, Documents};
use crate::exchange::Exchange;
use crate::held::HeldMemory;
use crate::numbered::NumberSet;

#[derive(Debug, Default)]
pub struct Tables {
    pub of_flows: FlowTables,
    pub anomalies: Anomalies,
    /// Segments table, on request only: it grows with the capture.
    pub segments: Option<Segments>,
    /// Table of TLS records, on request only.
    pub tls_records: Option<Blocks<TlsRecordsTable>>,
    /// Table of HTTP/2 flow control, on request only.
    pub h2_windows: Option<Blocks<H2WindowsTable>>,
    /// Flow statistics, on request only: one row per flow.
    pub flow_statistics: Option<FlowStatisticsTable>,
    pub last_frame: u64,
    /// True if rows must come as early as possible.
    pub follows: bool,
    /// Requested segment.
    pub asked: RequestedFrame,
    /// Time of the last packet.
    pub last_ns: i64,
    /// Frame of the first packet of each flow opened since the last take; kept only for shared captures, to
    /// renumber flows.
    pub flow_starts: Vec<u64>,
    /// Finished exchanges since the last take; kept only on request.
    pub exchanges: Option<Vec<Exchange>>,
    /// Output buffer of HTTP; empty between two packets.
    pub(crate) http_output: Output,
    /// Secrets of TLS connections.
    pub(crate) keys: Keys,
    /// Memory of all flows for waiting data.
    pub(crate) held: HeldMemory,
    kept_back: KeptBack,
}

/// Tables whose rows belong to a flow.
#[derive(Debug, Default)]
pub struct FlowTables {
    pub flows: BoundedTable<FlowsTable>,
    pub transactions: BoundedTable<TransactionsTable>,
    pub documents: Documents,
    pub waits: BoundedTable<WaitsTable>,
    /// Tables whose rows come with that of their flow.
    pub profiles: BoundedTable<ProfilesTable>,
    pub tls_handshakes: BoundedTable<TlsHandshakesTable>,
    pub h2_connections: BoundedTable<H2ConnectionsTable>,
    pub endings: BoundedTable<EndingsTable>,
    /// Tables whose rows come with that of their flow.
    pub flaws: BoundedTable<FlawsTable>,
    pub segmentation: BoundedTable<SegmentationTable>,
    pub recoveries: BoundedTable<RecoveriesTable>,
    pub queues: BoundedTable<QueuesTable>,
}

/// Rows kept back because their flow is not finished, by table.
#[derive(Debug, Default)]
struct KeptBack {
    rows: BTreeMap<&'static str, Columns>,
    /// Number of dropped candidates, and the limit of the waiting transactions' texts.
    unjudged: u64,
    texts_max: usize,
}

/// Taken rows, by table.
#[derive(Debug, Default)]
pub struct Batch {
    pub tables: BTreeMap<&'static str, Columns>,
    /// Documents with links.
    pub documents: Vec<Document>,
    pub anomalies: Anomalies,
}

/// Number of returned anomalies per kind.
#[derive(Debug, Default)]
pub struct ReturnedAnomalies {
    counts: Vec<u64>,
    /// True if the number of omitted anomalies was reported.
    said_left_out: bool,
}

/// Size of a transaction row with a short target, or of a flow row.
const ROW_BYTES: usize = 704;
/// Maximum size of texts that wait for judgement: half a million transactions with targets of 100 bytes.
const WAITING_TEXTS_MAX: usize = 64 << 20;
/// Maximum average number of times that a waiting row is searched.
const LOOKED_THROUGH_AT_MOST: usize = 4;

/// Tables whose rows belong to a flow, with the column that orders the rows of one flow.
const OF_FLOWS: &[(&str, &str)] = &[
    ("flows", "flow"),
    ("transactions", "index"),
    ("waits", "transaction"),
    ("profiles", "flow"),
    ("tls_handshakes", "flow"),
    ("h2_connections", "flow"),
    ("endings", "transaction"),
    ("flaws", "flow"),
    ("segmentation", "transaction"),
    ("recoveries", "transaction"),
    ("queues", "transaction"),
];

/// Tables whose rows may become findings about a transaction.
const CANDIDATES: &[&str] = &["segmentation", "recoveries", "queues"];

impl FlowTables {
    /// Return the message about omitted rows of each table.
    fn complaints(&self) -> [Option<String>; 12] {
        [
            self.flows.complaint(),
            self.transactions.complaint(),
            self.documents.complaint(),
            self.waits.complaint(),
            self.profiles.complaint(),
            self.tls_handshakes.complaint(),
            self.h2_connections.complaint(),
            self.endings.complaint(),
            self.flaws.complaint(),
            self.segmentation.complaint(),
            self.recoveries.complaint(),
            self.queues.complaint(),
        ]
    }

    /// Return the incomplete tables among those that findings over several flows count.
    pub fn cut(&self) -> impl Iterator<Item = &'static str> {
        let is_cut = [
            ("flows", self.flows.is_cut()),
            ("transactions", self.transactions.is_cut()),
            ("endings", self.endings.is_cut()),
            ("flaws", self.flaws.is_cut()),
        ];
        let cut = is_cut.into_iter().filter(|(_, is_cut)| *is_cut);
        cut.map(|(name, _)| name)
    }

    /// Return the memory of the rows in the tables.
    fn bytes(&self) -> usize {
        let bytes = [
            self.flows.bytes(),
            self.transactions.bytes(),
            self.documents.bytes(),
            self.waits.bytes(),
            self.profiles.bytes(),
            self.tls_handshakes.bytes(),
            self.h2_connections.bytes(),
            self.endings.bytes(),
            self.flaws.bytes(),
            self.segmentation.bytes(),
            self.recoveries.bytes(),
            self.queues.bytes(),
        ];
        bytes.into_iter().fold(0, usize::saturating_add)
    }
}

impl Tables {
    /// Create empty tables.
    ///
    /// `segments` is the segments table, if requested. `statistics` requests flow statistics, `exchanges` requests exchanges.
    /// `shares` is the number of shares of the flows.
    #[must_use]
    pub fn new(
        segments: Option<Segments>,
        statistics: bool,
        exchanges: bool,
        shares: usize,
    ) -> Self {
        Tables {
            segments,
            held: HeldMemory::of_one(shares),
            kept_back: KeptBack {
                texts_max: WAITING_TEXTS_MAX
                    .checked_div(shares)
                    .unwrap_or(WAITING_TEXTS_MAX),
                ..KeptBack::default()
            },
            exchanges: exchanges.then(Vec::new),
            flow_statistics: statistics.then(FlowStatisticsTable::default),
            ..Tables::default()
        }
    }

    /// Drop the rows of all tables except for the segments.
    pub fn drop_rows(&mut self) {
        self.of_flows = FlowTables::default();
        self.flow_statistics = None;
    }

    /// Move the TLS record rows of a flow to their table.
    pub(crate) fn take_records(&mut self, flow: u32) {
        let (Some(table), Some(records)) = (&mut self.tls_records, &mut self.keys.records) else {
            return;
        };
        for row in records.take() {
            table.push(&TlsRecordRow { flow, ..row });
        }
    }

    /// Move the HTTP/2 flow control events of a flow to their table.
    pub(crate) fn take_windows(&mut self, flow: u32) {
        let (Some(table), Some(rows)) = (&mut self.h2_windows, &mut self.http_output.windows)
        else {
            return;
        };
        for row in rows.drain(..) {
            table.push(&H2WindowRow { flow, ..row });
        }
    }

    /// Add an anomaly row about a flow.
    pub fn anomaly(&mut self, kind: AnomalyKind, frame: Option<u64>, flow: u32, detail: String) {
        self.push_anomaly(Anomaly {
            kind,
            frame,
            flow: Some(flow),
            offset: None,
            detail,
        });
    }

    /// Add an anomaly row, up to the limit of its kind.
    pub fn push_anomaly(&mut self, anomaly: Anomaly) {
        self.anomalies.push(self.last_frame, anomaly);
    }

    /// Add messages about omitted rows and dropped data.
    pub(crate) fn finish(&mut self) {
        let before = self.segments.as_ref().and_then(Segments::limit_reached);
        let after = [
            self.held.complaint(),
            (self.kept_back.unjudged > 0).then(|| {
                format!(
                    "{} possible findings of long flows were not judged: their transactions exceed the text limit",
                    self.kept_back.unjudged
                )
            }),
        ];
        let of_flows = self.of_flows.complaints();
        let complaints = [before].into_iter().chain(of_flows).chain(after);
        for detail in complaints.flatten() {
            self.push_anomaly(Anomaly {
                kind: AnomalyKind::LimitReached,
                frame: None,
                flow: None,
                offset: None,
                detail,
            });
        }
    }

    /// Return the number of average rows since [`Tables::take`], minus a share of the rows kept back, which
    /// are searched again.
    #[must_use]
    pub fn rows(&self) -> usize {
        let kept_back = self.kept_back.rows.values().map(|rows| rows.rows);
        let looked_through = kept_back.fold(0, usize::saturating_add) / LOOKED_THROUGH_AT_MOST;
        (self.of_flows.bytes() / ROW_BYTES).saturating_sub(looked_through)
    }

    /// Take all rows of finished flows, and the transactions of other flows without pending candidates.
    #[must_use]
    pub fn take(&mut self) -> Batch {
        let mut flows = self.of_flows.flows.take().into_columns();
        if let Some(statistics) = self.flow_statistics.as_mut() {
            let statistics = std::mem::take(statistics).into_columns();
            flows.columns.extend(statistics.columns);
        }
        let finished: NumberSet<u32> = flows
            .numbers("flow")
            .unwrap_or_default()
            .iter()
            .copied()
            .collect();
        let is_finished = |flow: u32, _| finished.contains(&flow);
        let segmentation = self.of_flows.segmentation.take().into_columns();
        let segmentation = self.divided("segmentation", segmentation, is_finished);
        let recoveries = self.of_flows.recoveries.take().into_columns();
        let recoveries = self.divided("recoveries", recoveries, is_finished);
        let queues = self.of_flows.queues.take().into_columns();
        let queues = self.divided("queues", queues, is_finished);
        // A candidate is judged with its transaction, at the end of the flow.
        let candidates: NumberSet<(u32, u32)> = CANDIDATES
            .iter()
            .filter_map(|name| self.kept_back.rows.get(*name))
            .flat_map(|rows| places(rows, "transaction"))
            .collect();
        let is_judged = |flow: u32, index: u32| {
            finished.contains(&flow) || !candidates.contains(&(flow, index))
        };
        let transactions = self.of_flows.transactions.take().into_columns();
        let transactions = self.divided("transactions", transactions, is_judged);
        let waits = self.of_flows.waits.take().into_columns();
        let waits = self.divided("waits", waits, is_judged);
        self.forget_candidates();
        self.count_kept_back();
        let tables = BTreeMap::from([
            ("flows", flows),
            ("transactions", transactions),
            ("waits", waits),
            ("profiles", self.of_flows.profiles.take().into_columns()),
            (
                "tls_handshakes",
                self.of_flows.tls_handshakes.take().into_columns(),
            ),
            (
                "h2_connections",
                self.of_flows.h2_connections.take().into_columns(),
            ),
            // An ending row is made with its flow's row and needs no other rows.
            ("endings", self.of_flows.endings.take().into_columns()),
            ("flaws", self.of_flows.flaws.take().into_columns()),
            ("segmentation", segmentation),
            ("recoveries", recoveries),
            ("queues", queues),
        ]);
        Batch {
            tables,
            // Documents are judged over the whole capture.
            documents: self.of_flows.documents.take(),
            anomalies: self.anomalies.take(),
        }
    }

    /// Take the ripe rows of a table and of its rows kept back; the other rows are kept back.
    ///
    /// `is_ripe` decides by flow and transaction number.
    fn divided(
        &mut self,
        name: &'static str,
        rows: Columns,
        is_ripe: impl Fn(u32, u32) -> bool,
    ) -> Columns {
        let mut all = self.kept_back.rows.remove(name).unwrap_or_default();
        all.append(rows);
        let number = OF_FLOWS
            .iter()
            .find(|(table, _)| *table == name)
            .map_or("", |(_, number)| number);
        let ripe: Vec<bool> = places(&all, number)
            .map(|(flow, index)| is_ripe(flow, index))
            .collect();
        let (taken, left) = all.divided(|row| ripe.get(row) == Some(&true));
        self.kept_back.rows.insert(name, left);
        taken
    }

    /// Drop the candidates of open flows if the texts of waiting transactions exceed their limit.
    fn forget_candidates(&mut self) {
        let waiting = self.kept_back.rows.get("transactions");
        if waiting.map_or(0, Columns::text_bytes) <= self.kept_back.texts_max {
            return;
        }
        for name in CANDIDATES {
            let forgotten = self.kept_back.rows.remove(*name);
            let rows = forgotten.map_or(0, |rows| rows.rows) as u64;
            self.kept_back.unjudged = self.kept_back.unjudged.saturating_add(rows);
        }
    }

    /// Apply the limits of the tables also to the rows kept back.
    fn count_kept_back(&mut self) {
        let rows_of = |name| self.kept_back.rows.get(name).map_or(0, |rows| rows.rows);
        let tables = &mut self.of_flows;
        tables.transactions.set_rows_kept(rows_of("transactions"));
        tables.waits.set_rows_kept(rows_of("waits"));
        tables.segmentation.set_rows_kept(rows_of("segmentation"));
        tables.recoveries.set_rows_kept(rows_of("recoveries"));
        tables.queues.set_rows_kept(rows_of("queues"));
    }
}

/// Return the flow and the transaction number of each row.
fn places<'a>(rows: &'a Columns, number: &str) -> impl Iterator<Item = (u32, u32)> + 'a {
    let flows = rows.numbers("flow").unwrap_or_default().iter().copied();
    let numbers = rows.numbers(number).unwrap_or_default().iter().copied();
    flows.zip(numbers)
}

impl Batch {
    /// Replace the flow numbers of one share by those of the capture.
    pub fn renumber(&mut self, numbers: &[u32]) {
        for (name, _) in OF_FLOWS.iter().copied() {
            if let Some(columns) = self.tables.get_mut(name) {
                columns.renumber("flow", numbers);
            }
        }
        for document in &mut self.documents {
            let place = usize::try_from(document.flow).unwrap_or(usize::MAX);
            document.flow = numbers.get(place).copied().unwrap_or(document.flow);
        }
        self.anomalies.renumber(numbers);
    }

    /// Add the rows of another share of the same packets.
    pub fn append(&mut self, other: Batch) {
        for (name, columns) in other.tables {
            self.tables.entry(name).or_default().append(columns);
        }
        self.documents.extend(other.documents);
        self.anomalies.append(other.anomalies);
    }

    /// Return the tables by name and the documents: flows by number, their rows in order of arrival.
    #[must_use]
    pub fn into_columns(
        self,
        given: &mut ReturnedAnomalies,
        counts: Option<&[u64]>,
    ) -> (BTreeMap<&'static str, Columns>, Vec<Document>) {
        let mut tables = self.tables;
        for (name, minor) in OF_FLOWS.iter().copied() {
            if let Some(columns) = tables.remove(name) {
                tables.insert(name, columns.sorted_by("flow", minor));
            }
        }
        let mut anomalies = self.anomalies.into_table(&mut given.counts);
        let is_new =
            counts.is_some() && !std::mem::replace(&mut given.said_left_out, counts.is_some());
        if let Some(counts) = counts.filter(|_| is_new) {
            push_left_out(counts, &mut anomalies);
        }
        tables.insert("anomalies", anomalies.into_columns());
        let mut documents = self.documents;
        documents.sort_by_key(|it| (it.flow, it.transaction));
        (tables, documents)
    }
}
