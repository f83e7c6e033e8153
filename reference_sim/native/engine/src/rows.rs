//! Rows that change until their subject ends. They are then kept or dropped.

use std::collections::BTreeMap;
use std::ops::Deref;

/// Kept rows, accessible as a slice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows<T> {
    kept: Vec<T>,
    /// Unfinished rows, in the mode that keeps none.
    open: BTreeMap<usize, T>,
    made: usize,
    is_forgetful: bool,
}

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Rows {
            kept: Vec::new(),
            open: BTreeMap::new(),
            made: 0,
            is_forgetful: false,
        }
    }
}

impl<T> Rows<T> {
    /// Create rows that are dropped when they are finished.
    #[must_use]
    pub fn forgetful() -> Self {
        Rows {
            is_forgetful: true,
            ..Rows::default()
        }
    }

    /// Add a row and return its number, valid until the row is finished.
    pub fn add(&mut self, row: T) -> usize {
        let number = self.made;
        self.made += 1;
        if self.is_forgetful {
            self.open.insert(number, row);
        } else {
            self.kept.push(row);
        }
        number
    }

    pub fn find(&mut self, number: usize) -> Option<&mut T> {
        if self.is_forgetful {
            self.open.get_mut(&number)
        } else {
            self.kept.get_mut(number)
        }
    }

    /// Mark a row as finished.
    pub fn over(&mut self, number: usize) {
        if self.is_forgetful {
            self.open.remove(&number);
        }
    }

    /// Return the number of rows so far.
    #[must_use]
    pub fn made(&self) -> usize {
        self.made
    }

    /// Return the number of rows in memory.
    #[must_use]
    pub fn held(&self) -> usize {
        self.kept.len() + self.open.len()
    }
}

impl<T> Deref for Rows<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finished_row_is_kept_or_dropped() {
        let mut kept = Rows::default();
        let mut forgotten = Rows::forgetful();
        for rows in [&mut kept, &mut forgotten] {
            let numbers = ["a", "b"].map(|row| rows.add(row));
            rows.over(numbers[0]);
            assert_eq!(rows.find(numbers[1]), Some(&mut "b"));
            assert_eq!(rows.made(), 2);
        }
        assert_eq!((&kept[..], kept.held()), (&["a", "b"][..], 2));
        assert_eq!((forgotten.len(), forgotten.held()), (0, 1));
        assert_eq!(forgotten.find(0), None);
    }
}
