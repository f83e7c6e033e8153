//! Data that waits to be settled, and what is known of it until then.

use super::super::partition::Moment;
use super::ack_delay::AckDelay;
use super::if_on_link::IfOnLink;
use super::repairs::repair;
use super::shared::window_of;
use super::{Data, Route};
use trace_model::rows::{Cause, RecoveryKind};

/// A segment of which it is not told yet when its receiver had it in order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    pub(super) at: Moment,
    pub(super) end: i64,
    pub(super) bytes: u32,
    pub(super) segments: u32,
    /// What it waited for; None in a burst.
    pub(super) cause: Option<(Cause, f64)>,
    pub(super) if_shared: Option<Cause>,
    /// That it was lost before is told by the numbers of its host alone.
    pub(super) is_told_by_host: bool,
    pub(super) if_on_link: Option<IfOnLink>,
    /// What was outstanding when its sender stopped, if the receiver's window or slow start did that.
    pub(super) stopped_with: Option<i64>,
    /// It waited for something, or nothing before it is on its way.
    pub(super) begins_burst: bool,
    pub(super) begins_flight: bool,
    /// The sender's connections share their window: what one waits for is no pace of the link.
    pub(super) is_shared: bool,
    /// What the slowest link takes for it, as far as all connections to the host tell.
    pub(super) service_ns: i64,
    /// How long after the segment before it went by.
    pub(super) gap_ns: i64,
    /// ... which was sent again.
    pub(super) follows_copy: bool,
    /// How long of that the ACK of the segment before was delayed, which was alone in the window.
    pub(super) ack_delay: AckDelay,
    /// Near the sender: an ACK of another connection let it go, if they share their window.
    pub(super) is_let_go_by_other: bool,
    /// What it waited for first, and until when.
    pub(super) waited_first: Option<(Cause, i64)>,
    /// From when on the window was open, although the sender learnt it by a probe only.
    pub(super) persists_from_ns: Option<i64>,
    /// When it would have come, had it not been missed; until then it waited for the window that connections
    /// share.
    pub(super) missed: Option<Missed>,
    /// When what was missing before it would have come.
    pub(super) hole_ns: Option<i64>,
    /// It was sent again.
    pub(super) stall: Option<Stall>,
    /// It was sent again, and needlessly so by what the slowest link takes, which is not known closely.
    pub(super) may_have_been_lost: bool,
    /// When it comes at the soonest, near the sender: behind copies of what was sent before it, and what other
    /// connections have sent, which the link carries as well.
    pub(super) due_ns: i64,
}

impl Pending {
    /// The offset of its first byte.
    pub(super) fn start(&self) -> i64 {
        self.end.saturating_sub(i64::from(self.bytes))
    }

    /// From when on what is missing before it held it up, at the receiver: since that would have come, as far as it is
    /// known, else since it came.
    pub(super) fn missing_since(&self) -> Moment {
        let since_ns = self.hole_ns.unwrap_or(self.at.time_ns);
        self.at.earlier(Moment {
            time_ns: since_ns,
            ..self.at
        })
    }
}

/// Near the sender: the ACK of a full segment that was alone came late.
#[derive(Clone, Copy, Debug)]
pub(super) struct DelayedAck {
    /// The offset after that segment.
    pub(super) until: i64,
    /// How much later than it would have come without a timer.
    pub(super) delay_ns: i64,
}

/// What was sent again, as it seemed lost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stall {
    /// How the loss was noticed.
    pub(super) cause: Cause,
    /// A probe had asked for the ACK that told of it (RFC 8985, section 7.3), which came behind the flight.
    pub(super) is_probed: bool,
    /// The frame in which it was sent again, and when.
    pub(super) frame: u64,
    pub(super) sent_ns: i64,
    /// The offset after that copy, which may have had more behind it than was lost.
    pub(super) end: i64,
    /// What the slowest link carries with it: all of the segment, and more if several are sent again in one.
    pub(super) bytes: u32,
    pub(super) segments: u32,
    /// ACKs of other connections have told of the loss, and of no FIN.
    pub(super) is_for_others: bool,
    /// An ACK of this copy comes no sooner, near the sender.
    pub(super) answered_ns: i64,
    /// ... and comes then behind all that its sender had sent, if that is known.
    pub(super) behind_all_ns: Option<i64>,
}

/// Data that was missed and came when a timer had sent it again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Missed {
    pub(super) would_come_ns: i64,
    pub(super) window: Cause,
    pub(super) repair: Cause,
    /// It waited for its repair, whether connections share a window or not.
    pub(super) is_gone_back_to: bool,
}

impl Missed {
    /// Near the receiver, where what is missed never comes by.
    pub(super) fn of(data: Data, route: Route) -> Option<Missed> {
        let sharing = data.sharing;
        let before = sharing.missed.or(sharing.missed_if_shared);
        let before = before.filter(|_| !route.is_at_sender)?;
        let timer = data.recovery.or(Some(RecoveryKind::TailLoss));
        let recovery = if before.is_told { None } else { timer };
        Some(Missed {
            would_come_ns: before.would_come_ns,
            window: window_of(data.sharing),
            repair: repair(recovery),
            is_gone_back_to: before.is_gone_back_to,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::acks::Acks;
    use super::super::{Timeline, Words};
    use super::*;
    use crate::shared_windows::{MissedBefore, Sharing};

    const MS: i64 = 1_000_000;

    /// What a segment waited for that came 300 ms after another one, and would have come after 120 ms in a window that
    /// may be shared; and whether that is one wait with the next.
    fn told(is_shared: bool) -> Vec<(Cause, i64, bool)> {
        let route = Route::at_receiver(100);
        let mut acks = Acks::default();
        acks.push(0, 1, 60_000, 100 * MS);
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        timeline.new_data(Data::at_ms(100, 1001), None, route, &acks);
        acks.push(300 * MS, 1001, 60_000, 100 * MS);
        let missed_if_shared = Some(MissedBefore {
            would_come_ns: 220 * MS,
            is_told: false,
            is_gone_back_to: false,
        });
        let data = Data {
            sharing: Sharing {
                missed_if_shared,
                ..Sharing::default()
            },
            ..Data::at_ms(400, 2001)
        };
        timeline.new_data(data, None, route, &acks);
        if is_shared {
            timeline.windows_are_shared();
        }
        let pieces: Vec<_> = timeline.between(200 * MS, 400 * MS).collect();
        let told = pieces.iter().enumerate().map(|(at, piece)| {
            let next = pieces.get(at + 1);
            let is_one = next.is_some_and(|next| piece.is_one_with(next));
            (piece.cause, piece.end.time_ns / MS, is_one)
        });
        told.collect()
    }

    #[test]
    fn what_was_sent_again_in_a_window_that_may_be_shared_waited_for_its_repair_once_it_is() {
        let window = Cause::SendLimitedSlowStart;
        let shared = [(window, 220, false), (Cause::StallTailLoss, 400, false)];
        assert_eq!(told(true), shared);
        let own = Cause::StallDelayedAckFirstSegment;
        assert_eq!(told(false), [(own, 220, true), (own, 400, false)]);
    }
}
