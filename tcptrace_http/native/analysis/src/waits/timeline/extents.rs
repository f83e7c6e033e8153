//! The stretches of messages, and what of the time line is still needed.

use super::super::partition::Moment;
use super::held_openings::HeldOpening;
use super::{Opening, Pending, Piece, Timeline};

/// Where a response lies, and when its first and last byte came.
#[derive(Clone, Copy, Debug)]
pub(in crate::waits) struct Extent {
    start: i64,
    end: Option<i64>,
    pub(in crate::waits) first: Option<Moment>,
    pub(in crate::waits) last: Option<Moment>,
}

/// What was in order at once, when data came that had been missing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filled {
    pub(super) at: Moment,
    pub(super) start: i64,
    pub(super) end: i64,
}

impl Timeline {
    /// A response begins at `start`, whose request went by at `asked_ns`.
    pub(in crate::waits) fn opens(&mut self, start: i64, asked_ns: Option<i64>) {
        self.note_filled_by_next(start, asked_ns);
        self.note_held_opening(start);
        self.note_opening(start);
        // What is asked for in advance is answered as regularly as the server works.
        let opening = self.arrivals_before.take();
        if let Some((_, _, before)) = opening.filter(|it| (it.0..it.1).contains(&start)) {
            self.arrivals = before;
        }
        self.expect(start);
    }

    /// The response that begins at `start` ends before `end`. Of several that lie in one segment only the last one
    /// was told to open.
    pub(in crate::waits) fn closes(&mut self, start: i64, end: i64) {
        let at = self.expect(start);
        let extent = at.and_then(|at| self.extents.get_mut(at));
        if let Some(extent) = extent {
            extent.end = Some(end);
            return;
        }
        // Of responses that open in one segment only the last one is told of as such.
        let is_on_its_way = self.settles_by_ack
            && self
                .pending
                .front()
                .is_some_and(|sent| start >= sent.start());
        if is_on_its_way {
            let at = self.extents.partition_point(|it| it.start < start);
            let extent = Extent {
                start,
                end: Some(end),
                first: None,
                last: None,
            };
            self.extents.insert(at, extent);
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

    /// Where among the extents the one is that begins at `start`; it is new if ACKs will tell when that came.
    fn expect(&mut self, start: i64) -> Option<usize> {
        let at = self.extents.partition_point(|it| it.start < start);
        if self.extents.get(at).is_some_and(|it| it.start == start) {
            return Some(at);
        }
        let settled = self.pending.front()?;
        let settled = settled.start();
        if !self.settles_by_ack || start < settled {
            return None;
        }
        let extent = Extent {
            start,
            end: None,
            first: None,
            last: None,
        };
        self.extents.insert(at, extent);
        Some(at)
    }

    pub(super) fn note_extents(&mut self, end: i64) {
        let came_ns = self.came.map(|came| came.time_ns);
        if let Some(filled) = self.filled.as_mut() {
            if came_ns.is_some_and(|came_ns| came_ns <= filled.at.time_ns) {
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
        let left_ns = time_ns.saturating_sub(self.later_ns);
        self.phases.forget_before(left_ns);
        self.own_time.forget_before(left_ns);
        self.gone_back.forget_before(left_ns);
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
        let held = size_of::<HeldOpening>().saturating_mul(self.held_openings.capacity());
        pending
            .saturating_add(pieces)
            .saturating_add(extents)
            .saturating_add(openings)
            .saturating_add(held)
            .saturating_add(self.copies.held_bytes())
            .saturating_add(self.phases.held_bytes())
            .saturating_add(self.own_time.held_bytes())
            .saturating_add(self.written.held_bytes())
            .saturating_add(self.gone_back.held_bytes())
            .saturating_add(self.as_heard.held_bytes()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::acks::Acks;
    use super::super::{Data, Route, Words};
    use super::*;

    const MS: i64 = 1_000_000;

    fn at(time_ms: i64, frame: u64) -> Moment {
        Moment {
            time_ns: time_ms * MS,
            frame,
        }
    }

    #[test]
    fn of_responses_in_one_segment_each_is_there_when_that_is_acknowledged() {
        let route = Route::at_sender(50);
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        let data = Data {
            bytes: 600,
            full_bytes: 1460,
            is_pushed: true,
            ..Data::plain(at(100, 1), 601)
        };
        timeline.new_data(data, None, route, &Acks::default());
        timeline.opens(401, None);
        for (start, end) in [(1, 201), (201, 401), (401, 601)] {
            timeline.closes(start, end);
        }
        timeline.acknowledged(at(151, 2), 601, route);
        timeline.settle_waiting(route);
        for start in [1, 201, 401] {
            let extent = timeline.take_extent(start);
            let came = extent.and_then(|it| it.last).map(|last| last.time_ns);
            assert_eq!(came, Some(151 * MS), "{start}");
        }
    }
}
