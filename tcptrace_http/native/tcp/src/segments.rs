//! Growing segments table.
//!
//! A row is settled once its ACK is known or can no longer come. Settled rows leave the table in frame order,
//! so a capture of any length needs bounded memory.

use std::collections::VecDeque;

use trace_model::blocks::Blocks;
use trace_model::column::Columns;
use trace_model::rows::{SegmentRow, SegmentsTable, SegmentsWanted};

/// Rows that are kept from the oldest unsettled row on: about 120 MB with all columns.
///
/// At a million packets per second this is one second of traffic, and slower captures have more time. A row
/// that is acknowledged later stays without its ACK, whether or not rows are removed. Every way of reading a
/// capture therefore gives the same rows.
const WINDOW_ROWS: usize = 1 << 20;

/// Rows of the segments table that are not removed yet.
#[derive(Debug)]
pub struct Segments {
    rows: Blocks<SegmentsTable>,
    window_rows: usize,
    /// ACKs that arrived after their row had left the window.
    acknowledged_too_late: u64,
    /// Row number at which the next search for unsettled rows takes place.
    look_again_at: usize,
}

impl Default for Segments {
    /// Create a table with all columns in one block.
    fn default() -> Self {
        Segments::new(SegmentsWanted::default(), usize::MAX)
    }
}

impl Segments {
    /// Create a table with the wanted columns in blocks of `block_rows` rows.
    #[must_use]
    pub fn new(wanted: SegmentsWanted, block_rows: usize) -> Self {
        Segments {
            rows: Blocks::new(wanted, block_rows),
            window_rows: WINDOW_ROWS,
            acknowledged_too_late: 0,
            look_again_at: 0,
        }
    }

    /// Return the wanted columns.
    pub fn wanted(&self) -> SegmentsWanted {
        self.rows.wanted()
    }

    /// Return the number of the next row.
    #[must_use]
    pub fn next(&self) -> usize {
        self.rows.next()
    }

    /// Append a row.
    #[inline]
    pub fn push(&mut self, row: &SegmentRow) {
        self.rows.push(row);
    }

    /// Mark the row with this number as acknowledged.
    pub fn acknowledged(&mut self, number: usize, frame: u64, rtt: Option<i64>) {
        if number < self.window_start() {
            self.acknowledged_too_late = self.acknowledged_too_late.saturating_add(1);
            return;
        }
        if let Some((block, at)) = self.rows.find(number) {
            block.acked_by_frame.set(at, frame);
            if let Some(rtt) = rtt {
                block.rtt.set(at, rtt);
            }
        }
    }

    /// Return the first row that may still be unsettled.
    fn window_start(&self) -> usize {
        self.rows.next().saturating_sub(self.window_rows)
    }

    /// Return the first block if all its rows are settled.
    ///
    /// `oldest_unsettled` searches all `flows` for the lowest row that an ACK may still settle. The calls are rare: their cost
    /// per row is constant.
    pub fn take(
        &mut self,
        flows: usize,
        oldest_unsettled: impl FnOnce() -> Option<usize>,
    ) -> Option<Columns> {
        let end = self.rows.first_full_end()?;
        if self.rows.wanted().any_late() && end > self.window_start() {
            if self.rows.next() < self.look_again_at {
                return None;
            }
            if oldest_unsettled().is_some_and(|oldest| oldest < end) {
                let pause = flows.max(self.rows.block_rows());
                self.look_again_at = self.rows.next().saturating_add(pause);
                return None;
            }
        }
        self.rows.take()
    }

    /// Return the message about ACKs that came too late.
    pub fn limit_reached(&self) -> Option<String> {
        let (late, window) = (self.acknowledged_too_late, self.window_rows);
        (late > 0).then(|| {
            format!(
                "{late} segments were acknowledged more than {window} segments later; \
                 their acked_by_frame and rtt are null"
            )
        })
    }

    /// Return all remaining rows in at least one block.
    #[must_use]
    pub fn into_rest(self) -> VecDeque<Columns> {
        self.rows.into_rest()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_model::column::Values;

    fn filled(rows: u64, wanted: SegmentsWanted) -> Segments {
        let mut segments = Segments::new(wanted, 2);
        segments.window_rows = 6;
        for frame in 1..=rows {
            segments.push(&SegmentRow {
                frame,
                ..SegmentRow::default()
            });
        }
        segments
    }

    fn acked_by(columns: &Columns) -> (Values, Option<Vec<bool>>) {
        let column = columns.column("acked_by_frame").unwrap();
        (column.values.clone(), column.validity.clone())
    }

    #[test]
    fn a_block_with_an_unsettled_row_waits_for_it() {
        let mut segments = filled(4, SegmentsWanted::default());
        assert!(segments.take(1, || Some(1)).is_none());
        segments.acknowledged(1, 4, None);
        for frame in 5..=6 {
            segments.push(&SegmentRow {
                frame,
                ..SegmentRow::default()
            });
        }
        let taken = segments.take(1, || Some(3)).unwrap();
        assert_eq!(
            acked_by(&taken),
            (Values::U64(vec![0, 4]), Some(vec![false, true]))
        );
        assert!(segments.take(1, || Some(3)).is_none());
    }

    #[test]
    fn unacknowledged_row_leaves_the_window() {
        let mut segments = filled(7, SegmentsWanted::default());
        assert!(segments.take(1, || Some(0)).is_none());
        segments.push(&SegmentRow::default());
        assert_eq!(segments.take(1, || Some(0)).unwrap().rows, 2);
    }

    #[test]
    fn late_ack_outside_the_window_is_omitted_and_reported() {
        let mut segments = filled(8, SegmentsWanted::default());
        segments.acknowledged(1, 8, Some(5));
        segments.acknowledged(2, 8, Some(5));
        let message = segments.limit_reached().unwrap();
        assert!(message.starts_with("1 segments were acknowledged more than 6 segments later"));
        let rest = segments.into_rest();
        assert_eq!(acked_by(&rest[0]).1, Some(vec![false, false]));
        assert_eq!(acked_by(&rest[1]).1, Some(vec![true, false]));
    }

    #[test]
    fn rows_without_late_columns_are_settled_at_once() {
        let wanted = SegmentsWanted {
            frame: true,
            ..SegmentsWanted::NONE
        };
        let mut segments = filled(2, wanted);
        assert_eq!(segments.take(1, || Some(0)).unwrap().rows, 2);
    }
}
