//! Reports about segments that exist only on request.

use tcptrace_tcp::{Class, Side, Statistics, TcpAnalysis};
use trace_model::rows::SegmentRow;
use trace_model::{Packet, Segment};

use super::Flow;
use crate::tables::Tables;

#[derive(Debug, Default)]
pub struct Reports {
    /// True if an earlier connection used the same ports.
    pub reuses_ports: bool,
    tcp_analysis: Option<Box<TcpAnalysis>>,
    pub statistics: Option<Box<Statistics>>,
}

/// Row of a segment, and its number.
pub(super) struct Report {
    pub(super) number: usize,
    row: SegmentRow,
}

impl Flow {
    /// Count a segment, and begin its row if requested.
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

    /// Write the row of a segment that has advanced its flow.
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
