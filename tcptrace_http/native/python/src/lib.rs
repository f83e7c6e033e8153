//! `tcptrace_http._native`: bytes in, tables out. Python owns all I/O.

mod allocator;
mod arrow;
mod asked;
mod by_hand;
mod frame_reader;
mod hops;
mod json;
mod key_file;
mod pages;
mod shares;
mod sink;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::Cursor;
use std::path::PathBuf;
use std::sync::OnceLock;

use pyo3::buffer::PyBuffer;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyKeyError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyDict;
use tcptrace_analysis::{flows_that_waited, has_bundle, link_rows, Document, NumberSet, Segments};
use tcptrace_capture::{link_type_name, CaptureError};
use trace_model::blocks::Blocks;
use trace_model::column::{Columns, Values};
use trace_model::rows::{H2WindowsWanted, PacketsWanted, SegmentsWanted, TlsRecordsWanted};

use crate::arrow::ArrowTable;
use crate::key_file::KeyFile;
use crate::shares::{Shares, Wanted};

create_exception!(
    _native,
    CaptureFault,
    PyException,
    "An unreadable capture: (kind, message)."
);

/// The requested columns of an optional table: all, none, or a selection.
#[derive(FromPyObject)]
enum Request {
    All(bool),
    Columns(Vec<String>),
}

impl Request {
    /// Return the wanted columns, or None if the table is not requested.
    fn wanted<'a, W: Default>(
        &'a self,
        only: impl FnOnce(&'a [String]) -> Result<W, &'a str>,
    ) -> PyResult<Option<W>> {
        match self {
            Request::All(is_asked_for) => Ok(is_asked_for.then(W::default)),
            Request::Columns(names) => only(names)
                .map(Some)
                .map_err(|name| PyKeyError::new_err(format!("no column {name}"))),
        }
    }
}

/// A capture that supports a second read.
#[derive(FromPyObject)]
enum Whole {
    InMemory(PyBackedBytes),
    File(PathBuf),
}

/// Reads one capture. Call `feed` with its bytes in order, then `finish`. Call `take` for final rows whenever
/// many are pending, and once more at the end.
#[pyclass(module = "tcptrace_http._native")]
struct Analyzer {
    shares: Shares,
    is_finished: bool,
}

#[pymethods]
impl Analyzer {
    /// Create an analyzer for one capture.
    ///
    /// `packets`, `segments`, `tls_records` and `h2_windows` each take True for all columns of the table, or
    /// the names of columns. Without `others` no other table is made, and work for other tables is skipped.
    /// With `block_rows` these four tables come in blocks of that many rows. `asked_frame` is the frame of a
    /// segment to explain, and needs one thread. With `follows`, the row of a transaction is final once the
    /// transaction is acknowledged. `keylog` is a file with the secrets of TLS connections.
    #[new]
    #[expect(
        clippy::too_many_arguments,
        reason = "one keyword per table and option"
    )]
    #[pyo3(signature = (*, packets = Request::All(false), segments = Request::All(false), tls_records = Request::All(false), h2_windows = Request::All(false), statistics = false, others = true, block_rows = usize::MAX, threads = 1, asked_frame = None, follows = false, keylog = None))]
    fn new(
        packets: Request,
        segments: Request,
        tls_records: Request,
        h2_windows: Request,
        statistics: bool,
        others: bool,
        block_rows: usize,
        threads: usize,
        asked_frame: Option<u64>,
        follows: bool,
        keylog: Option<PathBuf>,
    ) -> PyResult<Self> {
        let wanted = Wanted {
            packets: packets
                .wanted(PacketsWanted::only)?
                .map(|wanted| Blocks::new(wanted, block_rows)),
            segments: segments
                .wanted(SegmentsWanted::only)?
                .map(|wanted| Segments::new(wanted, block_rows)),
            tls_records: tls_records
                .wanted(TlsRecordsWanted::only)?
                .map(|wanted| Blocks::new(wanted, block_rows)),
            h2_windows: h2_windows
                .wanted(H2WindowsWanted::only)?
                .map(|wanted| Blocks::new(wanted, block_rows)),
            statistics,
            others,
            asked_frame,
            follows,
            key_log: keylog.map(|path| KeyFile::read(&path)).transpose()?,
        };
        Ok(Analyzer {
            shares: Shares::new(wanted, threads)?,
            is_finished: false,
        })
    }

    /// Take the TLS secrets of a pcapng file before its packets are fed. A secret can follow the packets that
    /// it decrypts. Read errors are ignored here, because the reader of the packets reports them.
    fn take_secrets(&mut self, py: Python<'_>, capture: Whole) -> PyResult<()> {
        self.must_be_open()?;
        let shares = &mut self.shares;
        py.detach(|| match capture {
            Whole::InMemory(bytes) => shares.take_secrets(&mut Cursor::new(&bytes[..])),
            Whole::File(path) => shares.take_secrets(&mut File::open(path)?),
        })
        .ok();
        Ok(())
    }

    /// Feed the next bytes of the uncompressed capture. The GIL is released during the call.
    fn feed(&mut self, py: Python<'_>, chunk: &Bound<'_, PyAny>) -> PyResult<()> {
        self.must_be_open()?;
        let buffer = PyBuffer::<u8>::get(chunk)?;
        if !buffer.is_c_contiguous() {
            return Err(PyValueError::new_err(
                "the chunk must be one contiguous piece of bytes",
            ));
        }
        if buffer.len_bytes() == 0 {
            return Ok(());
        }
        // SAFETY: the buffer is contiguous and not empty. Its export keeps the memory alive and of this size
        // until `buffer` is dropped. Every bit pattern is a valid u8. The caller must not write to the buffer
        // before `feed` returns. The reader in capture.py owns the buffer and obeys this rule.
        #[allow(unsafe_code)]
        let bytes = unsafe {
            std::slice::from_raw_parts(buffer.buf_ptr().cast::<u8>(), buffer.len_bytes())
        };
        let shares = &mut self.shares;
        py.detach(|| shares.feed(bytes))
            .map_err(|error| fault(&error))
    }

    /// End one file of a stream of several files, such as rotated captures. The next bytes belong to the next
    /// file. Return true if the file was read to its end.
    fn next_file(&mut self, py: Python<'_>) -> PyResult<bool> {
        self.must_be_open()?;
        let shares = &mut self.shares;
        py.detach(|| shares.next_file())
            .map_err(|error| fault(&error))
    }

    /// Start the lead-in: files until `begin_window` belong to the previous window, and their flows are not
    /// reported.
    fn lead_in(&mut self) -> PyResult<()> {
        self.must_be_open()?;
        self.shares.lead_in();
        Ok(())
    }

    /// Begin the window. Frames and the provenance of the capture count from here.
    fn begin_window(&mut self) -> PyResult<()> {
        self.must_be_open()?;
        self.shares.begin_window();
        Ok(())
    }

    /// End the window. The analyzer continues only the flows that began in the window.
    fn end_window(&mut self) -> PyResult<()> {
        self.must_be_open()?;
        self.shares.end_window();
        Ok(())
    }

    /// End the capture, and finish flows until `rows` rows are pending (None: finish all flows). Return true
    /// if all flows are finished; if false, call again.
    #[pyo3(signature = (rows=None))]
    fn finish(&mut self, py: Python<'_>, rows: Option<usize>) -> PyResult<bool> {
        self.must_be_open()?;
        let shares = &mut self.shares;
        let finished = py.detach(|| shares.finish(rows.unwrap_or(usize::MAX)));
        self.is_finished = finished.as_ref().copied().unwrap_or(true);
        finished.map_err(|error| fault(&error))
    }

    /// Return the number of pending rows, scaled to rows of ordinary length. A pending row is not necessarily
    /// final.
    fn pending_rows(&self) -> usize {
        self.shares.rows()
    }

    /// Take the final rows. After `finish`, all remaining rows are final.
    fn take(&mut self, py: Python<'_>) -> Rows {
        let shares = &mut self.shares;
        let is_finished = self.is_finished;
        let (tables, documents) = py.detach(|| shares.take(is_finished));
        Rows::new(tables, documents, shares.cut())
    }

    /// Take the next block of `packets`, `segments`, `tls_records` or `h2_windows` once its rows are final.
    /// The last block comes after `finish`. Return None if no block is ready.
    fn take_block(&mut self, py: Python<'_>, name: &str) -> PyResult<Option<ArrowTable>> {
        let shares = &mut self.shares;
        let is_finished = self.is_finished;
        let taken = py.detach(|| shares.take_block(name, is_finished));
        taken.map(ArrowTable::new).transpose()
    }

    /// Return the facts of the requested frame, from the packets read so far.
    fn asked<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let asked = self.shares.asked();
        asked.map(|asked| asked::fields(py, asked)).transpose()
    }

    /// Return the provenance of the capture: format, packet counts, times and link types.
    fn provenance<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let provenance = self.shares.provenance();
        let link_types: Vec<String> = provenance
            .link_types
            .iter()
            .map(|link_type| {
                link_type_name(*link_type).map_or_else(|| link_type.0.to_string(), str::to_owned)
            })
            .collect();
        let fields = PyDict::new(py);
        fields.set_item("format", provenance.format)?;
        fields.set_item("packets", provenance.packets)?;
        fields.set_item("tcp_packets", provenance.tcp_packets)?;
        fields.set_item("first_time_ns", provenance.first_time_ns)?;
        fields.set_item("last_time_ns", provenance.last_time_ns)?;
        let truncated = provenance.truncated || provenance.damaged_at_offset.is_some();
        fields.set_item("truncated", truncated)?;
        fields.set_item("link_types", link_types)?;
        fields.set_item("bytes_read", provenance.bytes_read)?;
        Ok(fields)
    }
}

impl Analyzer {
    fn must_be_open(&self) -> PyResult<()> {
        if self.is_finished {
            return Err(PyRuntimeError::new_err(
                "the analyzer is finished; create a new one for another capture",
            ));
        }
        Ok(())
    }
}

/// Rows of every table, as the analyzer returned them.
#[pyclass(frozen, module = "tcptrace_http._native")]
struct Rows {
    tables: BTreeMap<&'static str, Columns>,
    documents: Vec<Document>,
    cut: Vec<&'static str>,
    /// The table `links`, built on first use.
    links: OnceLock<Columns>,
}

#[pymethods]
impl Rows {
    /// Build the tables from which pages are built. The values come as Python values by column. A missing
    /// column holds default values.
    #[staticmethod]
    fn by_hand(tables: by_hand::Given<'_>) -> PyResult<Rows> {
        let mut tables = by_hand::tables(&tables)?;
        let documents = by_hand::documents(tables.remove("links"));
        Ok(Rows::new(tables, documents, Vec::new()))
    }

    fn count(&self, table: &str) -> PyResult<usize> {
        Ok(self.columns(table)?.rows)
    }

    /// Return the names of the tables that lack rows because a limit was reached.
    fn cut(&self) -> Vec<&'static str> {
        self.cut.clone()
    }

    /// Return true if two hosts have several flows that detectors could compare.
    fn has_bundle(&self) -> PyResult<bool> {
        Ok(has_bundle(self.columns("flows")?))
    }

    /// Return true if the server of an HTTP flow is the client of another flow, as a proxy is.
    fn has_proxy(&self) -> PyResult<bool> {
        Ok(hops::has_proxy(self.columns("flows")?))
    }

    /// Return the flows with a transaction whose total wait for a cause reaches the given nanoseconds.
    fn flows_that_waited(&self, causes: HashMap<String, i64>) -> PyResult<NumberSet<u32>> {
        Ok(flows_that_waited(self.columns("waits")?, &causes))
    }

    /// Return the flows with rows in a table: all of them, or those with true in the column `only_where`.
    #[pyo3(signature = (table, only_where = None))]
    fn flows_of(&self, table: &str, only_where: Option<&str>) -> PyResult<NumberSet<u32>> {
        let columns = self.columns(table)?;
        let flows = columns.numbers("flow").unwrap_or_default().iter().copied();
        let Some(name) = only_where else {
            return Ok(flows.collect());
        };
        match columns.column(name).map(|column| &column.values) {
            Some(Values::Bool(values)) => {
                let chosen = flows.zip(values).filter(|(_, is_true)| **is_true);
                Ok(chosen.map(|(flow, _)| flow).collect())
            }
            _ => Err(PyKeyError::new_err(format!(
                "{table} has no Boolean column {name}"
            ))),
        }
    }

    /// Return a table with the Arrow PyCapsule interface, limited to the columns `only` and to the rows of
    /// `flows`. Times are int64 nanoseconds, enumerations are codes.
    #[pyo3(signature = (name, only = None, flows = None))]
    fn table(
        &self,
        py: Python<'_>,
        name: &str,
        only: Option<HashSet<String>>,
        flows: Option<NumberSet<u32>>,
    ) -> PyResult<ArrowTable> {
        let columns = self.columns(name)?;
        let part = py.detach(|| {
            let numbers = columns.numbers("flow").unwrap_or_default();
            columns.part(
                |name| only.as_ref().is_none_or(|only| only.contains(name)),
                flows.map(|flows| {
                    move |row| numbers.get(row).is_some_and(|flow| flows.contains(flow))
                }),
            )
        });
        ArrowTable::new(part)
    }

    /// Return rows `first` to `first + count` of a table as JSON objects of the contract, comma-separated.
    /// Transactions include their waits. `waits` maps (flow, index) to an array that replaces the waits of
    /// the core's table.
    #[pyo3(signature = (name, first, count, waits = None))]
    fn json(
        &self,
        py: Python<'_>,
        name: &str,
        first: usize,
        count: usize,
        waits: Option<json::Waits>,
    ) -> PyResult<Vec<u8>> {
        let columns = self.columns(name)?;
        let range = first..first.saturating_add(count);
        if name != "transactions" {
            return Ok(py.detach(|| json::rows(columns, range)));
        }
        let partition = self.columns("waits")?;
        let instead = waits.unwrap_or_default();
        Ok(py.detach(|| json::transactions(columns, range, partition, &instead)))
    }
}

impl Rows {
    fn new(
        tables: BTreeMap<&'static str, Columns>,
        documents: Vec<Document>,
        cut: Vec<&'static str>,
    ) -> Rows {
        Rows {
            tables,
            documents,
            cut,
            links: OnceLock::new(),
        }
    }

    fn columns(&self, name: &str) -> PyResult<&Columns> {
        if name == "links" {
            return Ok(self.links.get_or_init(|| link_rows(&self.documents)));
        }
        self.tables.get(name).ok_or_else(|| {
            let known: Vec<&str> = self.tables.keys().copied().collect();
            PyKeyError::new_err(format!("no table {name}; tables: {}", known.join(", ")))
        })
    }
}

fn fault(error: &CaptureError) -> PyErr {
    let kind = match error {
        CaptureError::UnknownFormat { .. } => "unknown_format",
        CaptureError::UnsupportedLinkType { .. } => "unsupported_link_type",
        CaptureError::MalformedCapture { .. } => "malformed",
        _ => "malformed",
    };
    CaptureFault::new_err((kind, error.to_string()))
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    allocator::set_purge_delay();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("CaptureFault", module.py().get_type::<CaptureFault>())?;
    module.add_class::<Analyzer>()?;
    module.add_class::<Rows>()?;
    module.add_class::<frame_reader::FrameReader>()?;
    module.add_class::<ArrowTable>()?;
    module.add_class::<pages::Pages>()?;
    module.add_class::<pages::PageRows>()?;
    Ok(())
}
