//! In-order delivery of a stream's bytes at its receiver.

/// Maximum number of segments kept behind a hole.
const BEYOND_MAX: usize = 4096;

/// Bytes that an arrival made deliverable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewDelivery {
    pub(crate) before: i64,
    pub(crate) after: i64,
    /// Time and frame of the first arrival behind the hole that this arrival filled.
    pub(crate) behind: Option<(i64, u64)>,
}

/// Sequence space of the receiver.
#[derive(Clone, Debug, Default)]
pub(crate) struct Receiver {
    rcv_nxt: i64,
    beyond: Vec<(i64, i64)>,
    behind: Option<(i64, u64)>,
}

impl Receiver {
    /// Start at the stream's first byte, or where the capture joins the stream.
    pub(crate) fn begin(&mut self, start: i64) {
        if self.rcv_nxt == 0 {
            self.rcv_nxt = start;
        }
    }

    /// Take an ACK of all data before `ack`: the receiver has this data, seen or not.
    pub(crate) fn on_acked(&mut self, ack: i64) {
        if ack > self.rcv_nxt && self.rcv_nxt > 0 {
            self.rcv_nxt = ack;
            self.beyond.retain(|(_, ends)| *ends > ack);
            self.behind = self.behind.filter(|_| !self.beyond.is_empty());
        }
    }

    /// Return whether data behind a hole had arrived by `time_ns`.
    pub(crate) fn has_hole(&self, time_ns: i64) -> bool {
        self.behind.is_some_and(|(came_ns, _)| came_ns <= time_ns)
    }

    /// Return whether all data from `start` to `end` has arrived.
    pub(crate) fn has(&self, start: i64, end: i64) -> bool {
        let mut beyond = self.beyond.iter();
        end <= self.rcv_nxt || beyond.any(|(begins, ends)| *begins <= start && end <= *ends)
    }

    /// Return whether data from `start` on arrives behind a hole.
    pub(crate) fn is_behind_hole(&self, start: i64) -> bool {
        start > self.rcv_nxt
    }

    /// Take the arrival of bytes from `start` to `end`; keep `frame` if a hole precedes them.
    pub(crate) fn on_arrival(
        &mut self,
        start: i64,
        end: i64,
        time_ns: i64,
        frame: u64,
    ) -> Option<NewDelivery> {
        if start > self.rcv_nxt {
            if self.beyond.len() < BEYOND_MAX {
                self.beyond.push((start, end));
            }
            self.behind.get_or_insert((time_ns, frame));
            return None;
        }
        if end <= self.rcv_nxt {
            return None;
        }
        let before = self.rcv_nxt;
        let mut after = end;
        self.beyond.sort_unstable();
        for (begins, ends) in &self.beyond {
            if *begins <= after {
                after = after.max(*ends);
            }
        }
        self.beyond.retain(|(_, ends)| *ends > after);
        self.rcv_nxt = after;
        let behind = self.behind.take();
        if !self.beyond.is_empty() {
            self.behind = Some((time_ns, frame));
        }
        Some(NewDelivery {
            before,
            after,
            behind,
        })
    }
}
