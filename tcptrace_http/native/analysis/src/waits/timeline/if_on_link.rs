//! Data that an ACK let go, as shows when it is known how slow the slowest link is.
//!
//! Data comes by the path's least round trip after the ACK that lets it go, and by what the slowest link takes for
//! it. How long that is the first segments of a connection do not tell: on a slow link they come so late that they
//! seem to have waited for their application. So it is remembered how late they came, until others have shown the
//! link.

use super::super::acks::{Acks, Released};
use super::super::partition::{Moment, INFERRED};
use super::{Data, Pending, Piece, Route, Timeline, Waited};
use crate::jitter::CLOSE_NS;
use crate::used_window::Limit;
use trace_model::rows::Cause;

/// What a segment waited for, if the slowest link takes so long for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct IfOnLink {
    late_ns: i64,
    cause: Cause,
}

impl Timeline {
    /// A segment was told to have waited for something else than a window, by what is known of the link: Nagle's
    /// algorithm does not hold it, so if an ACK let it go it waited for that.
    pub(super) fn if_on_link(
        &self,
        limit: Limit,
        data: Data,
        route: Route,
        acks: &Acks,
    ) -> Option<IfOnLink> {
        let is_open = self.on_link_ns(data.bytes, 1, data.full_bytes).is_none();
        let is_alone = data.is_above_nagle() && data.segments == 1 && !data.opens_hole;
        if !is_open || !is_alone || route.is_at_sender {
            return None;
        }
        let (cause, _) = self.cause_of(Released::ByAck, limit, (data, true));
        let is_window = matches!(cause, Cause::SendLimitedSlowStart | Cause::SendLimitedCwnd);
        let late_ns = acks.late_ns(data.at.time_ns, route.to_sender_ns)?;
        let cause = self.of_restart(cause, data);
        is_window.then_some(IfOnLink { late_ns, cause })
    }

    /// A distance was taken for the pace of the link that may have been a wait: what for, if others show that.
    pub(super) fn if_guess_is_wrong(
        &mut self,
        data: Data,
        route: Route,
        acks: &Acks,
    ) -> Option<IfOnLink> {
        // If it was the link's pace, the sender had not stopped.
        let window = self.window;
        let limit = self.limit_at((data, Released::ByAck), route, acks);
        self.window = window;
        self.if_on_link(limit, data, route, acks)
    }

    /// Time before a segment that was taken for the pace of the link.
    pub(super) fn guessed(
        &mut self,
        data: Pending,
        if_on_link: IfOnLink,
        start: Moment,
        end: Moment,
    ) {
        let waited = |cause: Cause| Waited {
            since_ns: start.time_ns,
            bytes: data.bytes,
            segments: data.segments,
            is_told_by_host: data.is_told_by_host,
            stopped_with: data.stopped_with,
            if_on_link: Some(IfOnLink {
                cause,
                ..if_on_link
            }),
        };
        let delayed_ns = end.time_ns.saturating_sub(data.ack_delay.told_ns());
        let border = Moment {
            time_ns: delayed_ns.max(start.time_ns),
            ..start
        };
        let delay = Cause::StallDelayedAckFirstSegment;
        for (start, end, cause) in [(start, border, if_on_link.cause), (border, end, delay)] {
            self.push(Piece {
                start,
                end,
                cause: self.words.burst,
                confidence: INFERRED,
                if_shared: None,
                waited: Some(waited(cause)),
            });
        }
    }

    /// What a piece of the time is, by all that is known of the slowest link now.
    pub(in crate::waits) fn cause_by_now(&self, piece: &Piece) -> Cause {
        let waited = piece.waited.and_then(|it| Some((it, it.if_on_link?)));
        let Some((waited, if_on_link)) = waited else {
            return piece.cause;
        };
        // The path's least round trip has the headers.
        let takes_ns = self.on_link_ns(waited.bytes, 0, self.full_bytes);
        let slack_ns = CLOSE_NS.max(self.link_slack_ns());
        let is_on_time = takes_ns.is_some_and(|takes_ns| {
            if_on_link.late_ns.saturating_sub(takes_ns).saturating_abs() <= slack_ns
        });
        if is_on_time {
            if_on_link.cause
        } else {
            piece.cause
        }
    }
}
