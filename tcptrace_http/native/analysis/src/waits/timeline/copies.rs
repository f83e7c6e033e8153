//! Copies of data that its receiver had already, or that was on its way still.
//!
//! A timer that is too short for a slow link, or duplicate ACKs of such copies, send again what is not lost. Near
//! the sender the ACK of the first copy looks like one of the second, but comes too soon for it: a packet stands on
//! the slowest link behind all that was sent before it (RFC 3522 tells the two by timestamps; here time does).

use super::{Resent, Route, Timeline};

/// Round trips vary, and the link's pace is known from above: what comes before this share of the time that a copy
/// takes is no ACK of it (as of a SYN that was sent again, see `recoveries`).
const EARLY_NUMERATOR: i64 = 3;
const EARLY_DENOMINATOR: i64 = 4;

impl Timeline {
    /// Data was sent again: when the ACK of this copy comes at the soonest.
    pub(super) fn copied(&mut self, data: Resent, route: Route) -> i64 {
        if !route.is_at_sender || !self.link.knows_way() {
            return i64::MIN;
        }
        let original = self.pending.partition_point(|sent| sent.end <= data.start);
        let (bytes, segments) = self
            .pending
            .get(original)
            .map_or((self.full_bytes, 1), |sent| (sent.bytes, sent.segments));
        let answered_ns = self.joins(data.at.time_ns, bytes, segments, route);
        self.copies_ns = Some(answered_ns);
        let elapsed_ns = answered_ns.saturating_sub(data.at.time_ns);
        let least_ns = elapsed_ns.saturating_mul(EARLY_NUMERATOR) / EARLY_DENOMINATOR;
        data.at.time_ns.saturating_add(least_ns)
    }

    /// When new data comes at the soonest behind the copies that were sent before it, of which there may be none.
    pub(super) fn behind_copies_ns(
        &mut self,
        time_ns: i64,
        bytes: u32,
        segments: u32,
        route: Route,
    ) -> i64 {
        if self.copies_ns.is_none() {
            return i64::MIN;
        }
        let came_ns = self.joins(time_ns, bytes, segments, route);
        self.copies_ns = Some(came_ns);
        came_ns
    }

    /// When a packet comes that is sent at `time_ns` and stands behind the copies on the slowest link.
    fn joins(&self, time_ns: i64, bytes: u32, segments: u32, route: Route) -> i64 {
        let link = self.link.if_agreed();
        // A handshake that stood behind other connections' data was longer than the path.
        let way_ns = self.shared_way_ns.unwrap_or(i64::MAX);
        let alone = time_ns
            .saturating_add(way_ns.min(self.way_ns(route)))
            .saturating_add(link.of_payload(bytes, segments));
        self.copies_ns.map_or(alone, |before| {
            let behind = before.saturating_add(link.of(bytes, segments));
            behind.max(alone)
        })
    }

    /// An ACK that comes before that of a copy can is one of the data that was sent first: it was not lost.
    pub(super) fn hear_of_needless_copies(&mut self, time_ns: i64, acked: i64) {
        let covered = self.pending.partition_point(|sent| sent.end <= acked);
        for sent in self.pending.range_mut(..covered) {
            sent.stall = sent.stall.filter(|stall| stall.answered_ns <= time_ns);
        }
    }
}
