//! The class that passes tables to Python.

use arrow_table::Table;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use trace_model::column::Columns;

/// A table that implements the Arrow PyCapsule interface.
#[pyclass(frozen, module = "tcptrace_http._native")]
pub struct ArrowTable {
    table: Table,
}

impl ArrowTable {
    pub fn new(columns: Columns) -> PyResult<Self> {
        let table =
            Table::new(columns).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(ArrowTable { table })
    }
}

#[pymethods]
impl ArrowTable {
    /// Return the stream of the PyCapsule interface. The method can be called more than once.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface permits a producer to ignore the requested schema.
        drop(requested_schema);
        PyCapsule::new_with_value(py, self.table.stream(), c"arrow_array_stream")
    }

    fn __len__(&self) -> usize {
        self.table.rows()
    }
}
