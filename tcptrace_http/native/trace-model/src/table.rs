//! Macros that declare a table once: its row type, and the collector of its columns. [`crate::rows`] has the
//! declarations.

use std::fmt::Debug;

use crate::column::{Column, Lists, Values};

/// Nanoseconds since the epoch.
#[derive(Clone, Copy, Debug)]
pub struct Time;

/// Nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Duration;

/// The kind of a column: its value in a row, and the collection of its values.
pub trait Kind {
    type Value;
    type Gathered: Clone + Debug + Default + PartialEq;

    fn gather(value: &Self::Value, into: &mut Self::Gathered);
    /// Collect a default in place of a missing value.
    fn gather_default(into: &mut Self::Gathered);
    /// Return the values. For a column with missing values, also return one flag per row.
    fn finish(gathered: Self::Gathered) -> (Values, Option<Vec<bool>>);
}

macro_rules! numbers {
    ($($kind:ty: $value:ty => $values:ident;)*) => {$(
        impl Kind for $kind {
            type Value = $value;
            type Gathered = Vec<$value>;

            #[inline]
            fn gather(value: &$value, into: &mut Vec<$value>) {
                into.push(*value);
            }

            #[inline]
            fn gather_default(into: &mut Vec<$value>) {
                into.push(<$value>::default());
            }

            fn finish(gathered: Vec<$value>) -> (Values, Option<Vec<bool>>) {
                (Values::$values(gathered), None)
            }
        }
    )*};
}

numbers! {
    u8: u8 => U8;
    u16: u16 => U16;
    u32: u32 => U32;
    u64: u64 => U64;
    i64: i64 => I64;
    f64: f64 => F64;
    bool: bool => Bool;
    Time: i64 => Time;
    Duration: i64 => Duration;
}

macro_rules! lists {
    ($($kind:ty: [$item:ty] => $values:ident;)*) => {$(
        impl Kind for $kind {
            type Value = $kind;
            type Gathered = Lists<$item>;

            #[inline]
            fn gather(value: &$kind, into: &mut Lists<$item>) {
                into.push(value.as_ref());
            }

            #[inline]
            fn gather_default(into: &mut Lists<$item>) {
                into.push(&[]);
            }

            fn finish(gathered: Lists<$item>) -> (Values, Option<Vec<bool>>) {
                (Values::$values(gathered), None)
            }
        }
    )*};
}

lists! {
    String: [u8] => Text;
    Vec<u32>: [u32] => ListU32;
    Vec<u64>: [u64] => ListU64;
}

/// Collected values, some of them missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Nullable<G> {
    values: G,
    validity: Vec<bool>,
}

impl<T> Nullable<Vec<T>> {
    /// Set a value that became known after its row was collected, if the column is collected.
    pub fn set(&mut self, at: usize, value: T) {
        if let Some((slot, valid)) = self.values.get_mut(at).zip(self.validity.get_mut(at)) {
            *slot = value;
            *valid = true;
        }
    }
}

impl<K: Kind> Kind for Option<K> {
    type Value = Option<K::Value>;
    type Gathered = Nullable<K::Gathered>;

    #[inline]
    fn gather(value: &Option<K::Value>, into: &mut Nullable<K::Gathered>) {
        match value {
            Some(value) => K::gather(value, &mut into.values),
            None => K::gather_default(&mut into.values),
        }
        into.validity.push(value.is_some());
    }

    #[inline]
    fn gather_default(into: &mut Nullable<K::Gathered>) {
        Self::gather(&None, into);
    }

    fn finish(gathered: Nullable<K::Gathered>) -> (Values, Option<Vec<bool>>) {
        (K::finish(gathered.values).0, Some(gathered.validity))
    }
}

/// Return a finished column.
pub(crate) fn column<K: Kind>(
    name: &'static str,
    json_name: Option<&'static str>,
    gathered: K::Gathered,
) -> Column {
    let (values, validity) = K::finish(gathered);
    Column {
        name,
        json_name,
        values,
        validity,
    }
}

/// Declares an enumeration with the words of a column. The first word is the default.
macro_rules! words {
    ($name:ident {
        $first:ident = $first_word:literal $(, $first_doc:literal)?;
        $($variant:ident = $word:literal $(, $doc:literal)?;)*
    }) => {
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum $name {
            $(#[doc = $first_doc])?
            #[default]
            $first,
            $($(#[doc = $doc])? $variant,)*
        }

        impl $name {
            pub const WORDS: &'static [&'static str] = &[$first_word, $($word),*];
            pub const ALL: &'static [$name] = &[$name::$first, $($name::$variant),*];

            #[must_use]
            pub fn word(self) -> &'static str {
                Self::WORDS.get(self as usize).copied().unwrap_or("")
            }
        }

        impl Kind for $name {
            type Value = $name;
            type Gathered = Vec<u8>;

            #[inline]
            fn gather(value: &$name, into: &mut Vec<u8>) {
                into.push(*value as u8);
            }

            #[inline]
            fn gather_default(into: &mut Vec<u8>) {
                Self::gather(&$name::default(), into);
            }

            fn finish(gathered: Vec<u8>) -> (Values, Option<Vec<bool>>) {
                (Values::Enum(gathered, Self::WORDS), None)
            }
        }
    };
}

/// Expands to the column's name in the JSON contract, if the column has one.
macro_rules! json_name {
    () => {
        None
    };
    ($name:literal) => {
        Some($name)
    };
}

/// Declares the row type of a table.
macro_rules! row {
    ($doc:literal $row:ident { $($name:ident: $kind:ty, $meaning:literal;)* }) => {
        #[doc = $doc]
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $row {
            $(#[doc = $meaning] pub $name: <$kind as Kind>::Value,)*
        }
    };
}

/// Declares the number of rows of a table.
macro_rules! row_count {
    ($table:ident) => {
        impl $table {
            #[must_use]
            pub fn len(&self) -> usize {
                self.rows
            }

            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.rows == 0
            }
        }
    };
}

/// Declares a table, with `name: kind => "its name in JSON", "its meaning";` per column.
macro_rules! table {
    ($doc:literal $row:ident, $table:ident {
        $($name:ident: $kind:ty $(=> $json:literal)?, $meaning:literal;)*
    }) => {
        row!($doc $row { $($name: $kind, $meaning;)* });

        #[doc = concat!("A collector of [`", stringify!($row), "`]s by column.")]
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $table {
            rows: usize,
            $($name: <$kind as Kind>::Gathered,)*
        }

        row_count!($table);

        impl $table {
            pub fn push(&mut self, row: &$row) {
                self.rows = self.rows.saturating_add(1);
                $(<$kind as Kind>::gather(&row.$name, &mut self.$name);)*
            }

            #[must_use]
            pub fn into_columns(self) -> Columns {
                let columns = vec![
                    $(column::<$kind>(stringify!($name), json_name!($($json)?), self.$name),)*
                ];
                Columns { rows: self.rows, columns }
            }
        }
    };
}

/// Declares a table that collects only the wanted columns. Values of `late` columns can become known after
/// their row.
macro_rules! table_on_request {
    ($doc:literal $row:ident, $table:ident, $wanted:ident late($($late:ident),*) {
        $($name:ident: $kind:ty, $meaning:literal;)*
    }) => {
        row!($doc $row { $($name: $kind, $meaning;)* });

        #[doc = concat!("The wanted columns of [`", stringify!($table), "`]; by default all.")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $wanted {
            $(pub $name: bool,)*
        }

        impl Default for $wanted {
            fn default() -> Self {
                Self { $($name: true,)* }
            }
        }

        impl $wanted {
            pub const NONE: Self = Self { $($name: false,)* };

            /// Select the columns of these names.
            ///
            /// # Errors
            /// The first name that is not a column.
            pub fn only(names: &[String]) -> Result<Self, &str> {
                let mut wanted = Self::NONE;
                for name in names {
                    match name.as_str() {
                        $(stringify!($name) => wanted.$name = true,)*
                        unknown => return Err(unknown),
                    }
                }
                Ok(wanted)
            }

            /// Return true if a wanted column can get its value only after later rows.
            #[must_use]
            pub fn any_late(self) -> bool {
                false $(|| self.$late)*
            }
        }

        #[doc = concat!("A collector of [`", stringify!($row), "`]s by column.")]
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $table {
            rows: usize,
            wanted: $wanted,
            $(pub $name: <$kind as Kind>::Gathered,)*
        }

        impl Gather for $table {
            type Row = $row;
            type Wanted = $wanted;

            fn of(wanted: $wanted) -> Self {
                Self { wanted, ..Self::default() }
            }

            fn len(&self) -> usize {
                self.rows
            }

            fn push(&mut self, row: &$row) {
                self.rows = self.rows.saturating_add(1);
                $(if self.wanted.$name {
                    <$kind as Kind>::gather(&row.$name, &mut self.$name);
                })*
            }

            fn into_columns(self) -> Columns {
                let columns = [
                    $(self.wanted.$name.then(|| column::<$kind>(stringify!($name), None, self.$name)),)*
                ];
                Columns { rows: self.rows, columns: columns.into_iter().flatten().collect() }
            }
        }
    };
}

/// Declares a table of statistics: the columns of a flow, then those of each direction, as `client_NAME` and
/// `server_NAME`.
macro_rules! statistics {
    ($doc:literal $row:ident, $table:ident {
        $($alone:ident: $alone_kind:ty, $alone_meaning:literal;)*
    } $half_doc:literal $half:ident {
        $($name:ident: $kind:ty, $meaning:literal;)*
    }) => {
        row!($half_doc $half { $($name: $kind, $meaning;)* });

        #[doc = $doc]
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $row {
            $(#[doc = $alone_meaning] pub $alone: <$alone_kind as Kind>::Value,)*
            pub client: $half,
            pub server: $half,
        }

        #[doc = concat!("A collector of [`", stringify!($row), "`]s by column.")]
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $table {
            rows: usize,
            $($alone: <$alone_kind as Kind>::Gathered,)*
            $($name: (<$kind as Kind>::Gathered, <$kind as Kind>::Gathered),)*
        }

        row_count!($table);

        impl $table {
            pub fn push(&mut self, row: &$row) {
                self.rows = self.rows.saturating_add(1);
                $(<$alone_kind as Kind>::gather(&row.$alone, &mut self.$alone);)*
                $(
                    <$kind as Kind>::gather(&row.client.$name, &mut self.$name.0);
                    <$kind as Kind>::gather(&row.server.$name, &mut self.$name.1);
                )*
            }

            #[must_use]
            pub fn into_columns(self) -> Columns {
                let columns = vec![
                    $(column::<$alone_kind>(stringify!($alone), None, self.$alone),)*
                    $(
                        column::<$kind>(concat!("client_", stringify!($name)), None, self.$name.0),
                        column::<$kind>(concat!("server_", stringify!($name)), None, self.$name.1),
                    )*
                ];
                Columns { rows: self.rows, columns }
            }
        }
    };
}

pub(crate) use {json_name, row, row_count, statistics, table, table_on_request, words};

#[cfg(test)]
#[expect(dead_code, reason = "not every method of a table is tested")]
mod tests {
    use super::*;
    use crate::blocks::Gather;
    use crate::column::Columns;

    words! { Colour {
        Red = "red", "The default.";
        DarkBlue = "dark blue";
    } }

    table! { "One row per thing."
    ThingRow, ThingsTable {
        number: u32 => "number", "Its number.";
        start: Option<Time> => "start_ns", "Its start.";
        name: Option<String>, "Its name.";
        colour: Option<Colour>, "Its colour.";
    } }

    table_on_request! { "One row per event."
    EventRow, EventsTable, EventsWanted late(end) {
        start: Time, "Its start.";
        end: Option<Time>, "Its end.";
    } }

    statistics! { "The statistics of a thing."
    ThingStatisticsRow, ThingStatisticsTable {
        share: f64, "A share.";
    }
    "Of one side." SideStatistics {
        bytes: u64, "Bytes sent.";
        pause: Option<Duration>, "The longest pause.";
    } }

    fn names(columns: &Columns) -> Vec<&'static str> {
        columns.columns.iter().map(|column| column.name).collect()
    }

    #[test]
    fn a_missing_value_is_a_default_that_is_not_valid() {
        let mut table = ThingsTable::default();
        table.push(&ThingRow::default());
        table.push(&ThingRow {
            number: 7,
            start: Some(5),
            name: Some("x".to_owned()),
            colour: Some(Colour::DarkBlue),
        });
        let columns = table.into_columns();
        assert_eq!(names(&columns), ["number", "start", "name", "colour"]);
        let json: Vec<_> = columns.columns.iter().map(|it| it.json_name).collect();
        assert_eq!(json, [Some("number"), Some("start_ns"), None, None]);
        let [number, start, name, colour] = &columns.columns[..] else {
            unreachable!("there are four columns");
        };
        assert_eq!(
            (number.integer(0), number.validity.as_ref()),
            (Some(0), None)
        );
        assert_eq!((start.integer(0), start.integer(1)), (None, Some(5)));
        assert_eq!((name.text(0), name.text(1)), (None, Some("x")));
        assert_eq!(
            colour.values,
            Values::Enum(vec![0, 1], &["red", "dark blue"])
        );
        assert_eq!(colour.validity, Some(vec![false, true]));
    }

    #[test]
    fn only_the_wanted_columns_of_a_table_on_request_are_gathered() {
        let wanted = EventsWanted::only(&["end".to_owned()]).unwrap();
        assert!(wanted.any_late());
        assert_eq!(EventsWanted::only(&["middle".to_owned()]), Err("middle"));
        let mut table = EventsTable::of(wanted);
        table.push(&EventRow {
            start: 1,
            end: None,
        });
        table.end.set(0, 9);
        table.end.set(1, 9);
        let columns = table.into_columns();
        assert_eq!(
            (names(&columns), columns.columns[0].integer(0)),
            (vec!["end"], Some(9))
        );
    }

    #[test]
    fn statistics_have_a_column_for_each_side() {
        let mut row = ThingStatisticsRow::default();
        row.server.bytes = 3;
        let mut table = ThingStatisticsTable::default();
        table.push(&row);
        let columns = table.into_columns();
        let wanted = [
            "share",
            "client_bytes",
            "server_bytes",
            "client_pause",
            "server_pause",
        ];
        assert_eq!(names(&columns), wanted);
        assert_eq!(
            columns.column("server_bytes").and_then(|it| it.integer(0)),
            Some(3)
        );
    }
}
