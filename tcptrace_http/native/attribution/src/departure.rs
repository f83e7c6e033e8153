//! A segment that was replayed.

use tcptrace_sender::timers::Repair;

use crate::delivery::Delivered;
use crate::log::DataEvent;
use crate::release::Release;

/// A segment, explained as far as the log goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    pub(crate) data: DataEvent,
    pub(crate) pass_before_ns: i64,
    /// When it is at its receiver, as the capture tells.
    pub(crate) there_ns: i64,
    /// What the slowest link takes for it there.
    pub(crate) service_ns: i64,
    /// It left later than the segment before lets it.
    pub(crate) is_late: bool,
    pub(crate) release: Option<Release>,
    pub(crate) repair: Option<Repair>,
    /// A cork's timer sent it.
    pub(crate) is_corked: bool,
    /// Of a repair of data that the capture never saw before: when an acknowledgment had released that.
    pub(crate) held_until_ns: Option<i64>,
    /// Other connections' packets were right before it.
    pub(crate) is_behind_others: bool,
    /// Since when the link had been busy, behind whose packets it was queued.
    pub(crate) queued_since_ns: Option<i64>,
    /// How long it was queued behind them.
    pub(crate) queued_ns: i64,
    pub(crate) delivered: Option<(i64, Delivered)>,
    /// It came behind a hole, for the first time.
    pub(crate) came_behind_hole: bool,
    pub(crate) last_arrival_ns: i64,
}
