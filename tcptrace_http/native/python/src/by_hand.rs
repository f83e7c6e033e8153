//! Rows from sources other than a capture: facts of transactions from which pages are built.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use tcptrace_analysis::{Document, Links};
use trace_model::column::{Column, Columns, Values};
use trace_model::rows::{
    FlawsTable, FlowsTable, LinksTable, TlsHandshakesTable, TransactionsTable, WaitsTable,
};
use trace_model::Mark;

/// The values of all rows, by table and column.
pub type Given<'py> = HashMap<String, HashMap<String, Vec<Bound<'py, PyAny>>>>;

pub fn tables(given: &Given<'_>) -> PyResult<BTreeMap<&'static str, Columns>> {
    let mut tables = BTreeMap::from([
        ("flows", FlowsTable::default().into_columns()),
        ("transactions", TransactionsTable::default().into_columns()),
        (
            "tls_handshakes",
            TlsHandshakesTable::default().into_columns(),
        ),
        ("links", LinksTable::default().into_columns()),
        ("waits", WaitsTable::default().into_columns()),
        ("flaws", FlawsTable::default().into_columns()),
    ]);
    for (name, columns) in given {
        let table = tables.get_mut(name.as_str()).ok_or_else(|| {
            PyKeyError::new_err(format!("pages are not built from a table {name}"))
        })?;
        table.rows = columns.values().map(Vec::len).max().unwrap_or(0);
        for column in &mut table.columns {
            let values = columns.get(column.name).map_or(&[][..], Vec::as_slice);
            for row in 0..table.rows {
                push(column, values.get(row))?;
            }
        }
    }
    Ok(tables)
}

/// Return the documents of the links. Consecutive links with one base form one document.
pub fn documents(links: Option<Columns>) -> Vec<Document> {
    let links = links.unwrap_or_default();
    let integer = |name, row| links.column(name)?.integer(row);
    let number = |name, row| integer(name, row).and_then(|it| u32::try_from(it).ok());
    let text = |name, row| links.column(name)?.text(row);
    let document_of = |row: &usize| {
        let base = text("base", *row);
        (number("flow", *row), number("transaction", *row), base)
    };
    let rows: Vec<usize> = (0..links.rows).collect();
    let documents = rows.chunk_by(|row, next| document_of(row) == document_of(next));
    documents
        .filter_map(|rows| {
            let (flow, transaction, base) = document_of(rows.first()?);
            let links = rows.iter().map(|row| {
                let mark = Mark {
                    time_ns: integer("time", *row).unwrap_or_default(),
                    ..Mark::default()
                };
                (text("url", *row).unwrap_or_default(), mark)
            });
            Some(Document {
                flow: flow?,
                transaction: transaction?,
                links: Arc::new(Links::by_hand(base, links)),
            })
        })
        .collect()
}

fn push(column: &mut Column, value: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    let value = value.filter(|value| !value.is_none());
    if let Some(valid) = column.validity.as_mut() {
        valid.push(value.is_some());
    }
    macro_rules! push {
        ($values:expr) => {
            $values.push(
                value
                    .map(|it| it.extract())
                    .transpose()?
                    .unwrap_or_default(),
            )
        };
    }
    match &mut column.values {
        Values::U8(values) => push!(values),
        Values::U16(values) => push!(values),
        Values::U32(values) => push!(values),
        Values::U64(values) => push!(values),
        Values::F64(values) => push!(values),
        Values::Bool(values) => push!(values),
        Values::I64(values) | Values::Time(values) | Values::Duration(values) => push!(values),
        Values::Enum(codes, words) => codes.push(code(words, value)?),
        Values::Text(texts) => {
            let text: Option<String> = value.map(|it| it.extract()).transpose()?;
            texts.push(text.unwrap_or_default().as_bytes());
        }
        Values::ListU32(lists) => lists.push(&[]),
        Values::ListU64(lists) => lists.push(&[]),
    }
    Ok(())
}

fn code(words: &[&str], value: Option<&Bound<'_, PyAny>>) -> PyResult<u8> {
    let Some(value) = value else { return Ok(0) };
    let word: String = value.extract()?;
    let code = words.iter().position(|known| *known == word);
    code.and_then(|code| u8::try_from(code).ok())
        .ok_or_else(|| PyValueError::new_err(format!("unknown word {word} for this column")))
}
