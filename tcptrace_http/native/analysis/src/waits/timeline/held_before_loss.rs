//! What held data that was lost then.
//!
//! Theory of operation. Nagle's algorithm lets no short segment go while another one is unacknowledged (RFC 896). So
//! what is short behind a short segment, and was lost, left no sooner than the ACK of that had come: only from then on
//! its sender waited for a timer. When that runs out too soon after it, the data had left before all the same: the
//! algorithm was off.

use tcptrace_tcp::{DELAYED_ACK_MIN_NS, DELAYED_ACK_SEGMENTS, TIMED_OUT_MIN_NS};
use trace_model::rows::Cause;

use super::super::acks::Acks;
use super::held_openings::LetGo;
use super::repairs::is_timed;
use super::{Data, Route, Timeline, OPTIONS_BYTES};

impl Timeline {
    /// How Nagle's algorithm held data that was lost then, and until when.
    pub(super) fn held_before_loss(&self, data: Data, route: Route, acks: &Acks) -> Option<LetGo> {
        let (sent, _) = self.sent?;
        let start = data.start();
        // The options of a SYN leave less room for its data.
        let was_short = self.sent_bytes.saturating_add(OPTIONS_BYTES) < data.full_bytes;
        let is_behind_short = self.sent_until == start && was_short;
        let is_behind_held = is_behind_short || self.holds_end(data, route, acks);
        let may_be_held = is_behind_held && !self.has_hole && !data.is_above_nagle();
        let is_lost = is_timed(data.recovery) && !data.opens_hole && !route.is_at_sender;
        if !is_lost || !may_be_held || data.sharing.is_shared {
            return None;
        }
        let (ack, newly) = acks.of_all_before(start)?;
        let delay_ns = ack.time_ns.saturating_sub(sent.time_ns);
        let takes_ns = self.takes(data.bytes, data.segments, data.full_bytes);
        let would_come_ns = ack
            .time_ns
            .saturating_add(route.to_sender_ns)
            .saturating_add(takes_ns);
        let timer_ns = data.at.time_ns.saturating_sub(would_come_ns);
        if delay_ns < 0 || timer_ns < TIMED_OUT_MIN_NS {
            return None;
        }
        let at_once = i64::from(data.full_bytes.saturating_mul(DELAYED_ACK_SEGMENTS));
        let is_delayed = newly < at_once && delay_ns >= DELAYED_ACK_MIN_NS;
        let cause = if is_delayed {
            Cause::StallNagleDelayedAck
        } else {
            Cause::StallNagleHold
        };
        Some(LetGo {
            start,
            end: data.end,
            ack_ns: ack.time_ns,
            elapsed_ns: would_come_ns.saturating_sub(ack.time_ns),
            ack_bytes: ack.bytes,
            route,
            cause,
            before: None,
        })
    }
}
