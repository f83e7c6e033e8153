//! `tcptrace_http._native`: bytes in, tables out. Python owns all I/O.

mod arrow;
mod json;
mod packets;

use std::collections::{BTreeMap, VecDeque};

use pyo3::buffer::PyBuffer;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyKeyError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tcptrace_analysis::{Analyzer as PacketAnalyzer, Segments, Tables};
use tcptrace_capture::{link_type_name, CaptureError, Decoder};
use trace_model::blocks::Blocks;
use trace_model::column::Columns;
use trace_model::rows::{PacketsTable, PacketsWanted, SegmentsWanted};
use trace_model::{Anomaly, Packet, PacketSink};

use crate::arrow::ArrowTable;

/// A flow makes and drops some dozens of small strings; the C library's allocator takes a tenth of
/// the whole time for them.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

create_exception!(
    _native,
    CaptureFault,
    PyException,
    "A capture that cannot be read: (kind, what)."
);

/// Where the decoder's packets go.
struct Sink {
    /// None where only the packets are wanted.
    analyzer: Option<PacketAnalyzer>,
    packets: Option<Blocks<PacketsTable>>,
}

impl PacketSink for Sink {
    #[inline]
    fn packet(&mut self, packet: &Packet<'_>) {
        if let Some(table) = self.packets.as_mut() {
            packets::push(table, packet);
        }
        if let Some(analyzer) = self.analyzer.as_mut() {
            analyzer.packet(packet);
        }
    }

    fn anomaly(&mut self, anomaly: Anomaly) {
        if let Some(analyzer) = self.analyzer.as_mut() {
            analyzer.anomaly(anomaly);
        }
    }
}

/// The columns of a table that is made on request: all, none, or some.
#[derive(FromPyObject)]
enum Request {
    All(bool),
    Columns(Vec<String>),
}

impl Request {
    /// None if the table is not asked for.
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

/// Reads one capture: `feed` its bytes in order, then `finish`, then take the tables. Rows of
/// `packets` and `segments` can be taken in blocks all along.
#[pyclass(module = "tcptrace_http._native")]
struct Analyzer {
    decoder: Decoder,
    /// None once finished.
    sink: Option<Sink>,
    /// Whether the tables that are not made on request are wanted.
    others: bool,
    /// Whether those that are come in blocks.
    is_in_blocks: bool,
    /// What is left of each table once finished: more than one piece only where it is in blocks.
    tables: BTreeMap<&'static str, VecDeque<Columns>>,
}

#[pymethods]
impl Analyzer {
    #[new]
    /// `packets` and `segments`: True for all columns of the table, or the names of some. Without
    /// `others` no other table is made, and what is not needed is not done. With `block_rows` the
    /// two come in blocks of so many rows.
    #[pyo3(signature = (*, packets = Request::All(false), segments = Request::All(false), others = true, block_rows = usize::MAX))]
    fn new(packets: Request, segments: Request, others: bool, block_rows: usize) -> PyResult<Self> {
        let packets = packets
            .wanted(PacketsWanted::only)?
            .map(|wanted| Blocks::new(wanted, block_rows));
        let segments = segments
            .wanted(SegmentsWanted::only)?
            .map(|wanted| Segments::new(wanted, block_rows));
        let is_analyzed = others || segments.is_some();
        Ok(Analyzer {
            decoder: Decoder::new(),
            sink: Some(Sink {
                analyzer: is_analyzed.then(|| PacketAnalyzer::new(segments)),
                packets,
            }),
            others,
            is_in_blocks: block_rows < usize::MAX,
            tables: BTreeMap::new(),
        })
    }

    /// Takes the next bytes of the capture, uncompressed. The GIL is released meanwhile.
    fn feed(&mut self, py: Python<'_>, chunk: &Bound<'_, PyAny>) -> PyResult<()> {
        let Analyzer {
            decoder,
            sink,
            others,
            ..
        } = self;
        let sink = sink.as_mut().ok_or_else(already_finished)?;
        let buffer = PyBuffer::<u8>::get(chunk)?;
        if !buffer.is_c_contiguous() {
            return Err(PyValueError::new_err(
                "the chunk must be one contiguous piece of bytes",
            ));
        }
        if buffer.len_bytes() == 0 {
            return Ok(());
        }
        // SAFETY: the buffer is not empty and contiguous, its export keeps it alive and of that size until
        // `buffer` is dropped, and u8 has no invalid values. The caller must not write to it
        // before `feed` returns; the reader in capture.py owns it and does not.
        #[allow(unsafe_code)]
        let bytes = unsafe {
            std::slice::from_raw_parts(buffer.buf_ptr().cast::<u8>(), buffer.len_bytes())
        };
        let result = py.detach(|| decoder.feed(bytes, sink));
        if let Some(analyzer) = sink.analyzer.as_mut().filter(|_| !*others) {
            analyzer.drop_rows();
        }
        result.map_err(|error| fault(&error))
    }

    /// The capture is over.
    fn finish(&mut self, py: Python<'_>) -> PyResult<()> {
        let mut sink = self.sink.take().ok_or_else(already_finished)?;
        let Analyzer {
            decoder, others, ..
        } = self;
        let (result, tables) = py.detach(|| {
            let result = decoder.finish(&mut sink);
            (result, tables(sink, *others))
        });
        self.tables = tables;
        result.map_err(|error| fault(&error))
    }

    /// What is known of the capture itself.
    fn provenance<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let provenance = self.decoder.provenance();
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

    fn row_count(&self, table: &str) -> PyResult<usize> {
        Ok(self.columns(table)?.rows)
    }

    /// Gives out rows of a table, and forgets them: of `packets` and `segments` the next block, as
    /// soon as its rows are settled, and the last one after `finish`; of any other table all rows
    /// after `finish`. None when there are none yet, or no more.
    fn take(&mut self, py: Python<'_>, name: &str) -> PyResult<Option<ArrowTable>> {
        let taken = match self.sink.as_mut() {
            Some(sink) => py.detach(|| match name {
                "packets" => sink.packets.as_mut()?.take(),
                "segments" => sink.analyzer.as_mut()?.take_segments(),
                _ => None,
            }),
            None => {
                let left = self.tables.get_mut(name);
                left.ok_or_else(|| no_table(name))?.pop_front()
            }
        };
        taken.map(ArrowTable::new).transpose()
    }

    /// A table by the Arrow PyCapsule interface. Times are int64 nanoseconds, enums their codes.
    fn table(&self, name: &str) -> PyResult<ArrowTable> {
        ArrowTable::new(self.columns(name)?.clone())
    }

    /// Rows `first` to `first + count` of a table as JSON objects of the contract, comma-separated.
    /// `waits` maps (flow, index) of transactions to their array; without it there is no such field.
    #[pyo3(signature = (name, first, count, waits = None))]
    fn json_rows(
        &self,
        py: Python<'_>,
        name: &str,
        first: usize,
        count: usize,
        waits: Option<json::Waits>,
    ) -> PyResult<Vec<u8>> {
        let columns = self.columns(name)?;
        let range = first..first.saturating_add(count);
        Ok(py.detach(|| json::rows(columns, range, waits.as_ref())))
    }
}

impl Analyzer {
    /// A whole table: one that is not in blocks, and was not taken.
    fn columns(&self, name: &str) -> PyResult<&Columns> {
        let left = self.tables.get(name).ok_or_else(|| no_table(name))?;
        let is_whole = !self.is_in_blocks || !matches!(name, "packets" | "segments");
        left.front().filter(|_| is_whole).ok_or_else(|| {
            PyKeyError::new_err(format!(
                "{name} is not there as a whole: it is in blocks, or was taken"
            ))
        })
    }
}

fn no_table(name: &str) -> PyErr {
    PyKeyError::new_err(format!("no table {name}, or it was not asked for"))
}

/// All that is left when the capture is over.
fn tables(sink: Sink, others: bool) -> BTreeMap<&'static str, VecDeque<Columns>> {
    let mut left = BTreeMap::new();
    if let Some(packets) = sink.packets {
        left.insert("packets", packets.into_rest());
    }
    let Some(mut tables) = sink.analyzer.map(PacketAnalyzer::finish) else {
        return left;
    };
    if let Some(segments) = tables.segments.take() {
        left.insert("segments", segments.into_rest());
    }
    if others {
        let whole = sorted_columns(tables).into_iter();
        left.extend(whole.map(|(name, columns)| (name, VecDeque::from([columns]))));
    }
    left
}

fn sorted_columns(tables: Tables) -> [(&'static str, Columns); 5] {
    let flows = tables.flows.into_columns().sorted_by("flow", "flow");
    let transactions = tables
        .transactions
        .into_columns()
        .sorted_by("flow", "index");
    let pauses = tables
        .pauses
        .into_columns()
        .sorted_by("flow", "transaction");
    let flights = tables
        .flights
        .into_columns()
        .sorted_by("flow", "transaction");
    [
        ("flows", flows),
        ("transactions", transactions),
        ("pauses", pauses),
        ("flights", flights),
        ("anomalies", tables.anomalies.into_columns()),
    ]
}

fn already_finished() -> PyErr {
    PyRuntimeError::new_err("the analyzer is finished; make a new one for another capture")
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
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("CaptureFault", module.py().get_type::<CaptureFault>())?;
    module.add_class::<Analyzer>()?;
    module.add_class::<ArrowTable>()?;
    Ok(())
}
