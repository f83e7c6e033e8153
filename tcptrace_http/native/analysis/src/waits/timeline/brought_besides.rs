//! What a copy of a segment brings besides: a timer sends again in one segment what lay behind that one, too.

use super::super::partition::{Moment, INFERRED};
use super::{Piece, Resent, Route, Timeline, Waited};
use trace_model::rows::Cause;

impl Timeline {
    /// A copy of what the receiver has may be filled up with what had not been sent (RFC 9293, section 3.8.6.2.1: the
    /// sender packs its data anew). That lay in the buffer, and waited for the window since the packet `before` until
    /// the timer ran out, or Nagle's algorithm held it.
    pub(super) fn brings_more(
        &mut self,
        (data, was_held): (Resent, bool),
        before: Option<Moment>,
        route: Route,
    ) {
        let is_in_order = !route.is_at_sender && self.pending.is_empty() && !self.has_hole;
        let has_more = is_in_order && data.end > self.sent_until;
        let Some((came, before)) = self.came.zip(before).filter(|_| has_more) else {
            return;
        };
        let bytes = u32::try_from(data.end.saturating_sub(data.start)).unwrap_or(0);
        let takes_ns = self.takes(bytes, 1, self.full_bytes);
        let pace_ns = takes_ns.max(self.pace.burst_max_ns(1, route.rtt_ns()));
        if data.at.time_ns.saturating_sub(before.time_ns) <= pace_ns {
            return;
        }
        let begun = before.later(came);
        let held = if was_held {
            Cause::StallNagleHold
        } else {
            Cause::SendLimitedSlowStart
        };
        // How long of that the slowest link had it, behind the copy before it, shows when that is known.
        let waited = Waited {
            since_ns: begun.time_ns,
            until_ns: data.at.time_ns,
            bytes,
            segments: 1,
            if_on_link: None,
            stopped_with: None,
            is_told_by_host: false,
        };
        for (start, end, cause, waited) in [
            (came, begun, self.words.burst, None),
            (begun, data.at, held, Some(waited)),
        ] {
            self.push(Piece {
                start,
                end,
                cause,
                confidence: INFERRED,
                if_shared: None,
                waited,
                later_ns: 0,
            });
        }
        self.came = Some(data.at);
        self.sent_until = data.end;
        self.note_extents(data.end);
    }

    /// Whether Nagle's algorithm holds what a copy brings besides what was sent: nothing but a short segment was on its
    /// way, and what lay behind that is no full one, as the copy is none either (RFC 896). Where it is one there may be
    /// more, which goes unless the window has no room for it.
    pub(super) fn nagle_holds_behind(&self, data: Resent) -> bool {
        let full = i64::from(self.full_bytes);
        let outstanding = self.sent_until.saturating_sub(data.start);
        let is_short = data.end.saturating_sub(data.start) < full;
        let window = i64::try_from(self.window.least_bytes()).unwrap_or(i64::MAX);
        let had_room = window >= outstanding.saturating_add(full);
        !self.nagle_is_off && outstanding < full && (is_short || had_room)
    }
}
