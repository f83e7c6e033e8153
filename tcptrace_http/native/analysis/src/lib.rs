//! The analyzer: packets in; flows, segments, HTTP transactions and what they waited for out.
//!
//! Theory of operation. Packets come one by one, in the order of the capture ([`Analyzer`] is a
//! [`PacketSink`]). The [`flow_table`] finds the flow, which keeps a half for each direction, classifies
//! the segment, moves acknowledgments and round trips on, puts the payload in order (all in
//! [`tcptrace_tcp`]) and hands it to the reader of HTTP ([`tcptrace_http_messages`]). What each segment and each
//! transaction waited for a flow's record tells ([`tcptrace_attribution`]), with what its [`host_pairs`] have shown of
//! the path. Trackers follow the data for what the detectors read besides: [`segmentation`] and [`recoveries`] of both
//! directions, and the server's [`windows`] and [`queues`]. Only when they are asked for are there
//! statistics of flows, as tcptrace has them, and [`Segments`] with the verdicts of Wireshark.
//!
//! Finished transactions are handed on as [`exchange`]s, which [`objects`] judges over all flows.
//!
//! Rows leave through [`tables`] as soon as they are final. What flows keep for later is bounded
//! together ([`held`]), and so are the rows ([`bounded`]); several analyzers can share the host pairs of a
//! capture ([`Share`]).

#![forbid(unsafe_code)]

mod anomalies;
mod asked;
mod bounded;
mod bundles;
mod documents;
mod ending_row;
mod exchange;
mod finished_message;
mod flaws;
mod flow;
mod flow_row;
mod flow_table;
mod h2_connection_row;
mod held;
mod host_pairs;
mod local_acks;
mod long_waits;
mod numbered;
mod objects;
mod observation;
mod pages;
mod pair_view;
mod profile_row;
mod pure_acks;
mod queues;
mod recoveries;
mod same_packet;
mod segmentation;
mod tables;
mod tls_handshake_row;
mod transaction_row;
mod window;

#[cfg(test)]
mod flow_tests;

use tcptrace_tls::{BadLines, RecordLog};
use trace_model::blocks::Blocks;
use trace_model::column::Columns;
use trace_model::rows::{H2WindowsTable, TlsRecordsTable};
use trace_model::{Anomaly, AnomalyKind, Packet, PacketSink};

pub use crate::asked::{Asked, Explained};
pub use crate::bundles::has_bundle;
pub use crate::documents::{link_rows, Document};
pub use crate::exchange::Exchange;
use crate::flow_table::FlowTable;
pub use crate::flow_table::Share;
pub use crate::long_waits::flows_that_waited;
pub use crate::numbered::Numbers;
pub use crate::objects::Objects;
pub use crate::pages::{PageTables, Pages, Stalled};
pub use crate::tables::{AnomaliesGiven, Batch, FlowTables, Tables};
pub use tcptrace_attribution::{Allowance, Binding, ExplainedSegment};
pub use tcptrace_http_messages::Links;
pub use tcptrace_tcp::Segments;

/// What is asked for beyond the tables that are always made.
#[derive(Debug, Default)]
pub struct Options {
    /// The segments table, which grows with the capture unless it is taken.
    pub segments: Option<Segments>,
    /// The table of TLS records, which grows with the capture unless it is taken.
    pub tls_records: Option<Blocks<TlsRecordsTable>>,
    /// The table of HTTP/2's flow control, as before.
    pub h2_windows: Option<Blocks<H2WindowsTable>>,
    /// The statistics of flows.
    pub statistics: bool,
    /// The exchanges, which [`Objects`] judges together.
    pub exchanges: bool,
    /// Which of the flows are looked at; all other packets are passed over.
    pub share: Share,
    /// The frame of a segment that is to be explained in full.
    pub asked_frame: Option<u64>,
    /// A transaction's row comes as soon as it is acknowledged: somebody reads on as the capture grows.
    pub follows: bool,
}

/// Analyzes packets as they come.
#[derive(Debug, Default)]
pub struct Analyzer {
    flow_table: FlowTable,
    pub tables: Tables,
}

impl Analyzer {
    #[must_use]
    pub fn new(options: Options) -> Self {
        let mut tables = Tables::new(
            options.segments,
            options.statistics,
            options.exchanges,
            options.share.count,
        );
        tables.asked = Asked::new(options.asked_frame);
        tables.keys.records = options.tls_records.as_ref().map(|_| RecordLog::default());
        tables.tls_records = options.tls_records;
        tables.http_output.windows = options.h2_windows.as_ref().map(|_| Vec::new());
        tables.h2_windows = options.h2_windows;
        tables.follows = options.follows;
        Analyzer {
            flow_table: FlowTable::new(options.share),
            tables,
        }
    }

    /// The next rows of the segments table that are settled, once there is a block of them.
    pub fn take_segments(&mut self) -> Option<Columns> {
        let flow_table = &self.flow_table;
        let segments = self.tables.segments.as_mut()?;
        segments.take(flow_table.len(), || flow_table.oldest_unsettled_row())
    }

    /// Takes the TLS secrets of a key log, for the packets to come. An error tells of bad lines; the others are taken.
    pub fn add_key_log(&mut self, text: &[u8]) -> Result<(), BadLines> {
        self.tables.keys.log.add(text)
    }

    /// What comes until [`Analyzer::begin_window`] is of the window before this one; see [`window`].
    pub fn lead_in(&mut self) {
        self.flow_table.window.lead_in();
    }

    /// The window itself begins.
    pub fn begin_window(&mut self) {
        self.flow_table.window.begin();
        if self.flow_table.window.is_full {
            self.anomaly(Anomaly {
                kind: AnomalyKind::LimitReached,
                frame: None,
                flow: None,
                offset: None,
                detail: window::FULL.to_owned(),
            });
        }
    }

    /// The window is over, and what comes is of the next one.
    pub fn end_window(&mut self) {
        self.flow_table.end_window();
    }

    /// How many secrets it has.
    #[must_use]
    pub fn secrets(&self) -> usize {
        self.tables.keys.log.len()
    }

    /// Drops the rows of all tables but the segments that there are so far.
    pub fn drop_rows(&mut self) {
        self.tables.drop_rows();
    }

    /// All packets were given: every flow is finished, and its rows are in the tables.
    pub fn finish(&mut self) {
        self.finish_some(usize::MAX);
    }

    /// All packets were given: flows are finished until there are `rows` in the tables. Whether all are; if
    /// not, it is to be called again once the rows were taken.
    pub fn finish_some(&mut self, rows: usize) -> bool {
        self.tables.anomalies.at_the_end();
        let is_over = self.flow_table.finish(&mut self.tables, rows);
        if is_over {
            self.tables.finish();
        }
        is_over
    }
}

impl PacketSink for Analyzer {
    #[inline]
    fn packet(&mut self, packet: &Packet<'_>) {
        self.tables.last_frame = packet.frame;
        if self.tables.asked.is(packet.frame) {
            self.tables.asked.on_packet(packet);
        }
        self.tables.last_ns = packet.time_ns;
        if let Some(segment) = &packet.segment {
            self.flow_table.segment(packet, segment, &mut self.tables);
        }
    }

    fn anomaly(&mut self, anomaly: Anomaly) {
        if !self.flow_table.window.is_own() {
            return;
        }
        let frame = self.tables.last_frame;
        self.tables.anomalies.push_decoders(frame, anomaly);
    }

    fn key_log(&mut self, text: &[u8]) {
        if let Err(bad) = self.add_key_log(text) {
            self.anomaly(of_bad_lines("a block of secrets", &bad));
        }
    }
}

/// What to say of bad lines of a key log; their text is not told.
#[must_use]
pub fn of_bad_lines(place: &str, bad: &BadLines) -> Anomaly {
    Anomaly {
        kind: AnomalyKind::MalformedKeyLog,
        frame: None,
        flow: None,
        offset: None,
        detail: format!("{place} has {bad}"),
    }
}
