//! Near the sender ACKs tell when its receiver had data.

use super::super::partition::Moment;
use super::{DelayedAck, Pending, Route, Timeline, DELAYED_ACK_MIN_NS, DELAYED_ACK_SEGMENTS};
use crate::timeouts::DELAYED_ACK_MAX_NS;

/// Round trips vary by less than such a part of them.
const JITTER_RTT_SHARE: i64 = 10;

/// ACKs of data that came too little to tell of the slowest link: of an initial window there are two or three.
const WAITING_ACKS_MAX: usize = 4;

impl Timeline {
    /// The receiver has acknowledged up to `acked`.
    pub(in crate::waits) fn acknowledged(&mut self, at: Moment, acked: i64, route: Route) {
        let before = self.acked;
        self.acked = before.max(acked);
        self.heard_ns = Some(at.time_ns);
        self.may_go_on(at.time_ns, acked, route);
        if self.pending.is_empty() {
            return;
        }
        if !self.settles_by_ack {
            // What was never captured is there all the same.
            self.settle(acked, at, route);
            self.has_hole &= !self.pending.is_empty();
            return;
        }
        self.link.is_told(route.byte_ps);
        self.learn_link(at, acked, route);
        self.hear_of_needless_copies(at.time_ns, (before, acked), route);
        self.hear_of_tails(acked);
        self.waiting_acks.push_back((at, acked));
        if self.link.is_known() || self.waiting_acks.len() > WAITING_ACKS_MAX {
            self.settle_waiting(route);
        }
    }

    /// What ACKs of the first data tell, which waited for what later ones tell of the slowest link.
    pub(in crate::waits) fn settle_waiting(&mut self, route: Route) {
        while let Some((at, acked)) = self.waiting_acks.pop_front() {
            self.settle_by_ack(at, acked, route);
        }
    }

    /// The ACK went out when the newest segment that it covers came, unless it was delayed; those before
    /// came in the pace of the path. What was lost on the way was there no sooner than the ACK tells.
    pub(super) fn settle_by_ack(&mut self, at: Moment, acked: i64, route: Route) {
        let covered = || self.pending.iter().take_while(|sent| sent.end <= acked);
        let bytes = covered().fold(0_u32, |sum, sent| sum.saturating_add(sent.bytes));
        let at_once = self.full_bytes.saturating_mul(DELAYED_ACK_SEGMENTS);
        let may_be_delayed = bytes < at_once;
        let mut repairs = covered().filter(|sent| sent.stall.is_some()).count();
        let was_repaired = repairs > 0;
        while let Some(data) = self.pending.front().copied() {
            if data.end > acked {
                return;
            }
            self.pending.pop_front();
            let next = self.pending.front();
            let is_newest = next.is_none_or(|next| next.end > acked);
            // Who has got a copy waits for its timer as well, if nothing else is on its way.
            let may_be_delayed = may_be_delayed && data.stall.is_none_or(|it| it.is_alone(next));
            repairs = repairs.saturating_sub(usize::from(data.stall.is_some()));
            let is_last_repair = data.stall.is_some() && repairs == 0;
            let expected = match data.stall {
                None => self.expected_ns(data, route),
                Some(copy) => copy.expected_ns().unwrap_or(at.time_ns),
            };
            let delay = at.time_ns.saturating_sub(expected);
            let jitter = (route.rtt_ns() / JITTER_RTT_SHARE).min(DELAYED_ACK_MIN_NS);
            let is_delayed =
                may_be_delayed && delay > self.link.ack_jitter_ns(self.full_bytes).max(jitter);
            let time_ns = if (is_newest || is_last_repair) && !is_delayed {
                at.time_ns
            } else {
                expected.min(at.time_ns)
            };
            if is_newest && is_delayed && !was_repaired && data.end == acked {
                self.ack_was_delayed(data, at, delay);
            }
            self.append(data, time_ns, route);
        }
    }

    /// Near the sender: a timer had delayed the ACK of a segment. What that let go waited so much longer, if it was a
    /// full segment that was alone: a window of one, which its receiver acknowledges when a second one comes or its
    /// timer does (RFC 1122, section 4.2.3.2).
    fn ack_was_delayed(&mut self, data: Pending, at: Moment, delay_ns: i64) {
        let is_alone = data.begins_flight && self.full_bytes > 0 && data.bytes == self.full_bytes;
        let is_of_timer = (DELAYED_ACK_MIN_NS..=DELAYED_ACK_MAX_NS).contains(&delay_ns);
        let next = self.pending.front_mut();
        let had_followed = next.is_some_and(|next| next.at.time_ns < at.time_ns);
        self.delayed_ack = (is_alone && is_of_timer && !had_followed).then_some(DelayedAck {
            until: data.end,
            delay_ns,
        });
    }

    /// When data comes that nothing but the path and the data before it holds up.
    pub(super) fn expected_ns(&self, data: Pending, route: Route) -> i64 {
        let way = self
            .way_ns(route)
            .saturating_add(self.link.of_payload(data.bytes, data.segments));
        let arrived = data.at.time_ns.saturating_add(way);
        let arrived = arrived.max(data.due_ns);
        self.came.map_or(arrived, |came| {
            let behind = came
                .time_ns
                .saturating_add(self.link.of(data.bytes, data.segments));
            behind.max(arrived)
        })
    }

    /// The capture was not taken at the sender after all, as it seemed while a SYN-ACK with data was not acknowledged
    /// (RFC 1644, RFC 7413): data came when it went by.
    pub(super) fn turns_out_to_be_at_receiver(&mut self, route: Route) {
        self.settles_by_ack = false;
        self.waiting_acks.clear();
        self.extents.clear();
        while let Some(data) = self.pending.front().copied() {
            if data.end > self.acked {
                self.has_hole = true;
                return;
            }
            self.pending.pop_front();
            self.append(data, data.at.time_ns, route);
        }
    }
}
