//! The elements of a check: a condition, its location, and the message.

use std::fmt::Display;

use super::limits::{MAX_BYTES, MAX_TIME_NS};
use super::ScenarioFault;
use crate::scenario::Law;

pub(super) type Check = Result<(), ScenarioFault>;

/// Maximum of an exponential law in units of its mean: the logarithm of 2^-53, the smallest drawn number.
const MAX_OF_MEAN: f64 = 37.0;

pub(super) fn fault(path: impl Display, what: impl Display) -> ScenarioFault {
    ScenarioFault {
        path: path.to_string(),
        what: what.to_string(),
    }
}

pub(super) fn require(holds: bool, path: impl Display, what: impl Display) -> Check {
    if holds {
        Ok(())
    } else {
        Err(fault(path, what))
    }
}

pub(super) fn each<T>(name: &str, things: &[T], check: impl Fn(&str, &T) -> Check) -> Check {
    for (number, thing) in things.iter().enumerate() {
        check(&format!("{name}[{number}]"), thing)?;
    }
    Ok(())
}

/// Check a reference into a list of `count` items.
pub(super) fn index(path: impl Display, value: u32, count: usize, noun: &str) -> Check {
    require(
        (value as usize) < count,
        path,
        format_args!("{value} is not a {noun} (there are {count})"),
    )
}

pub(super) fn at_least(path: impl Display, value: u64, least: u64) -> Check {
    let what = format_args!("{value} is below the minimum of {least}");
    require(value >= least, path, what)
}

pub(super) fn at_most(path: impl Display, value: u64, most: u64) -> Check {
    let what = format_args!("{value} is above the maximum of {most}");
    require(value <= most, path, what)
}

pub(super) fn time(path: impl Display, value: u64) -> Check {
    let what = format_args!("{value} ns is more than a year");
    require(value <= MAX_TIME_NS, path, what)
}

pub(super) fn optional_time(path: impl Display, value: Option<u64>) -> Check {
    value.map_or(Ok(()), |value| time(path, value))
}

pub(super) fn probability(path: impl Display, value: f64) -> Check {
    let what = format_args!("{value} is not a probability from 0 to 1");
    require((0.0..=1.0).contains(&value), path, what)
}

pub(super) fn optional(path: impl Display, value: Option<u32>) -> Check {
    value.map_or(Ok(()), |value| at_least(path, value.into(), 1))
}

fn positive(path: impl Display, value: f64) -> Check {
    let what = format_args!("{value} is not a positive number");
    require(value.is_finite() && value > 0.0, path, what)
}

/// Check a law of nanoseconds.
pub(super) fn law_of_time(at: impl Display, law: &Law) -> Check {
    bounded(&at, law, MAX_TIME_NS)
}

/// Check a law of bytes.
pub(super) fn law_of_size(at: impl Display, law: &Law) -> Check {
    bounded(&at, law, MAX_BYTES)
}

fn bounded(at: &impl Display, law: &Law, most: u64) -> Check {
    match *law {
        Law::Constant { value } => at_most(format_args!("{at}.value"), value, most),
        Law::Uniform { low, high } => {
            require(
                low <= high,
                format_args!("{at}.high"),
                format_args!("{high} is below low, which is {low}"),
            )?;
            at_most(format_args!("{at}.high"), high, most)
        }
        Law::Exponential { mean } => {
            positive(format_args!("{at}.mean"), mean)?;
            require(
                mean <= most as f64,
                format_args!("{at}.mean"),
                format_args!("{mean} is above the maximum of {most}"),
            )
        }
        Law::Pareto { scale, shape, max } => {
            positive(format_args!("{at}.scale"), scale)?;
            positive(format_args!("{at}.shape"), shape)?;
            at_most(format_args!("{at}.max"), max, most)
        }
    }
}

/// Return the maximum of a law.
pub(super) fn largest(law: &Law) -> u64 {
    match *law {
        Law::Constant { value } => value,
        Law::Uniform { high, .. } => high,
        Law::Exponential { mean } => (mean * MAX_OF_MEAN) as u64,
        Law::Pareto { max, .. } => max,
    }
}
