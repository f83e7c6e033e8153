//! `tcptrace_http._native`: bytes in, tables out. Python owns all I/O.

mod arrow;
mod json;
mod packets;

use std::collections::BTreeMap;

use pyo3::buffer::PyBuffer;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyKeyError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tcptrace_analysis::{Analyzer as PacketAnalyzer, Tables};
use tcptrace_capture::{link_type_name, CaptureError, Decoder};
use trace_model::column::Columns;
use trace_model::rows::{PacketsTable, SegmentsTable};
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
    analyzer: PacketAnalyzer,
    packets: Option<PacketsTable>,
}

impl PacketSink for Sink {
    #[inline]
    fn packet(&mut self, packet: &Packet<'_>) {
        if let Some(table) = self.packets.as_mut() {
            packets::push(table, packet);
        }
        self.analyzer.packet(packet);
    }

    fn anomaly(&mut self, anomaly: Anomaly) {
        self.analyzer.anomaly(anomaly);
    }
}

/// Reads one capture: `feed` its bytes in order, then `finish`, then take the tables.
#[pyclass(module = "tcptrace_http._native")]
struct Analyzer {
    decoder: Decoder,
    /// None once finished.
    sink: Option<Sink>,
    tables: BTreeMap<&'static str, Columns>,
}

#[pymethods]
impl Analyzer {
    #[new]
    #[pyo3(signature = (*, packets = false, segments = false, statistics = false))]
    fn new(packets: bool, segments: bool, statistics: bool) -> Self {
        let sink = Sink {
            analyzer: PacketAnalyzer::new(segments, statistics),
            packets: packets.then(PacketsTable::default),
        };
        Analyzer {
            decoder: Decoder::new(),
            sink: Some(sink),
            tables: BTreeMap::new(),
        }
    }

    /// Takes the next bytes of the capture, uncompressed. The GIL is released meanwhile.
    fn feed(&mut self, py: Python<'_>, chunk: &Bound<'_, PyAny>) -> PyResult<()> {
        let Analyzer { decoder, sink, .. } = self;
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
        py.detach(|| decoder.feed(bytes, sink))
            .map_err(|error| fault(&error))
    }

    /// The capture is over.
    fn finish(&mut self, py: Python<'_>) -> PyResult<()> {
        let mut sink = self.sink.take().ok_or_else(already_finished)?;
        let decoder = &mut self.decoder;
        let (result, tables) = py.detach(|| {
            let result = decoder.finish(&mut sink);
            let tables = sorted_columns(sink.analyzer.finish(), sink.packets);
            (result, tables)
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
    fn columns(&self, name: &str) -> PyResult<&Columns> {
        self.tables.get(name).ok_or_else(|| {
            let known: Vec<&str> = self.tables.keys().copied().collect();
            let known = if known.is_empty() {
                "none before finish".to_owned()
            } else {
                known.join(", ")
            };
            PyKeyError::new_err(format!("no table {name}; there are: {known}"))
        })
    }
}

fn sorted_columns(
    tables: Tables,
    packets: Option<PacketsTable>,
) -> BTreeMap<&'static str, Columns> {
    let mut flows = tables.flows.into_columns();
    if let Some(statistics) = tables.flow_statistics {
        flows.columns.extend(statistics.into_columns().columns);
    }
    let flows = flows.sorted_by("flow", "flow");
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
    let mut columns = BTreeMap::from([
        ("flows", flows),
        ("transactions", transactions),
        ("pauses", pauses),
        ("flights", flights),
        ("anomalies", tables.anomalies.into_columns()),
    ]);
    if let Some(rows) = tables.segments {
        let mut table = SegmentsTable::default();
        for row in &rows {
            table.push(row);
        }
        columns.insert("segments", table.into_columns());
    }
    if let Some(table) = packets {
        columns.insert("packets", table.into_columns());
    }
    columns
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
