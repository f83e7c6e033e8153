//! Timing of a segment relative to the previous packets.

use tcptrace_path::{Place, Route, TOLERANCE_MAX_NS};
use tcptrace_sender::timers::PROBE_MIN_NS;

use crate::log::DataEvent;
use crate::sender::{AnswerPair, Sender};

/// Time at which a segment passes, relative to the earliest time after the previous segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    pub(crate) pass_before_ns: i64,
    pub(crate) floor_ns: i64,
    /// Lateness relative to the previous packet on the link, of any connection.
    pub(crate) late_ns: i64,
    /// Lateness relative to the previous segment of the same connection.
    pub(crate) own_late_ns: i64,
    /// True if the connection's previous segment allowed an earlier time.
    pub(crate) is_late: bool,
    /// True if the segment was queued behind other connections: it may have left at any time in the link's
    /// busy period.
    pub(crate) is_queued: bool,
}

impl Timing {
    /// Return the timing of a segment after a segment that passed at `pass_before_ns`; `snd_nxt` ends the
    /// earlier data.
    pub(crate) fn of(
        data: &DataEvent,
        (pass_before_ns, snd_nxt): (i64, i64),
        route: &Route,
    ) -> Self {
        let link_ns = pass_before_ns.max(others_before_ns(data, route).unwrap_or(pass_before_ns));
        // Lost segments before it also used the link.
        let lost_bytes = data.start.saturating_sub(snd_nxt);
        let lost_ns = route.service_ns(u32::try_from(lost_bytes).unwrap_or(0));
        let service_ns = route.service_ns(data.packet_bytes).saturating_add(lost_ns);
        let floor_ns = link_ns.saturating_add(service_ns);
        let late_ns = data.time_ns.saturating_sub(floor_ns);
        let own_floor_ns = pass_before_ns.saturating_add(service_ns);
        let own_late_ns = data.time_ns.saturating_sub(own_floor_ns);
        let tolerance_ns = route.tolerance_ns();
        Timing {
            pass_before_ns,
            floor_ns,
            late_ns,
            own_late_ns,
            is_late: own_late_ns > tolerance_ns,
            is_queued: late_ns <= tolerance_ns && own_late_ns > tolerance_ns,
        }
    }

    /// Return the start of the link's busy period, if the segment followed other packets directly.
    pub(crate) fn queued_since_ns(&self, data: &DataEvent, route: &Route) -> Option<i64> {
        let is_behind = route.link.is_known() && self.late_ns <= route.tolerance_ns();
        let since_ns = data.link_busy_since_ns;
        is_behind
            .then_some(since_ns)
            .filter(|since_ns| *since_ns < data.time_ns)
    }

    /// Return the ACK that the segment answers.
    pub(crate) fn answered(
        &self,
        data: &DataEvent,
        sender: &Sender,
        route: &Route,
    ) -> Option<AnswerPair> {
        let (pass_ns, bytes) = (data.time_ns, data.packet_bytes);
        match (self.is_late, self.is_queued) {
            (false, _) => None,
            (true, false) => {
                let since_ns = (self.pass_before_ns, self.floor_ns);
                let within = |tolerance_ns| {
                    sender
                        .acks
                        .answered(pass_ns, since_ns, bytes, (route, tolerance_ns))
                };
                // If the sender is known to hold short segments, host scheduling delays some answers.
                let may_be_later = sender.nagle.has_proven_holds()
                    && data.end.saturating_sub(data.start) < data.full_bytes;
                within(route.tolerance_ns())
                    .or_else(|| within(TOLERANCE_MAX_NS).filter(|_| may_be_later))
            }
            (true, true) => {
                let since_ns = data.link_busy_since_ns.max(self.pass_before_ns);
                sender.acks.answered_since(since_ns, pass_ns, bytes, route)
            }
        }
    }

    /// Return whether the segment repairs a loss that the capture never saw.
    ///
    /// A packet of its sender is missing, and the time of a timer has passed.
    pub(crate) fn is_hidden_repair(&self, data: &DataEvent, snd_nxt: i64, route: &Route) -> bool {
        let timer_ns = PROBE_MIN_NS.max(route.round_trip_ns().saturating_mul(2));
        route.place == Place::Receiver
            && data.missing_before > 0
            && data.start == snd_nxt
            && self.own_late_ns >= timer_ns
    }
}

/// Return the time of the previous packet of any connection, if a known link queued the segment behind it.
pub(crate) fn others_before_ns(data: &DataEvent, route: &Route) -> Option<i64> {
    let is_behind_link = route.place == Place::Receiver && route.link.is_known();
    data.link_before_ns.filter(|_| is_behind_link)
}
