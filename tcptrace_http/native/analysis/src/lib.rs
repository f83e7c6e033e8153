//! Analyzer: packets in; flows, segments, HTTP transactions and their waits out.
//!
//! Theory of operation. Packets arrive one by one in capture order ([`Analyzer`] is a [`PacketSink`]). The
//! [`flow_table`] finds the flow. The flow keeps one half per direction, classifies the segment, and advances
//! ACKs and round trips. It puts the payload in order (all in [`tcptrace_tcp`]) and passes it to the HTTP
//! reader ([`tcptrace_http_messages`]). The flow's record explains the waits of each segment and transaction
//! ([`tcptrace_attribution`]), with the path facts of its [`host_pairs`]. Trackers supply further input of
//! the detectors: [`segmentation`] and [`recoveries`] of both directions, and the server's [`windows`] and
//! [`queues`]. Flow statistics as in tcptrace, and [`Segments`] with the verdicts of Wireshark, exist on
//! request only.
//!
//! Finished transactions are passed on as [`exchange`]s, which [`objects`] judges over all flows.
//!
//! Rows leave through [`tables`] as soon as they are final. The data that flows keep is bounded together
//! ([`held`]), and so are the rows ([`bounded`]). Several analyzers can share the host pairs of a capture
//! ([`Share`]).

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

pub use crate::asked::{ExplainedRequest, RequestedFrame};
pub use crate::bundles::has_bundle;
pub use crate::documents::{link_rows, Document};
pub use crate::exchange::Exchange;
use crate::flow_table::FlowTable;
pub use crate::flow_table::Share;
pub use crate::long_waits::flows_that_waited;
pub use crate::numbered::NumberSet;
pub use crate::objects::Objects;
pub use crate::pages::{PageTables, Pages, ReplacedWait};
pub use crate::tables::{Batch, FlowTables, ReturnedAnomalies, Tables};
pub use tcptrace_attribution::{Allowance, Binding, ExplainedSegment};
pub use tcptrace_http_messages::Links;
pub use tcptrace_tcp::Segments;

/// Requested results besides the tables that always exist.
#[derive(Debug, Default)]
pub struct Options {
    /// Segments table, which grows with the capture unless its rows are taken.
    pub segments: Option<Segments>,
    /// Table of TLS records, which grows with the capture unless its rows are taken.
    pub tls_records: Option<Blocks<TlsRecordsTable>>,
    /// Table of HTTP/2 flow control, which grows with the capture unless its rows are taken.
    pub h2_windows: Option<Blocks<H2WindowsTable>>,
    /// True for flow statistics.
    pub statistics: bool,
    /// True for exchanges, which [`Objects`] judges together.
    pub exchanges: bool,
    /// Share of the flows; packets of all other flows are skipped.
    pub share: Share,
    /// Frame of a segment that needs a full explanation.
    pub asked_frame: Option<u64>,
    /// True if a transaction's row must come at its ACK, because a reader follows a growing capture.
    pub follows: bool,
}

/// Analyzer of packets in capture order.
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
        tables.asked = RequestedFrame::new(options.asked_frame);
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

    /// Return the next block of settled rows of the segments table, if a block is full.
    pub fn take_segments(&mut self) -> Option<Columns> {
        let flow_table = &self.flow_table;
        let segments = self.tables.segments.as_mut()?;
        segments.take(flow_table.len(), || flow_table.oldest_unsettled_row())
    }

    /// Add the TLS secrets of a key log for later packets; an error reports bad lines, and the other lines
    /// are added.
    pub fn add_key_log(&mut self, text: &[u8]) -> Result<(), BadLines> {
        self.tables.keys.log.add(text)
    }

    /// Start the lead-in: packets until [`Analyzer::begin_window`] belong to the previous window; see
    /// [`window`].
    pub fn lead_in(&mut self) {
        self.flow_table.window.lead_in();
    }

    /// Start the window itself.
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

    /// End the window: later packets belong to the next window.
    pub fn end_window(&mut self) {
        self.flow_table.end_window();
    }

    /// Return the number of secrets.
    #[must_use]
    pub fn secrets(&self) -> usize {
        self.tables.keys.log.len()
    }

    /// Drop the current rows of all tables except for the segments.
    pub fn drop_rows(&mut self) {
        self.tables.drop_rows();
    }

    /// Finish every flow after the last packet; all rows are then in the tables.
    pub fn finish(&mut self) {
        self.finish_some(usize::MAX);
    }

    /// Finish flows after the last packet until the tables have `rows` rows, and return whether all are
    /// finished.
    ///
    /// The caller takes the rows and calls again until all are finished.
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
            self.anomaly(bad_lines_anomaly("a block of secrets", &bad));
        }
    }
}

/// Return the anomaly of bad key log lines, without their text.
#[must_use]
pub fn bad_lines_anomaly(place: &str, bad: &BadLines) -> Anomaly {
    Anomaly {
        kind: AnomalyKind::MalformedKeyLog,
        frame: None,
        flow: None,
        offset: None,
        detail: format!("{place} has {bad}"),
    }
}
