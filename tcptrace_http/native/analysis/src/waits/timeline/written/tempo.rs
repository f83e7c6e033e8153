//! The pace of an application that pauses equally long between any two writes, as bounds of when each was tell it.

use crate::jitter::AT_ONCE_MAX_NS;

/// Pauses that are equal differ by no more.
const EXACT_NS: i64 = 2_000_000;
/// Each write is late by less than such a share of the pause before it.
const LATE_SHARE: i64 = 8;
/// A tempo is known when the pauses that it may have differ by no more than such a share of them.
const NARROW_SHARE: i64 = 4;
/// So many equal pauses are no chance.
const EQUAL_MIN: u32 = 2;

/// A pause that was seen again and again.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known {
    pause_ns: i64,
    times: u32,
}

impl Known {
    pub(super) fn note(&mut self, pause_ns: i64) {
        let is_same = pause_ns.saturating_sub(self.pause_ns).saturating_abs() <= EXACT_NS;
        let times = if is_same { self.times } else { 0 };
        *self = Known {
            pause_ns,
            times: times.saturating_add(1),
        };
    }

    pub(super) fn pause_ns(self) -> Option<i64> {
        Some(self.pause_ns).filter(|_| self.times >= EQUAL_MIN)
    }
}

/// When some writes were, at the least and at the most.
#[derive(Debug, Default)]
pub(super) struct Writes {
    count: i64,
    least: Vec<Bound>,
    most: Vec<Bound>,
}

#[derive(Clone, Copy, Debug)]
struct Bound {
    number: i64,
    time_ns: i64,
}

impl Writes {
    /// Writes before the next.
    pub(super) fn count(&self) -> i64 {
        self.count
    }

    pub(super) fn left_as_written(&mut self, time_ns: i64) {
        self.were_held(1, (time_ns, time_ns));
    }

    /// So many, from the one time to the other.
    pub(super) fn were_held(&mut self, pieces: i64, (since_ns, left_ns): (i64, i64)) {
        self.least.push(Bound {
            number: self.count,
            time_ns: since_ns,
        });
        self.count = self.count.saturating_add(pieces);
        self.most.push(Bound {
            number: self.count.saturating_sub(1),
            time_ns: left_ns,
        });
    }
}

/// Writes at equal distances.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tempo {
    first_ns: i64,
    pause_ns: i64,
    is_narrow: bool,
}

/// When a write was, most likely.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    pub(super) time_ns: i64,
    /// The bounds leave hardly another tempo.
    pub(super) is_narrow: bool,
}

impl Tempo {
    /// The one in the middle of all that keep within the bounds, or of those with that pause.
    pub(super) fn of(writes: &Writes, pause_ns: Option<i64>) -> Option<Tempo> {
        let (least_ns, most_ns) = match pause_ns {
            Some(pause_ns) => (pause_ns, pause_ns),
            None => pauses_ns(writes)?,
        };
        let pause_ns = least_ns.midpoint(most_ns);
        let is_narrow = most_ns.saturating_sub(least_ns) <= pause_ns / NARROW_SHARE;
        let first = |bound: &Bound| {
            let behind_ns = pause_ns.saturating_mul(bound.number);
            bound.time_ns.saturating_sub(behind_ns)
        };
        let least_ns = writes.least.iter().map(first).max()?;
        let most_ns = writes.most.iter().map(first).min()?;
        let late_ns = (pause_ns / LATE_SHARE).min(AT_ONCE_MAX_NS);
        let is_one = least_ns <= most_ns.saturating_add(late_ns);
        is_one.then_some(Tempo {
            first_ns: least_ns.midpoint(most_ns),
            pause_ns,
            is_narrow,
        })
    }

    pub(super) fn due(self, number: i64) -> Due {
        let behind_ns = self.pause_ns.saturating_mul(number);
        Due {
            time_ns: self.first_ns.saturating_add(behind_ns),
            is_narrow: self.is_narrow,
        }
    }
}

/// The least and the greatest of the pauses that keep within the bounds.
fn pauses_ns(writes: &Writes) -> Option<(i64, i64)> {
    let mut bounds = (0, i64::MAX);
    for least in &writes.least {
        for most in &writes.most {
            let pauses = most.number.saturating_sub(least.number);
            let time_ns = most.time_ns.saturating_sub(least.time_ns);
            if pauses > 0 {
                bounds.1 = bounds.1.min(time_ns / pauses);
            } else if pauses < 0 {
                bounds.0 = bounds.0.max(time_ns / pauses);
            }
        }
    }
    let late_ns = bounds.1 / LATE_SHARE;
    let is_bound = bounds.1 < i64::MAX && bounds.0 <= bounds.1.saturating_add(late_ns);
    is_bound.then_some(bounds)
}
