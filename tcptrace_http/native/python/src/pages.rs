//! The pages of a capture for Python.

use std::sync::Mutex;

use pyo3::exceptions::{PyKeyError, PyRuntimeError};
use pyo3::prelude::*;
use tcptrace_analysis::{PageTables, ReplacedWait};
use trace_model::column::Columns;

use crate::arrow::ArrowTable;
use crate::json;
use crate::Rows;

/// The rows of all batches from which pages are built.
#[pyclass(frozen, module = "tcptrace_http._native")]
pub struct Pages {
    gathered: Mutex<tcptrace_analysis::Pages>,
}

/// The tables of pages.
#[pyclass(frozen, module = "tcptrace_http._native")]
pub struct PageRows {
    tables: PageTables,
}

#[pymethods]
impl Pages {
    #[new]
    fn new(bytes_max: usize) -> Self {
        Pages {
            gathered: Mutex::new(tcptrace_analysis::Pages::new(bytes_max)),
        }
    }

    /// Add a batch. `stalled` has all waits of each transaction whose waits differ from the core's.
    fn add(&self, py: Python<'_>, rows: &Rows, stalled: Vec<ReplacedWait>) -> PyResult<()> {
        py.detach(|| self.with(|gathered| gathered.add(&rows.tables, &rows.documents, stalled)))
    }

    fn complaint(&self, py: Python<'_>) -> PyResult<Option<String>> {
        py.detach(|| self.with(|gathered| gathered.complaint()))
    }

    /// Return a collected table with the columns that pages need.
    fn source(&self, py: Python<'_>, name: &str) -> PyResult<ArrowTable> {
        let columns = py.detach(|| self.with(|gathered| gathered.source(name)))?;
        ArrowTable::new(columns)
    }

    fn tables(&self, py: Python<'_>) -> PyResult<PageRows> {
        let tables = py.detach(|| self.with(|gathered| gathered.tables()))?;
        Ok(PageRows { tables })
    }

    /// Return true if a page has at least `transactions_min` transactions, and one flow has more than
    /// `of_flow_min` of them. The round-trip time of this flow is at least `rtt_min_ns`.
    fn has_chain(
        &self,
        py: Python<'_>,
        made: &PageRows,
        transactions_min: u32,
        of_flow_min: u32,
        rtt_min_ns: i64,
    ) -> PyResult<bool> {
        py.detach(|| {
            self.with(|gathered| {
                gathered.has_chain(&made.tables, transactions_min, of_flow_min, rtt_min_ns)
            })
        })
    }
}

impl Pages {
    fn with<T>(&self, work: impl FnOnce(&mut tcptrace_analysis::Pages) -> T) -> PyResult<T> {
        let mut gathered = self
            .gathered
            .lock()
            .map_err(|_| PyRuntimeError::new_err("an earlier error left the pages incomplete"))?;
        Ok(work(&mut gathered))
    }
}

#[pymethods]
impl PageRows {
    fn count(&self, table: &str) -> PyResult<usize> {
        Ok(self.columns(table)?.rows)
    }

    fn complaint(&self) -> Option<String> {
        self.tables.complaint()
    }

    fn table(&self, name: &str) -> PyResult<ArrowTable> {
        ArrowTable::new(self.columns(name)?.clone())
    }

    /// Return `count` retrievals from `first` as JSON objects of the contract, comma-separated, each with its
    /// critical path.
    fn json(&self, py: Python<'_>, first: usize, count: usize) -> Vec<u8> {
        let range = first..first.saturating_add(count);
        let tables = &self.tables;
        py.detach(|| json::retrievals(&tables.retrievals, range, &tables.critical_path))
    }
}

impl PageRows {
    fn columns(&self, name: &str) -> PyResult<&Columns> {
        match name {
            "retrievals" => Ok(&self.tables.retrievals),
            "retrieval_transactions" => Ok(&self.tables.retrieval_transactions),
            "critical_path" => Ok(&self.tables.critical_path),
            _ => Err(PyKeyError::new_err(format!("no table {name} of pages"))),
        }
    }
}
