//! The time between two settled segments, and the cause that it is given to.

use super::super::partition::Moment;
use super::if_on_link::IfOnLink;
use trace_model::rows::Cause;

/// An interval between two segments.
#[derive(Clone, Copy, Debug)]
pub(in crate::waits) struct Piece {
    pub(in crate::waits) start: Moment,
    pub(in crate::waits) end: Moment,
    pub(in crate::waits) cause: Cause,
    pub(in crate::waits) confidence: f64,
    /// What it is if connections turn out to share a window.
    pub(super) if_shared: Option<Cause>,
    /// The wait before this segment; none where something else tells how long it was.
    pub(super) waited: Option<Waited>,
    /// How much later it is told than it was: near the sender, as long as its segment took to come.
    pub(in crate::waits) later_ns: i64,
}

impl Piece {
    /// Whether this is one wait with the next one, for the same segment, which would be two if connections shared a
    /// window.
    pub(in crate::waits) fn is_one_with(&self, next: &Piece) -> bool {
        let waits = self.waited.zip(next.waited);
        let is_for_same = waits.is_some_and(|(wait, other)| wait.until_ns == other.until_ns);
        let may_be_two = self.if_shared.is_some() && next.if_shared.is_some();
        is_for_same && may_be_two && self.cause == next.cause && self.end == next.start
    }

    /// The piece with those before it that are one wait with it.
    pub(in crate::waits) fn since(self, start: Moment) -> Piece {
        Piece { start, ..self }
    }

    /// Whether data was on its way again: that cannot be the application's time.
    pub(in crate::waits) fn is_repair(&self) -> bool {
        matches!(
            self.cause,
            Cause::StallRetransmissionTimeout
                | Cause::StallTailLoss
                | Cause::StallFastRecovery
                | Cause::NetworkReordering
        )
    }
}

/// A segment and when its receiver had the one before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waited {
    pub(super) since_ns: i64,
    /// When it came itself.
    pub(super) until_ns: i64,
    pub(super) bytes: u32,
    pub(super) segments: u32,
    pub(super) if_on_link: Option<IfOnLink>,
    /// What was outstanding when its sender stopped, if a window did that.
    pub(super) stopped_with: Option<i64>,
    /// It was lost before, as the numbers of its host alone tell.
    pub(super) is_told_by_host: bool,
}
