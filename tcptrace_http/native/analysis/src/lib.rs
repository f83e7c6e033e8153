//! The analyzer: packets in; flows, segments, HTTP transactions, pauses and flights out.
//!
//! Theory of operation. Packets come one by one, in the order of the capture ([`Analyzer`] is a
//! [`PacketSink`]). The [`flow_table`] finds the flow, which keeps a [`half`] for each direction,
//! [`classify`]s the segment, moves acknowledgments and round trips on, puts the payload in order
//! ([`reassembly`]) and hands it to [`http`]. Two trackers follow the server's data for what the
//! detectors read: [`pauses`] and [`flights`]. Memory is bounded by the flows that are open.

#![forbid(unsafe_code)]

mod classify;
mod flights;
mod flow;
mod flow_row;
mod flow_table;
mod half;
mod holes;
pub mod http;
mod observation;
mod orientation;
mod pauses;
mod reassembly;
mod segment_size;
mod tables;
mod tcp_analysis;
mod transaction_row;

#[cfg(test)]
mod flow_tests;

use trace_model::{Anomaly, Packet, PacketSink};

use crate::flow_table::FlowTable;
pub use crate::tables::Tables;

/// Analyzes packets as they come.
#[derive(Default)]
pub struct Analyzer {
    flow_table: FlowTable,
    tables: Tables,
}

impl Analyzer {
    /// `segments` asks for the segments table, which grows with the capture.
    #[must_use]
    pub fn new(segments: bool) -> Self {
        Analyzer {
            flow_table: FlowTable::default(),
            tables: Tables::new(segments),
        }
    }

    /// The tables, when all packets were given.
    #[must_use]
    pub fn finish(mut self) -> Tables {
        self.flow_table.finish(&mut self.tables);
        self.tables.finish_anomalies();
        self.tables
    }
}

impl PacketSink for Analyzer {
    fn packet(&mut self, packet: &Packet<'_>) {
        self.tables.last_frame = packet.frame;
        if let Some(segment) = &packet.segment {
            self.flow_table.segment(packet, segment, &mut self.tables);
        }
    }

    fn anomaly(&mut self, anomaly: Anomaly) {
        self.tables.push_anomaly(anomaly);
    }
}
