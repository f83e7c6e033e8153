//! ACKs that came when something behind a loss did.
//!
//! Theory of operation. A receiver that has one full segment waits for a second one or its timer; what comes out of
//! order it acknowledges at once (RFC 5681, section 4.2). If it had acknowledged one segment less before, that ACK is no
//! duplicate one, and alone tells of what came: it is late for its own data by what the link takes for all behind it up to
//! that. If nothing was known of the link when they left, that shows as soon as it is known, by how much later the ACK was
//! than that of what had left right before.

use trace_model::SeqNumber;

use super::super::way::Way;
use super::{Heard, OnItsWay, SentQueue, Side};
use crate::byte_time::ByteTime;

/// The shortest of the timers that delay an ACK in wide use (Linux, `TCP_DELACK_MIN`).
const DELAYED_ACK_TIMER_NS: i64 = 40_000_000;
/// What the link takes for a few packets is known to such a share of it.
const DUE_SHARE: i64 = 8;

/// An ACK of one segment, so much later than that of what had left right before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Alone {
    time_ns: i64,
    after_ns: i64,
    bytes: i64,
    end: SeqNumber,
    order: u64,
}

/// A FIN without data: when it left, and how much data had left before, of whichever connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fin {
    left_ns: i64,
    order: u64,
}

impl SentQueue {
    /// A FIN without data leaves.
    pub(in crate::shared_windows) fn closes(&mut self, time_ns: i64, ports: (u16, u16), way: Way) {
        let due_ns = self.link.byte_time().map(|it| {
            let alone_ns = time_ns.saturating_add(way.bare_ns(Some(it.byte_ps)));
            let behind_ns = self.due_ns.saturating_add(it.takes_ns(0, 1));
            alone_ns.max(behind_ns)
        });
        let order = self.left;
        if let Some(side) = self.side(ports) {
            side.fin_due_ns = due_ns;
            side.fin = Some(Fin {
                left_ns: time_ns,
                order,
            });
        }
    }

    /// An ACK came up to the end of `newest`, of a connection: whether that of something behind what follows it was due.
    pub(super) fn may_tell_of_behind(&mut self, time_ns: i64, ports: (u16, u16), newest: OnItsWay) {
        // What others have sent stands before both.
        let late_before_ns = self.late_ns.max(0);
        if let Some(side) = self.side(ports) {
            let came_ns = [0, late_before_ns].map(|late_ns| time_ns.saturating_sub(late_ns));
            let is_told = came_ns.into_iter().any(|ns| side.is_due_behind(ns, newest));
            side.missing = is_told.then_some(newest.end);
        }
    }

    /// An ACK came, after another: what it tells of what lies behind shows once the link is known.
    pub(super) fn tells_alone(
        &mut self,
        (time_ns, before_ns): (i64, i64),
        ports: (u16, u16),
        (newest, heard): (OnItsWay, Heard),
        order_before: Option<u64>,
    ) {
        let is_next = order_before.and_then(|it| it.checked_add(1)) == Some(newest.order);
        // If it had left before, nothing but the link lies between the two.
        let is_alone =
            is_next && heard.segments == 1 && !heard.was_sent_again && newest.left_ns < before_ns;
        if let Some(side) = self.side(ports) {
            side.alone = is_alone.then(|| Alone {
                time_ns,
                after_ns: time_ns.saturating_sub(before_ns),
                bytes: heard.newly,
                end: newest.end,
                order: newest.order,
            });
        }
    }

    /// Whether an ACK has told that something behind what lies there came.
    pub(in crate::shared_windows) fn has_come_behind(
        &self,
        ports: (u16, u16),
        start: SeqNumber,
    ) -> bool {
        let side = self.sides.iter().rev().find(|it| it.ports == ports);
        let Some(side) = side else {
            return false;
        };
        let shows_by_link = || {
            let alone = side.alone.filter(|it| it.end == start);
            alone
                .zip(self.byte_time())
                .is_some_and(|(alone, time)| side.came_behind(alone, time))
        };
        side.missing == Some(start) || shows_by_link()
    }
}

impl Side {
    /// Whether an ACK of one segment was as much later than the link takes for something behind the next. What was lost
    /// had taken its time on the link, or not.
    fn came_behind(&self, alone: Alone, time: ByteTime) -> bool {
        let late_ns = alone.after_ns.saturating_sub(time.takes_ns(alone.bytes, 1));
        let is_close = |(bytes, packets): (i64, i64)| {
            let takes_ns = time.takes_ns(bytes, packets);
            late_ns.saturating_sub(takes_ns).saturating_abs() <= takes_ns / DUE_SHARE
        };
        if late_ns >= DELAYED_ACK_TIMER_NS {
            return false;
        }
        let (mut before, mut order) = (alone.end, alone.order);
        let (mut bytes, mut packets) = (0_i64, 0_i64);
        let mut is_told = false;
        for sent in &self.on_its_way {
            order = order.saturating_add(1);
            // What others have sent would stand between.
            if sent.first_order != order || sent.left_ns >= alone.time_ns {
                return is_told;
            }
            let own = i64::from(sent.end.distance_from(before));
            (before, bytes, packets) = (
                sent.end,
                bytes.saturating_add(own),
                packets.saturating_add(1),
            );
            is_told |= packets > 1 && [(own, 1), (bytes, packets)].into_iter().any(is_close);
        }
        let is_next = |it: &Fin| it.order == order.saturating_add(1) && it.left_ns < alone.time_ns;
        let has_fin = packets > 0 && self.fin.is_some_and(|it| is_next(&it));
        let with_fin = [(0, 1), (bytes, packets.saturating_add(1))];
        is_told || has_fin && with_fin.into_iter().any(is_close)
    }

    fn is_due_behind(&self, time_ns: i64, newest: OnItsWay) -> bool {
        let Some(own_ns) = newest.due_ns else {
            return false;
        };
        let late_ns = time_ns.saturating_sub(own_ns);
        let is_close =
            |due_ns: i64| time_ns.saturating_sub(due_ns).saturating_abs() <= late_ns / DUE_SHARE;
        let behind = self.on_its_way.iter().skip(1).filter_map(|it| it.due_ns);
        let fin = self.fin_due_ns.filter(|_| !self.on_its_way.is_empty());
        (0..DELAYED_ACK_TIMER_NS).contains(&late_ns) && behind.chain(fin).any(is_close)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{number, of_known_link, BYTES, MS, PORTS, WAY};
    use super::*;

    /// On a link that takes 11 ms for a segment: two full segments and what is shorter, or a FIN, leave after a second, and
    /// the first of them is acknowledged so many microseconds after that.
    fn is_told(acked_us: i64, ends_with_fin: bool) -> bool {
        let mut queue = of_known_link();
        for segment in [5, 6] {
            queue.sends(1000 * MS, PORTS, (number(segment), BYTES), WAY);
        }
        if ends_with_fin {
            queue.closes(1000 * MS, PORTS, WAY);
        } else {
            queue.sends(1000 * MS, PORTS, (number(7), 246), WAY);
        }
        queue.hears(
            1000 * MS + acked_us * 1000,
            PORTS,
            (number(6), 0),
            WAY,
            None,
        );
        assert!(!queue.has_come_behind(PORTS, number(5)));
        queue.has_come_behind(PORTS, number(6))
    }

    #[test]
    fn an_ack_that_comes_when_that_of_something_behind_a_loss_is_due_tells_that_it_came() {
        let own_us = 20_000 + 10_460;
        let (next_us, last_us) = (own_us + 11_000, own_us + 11_000 + 3_000);
        assert!(is_told(last_us, false));
        assert!(is_told(next_us + 540, true));
        for not_told in [own_us, next_us, last_us + 5_000, own_us + 200_000] {
            assert!(!is_told(not_told, false), "{not_told}");
        }
    }

    /// Seven full segments leave at once, with a FIN behind them, on a link of which nothing is known yet. The sixth is
    /// acknowledged so many microseconds after the fifth.
    fn is_told_later(after_us: i64) -> bool {
        let mut queue = SentQueue::default();
        queue.opens(PORTS, number(0));
        for segment in 0..7 {
            queue.sends(0, PORTS, (number(segment), BYTES), WAY);
        }
        queue.closes(0, PORTS, WAY);
        for (acked, time_ms) in (1..).zip([33, 44, 55, 66, 77]) {
            queue.hears(time_ms * MS, PORTS, (number(acked), 0), WAY, None);
        }
        let time_ns = 77 * MS + after_us * 1000;
        queue.hears(time_ns, PORTS, (number(6), 0), WAY, None);
        queue.has_come_behind(PORTS, number(6))
    }

    #[test]
    fn what_left_before_the_link_was_known_is_judged_by_it_all_the_same() {
        let (own_us, fin_us) = (11_000, 540);
        assert!(is_told_later(own_us + fin_us));
        assert!(is_told_later(own_us + own_us + fin_us));
        for not_told in [own_us, own_us + own_us / 2, own_us + 200_000] {
            assert!(!is_told_later(not_told), "{not_told}");
        }
    }
}
