//! Validation of a scenario: every index and every number is checked before the run.
//!
//! The engine can work with every permitted number. No sum of times or sizes overflows, no text exceeds a
//! message head, and time advances. The scenario itself determines the run time and the amount of records.
//! [`LAST_TIME`] ends a simulation that would never end.

mod check;
mod hosts;
mod limits;
mod network;
mod pages;
mod stack;
mod text;

use std::fmt::{self, Display};

use self::check::{at_most, each, optional_time, require, Check};
pub use self::limits::LAST_TIME;
use self::limits::{EPOCHS, MAX_FRAMING_BYTES};
use crate::scenario::Scenario;

/// An invalid item of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioFault {
    /// Path of the item: `links[2].to`.
    pub path: String,
    pub what: String,
}

impl Display for ScenarioFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.path, self.what)
    }
}

impl std::error::Error for ScenarioFault {}

/// Check every assumption of a run.
///
/// # Errors
/// The first invalid item.
pub fn validate(scenario: &Scenario) -> Check {
    optional_time("duration_ns", scenario.duration_ns)?;
    let (first, last) = (EPOCHS.start(), EPOCHS.end());
    require(
        EPOCHS.contains(&scenario.epoch_ns),
        "epoch_ns",
        format_args!(
            "{} is outside the range {first} to {last}",
            scenario.epoch_ns
        ),
    )?;
    at_most(
        "framing_bytes",
        scenario.framing_bytes.into(),
        MAX_FRAMING_BYTES.into(),
    )?;
    network::nodes(scenario)?;
    each("links", &scenario.links, |at, link| {
        network::link(at, link, scenario)
    })?;
    each("stacks", &scenario.stacks, stack::stack)?;
    each("pages", &scenario.pages, pages::page)?;
    each("plans", &scenario.plans, pages::plan)?;
    hosts::hosts(scenario)?;
    each("taps", &scenario.taps, |at, tap| {
        network::tap(at, tap, scenario)
    })?;
    network::paths(scenario)
}
