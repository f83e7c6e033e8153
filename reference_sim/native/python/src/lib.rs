//! `reference_sim._native`: scenarios (JSON) in, tables and frames out.

mod allocator;
mod arrow;
mod tables;

use std::collections::BTreeMap;
use std::sync::Arc;

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyIndexError, PyKeyError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use reference_sim_engine::scenario::Scenario;
use reference_sim_engine::simulation;
use reference_sim_engine::tap::Tap;

use crate::arrow::ArrowTable;

create_exception!(
    _native,
    ScenarioFault,
    PyException,
    "An invalid scenario: (path, message)."
);

/// A running scenario. Call `step` until it returns false, then `finish`.
#[pyclass(module = "reference_sim._native")]
struct Simulation {
    /// None after `finish`.
    running: Option<simulation::Simulation>,
    epoch_ns: i64,
}

#[pymethods]
impl Simulation {
    /// Start the scenario that a JSON document describes.
    #[new]
    fn new(document: &str) -> PyResult<Self> {
        let scenario = Arc::new(read(document)?);
        let running = simulation::Simulation::new(&scenario)
            .map_err(|fault| ScenarioFault::new_err((fault.path, fault.what)))?;
        Ok(Simulation {
            running: Some(running),
            epoch_ns: scenario.epoch_ns,
        })
    }

    /// Handle at most `events` events. Return true if events remain. The GIL is released during the call.
    fn step(&mut self, py: Python<'_>, events: u64) -> PyResult<bool> {
        let running = self.running()?;
        Ok(py.detach(|| running.step(events)))
    }

    /// Run until this simulated time or the end. Return true if events remain. The GIL is released during the
    /// call.
    fn step_until(&mut self, py: Python<'_>, time_ns: u64) -> PyResult<bool> {
        let running = self.running()?;
        Ok(py.detach(|| running.step_until(time_ns)))
    }

    /// Return the simulated time, counted from 0.
    #[getter]
    fn now_ns(&mut self) -> PyResult<u64> {
        Ok(self.running()?.now())
    }

    /// Return the number of handled events.
    #[getter]
    fn events(&mut self) -> PyResult<u64> {
        Ok(self.running()?.events())
    }

    /// End the simulation and return its records.
    fn finish(&mut self) -> PyResult<Outcome> {
        self.running()?;
        let outcome = self.running.take().map(simulation::Simulation::finish);
        Ok(Outcome {
            outcome: outcome.ok_or_else(finished)?,
            epoch_ns: self.epoch_ns,
        })
    }
}

impl Simulation {
    fn running(&mut self) -> PyResult<&mut simulation::Simulation> {
        self.running.as_mut().ok_or_else(finished)
    }
}

fn finished() -> PyErr {
    PyRuntimeError::new_err("the simulation is finished; create a new one")
}

fn read(document: &str) -> PyResult<Scenario> {
    let mut reader = serde_json::Deserializer::from_str(document);
    serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        ScenarioFault::new_err((path, error.into_inner().to_string()))
    })
}

/// The records of a finished simulation.
#[pyclass(frozen, module = "reference_sim._native")]
struct Outcome {
    outcome: simulation::Outcome,
    epoch_ns: i64,
}

#[pymethods]
impl Outcome {
    /// Return a table of the truth with the Arrow PyCapsule interface. Times are int64 nanoseconds,
    /// enumerations are codes.
    fn table(&self, name: &str) -> PyResult<ArrowTable> {
        let table = tables::table(&self.outcome.truth, name, self.epoch_ns)
            .ok_or_else(|| PyKeyError::new_err(format!("no table {name}")))?;
        ArrowTable::new(table)
    }

    /// Return the packets of a tap as a table of the trace model.
    fn packets(&self, py: Python<'_>, tap: usize) -> PyResult<ArrowTable> {
        let tap = self.tap(tap)?;
        ArrowTable::new(py.detach(|| tap.packets_table()))
    }

    /// Return the capture of a tap as a pcap file.
    fn pcap<'py>(&self, py: Python<'py>, tap: usize) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, self.tap(tap)?.pcap()))
    }

    /// Return the capture of a tap as a pcapng file.
    fn pcapng<'py>(&self, py: Python<'py>, tap: usize) -> PyResult<Bound<'py, PyBytes>> {
        let tap = self.tap(tap)?;
        let file = py.detach(|| tap.pcapng());
        Ok(PyBytes::new(py, &file))
    }

    /// Return totals of the retrieved objects, by name. Totals are kept under every recording option.
    fn totals(&self) -> BTreeMap<&'static str, u64> {
        let totals = &self.outcome.truth.totals;
        BTreeMap::from([
            ("retrievals", totals.retrievals),
            ("retrieved_bytes", totals.retrieved_bytes),
            ("retrieval_ns", totals.retrieval_time),
            ("files", totals.files),
            ("file_bytes", totals.file_bytes),
        ])
    }

    /// Return the number of frames that a tap captured.
    fn frames(&self, tap: usize) -> PyResult<usize> {
        Ok(self.tap(tap)?.len())
    }

    /// Return the times of the first and last frame of a tap, in nanoseconds since the epoch.
    fn times_ns(&self, tap: usize) -> PyResult<Option<(i64, i64)>> {
        Ok(self.tap(tap)?.times())
    }

    /// Return the number of handled events.
    #[getter]
    fn events(&self) -> u64 {
        self.outcome.truth.events
    }

    /// Return the simulated time at the end.
    #[getter]
    fn end_ns(&self) -> u64 {
        self.outcome.truth.end
    }
}

impl Outcome {
    fn tap(&self, number: usize) -> PyResult<&Tap> {
        let taps = &self.outcome.taps;
        taps.get(number).ok_or_else(|| {
            PyIndexError::new_err(format!("no tap {number} (there are {})", taps.len()))
        })
    }
}

/// Return the words of an enumeration of the truth, in the order of their codes.
#[pyfunction]
fn words(name: &str) -> PyResult<Vec<&'static str>> {
    tables::words(name)
        .map(<[&str]>::to_vec)
        .ok_or_else(|| PyKeyError::new_err(format!("no enumeration {name}")))
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    allocator::set_purge_delay();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("ScenarioFault", module.py().get_type::<ScenarioFault>())?;
    module.add_class::<Simulation>()?;
    module.add_class::<Outcome>()?;
    module.add_class::<ArrowTable>()?;
    module.add_function(wrap_pyfunction!(words, module)?)?;
    Ok(())
}
