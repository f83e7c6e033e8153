//! A growing table: blocks of equal length, taken from the front.
//!
//! A row keeps its number over the whole capture, even after earlier rows are gone. Blocks leave whole and no
//! row moves. The cost per row is the same for ten rows and for a billion rows.

use std::collections::VecDeque;

use crate::column::Columns;

/// A table that collects rows by column, limited to the wanted columns.
pub trait Gather: Sized {
    type Row;
    type Wanted: Copy + Default;
    /// Return an empty table with the wanted columns.
    fn of(wanted: Self::Wanted) -> Self;
    fn len(&self) -> usize;
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    fn push(&mut self, row: &Self::Row);
    fn into_columns(self) -> Columns;
}

/// The rows of a table that are not taken yet.
#[derive(Debug)]
pub struct Blocks<T: Gather> {
    wanted: T::Wanted,
    block_rows: usize,
    blocks: VecDeque<T>,
    /// Number of the first row of the first block.
    first: usize,
    /// Number of the next row.
    next: usize,
}

impl<T: Gather> Blocks<T> {
    /// Return a table of blocks of `block_rows` rows, at least one row each. `usize::MAX` keeps the table in
    /// one piece.
    #[must_use]
    pub fn new(wanted: T::Wanted, block_rows: usize) -> Self {
        Blocks {
            wanted,
            block_rows: block_rows.max(1),
            blocks: VecDeque::new(),
            first: 0,
            next: 0,
        }
    }

    #[must_use]
    pub fn wanted(&self) -> T::Wanted {
        self.wanted
    }

    #[must_use]
    pub fn block_rows(&self) -> usize {
        self.block_rows
    }

    /// Return the number of the next row, which equals the count of all rows before it.
    #[must_use]
    pub fn next(&self) -> usize {
        self.next
    }

    #[inline]
    pub fn push(&mut self, row: &T::Row) {
        self.next = self.next.saturating_add(1);
        match self.blocks.back_mut() {
            Some(block) if block.len() < self.block_rows => block.push(row),
            _ => {
                let mut block = T::of(self.wanted);
                block.push(row);
                self.blocks.push_back(block);
            }
        }
    }

    /// Find the block that holds row `number`, and the row's index in the block. Return None if the block is
    /// taken.
    pub fn find(&mut self, number: usize) -> Option<(&mut T, usize)> {
        if number >= self.next {
            return None;
        }
        let behind = number.checked_sub(self.first)?;
        let block = self.blocks.get_mut(behind.checked_div(self.block_rows)?)?;
        Some((block, behind.checked_rem(self.block_rows)?))
    }

    /// Return the number after the last row of the first block, if that block is full.
    #[must_use]
    pub fn first_full_end(&self) -> Option<usize> {
        let block = self.blocks.front()?;
        (block.len() >= self.block_rows).then(|| self.first.saturating_add(block.len()))
    }

    /// Take the first block, if it is full.
    pub fn take(&mut self) -> Option<Columns> {
        self.first = self.first_full_end()?;
        Some(self.blocks.pop_front()?.into_columns())
    }

    /// Take all remaining blocks: at least one block, which is empty if the table never had a row.
    #[must_use]
    pub fn into_rest(mut self) -> VecDeque<Columns> {
        if self.next == 0 {
            self.blocks.push_back(T::of(self.wanted));
        }
        self.blocks.into_iter().map(T::into_columns).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::Values;
    use crate::rows::{SegmentRow, SegmentsTable, SegmentsWanted};

    fn frames(columns: &Columns) -> &[u64] {
        match columns.column("frame").map(|column| &column.values) {
            Some(Values::U64(frames)) => frames,
            _ => &[],
        }
    }

    fn filled(rows: u64, block_rows: usize) -> Blocks<SegmentsTable> {
        let wanted = SegmentsWanted {
            frame: true,
            acked_by_frame: true,
            ..SegmentsWanted::NONE
        };
        let mut blocks = Blocks::new(wanted, block_rows);
        for frame in 1..=rows {
            blocks.push(&SegmentRow {
                frame,
                ..SegmentRow::default()
            });
        }
        blocks
    }

    #[test]
    fn only_full_blocks_are_taken_before_the_end() {
        let mut blocks = filled(5, 2);
        let taken: Vec<Columns> = std::iter::from_fn(|| blocks.take()).collect();
        let shown: Vec<&[u64]> = taken.iter().map(frames).collect();
        assert_eq!(shown, [[1, 2], [3, 4]]);
        assert_eq!(frames(&blocks.into_rest()[0]), [5]);
    }

    #[test]
    fn a_row_is_found_by_its_number_until_it_is_taken() {
        let mut blocks = filled(5, 2);
        assert!(blocks.take().is_some());
        assert!(blocks.find(1).is_none());
        assert!(blocks.find(5).is_none());
        let (block, at) = blocks.find(3).unwrap();
        block.acked_by_frame.set(at, 9);
        let taken = blocks.take().unwrap();
        let column = taken.column("acked_by_frame").unwrap();
        assert_eq!(column.values, Values::U64(vec![0, 9]));
        assert_eq!(column.validity, Some(vec![false, true]));
    }

    #[test]
    fn unwanted_columns_are_absent() {
        let rest = filled(1, 2).into_rest();
        let names: Vec<&str> = rest[0].columns.iter().map(|column| column.name).collect();
        assert_eq!(names, ["frame", "acked_by_frame"]);
    }

    #[test]
    fn a_table_without_rows_has_its_columns() {
        let rest = filled(0, 2).into_rest();
        assert_eq!((rest.len(), rest[0].rows), (1, 0));
        assert_eq!(rest[0].columns.len(), 2);
    }
}
