//! Data that an ACK let go, as shows when it is known how slow the slowest link is.
//!
//! Data comes by the path's least round trip after the ACK that lets it go, and by what the slowest link takes for
//! it. How long that is the first segments of a connection do not tell: on a slow link they come so late that they
//! seem to have waited for their application. So it is remembered how late they came, until others have shown the
//! link.

use super::super::acks::{Acks, Released};
use super::{Data, Piece, Route, Timeline};
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
        let is_open = self.on_link_ns(data.bytes, 1).is_none();
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

    /// What a piece of the time is, by all that is known of the slowest link now.
    pub(in crate::waits) fn cause_by_now(&self, piece: &Piece) -> Cause {
        let waited = piece.waited.and_then(|it| Some((it, it.if_on_link?)));
        let Some((waited, if_on_link)) = waited else {
            return piece.cause;
        };
        // The path's least round trip has the headers.
        let takes_ns = self.on_link_ns(waited.bytes, 0);
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
