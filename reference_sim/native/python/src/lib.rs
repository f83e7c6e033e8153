//! `reference_sim._native`: a scenario in (JSON), tables and frames out.

use pyo3::prelude::*;

#[pymodule]
mod _native {
    #[pymodule_export]
    const __VERSION__: &str = env!("CARGO_PKG_VERSION");
}
