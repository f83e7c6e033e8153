//! Replayed segment.

use tcptrace_sender::timers::Repair;

use crate::delivery::NewDelivery;
use crate::log::DataEvent;
use crate::release::Release;

/// Segment after the replay, with the explanation that the log allows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    pub(crate) data: DataEvent,
    pub(crate) pass_before_ns: i64,
    /// Time of arrival at the receiver, from the capture.
    pub(crate) received_ns: i64,
    /// Serialization time of the bottleneck before the receiver.
    pub(crate) service_ns: i64,
    /// True if the segment left later than the previous segment allows.
    pub(crate) is_late: bool,
    pub(crate) release: Option<Release>,
    pub(crate) repair: Option<Repair>,
    /// True if a cork's timer released the segment.
    pub(crate) is_corked: bool,
    /// Release time of the lost original by an ACK, for a retransmission whose original the capture never
    /// saw.
    pub(crate) held_until_ns: Option<i64>,
    /// True if packets of other connections preceded the segment directly.
    pub(crate) is_behind_others: bool,
    /// Start of the link's busy period, if the segment was queued behind other connections.
    pub(crate) queued_since_ns: Option<i64>,
    /// Queueing delay behind other connections.
    pub(crate) queued_ns: i64,
    pub(crate) delivered: Option<(i64, NewDelivery)>,
    /// True if the segment arrived behind a hole for the first time.
    pub(crate) is_first_behind_hole: bool,
    pub(crate) last_arrival_ns: i64,
}
