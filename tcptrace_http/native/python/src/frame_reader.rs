//! Reads one frame of a capture, including its bytes.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tcptrace_capture::Decoder;
use trace_model::{Anomaly, Packet, PacketSink};

use crate::fault;

/// A sink that ignores decoded packets. The decoder itself keeps the frame.
struct Ignored;

impl PacketSink for Ignored {
    fn packet(&mut self, _packet: &Packet<'_>) {}
    fn anomaly(&mut self, _anomaly: Anomaly) {}
}

/// A reader of one frame. Call `feed` with the capture until `frame` returns the frame.
#[pyclass(module = "tcptrace_http._native")]
pub(crate) struct FrameReader {
    decoder: Decoder,
}

#[pymethods]
impl FrameReader {
    #[new]
    fn new(frame: u64) -> Self {
        let mut decoder = Decoder::new();
        decoder.keep(frame);
        FrameReader { decoder }
    }

    /// Feed the next bytes of the uncompressed capture.
    fn feed(&mut self, chunk: &[u8]) -> PyResult<()> {
        self.decoder
            .feed(chunk, &mut Ignored)
            .map_err(|error| fault(&error))
    }

    /// Return the time in nanoseconds since the epoch, the link type, the length on the wire and the captured
    /// bytes.
    fn frame<'py>(&self, py: Python<'py>) -> Option<(i64, u16, u32, Bound<'py, PyBytes>)> {
        self.decoder.kept().map(|kept| {
            let bytes = PyBytes::new(py, &kept.bytes);
            (kept.time_ns, kept.link_type.0, kept.wire_bytes, bytes)
        })
    }
}
