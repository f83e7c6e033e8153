//! Copies of data that its receiver had already, or that was on its way still.
//!
//! A timer that is too short for a slow link, or duplicate ACKs of such copies, send again what is not lost. Near
//! the sender the ACK of the first copy looks like one of the second, but comes too soon for it: a packet stands on
//! the slowest link behind all that was sent before it (RFC 3522 tells the two by timestamps; here time does).

mod came_twice;
mod for_others;
mod originals;
#[cfg(test)]
mod tests;

use tcptrace_tcp::DELAYED_ACK_SEGMENTS;

use super::{Resent, Route, Timeline};
pub(super) use originals::CameBehind;

/// Round trips vary, and the link's pace is known from above: what comes before this share of the time that a copy
/// takes is no ACK of it (as of a SYN that was sent again, see `recoveries`).
pub(super) const EARLY_NUMERATOR: i64 = 3;
pub(super) const EARLY_DENOMINATOR: i64 = 4;

impl Timeline {
    /// Data was sent again: when the ACK of this copy comes at the soonest.
    pub(super) fn copied(&mut self, data: Resent, route: Route) -> i64 {
        // With T/TCP no handshake has measured it, but those of other connections (RFC 1644).
        let knows_way = self.link.knows_way() || self.shared_way_ns.is_some();
        if !route.is_at_sender || !knows_way {
            return i64::MIN;
        }
        self.copies.behind.is_copied();
        let (bytes, segments) = self.size_of_copy(data);
        let copies_ns = self
            .copies
            .answered_ns
            .filter(|copies_ns| *copies_ns > data.at.time_ns);
        self.copies.answered_ns = copies_ns.or_else(|| self.originals_ns(data, route));
        let answered_ns = self.joins(data.at.time_ns, bytes, segments, route);
        self.copies.answered_ns = Some(answered_ns);
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
        if self.copies.answered_ns.is_none() {
            return i64::MIN;
        }
        let came_ns = self.joins(time_ns, bytes, segments, route);
        self.copies.answered_ns = Some(came_ns);
        came_ns
    }

    /// When a packet comes that is sent at `time_ns` and stands behind the copies on the slowest link.
    fn joins(&self, time_ns: i64, bytes: u32, segments: u32, route: Route) -> i64 {
        let link = self.link.if_agreed();
        let alone = time_ns
            .saturating_add(self.least_way_ns(route))
            .saturating_add(link.of_payload(bytes, segments));
        self.copies.answered_ns.map_or(alone, |before| {
            let behind = before.saturating_add(link.of(bytes, segments));
            behind.max(alone)
        })
    }

    /// A handshake that stood behind other connections' data was longer than the path.
    pub(super) fn least_way_ns(&self, route: Route) -> i64 {
        let own_ns = self.way_ns(route);
        // Of what was sent again none is measured (Karn's algorithm).
        match self.shared_way_ns {
            Some(way_ns) if own_ns > 0 => way_ns.min(own_ns),
            way_ns => way_ns.unwrap_or(own_ns),
        }
    }

    /// An ACK that comes before that of a copy can is one of the data that was sent first: it was not lost. That is
    /// sure where the path alone is longer, whatever the link takes.
    pub(super) fn hear_of_needless_copies(
        &mut self,
        time_ns: i64,
        (before, acked): (i64, i64),
        route: Route,
    ) {
        let path_ns = self.least_way_ns(route).saturating_mul(EARLY_NUMERATOR) / EARLY_DENOMINATOR;
        let covered = self.pending.partition_point(|sent| sent.end <= acked);
        let at_once = i64::from(self.full_bytes.saturating_mul(DELAYED_ACK_SEGMENTS));
        if acked.saturating_sub(before) > at_once {
            // What fills a hole is acknowledged with what had come behind it: that was lost.
            self.copies.had_lost();
        }
        if self.is_copied_for_others((time_ns, acked), covered, route) {
            if let Some(sent) = self.pending.front_mut() {
                sent.stall = None;
            }
            self.copies.one_was_needless();
        }
        for sent in self.pending.range_mut(..covered) {
            let earlier = self.copies.in_time(sent.end, (acked, time_ns));
            let Some(needless) = sent.stall.filter(|it| {
                let is_before = it.answered_ns > time_ns || it.ends_behind(acked);
                is_before || earlier.is_some() || self.copies.are_needless(sent.end, *it)
            }) else {
                continue;
            };
            sent.stall = earlier;
            self.copies.one_was_needless();
            let is_sure = needless.sent_ns.saturating_add(path_ns) > time_ns;
            let by_link = needless.answered_ns > time_ns && !needless.ends_behind(acked);
            sent.may_have_been_lost = sent.stall.is_none() && !is_sure && by_link;
            if is_sure && sent.stall.is_none() {
                self.copies.timer_was_needless(needless);
            }
        }
    }
}
