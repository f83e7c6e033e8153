//! Rows that change while what they tell of goes on, and are kept or given up when it is over.

use std::collections::BTreeMap;
use std::ops::Deref;

/// As a slice: the rows that are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows<T> {
    kept: Vec<T>,
    /// Those that are not over, where none is kept.
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
    /// Rows that are given up when they are over.
    #[must_use]
    pub fn forgetful() -> Self {
        Rows {
            is_forgetful: true,
            ..Rows::default()
        }
    }

    /// The row's number, by which it is found until it is over.
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

    /// Nothing of it will change.
    pub fn over(&mut self, number: usize) {
        if self.is_forgetful {
            self.open.remove(&number);
        }
    }

    /// How many there were.
    #[must_use]
    pub fn made(&self) -> usize {
        self.made
    }

    /// How many are in memory.
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
    fn a_row_that_is_over_is_kept_or_forgotten() {
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
