//! Typed columns: the form in which rows leave the native core. [`crate::rows`] declares the tables.

/// The values of one column. A value under a cleared validity bit is a default without meaning.
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

/// Variable-length values stored back to back: value `i` is `items[ends[i-1]..ends[i]]`.
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

    fn bytes(&self) -> usize {
        let items = size_of_val(self.items.as_slice());
        size_of_val(self.ends.as_slice()).saturating_add(items)
    }

    /// Return value `row`. The slice is empty if the column has no row of that number.
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
    /// Name of the column in the JSON contract, if the contract has this column.
    pub json_name: Option<&'static str>,
    pub values: Values,
    /// One bit per row: true if the row has a value. None if every row has a value.
    pub validity: Option<Vec<bool>>,
}

/// A finished table: columns of equal length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Columns {
    pub rows: usize,
    pub columns: Vec<Column>,
}

impl Columns {
    /// Return the column of that name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Sort the rows by ascending values of two `u32` columns. Equal rows keep their order.
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

    /// Return the memory of the texts in all columns.
    #[must_use]
    pub fn text_bytes(&self) -> usize {
        let texts = self.columns.iter().map(|column| match &column.values {
            Values::Text(texts) => texts.items.len(),
            _ => 0,
        });
        texts.fold(0, usize::saturating_add)
    }

    /// Return the values of a `u32` column.
    #[must_use]
    pub fn numbers(&self, name: &str) -> Option<&[u32]> {
        match &self.column(name)?.values {
            Values::U32(values) => Some(values),
            _ => None,
        }
    }

    /// Divide the table into the rows for which `is_chosen` is true, and the other rows.
    #[must_use]
    pub fn divided(self, is_chosen: impl Fn(usize) -> bool) -> (Columns, Columns) {
        let (chosen, others): (Vec<usize>, Vec<usize>) =
            (0..self.rows).partition(|row| is_chosen(*row));
        if others.is_empty() {
            return (self, Columns::default());
        }
        let left = Columns {
            rows: others.len(),
            columns: self.columns.iter().map(|it| it.taken(&others)).collect(),
        };
        (self.taken(&chosen), left)
    }

    /// Append the rows of another piece of the same table.
    pub fn append(&mut self, other: Columns) {
        if self.columns.is_empty() {
            *self = other;
            return;
        }
        self.rows = self.rows.saturating_add(other.rows);
        for (column, more) in self.columns.iter_mut().zip(other.columns) {
            column.values.append(more.values);
            if let (Some(valid), Some(more)) = (column.validity.as_mut(), more.validity) {
                valid.extend(more);
            }
        }
    }

    /// Replace each number n in a `u32` column with `numbers[n]`.
    pub fn renumber(&mut self, name: &str, numbers: &[u32]) {
        let column = self.columns.iter_mut().find(|column| column.name == name);
        if let Some(Values::U32(values)) = column.map(|column| &mut column.values) {
            for value in values {
                let place = usize::try_from(*value).unwrap_or(usize::MAX);
                *value = numbers.get(place).copied().unwrap_or(*value);
            }
        }
    }

    /// Copy the columns whose names satisfy `is_wanted`, and the rows for which `is_chosen` is true.
    #[must_use]
    pub fn part(
        &self,
        is_wanted: impl Fn(&str) -> bool,
        is_chosen: Option<impl Fn(usize) -> bool>,
    ) -> Columns {
        let rows: Option<Vec<usize>> =
            is_chosen.map(|is_chosen| (0..self.rows).filter(|row| is_chosen(*row)).collect());
        let wanted = self.columns.iter().filter(|column| is_wanted(column.name));
        match rows.filter(|rows| rows.len() < self.rows) {
            Some(rows) => Columns {
                columns: wanted.map(|column| column.taken(&rows)).collect(),
                rows: rows.len(),
            },
            None => Columns {
                columns: wanted.cloned().collect(),
                rows: self.rows,
            },
        }
    }

    fn taken(self, order: &[usize]) -> Columns {
        // The columns are taken one by one, so memory holds at most one column twice.
        let columns = self.columns.into_iter().map(|column| column.taken(order));
        Columns {
            rows: order.len(),
            columns: columns.collect(),
        }
    }
}

impl Column {
    fn is_valid(&self, row: usize) -> bool {
        let valid = self.validity.as_ref();
        valid.is_none_or(|valid| valid.get(row) == Some(&true))
    }

    /// Return the number, time or code of a row, or None if the row has no value.
    #[must_use]
    pub fn integer(&self, row: usize) -> Option<i64> {
        let value = match &self.values {
            Values::U8(values) | Values::Enum(values, _) => values.get(row).copied().map(i64::from),
            Values::U16(values) => values.get(row).copied().map(i64::from),
            Values::U32(values) => values.get(row).copied().map(i64::from),
            Values::U64(values) => values.get(row).and_then(|value| i64::try_from(*value).ok()),
            Values::I64(values) | Values::Time(values) | Values::Duration(values) => {
                values.get(row).copied()
            }
            _ => None,
        };
        value.filter(|_| self.is_valid(row))
    }

    /// Return true if the row has a truth value and the value is true.
    #[must_use]
    pub fn is_true(&self, row: usize) -> bool {
        matches!(&self.values, Values::Bool(values) if values.get(row) == Some(&true))
            && self.is_valid(row)
    }

    /// Return the text of a row, or None if the row has no text.
    #[must_use]
    pub fn text(&self, row: usize) -> Option<&str> {
        match &self.values {
            Values::Text(texts) if self.is_valid(row) && row < texts.ends.len() => {
                std::str::from_utf8(texts.value(row)).ok()
            }
            _ => None,
        }
    }

    /// Return the memory of the values.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let values = match &self.values {
            Values::U8(values) | Values::Enum(values, _) => values.len(),
            Values::Bool(values) => values.len(),
            Values::U16(values) => values.len().saturating_mul(2),
            Values::U32(values) => values.len().saturating_mul(4),
            Values::U64(values) => values.len().saturating_mul(8),
            Values::F64(values) => values.len().saturating_mul(8),
            Values::I64(values) | Values::Time(values) | Values::Duration(values) => {
                values.len().saturating_mul(8)
            }
            Values::Text(lists) => lists.bytes(),
            Values::ListU32(lists) => lists.bytes(),
            Values::ListU64(lists) => lists.bytes(),
        };
        values.saturating_add(self.validity.as_ref().map_or(0, Vec::len))
    }

    fn taken(&self, order: &[usize]) -> Column {
        Column {
            name: self.name,
            json_name: self.json_name,
            values: self.values.taken(order),
            validity: self.validity.as_ref().map(|valid| taken(valid, order)),
        }
    }
}

impl Values {
    /// Append values of the same type. All pieces of one table have the same types.
    fn append(&mut self, more: Values) {
        match (self, more) {
            (Values::U8(values), Values::U8(more)) => values.extend(more),
            (Values::U16(values), Values::U16(more)) => values.extend(more),
            (Values::U32(values), Values::U32(more)) => values.extend(more),
            (Values::U64(values), Values::U64(more)) => values.extend(more),
            (Values::F64(values), Values::F64(more)) => values.extend(more),
            (Values::I64(values), Values::I64(more))
            | (Values::Time(values), Values::Time(more))
            | (Values::Duration(values), Values::Duration(more)) => values.extend(more),
            (Values::Bool(values), Values::Bool(more)) => values.extend(more),
            (Values::Enum(values, _), Values::Enum(more, _)) => values.extend(more),
            (Values::Text(lists), Values::Text(more)) => lists.append(&more),
            (Values::ListU32(lists), Values::ListU32(more)) => lists.append(&more),
            (Values::ListU64(lists), Values::ListU64(more)) => lists.append(&more),
            _ => debug_assert!(false, "pieces of one table have the same columns"),
        }
    }

    fn taken(&self, order: &[usize]) -> Values {
        match self {
            Values::U8(values) => Values::U8(taken(values, order)),
            Values::U16(values) => Values::U16(taken(values, order)),
            Values::U32(values) => Values::U32(taken(values, order)),
            Values::U64(values) => Values::U64(taken(values, order)),
            Values::I64(values) => Values::I64(taken(values, order)),
            Values::F64(values) => Values::F64(taken(values, order)),
            Values::Bool(values) => Values::Bool(taken(values, order)),
            Values::Time(values) => Values::Time(taken(values, order)),
            Values::Duration(values) => Values::Duration(taken(values, order)),
            Values::Enum(codes, words) => Values::Enum(taken(codes, order), words),
            Values::Text(lists) => Values::Text(lists.taken(order)),
            Values::ListU32(lists) => Values::ListU32(lists.taken(order)),
            Values::ListU64(lists) => Values::ListU64(lists.taken(order)),
        }
    }
}

impl<T: Copy + Default> Lists<T> {
    fn append(&mut self, more: &Lists<T>) {
        let before = self.ends.last().copied().unwrap_or(0);
        self.items.extend_from_slice(&more.items);
        let ends = more.ends.iter().map(|end| end.saturating_add(before));
        self.ends.extend(ends);
    }

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

    /// Return a table of flows: one number and one name per flow.
    fn table(rows: &[(u32, &str)]) -> Columns {
        let mut names = Lists::default();
        for (_, name) in rows {
            names.push(name.as_bytes());
        }
        let column = |name, values, validity| Column {
            name,
            json_name: None,
            values,
            validity,
        };
        let flows = rows.iter().map(|row| row.0).collect();
        Columns {
            rows: rows.len(),
            columns: vec![
                column("flow", Values::U32(flows), None),
                column("name", Values::Text(names), Some(vec![true; rows.len()])),
            ],
        }
    }

    #[test]
    fn the_two_parts_of_a_divided_table_form_the_whole() {
        let whole = table(&[(0, "a"), (1, "bb"), (0, "c"), (2, "")]);
        let (mut chosen, others) = whole.divided(|row| row % 2 == 1);
        assert_eq!(chosen, table(&[(1, "bb"), (2, "")]));
        assert_eq!(others, table(&[(0, "a"), (0, "c")]));
        chosen.append(others);
        assert_eq!(chosen, table(&[(1, "bb"), (2, ""), (0, "a"), (0, "c")]));
        chosen.renumber("flow", &[7, 8, 9]);
        assert_eq!(chosen, table(&[(8, "bb"), (9, ""), (7, "a"), (7, "c")]));
    }

    #[test]
    fn a_part_has_the_requested_rows_and_columns() {
        let whole = table(&[(0, "a"), (1, "bb"), (0, "c")]);
        let is_any = None::<fn(usize) -> bool>;
        assert_eq!(whole.part(|_| true, is_any), whole);
        let part = whole.part(|_| true, Some(|row| row != 1));
        assert_eq!(part, table(&[(0, "a"), (0, "c")]));
        let part = whole.part(|name| name == "flow", Some(|row| row == 1));
        assert_eq!((part.rows, part.columns.len()), (1, 1));
        assert_eq!(part.numbers("flow"), Some([1].as_slice()));
    }

    #[test]
    fn sorting_moves_whole_rows() {
        let table = table(&[(2, "c"), (0, "a"), (1, "bb")]);
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
