//! Rows of the JSON contract, written without Python objects. A capture can have 100 000 flows.

use std::collections::HashMap;
use std::ops::Range;

use trace_model::column::{Column, Columns, Values};

/// Waits as a JSON array, by flow and transaction number.
pub type Waits = HashMap<(u32, u32), Vec<u8>>;

/// Estimated size of a row with a short target. A longer row makes the buffer grow.
const ROW_BYTES_GUESS: usize = 512;

/// Return the rows of a table in `range` as JSON objects, separated by a comma and a line feed. Each object
/// has the columns that the contract names.
#[must_use]
pub fn rows(table: &Columns, range: Range<usize>) -> Vec<u8> {
    let range = range.start..range.end.min(table.rows);
    let mut out = Vec::with_capacity(range.len().saturating_mul(ROW_BYTES_GUESS));
    let labels = labels(table);
    for row in range.clone() {
        out.extend_from_slice(if row == range.start { b"{" } else { b",\n{" });
        object(&labels, row, &mut out);
        out.push(b'}');
    }
    out
}

/// Return rows of the transactions in the form of [`rows`], each with the array `waits`. The array comes from
/// `instead`, or else from the waits table, which is in the same order.
#[must_use]
pub fn transactions(
    table: &Columns,
    range: Range<usize>,
    waits: &Columns,
    instead: &Waits,
) -> Vec<u8> {
    let range = range.start..range.end.min(table.rows);
    let mut out = Vec::with_capacity(range.len().saturating_mul(2 * ROW_BYTES_GUESS));
    let labels = labels(table);
    let transactions = Keys::of(table, "index");
    let mut waits = WaitsByTransaction::from(waits, transactions.at(range.start));
    for row in range.clone() {
        out.extend_from_slice(if row == range.start { b"{" } else { b",\n{" });
        object(&labels, row, &mut out);
        out.extend_from_slice(b",\"waits\":");
        let key = transactions.at(row);
        match key.and_then(|key| instead.get(&key)) {
            Some(array) => out.extend_from_slice(array),
            None => waits.array(key, &mut out),
        }
        out.push(b'}');
    }
    out
}

/// Return rows of the retrievals in the form of Python's `json`. Each row has the array `critical_path` from
/// that table, which is in the same order.
#[must_use]
pub fn retrievals(table: &Columns, range: Range<usize>, path: &Columns) -> Vec<u8> {
    let range = range.start..range.end.min(table.rows);
    let mut out = Vec::with_capacity(range.len().saturating_mul(2 * ROW_BYTES_GUESS));
    let (labels, of_path) = (spaced_labels(table), spaced_labels(path));
    let retrievals = path.numbers("retrieval").unwrap_or_default();
    for row in range.clone() {
        out.extend_from_slice(if row == range.start { b"{" } else { b",\n{" });
        spaced_object(&labels, row, &mut out);
        out.extend_from_slice(b", \"critical_path\": [");
        let first = retrievals.partition_point(|retrieval| (*retrieval as usize) < row);
        let steps = retrievals.get(first..).unwrap_or_default().iter();
        let steps = steps
            .take_while(|retrieval| **retrieval as usize == row)
            .count();
        for step in first..first.saturating_add(steps) {
            out.extend_from_slice(if step == first { b"{" } else { b", {" });
            spaced_object(&of_path, step, &mut out);
            out.push(b'}');
        }
        out.extend_from_slice(b"]}");
    }
    out
}

fn spaced_labels(table: &Columns) -> Vec<(&Column, Vec<u8>)> {
    let columns = table.columns.iter();
    columns
        .filter_map(|column| {
            Some((
                column,
                format!(", \"{}\": ", column.json_name?).into_bytes(),
            ))
        })
        .collect()
}

fn spaced_object(labels: &[(&Column, Vec<u8>)], row: usize, out: &mut Vec<u8>) {
    for (at, (column, label)) in labels.iter().enumerate() {
        let start = if at == 0 { ", ".len() } else { 0 };
        out.extend_from_slice(label.get(start..).unwrap_or(label));
        match (&column.values, column.text(row)) {
            (Values::Text(_), Some(text)) => ascii_text(text, out),
            (Values::F64(values), _) => {
                let value = values.get(row).copied().unwrap_or_default();
                out.extend_from_slice(format!("{value:?}").as_bytes());
            }
            _ => value(column, row, out),
        }
    }
}

/// Write a string of ASCII characters only. Other characters are escaped by their UTF-16 code units.
fn ascii_text(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend_from_slice(&[b'\\', letter as u8]),
            '\n' => out.extend_from_slice(b"\\n"),
            '\r' => out.extend_from_slice(b"\\r"),
            '\t' => out.extend_from_slice(b"\\t"),
            '\u{8}' => out.extend_from_slice(b"\\b"),
            '\u{c}' => out.extend_from_slice(b"\\f"),
            ' '..='~' => out.push(letter as u8),
            _ => {
                for unit in letter.encode_utf16(&mut [0; 2]) {
                    out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
                }
            }
        }
    }
    out.push(b'"');
}

/// The flow and the transaction number of each row.
struct Keys<'a> {
    flows: &'a [u32],
    numbers: &'a [u32],
}

impl<'a> Keys<'a> {
    fn of(table: &'a Columns, number: &str) -> Self {
        Keys {
            flows: table.numbers("flow").unwrap_or_default(),
            numbers: table.numbers(number).unwrap_or_default(),
        }
    }

    fn at(&self, row: usize) -> Option<(u32, u32)> {
        Some((*self.flows.get(row)?, *self.numbers.get(row)?))
    }
}

/// An iterator over the waits table, in step with the transactions.
struct WaitsByTransaction<'a> {
    keys: Keys<'a>,
    labels: Vec<(&'a Column, Vec<u8>)>,
    next: usize,
}

impl<'a> WaitsByTransaction<'a> {
    /// Return an iterator that starts at the first wait of the transaction `first`.
    fn from(waits: &'a Columns, first: Option<(u32, u32)>) -> Self {
        let keys = Keys::of(waits, "transaction");
        let mut rest = 0..waits.rows;
        while !rest.is_empty() {
            let middle = rest.start.midpoint(rest.end);
            if keys.at(middle) < first {
                rest.start = middle.saturating_add(1);
            } else {
                rest.end = middle;
            }
        }
        WaitsByTransaction {
            keys,
            labels: labels(waits),
            next: rest.start,
        }
    }

    fn array(&mut self, key: Option<(u32, u32)>, out: &mut Vec<u8>) {
        while self.keys.at(self.next).is_some() && self.keys.at(self.next) < key {
            self.next = self.next.saturating_add(1);
        }
        out.push(b'[');
        let mut is_first = true;
        while key.is_some() && self.keys.at(self.next) == key {
            out.extend_from_slice(if is_first { b"{" } else { b",{" });
            is_first = false;
            object(&self.labels, self.next, out);
            out.push(b'}');
            self.next = self.next.saturating_add(1);
        }
        out.push(b']');
    }
}

/// Return the columns of the contract, each with the text that precedes its value.
fn labels(table: &Columns) -> Vec<(&Column, Vec<u8>)> {
    table
        .columns
        .iter()
        .filter_map(|column| Some((column, format!(",\"{}\":", column.json_name?).into_bytes())))
        .collect()
}

/// Write the fields of a row, without the braces.
fn object(labels: &[(&Column, Vec<u8>)], row: usize, out: &mut Vec<u8>) {
    for (at, (column, label)) in labels.iter().enumerate() {
        // The first label has no comma before it.
        out.extend_from_slice(label.get(usize::from(at == 0)..).unwrap_or(label));
        value(column, row, out);
    }
}

fn value(column: &Column, row: usize, out: &mut Vec<u8>) {
    let is_null = column
        .validity
        .as_ref()
        .is_some_and(|valid| valid.get(row) != Some(&true));
    if is_null {
        out.extend_from_slice(b"null");
        return;
    }
    match &column.values {
        Values::U8(values) => number(values.get(row).copied(), out),
        Values::U16(values) => number(values.get(row).copied(), out),
        Values::U32(values) => number(values.get(row).copied(), out),
        Values::U64(values) => number(values.get(row).copied(), out),
        Values::I64(values) | Values::Time(values) | Values::Duration(values) => {
            number(values.get(row).copied(), out);
        }
        // The shortest digits that parse to the same number (RFC 8259, section 6). No value is NaN.
        Values::F64(values) => {
            let value = values.get(row).copied().unwrap_or_default();
            out.extend_from_slice(value.to_string().as_bytes());
        }
        Values::Bool(values) => {
            out.extend_from_slice(if values.get(row) == Some(&true) {
                b"true"
            } else {
                b"false"
            });
        }
        Values::Enum(codes, words) => {
            let word = codes
                .get(row)
                .and_then(|code| words.get(usize::from(*code)));
            text(word.copied().unwrap_or("").as_bytes(), out);
        }
        Values::Text(lists) => text(lists.value(row), out),
        Values::ListU32(lists) => array(lists.value(row), out),
        Values::ListU64(lists) => array(lists.value(row), out),
    }
}

fn number(value: Option<impl itoa::Integer>, out: &mut Vec<u8>) {
    match value {
        Some(value) => out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes()),
        None => out.extend_from_slice(b"null"),
    }
}

fn array(values: &[impl itoa::Integer + Copy], out: &mut Vec<u8>) {
    out.push(b'[');
    for (at, value) in values.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        number(Some(*value), out);
    }
    out.push(b']');
}

/// Write a string of UTF-8 bytes, escaped as RFC 8259, section 7 requires.
fn text(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for &byte in bytes {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0..=0x1f => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_model::rows::{AnomaliesTable, AnomalyKind, AnomalyRow};

    #[test]
    fn strings_are_escaped_and_missing_values_are_null() {
        let mut table = AnomaliesTable::default();
        table.push(&AnomalyRow {
            kind: AnomalyKind::MalformedHttp,
            frame: Some(7),
            detail: "a \"b\\\n\u{1}é".to_owned(),
            ..AnomalyRow::default()
        });
        let written = String::from_utf8(rows(&table.into_columns(), 0..9)).unwrap_or_default();
        assert_eq!(
            written,
            "{\"kind\":\"malformed_http\",\"frame\":7,\"flow\":null,\"offset\":null,\
             \"detail\":\"a \\\"b\\\\\\n\\u0001é\"}"
        );
    }
}
