//! Whether a scenario can be: every index and every number of it is looked at before it runs.
//!
//! A number that is allowed is one that the engine can work with: no sum of times or sizes
//! overflows, no text is longer than a message's head may be, and time goes on. How long a run
//! takes, and how much it records, is what the scenario asks for; [`LAST_TIME`] ends one that
//! would never end.

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

/// Something in a scenario that cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioFault {
    /// Where: `links[2].to`.
    pub path: String,
    pub what: String,
}

impl Display for ScenarioFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.path, self.what)
    }
}

impl std::error::Error for ScenarioFault {}

/// Looks at everything that running a scenario relies on.
///
/// # Errors
/// The first thing that cannot be.
pub fn validate(scenario: &Scenario) -> Check {
    optional_time("duration_ns", scenario.duration_ns)?;
    let (first, last) = (EPOCHS.start(), EPOCHS.end());
    require(
        EPOCHS.contains(&scenario.epoch_ns),
        "epoch_ns",
        format_args!("{} is not from {first} to {last}", scenario.epoch_ns),
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
