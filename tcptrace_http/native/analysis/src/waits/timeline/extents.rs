//! The stretches of messages, and what of the time line is still needed.

use super::super::partition::Moment;
use super::{Extent, Opening, Pending, Piece, Timeline};

impl Timeline {
    /// A response begins at `start`.
    pub(in crate::waits) fn opens(&mut self, start: i64) {
        // What is asked for in advance is answered as regularly as the server works.
        let opening = self.arrivals_before.take();
        if let Some((_, _, before)) = opening.filter(|it| (it.0..it.1).contains(&start)) {
            self.arrivals = before;
        }
        if self.settles_by_ack && !self.pending.is_empty() {
            self.extents.push_back(Extent {
                start,
                end: None,
                first: None,
                last: None,
            });
        }
    }

    /// The response that begins at `start` ends before `end`.
    pub(in crate::waits) fn closes(&mut self, start: i64, end: i64) {
        let extent = self.extents.iter_mut().find(|it| it.start == start);
        if let Some(extent) = extent {
            extent.end = Some(end);
            return;
        }
        // What came behind a hole was there when that was filled.
        let filled = self.filled.filter(|it| (it.start..it.end).contains(&start));
        if let Some(filled) = filled {
            self.extents.push_back(Extent {
                start,
                end: Some(end),
                first: Some(filled.at),
                last: self.came,
            });
        }
    }

    pub(super) fn note_extents(&mut self, end: i64) {
        if let Some(filled) = self.filled.as_mut() {
            if self
                .came
                .is_some_and(|came| came.time_ns <= filled.at.time_ns)
            {
                filled.end = end;
            }
        }
        for extent in &mut self.extents {
            if extent.first.is_none() && end > extent.start {
                extent.first = self.came;
            }
            if extent.last.is_none() && extent.end.is_some_and(|last| end >= last) {
                extent.last = self.came;
            }
        }
    }

    /// When the response that begins at `start` came, if ACKs tell; it is asked for once.
    pub(in crate::waits) fn take_extent(&mut self, start: i64) -> Option<Extent> {
        while self.extents.front().is_some_and(|it| it.start < start) {
            self.extents.pop_front();
        }
        if self.extents.front()?.start == start {
            self.extents.pop_front()
        } else {
            None
        }
    }

    /// When the receiver had the newest data that is settled.
    pub(in crate::waits) fn latest(&self) -> Option<Moment> {
        self.came
    }

    /// The pieces that reach into the time from `start` to `end`.
    pub(in crate::waits) fn between(&self, start: i64, end: i64) -> impl Iterator<Item = &Piece> {
        let from = self
            .pieces
            .partition_point(|piece| piece.end.time_ns <= start);
        self.pieces
            .range(from..)
            .take_while(move |piece| piece.start.time_ns < end)
    }

    /// Nothing before `time_ns` is asked for any more.
    pub(in crate::waits) fn forget_before(&mut self, time_ns: i64) {
        while self
            .openings
            .front()
            .is_some_and(|it| it.time_ns <= time_ns)
        {
            self.openings.pop_front();
        }
        while self
            .pieces
            .front()
            .is_some_and(|piece| piece.end.time_ns <= time_ns)
        {
            self.pieces.pop_front();
        }
    }

    /// Up to when pieces were given up, if there were too many.
    pub(in crate::waits) fn forgotten_until_ns(&self) -> Option<i64> {
        self.forgotten_until_ns
    }

    /// Memory that it takes.
    pub(in crate::waits) fn held_bytes(&self) -> u64 {
        let pending = size_of::<Pending>().saturating_mul(self.pending.capacity());
        let pieces = size_of::<Piece>().saturating_mul(self.pieces.capacity());
        let extents = size_of::<Extent>().saturating_mul(self.extents.capacity());
        let openings = size_of::<Opening>().saturating_mul(self.openings.capacity());
        pending
            .saturating_add(pieces)
            .saturating_add(extents)
            .saturating_add(openings) as u64
    }
}
