//! What is told of a flow's segments only when it is asked for.

use tcptrace_tcp::{Class, Side, Statistics, TcpAnalysis};
use trace_model::rows::SegmentRow;
use trace_model::{Packet, Segment};

use super::Flow;
use crate::tables::Tables;

#[derive(Debug, Default)]
pub struct Reports {
    /// Another connection had the ports before.
    pub reuses_ports: bool,
    tcp_analysis: Option<Box<TcpAnalysis>>,
    pub statistics: Option<Box<Statistics>>,
}

/// The row of a segment, and its number.
pub(super) struct Report {
    pub(super) number: usize,
    row: SegmentRow,
}

impl Flow {
    /// Counts a segment, and begins its row, if that is asked for.
    pub(super) fn report(
        &mut self,
        side: Side,
        packet: &Packet<'_>,
        segment: &Segment<'_>,
        (place, class): ((i64, Option<i64>, u32), &Class),
        tables: &Tables,
    ) -> Option<Report> {
        if let Some(statistics) = self.reports.statistics.as_mut() {
            statistics.segment(side, packet, segment, place, class);
        }
        let rows = tables.segments.as_ref()?;
        let (start, ack, _) = place;
        let mut row = self.segment_row(side, packet, segment, (start, ack), class);
        if rows.wanted().sack_edges {
            row.sack_edges = self
                .half(side.other())
                .sequence
                .offsets_of_sack(&segment.options.sack);
        }
        Some(Report {
            number: rows.next(),
            row,
        })
    }

    fn segment_row(
        &mut self,
        side: Side,
        packet: &Packet<'_>,
        segment: &Segment<'_>,
        (start, ack): (i64, Option<i64>),
        class: &Class,
    ) -> SegmentRow {
        let mut row = SegmentRow {
            frame: packet.frame,
            flow: self.id.number,
            direction: self.direction_of(side),
            time: packet.time_ns,
            seq: start,
            ack,
            payload_bytes: segment.payload_bytes,
            flags: segment.flags,
            gap_before_bytes: class.gap_before_bytes,
            is_reused_ports: std::mem::take(&mut self.reports.reuses_ports),
            ..SegmentRow::default()
        };
        let analysis = self.reports.tcp_analysis.get_or_insert_default();
        analysis.describe(side == Side::First, packet, segment, &mut row);
        row
    }

    /// Writes the row of a segment that has moved its flow on.
    pub(super) fn end_report(
        &self,
        report: Option<Report>,
        segment: &Segment<'_>,
        tables: &mut Tables,
    ) {
        let Some(rows) = tables.segments.as_mut() else {
            return;
        };
        if let Some(Report { mut row, .. }) = report {
            row.wire_segments = self.segment_size.wire_segments(segment.payload_bytes);
            rows.push(&row);
        }
    }
}
