//! A stretch of time that is given away piece by piece, from its start to its end.

use trace_model::rows::{Cause, WaitRow};

/// A moment of the capture and the frame that marks it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    pub time_ns: i64,
    pub frame: u64,
}

impl Moment {
    #[must_use]
    pub fn earlier(self, other: Moment) -> Moment {
        if other.time_ns < self.time_ns {
            other
        } else {
            self
        }
    }

    #[must_use]
    pub fn later(self, other: Moment) -> Moment {
        if other.time_ns > self.time_ns {
            other
        } else {
            self
        }
    }
}

/// Confidence in a cause that the packets show as such.
pub const SEEN: f64 = 0.95;
/// ... in one that follows from several packets.
pub const INFERRED: f64 = 0.8;
/// ... in one that nothing contradicts.
pub const ASSUMED: f64 = 0.5;

/// Gives each nanosecond from a start to an end to one cause, whatever it is asked for: pieces follow
/// each other without a gap, and none reaches beyond the end. So they sum to the whole, by construction.
#[derive(Debug)]
pub struct Partition {
    flow: u32,
    transaction: u32,
    at: Moment,
    end: Moment,
    rows: Vec<WaitRow>,
}

impl Partition {
    #[must_use]
    pub fn new(flow: u32, transaction: u32, start: Moment, end: Moment) -> Self {
        Partition {
            flow,
            transaction,
            at: start,
            end,
            rows: Vec::new(),
        }
    }

    /// How far the time is given away.
    #[must_use]
    pub fn time_ns(&self) -> i64 {
        self.at.time_ns
    }

    /// Gives the time up to `moment` to `cause`; nothing if that has passed.
    pub fn until(&mut self, moment: Moment, cause: Cause, confidence: f64) {
        let has_passed = moment.time_ns < self.at.time_ns;
        self.give(moment.time_ns, moment.frame, cause, confidence);
        if !has_passed {
            self.at.frame = moment.frame;
        }
    }

    /// Gives the time up to `time_ns`, which is no later than the packet in `frame`, to `cause`.
    fn give(&mut self, time_ns: i64, frame: u64, cause: Cause, confidence: f64) {
        let time_ns = time_ns.min(self.end.time_ns);
        if time_ns <= self.at.time_ns {
            return;
        }
        let continued = self
            .rows
            .last_mut()
            .filter(|last| last.cause == cause && cause == Cause::SendLimitedBottleneck);
        if let Some(last) = continued {
            last.end = time_ns;
            last.last_frame = frame;
        } else {
            self.rows.push(WaitRow {
                flow: self.flow,
                transaction: self.transaction,
                cause,
                start: self.at.time_ns,
                end: time_ns,
                first_frame: self.at.frame,
                last_frame: frame,
                confidence,
                ..WaitRow::default()
            });
        }
        self.at.time_ns = time_ns;
    }

    /// Gives at most `most_ns` more to `cause`, up to `moment` at the latest.
    pub fn at_most(&mut self, most_ns: i64, moment: Moment, cause: Cause, confidence: f64) {
        let time_ns = self.at.time_ns.saturating_add(most_ns.max(0));
        self.give(time_ns.min(moment.time_ns), moment.frame, cause, confidence);
    }

    /// Gives the time up to `time_ns`, which no packet marks, to `cause`.
    pub fn unmarked_until(&mut self, time_ns: i64, cause: Cause, confidence: f64) {
        self.give(time_ns, self.at.frame, cause, confidence);
    }

    /// Ends it: what nobody asked for is unexplained.
    #[must_use]
    pub fn finish(mut self) -> Vec<WaitRow> {
        self.until(self.end, Cause::Unexplained, ASSUMED);
        self.rows
    }
}

#[cfg(test)]
impl Moment {
    /// So many milliseconds after the capture began; which frame marks it does not matter.
    pub(in crate::waits) const fn at_ms(time_ms: i64) -> Moment {
        Moment {
            time_ns: time_ms * 1_000_000,
            frame: 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(time_ns: i64) -> Moment {
        Moment { time_ns, frame: 1 }
    }

    #[test]
    fn pieces_that_overlap_go_back_or_reach_too_far_still_partition() {
        let mut partition = Partition::new(0, 0, at(-5), at(100));
        partition.until(at(20), Cause::RequestSend, SEEN);
        partition.until(at(10), Cause::ServerThink, SEEN);
        partition.at_most(15, at(500), Cause::NetworkPropagation, SEEN);
        partition.at_most(-3, at(500), Cause::ServerThink, SEEN);
        partition.until(at(60), Cause::SendLimitedBottleneck, SEEN);
        partition.until(at(70), Cause::SendLimitedBottleneck, SEEN);
        let rows = partition.finish();
        let bounds: Vec<(Cause, i64, i64)> = rows
            .iter()
            .map(|row| (row.cause, row.start, row.end))
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

    #[test]
    fn a_transaction_of_no_length_has_no_waits() {
        assert!(Partition::new(0, 0, at(7), at(7)).finish().is_empty());
    }
}
