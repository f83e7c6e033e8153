//! Rows of the JSON contract, written without going through Python: a capture may have a hundred
//! thousand flows.

use std::collections::HashMap;
use std::ops::Range;

use trace_model::column::{Column, Columns, Values};

/// By flow and number of the transaction: its waits, as a JSON array.
pub type Waits = HashMap<(u32, u32), Vec<u8>>;

/// A row with a short target takes this much; a longer one makes the buffer grow.
const ROW_BYTES_GUESS: usize = 512;

/// Some rows of a table as JSON objects with a comma and a line feed between them, with the columns
/// that the contract names. `waits` gives transactions their array `waits`, `[]` to the others.
#[must_use]
pub fn rows(table: &Columns, range: Range<usize>, waits: Option<&Waits>) -> Vec<u8> {
    let shown: Vec<(&Column, Vec<u8>)> = table
        .columns
        .iter()
        .filter_map(|column| Some((column, format!(",\"{}\":", column.json_name?).into_bytes())))
        .collect();
    let range = range.start..range.end.min(table.rows);
    let mut out = Vec::with_capacity(range.len().saturating_mul(ROW_BYTES_GUESS));
    let first = range.start;
    for row in range {
        out.extend_from_slice(if row == first { b"{" } else { b",\n{" });
        for (at, (column, label)) in shown.iter().enumerate() {
            // The first label needs no comma before it.
            out.extend_from_slice(label.get(usize::from(at == 0)..).unwrap_or(label));
            value(column, row, &mut out);
        }
        if let Some(waits) = waits {
            out.extend_from_slice(b",\"waits\":");
            out.extend_from_slice(waits_of(table, row, waits).unwrap_or(b"[]"));
        }
        out.push(b'}');
    }
    out
}

fn waits_of<'a>(table: &Columns, row: usize, waits: &'a Waits) -> Option<&'a [u8]> {
    if waits.is_empty() {
        return None;
    }
    let number = |name: &str| table.numbers(name)?.get(row).copied();
    waits
        .get(&(number("flow")?, number("index")?))
        .map(Vec::as_slice)
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
        // The shortest digits that give the same number again (RFC 8259, section 6); there is no NaN.
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

/// A string of UTF-8 bytes, escaped as RFC 8259, section 7 asks.
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
        let written =
            String::from_utf8(rows(&table.into_columns(), 0..9, None)).unwrap_or_default();
        assert_eq!(
            written,
            "{\"kind\":\"malformed_http\",\"frame\":7,\"flow\":null,\"offset\":null,\
             \"detail\":\"a \\\"b\\\\\\n\\u0001é\"}"
        );
    }
}
