//! The explained segment, as Python values.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tcptrace_analysis::{Allowance, Binding, ExplainedRequest, RequestedFrame};
use trace_model::rows::Constraint;

pub fn fields<'py>(py: Python<'py>, asked: &RequestedFrame) -> PyResult<Bound<'py, PyDict>> {
    let fields = PyDict::new(py);
    fields.set_item("is_captured", asked.is_captured)?;
    fields.set_item("payload_bytes", asked.payload_bytes)?;
    fields.set_item("flow", asked.flow)?;
    let explained = asked.explained.as_ref();
    let explained = explained.map(|it| of_segment(py, it)).transpose()?;
    fields.set_item("explained", explained)?;
    Ok(fields)
}

fn of_segment<'py>(py: Python<'py>, explained: &ExplainedRequest) -> PyResult<Bound<'py, PyDict>> {
    let segment = &explained.segment;
    let data = &segment.data;
    let fields = PyDict::new(py);
    fields.set_item("transaction", explained.transaction)?;
    fields.set_item("direction", segment.direction.word())?;
    fields.set_item("time_ns", data.time_ns)?;
    fields.set_item("offset", explained.offset)?;
    fields.set_item("bytes", data.end.saturating_sub(data.start))?;
    let releases = segment.releases.iter();
    let releases = releases.map(|(constraint, allowance)| release(py, *constraint, allowance));
    fields.set_item("releases", releases.collect::<PyResult<Vec<_>>>()?)?;
    let binding = segment.binding.as_ref();
    fields.set_item("binding", binding.map(|it| bound(py, it)).transpose()?)?;
    fields.set_item("profile", profile(py, explained)?)?;
    Ok(fields)
}

fn release<'py>(
    py: Python<'py>,
    constraint: Constraint,
    allowance: &Allowance,
) -> PyResult<Bound<'py, PyDict>> {
    let (state, at) = match *allowance {
        Allowance::Open => ("open", None),
        Allowance::At {
            time_ns,
            by_frame,
            ack_delay_ns,
        } => ("released", Some((time_ns, by_frame, ack_delay_ns))),
        Allowance::NotShown => ("not_shown", None),
        Allowance::Exempt => ("exempt", None),
        Allowance::Unknown => ("unknown", None),
    };
    let fields = PyDict::new(py);
    fields.set_item("constraint", constraint.word())?;
    fields.set_item("state", state)?;
    fields.set_item("time_ns", at.map(|(time_ns, ..)| time_ns))?;
    fields.set_item("released_by", at.and_then(|(_, by_frame, _)| by_frame))?;
    fields.set_item("ack_delay_ns", at.and_then(|(_, _, delay_ns)| delay_ns))?;
    Ok(fields)
}

fn bound<'py>(py: Python<'py>, binding: &Binding) -> PyResult<Bound<'py, PyDict>> {
    let fields = PyDict::new(py);
    fields.set_item("constraint", binding.constraint.word())?;
    fields.set_item("cause", binding.cause.word())?;
    fields.set_item("start_ns", binding.start_ns)?;
    fields.set_item("end_ns", binding.end_ns)?;
    fields.set_item("released_by", binding.released_by)?;
    fields.set_item("confidence", binding.confidence)?;
    Ok(fields)
}

fn profile<'py>(py: Python<'py>, explained: &ExplainedRequest) -> PyResult<Bound<'py, PyDict>> {
    let segment = &explained.segment;
    let route = segment.profile.route();
    let fields = PyDict::new(py);
    fields.set_item("mss", segment.data.full_bytes)?;
    fields.set_item("round_trip_ns", route.round_trip_ns())?;
    fields.set_item("round_trip_to_sender_ns", route.to_sender_ns)?;
    fields.set_item("round_trip_to_receiver_ns", route.to_receiver_ns)?;
    fields.set_item("tolerance_ns", route.tolerance_ns())?;
    fields.set_item("link_rate", route.link.bits_per_second())?;
    fields.set_item("nagle", explained.nagle().word())?;
    fields.set_item("flight_bytes", segment.flight_bytes)?;
    fields.set_item("shown_window_bytes", segment.shown_bytes)?;
    Ok(fields)
}
