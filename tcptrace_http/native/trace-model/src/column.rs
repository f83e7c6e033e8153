//! Typed columns: how rows leave the native core. The tables themselves are in [`crate::rows`].

/// The values of one column. A value under a cleared validity bit is a default and means nothing.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    I64(Vec<i64>),
    F64(Vec<f64>),
    Bool(Vec<bool>),
    /// Nanoseconds since the epoch.
    Time(Vec<i64>),
    /// Nanoseconds.
    Duration(Vec<i64>),
    /// Codes into a fixed list of words.
    Enum(Vec<u8>, &'static [&'static str]),
    Text(Lists<u8>),
    ListU32(Lists<u32>),
    ListU64(Lists<u64>),
}

/// Variable-length values end to end: value `i` is `items[ends[i-1]..ends[i]]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lists<T> {
    pub ends: Vec<i64>,
    pub items: Vec<T>,
}

impl<T: Copy> Lists<T> {
    pub fn push(&mut self, value: &[T]) {
        self.items.extend_from_slice(value);
        self.ends
            .push(i64::try_from(self.items.len()).unwrap_or(i64::MAX));
    }

    /// Value `row`, empty if there is no such row.
    #[must_use]
    pub fn value(&self, row: usize) -> &[T] {
        let end_at = |at: usize| self.ends.get(at).and_then(|end| usize::try_from(*end).ok());
        let start = match row.checked_sub(1) {
            None => Some(0),
            Some(before) => end_at(before),
        };
        match (start, end_at(row)) {
            (Some(start), Some(end)) => self.items.get(start..end).unwrap_or(&[]),
            _ => &[],
        }
    }
}

/// One column of a finished table.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub name: &'static str,
    /// The column's name in the JSON contract, if it is part of it.
    pub json_name: Option<&'static str>,
    pub values: Values,
    /// Per row, whether there is a value; None if every row has one.
    pub validity: Option<Vec<bool>>,
}

/// A finished table: columns of equal length.
#[derive(Clone, Debug, PartialEq)]
pub struct Columns {
    pub rows: usize,
    pub columns: Vec<Column>,
}

impl Columns {
    /// The column of that name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// The same rows, by ascending values of two `u32` columns; equal rows keep their order.
    #[must_use]
    pub fn sorted_by(self, major: &str, minor: &str) -> Columns {
        let (Some(major), Some(minor)) = (self.numbers(major), self.numbers(minor)) else {
            return self;
        };
        let key = |(major, minor): (&u32, &u32)| (u64::from(*major) << 32) | u64::from(*minor);
        let keys: Vec<u64> = major.iter().zip(minor).map(key).collect();
        if keys.is_sorted() {
            return self;
        }
        let mut order: Vec<(u64, usize)> = keys.into_iter().zip(0..).collect();
        order.sort_unstable();
        let order: Vec<usize> = order.into_iter().map(|(_, row)| row).collect();
        self.taken(&order)
    }

    /// The values of a `u32` column.
    #[must_use]
    pub fn numbers(&self, name: &str) -> Option<&[u32]> {
        match &self.column(name)?.values {
            Values::U32(values) => Some(values),
            _ => None,
        }
    }

    fn taken(self, order: &[usize]) -> Columns {
        let columns = self.columns.into_iter().map(|column| Column {
            values: column.values.taken(order),
            validity: column.validity.map(|valid| taken(&valid, order)),
            ..column
        });
        Columns {
            rows: self.rows,
            columns: columns.collect(),
        }
    }
}

impl Values {
    fn taken(self, order: &[usize]) -> Values {
        match self {
            Values::U8(values) => Values::U8(taken(&values, order)),
            Values::U16(values) => Values::U16(taken(&values, order)),
            Values::U32(values) => Values::U32(taken(&values, order)),
            Values::U64(values) => Values::U64(taken(&values, order)),
            Values::I64(values) => Values::I64(taken(&values, order)),
            Values::F64(values) => Values::F64(taken(&values, order)),
            Values::Bool(values) => Values::Bool(taken(&values, order)),
            Values::Time(values) => Values::Time(taken(&values, order)),
            Values::Duration(values) => Values::Duration(taken(&values, order)),
            Values::Enum(codes, words) => Values::Enum(taken(&codes, order), words),
            Values::Text(lists) => Values::Text(lists.taken(order)),
            Values::ListU32(lists) => Values::ListU32(lists.taken(order)),
            Values::ListU64(lists) => Values::ListU64(lists.taken(order)),
        }
    }
}

impl<T: Copy + Default> Lists<T> {
    fn taken(&self, order: &[usize]) -> Lists<T> {
        let mut lists = Lists {
            ends: Vec::with_capacity(order.len()),
            items: Vec::new(),
        };
        for row in order {
            lists.push(self.value(*row));
        }
        lists
    }
}

fn taken<T: Copy + Default>(values: &[T], order: &[usize]) -> Vec<T> {
    order
        .iter()
        .map(|row| values.get(*row).copied().unwrap_or_default())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorting_moves_whole_rows() {
        let mut names = Lists::default();
        for name in ["c", "a", "bb"] {
            names.push(name.as_bytes());
        }
        let column = |name, values| Column {
            name,
            json_name: None,
            values,
            validity: None,
        };
        let table = Columns {
            rows: 3,
            columns: vec![
                column("flow", Values::U32(vec![2, 0, 1])),
                column("name", Values::Text(names)),
            ],
        };
        let sorted = table.sorted_by("flow", "flow");
        let Some(Values::Text(names)) = sorted.column("name").map(|column| &column.values) else {
            unreachable!("the column is text");
        };
        assert_eq!(
            [names.value(0), names.value(1), names.value(2)],
            [&b"a"[..], b"bb", b"c"]
        );
    }
}
