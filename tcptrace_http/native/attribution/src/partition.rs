//! Partition of a time interval: the parts sum to the whole by construction.

use trace_model::rows::Cause;

use crate::bound::Bound;

/// Time in the capture and the frame that marks it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    pub time_ns: i64,
    pub frame: u64,
}

impl Moment {
    #[must_use]
    pub fn later(self, other: Moment) -> Moment {
        if other.time_ns > self.time_ns {
            other
        } else {
            self
        }
    }

    #[must_use]
    pub fn earlier(self, other: Moment) -> Moment {
        if other.time_ns < self.time_ns {
            other
        } else {
            self
        }
    }
}

/// Confidence in a cause that the packets show directly.
pub(crate) const SEEN: f64 = 0.95;
/// Confidence in a cause that several packets imply.
pub(crate) const INFERRED: f64 = 0.95;
/// Confidence in a cause without evidence against it.
pub(crate) const ASSUMED: f64 = 0.5;

/// Interval of a transaction with one cause.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    pub cause: Cause,
    pub start: Moment,
    pub end: Moment,
    /// Bound of the segment that ended the wait.
    pub bound: Option<Bound>,
    pub confidence: f64,
}

/// Partition that assigns each nanosecond of an interval to one cause.
#[derive(Debug)]
pub(crate) struct Partition {
    at: Moment,
    end: Moment,
    waits: Vec<Wait>,
}

impl Partition {
    pub(crate) fn new(start: Moment, end: Moment) -> Self {
        Partition {
            at: start,
            end,
            waits: Vec::new(),
        }
    }

    /// Return the time up to which causes are assigned.
    pub(crate) fn time_ns(&self) -> i64 {
        self.at.time_ns
    }

    /// Assign the time up to `moment` to `cause`, unless that time is assigned already.
    pub(crate) fn until(&mut self, moment: Moment, cause: Cause, confidence: f64) {
        self.bound(moment, cause, None, confidence);
    }

    /// Assign the time up to `moment` to the bound of a segment.
    pub(crate) fn bound(
        &mut self,
        moment: Moment,
        cause: Cause,
        bound: Option<Bound>,
        confidence: f64,
    ) {
        if self.assign(moment, cause, bound, confidence) {
            self.at.frame = moment.frame;
        }
    }

    /// Assign the time up to a moment without a frame.
    pub(crate) fn within(
        &mut self,
        time_ns: i64,
        cause: Cause,
        bound: Option<Bound>,
        confidence: f64,
    ) {
        let frame = self.at.frame;
        self.assign(Moment { time_ns, frame }, cause, bound, confidence);
    }

    /// Assign the time up to `ns` before `moment`, whose frame ends the wait.
    pub(crate) fn before(
        &mut self,
        (ns, moment): (i64, Moment),
        cause: Cause,
        bound: Option<Bound>,
        confidence: f64,
    ) {
        let time_ns = moment.time_ns.saturating_sub(ns.max(0));
        let end = Moment { time_ns, ..moment };
        if self.assign(end, cause, bound, confidence) && time_ns == moment.time_ns {
            self.at.frame = moment.frame;
        }
    }

    /// Set the frame at the current position.
    pub(crate) fn mark(&mut self, frame: u64) {
        self.at.frame = frame;
    }

    /// Assign at most `most_ns` of time, and none after `moment`.
    pub(crate) fn at_most(&mut self, most_ns: i64, moment: Moment, cause: Cause, confidence: f64) {
        let left_ns = moment.time_ns.saturating_sub(self.at.time_ns);
        let before_ns = left_ns.saturating_sub(most_ns.max(0));
        self.before((before_ns, moment), cause, None, confidence);
    }

    /// Assign the time up to `moment`, if that time is not assigned already.
    fn assign(
        &mut self,
        moment: Moment,
        cause: Cause,
        bound: Option<Bound>,
        confidence: f64,
    ) -> bool {
        let time_ns = moment.time_ns.min(self.end.time_ns);
        if time_ns <= self.at.time_ns {
            return false;
        }
        // No packet marks the end of a capture.
        let frame = if moment.frame == 0 {
            self.at.frame
        } else {
            moment.frame
        };
        let end = Moment { time_ns, frame };
        let is_pace = [Cause::SendLimitedBottleneck, Cause::RequestSend].contains(&cause);
        let continued = self
            .waits
            .last_mut()
            .filter(|last| last.cause == cause && is_pace);
        if let Some(last) = continued {
            last.end = end;
            last.bound = bound.or(last.bound);
        } else {
            self.waits.push(Wait {
                cause,
                start: self.at,
                end,
                bound,
                confidence,
            });
        }
        self.at.time_ns = time_ns;
        true
    }

    /// Finish the partition: unassigned time is unexplained.
    pub(crate) fn finish(mut self) -> Vec<Wait> {
        self.until(self.end, Cause::Unexplained, ASSUMED);
        self.waits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(time_ns: i64) -> Moment {
        Moment { time_ns, frame: 1 }
    }

    #[test]
    fn overlapping_and_out_of_range_pieces_still_partition() {
        let mut partition = Partition::new(at(-5), at(100));
        partition.until(at(20), Cause::RequestSend, SEEN);
        partition.until(at(10), Cause::ServerThink, SEEN);
        partition.at_most(15, at(500), Cause::NetworkPropagation, SEEN);
        partition.until(at(60), Cause::SendLimitedBottleneck, SEEN);
        partition.until(at(70), Cause::SendLimitedBottleneck, SEEN);
        let waits = partition.finish();
        let bounds: Vec<(Cause, i64, i64)> = waits
            .iter()
            .map(|wait| (wait.cause, wait.start.time_ns, wait.end.time_ns))
            .collect();
        assert_eq!(
            bounds,
            [
                (Cause::RequestSend, -5, 20),
                (Cause::NetworkPropagation, 20, 35),
                (Cause::SendLimitedBottleneck, 35, 70),
                (Cause::Unexplained, 70, 100),
            ]
        );
    }
}
