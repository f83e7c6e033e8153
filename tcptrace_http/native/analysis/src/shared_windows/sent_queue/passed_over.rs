//! ACKs of what left behind a connection's data, and came on another one.
//!
//! Theory of operation. Connections that share all of congestion control number what they send together: an ACK that
//! passes over data of another connection counts there as a duplicate one does, and the third sends that again at once
//! (E-TCP, section 3). Next to their sender both are seen, one right behind the other. Which of these ACKs is the third
//! does not depend on the time: a timer runs out with it by chance only.

use super::SentQueue;

/// What an ACK lets go leaves in the same interrupt of its host; a timer rarely runs out so soon behind one.
const SAME_INTERRUPT_NS: i64 = 50_000;

/// How many have passed over what a connection has on its way since something of that was acknowledged.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PassedOver {
    acks: u32,
    newest_ns: i64,
}

impl SentQueue {
    /// An ACK of the connection with these ports covered up to what has this place in the order of all.
    pub(super) fn passes_over(&mut self, time_ns: i64, ports: (u16, u16), order: Option<u64>) {
        for side in &mut self.sides {
            if side.ports == ports {
                side.passed_over = PassedOver::default();
            } else if side.on_its_way.iter().any(|it| Some(it.order) < order) {
                side.passed_over = PassedOver {
                    acks: side.passed_over.acks.saturating_add(1),
                    newest_ns: time_ns,
                };
            }
        }
    }

    /// So many ACKs have passed over what that connection has on its way, the last of them right now; else none.
    pub(in crate::shared_windows) fn passed_over_now(
        &self,
        time_ns: i64,
        ports: (u16, u16),
    ) -> u32 {
        let side = self.sides.iter().rev().find(|it| it.ports == ports);
        let passed_over = side.map(|it| it.passed_over).unwrap_or_default();
        if time_ns.saturating_sub(passed_over.newest_ns) <= SAME_INTERRUPT_NS {
            passed_over.acks
        } else {
            0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{number, BYTES, MS, WAY};
    use super::*;

    #[test]
    fn acks_of_others_that_left_later_pass_over_what_is_not_acknowledged() {
        let mut queue = SentQueue::default();
        let ports = [(1, 80), (2, 80)];
        for ports in ports {
            queue.opens(ports, number(0));
        }
        queue.sends(0, ports[1], (number(0), BYTES), WAY);
        queue.sends(0, ports[0], (number(0), BYTES), WAY);
        for segment in 1..5 {
            queue.sends(0, ports[1], (number(segment), BYTES), WAY);
        }
        let mut passed_over = Vec::new();
        for (segments, time_ms) in (1..4).zip(30..) {
            queue.hears(time_ms * MS, ports[1], (number(segments), 0), WAY, None);
            passed_over.push(queue.passed_over_now(time_ms * MS, ports[0]));
        }
        assert_eq!(passed_over, [0, 1, 2], "the first had left before");
        assert_eq!(queue.passed_over_now(34 * MS, ports[0]), 0);
        queue.sends(33 * MS, ports[0], (number(0), BYTES), WAY);
        queue.hears(34 * MS, ports[1], (number(4), 0), WAY, None);
        assert_eq!(queue.passed_over_now(34 * MS, ports[0]), 0, "nor since");
        queue.hears(35 * MS, ports[0], (number(1), 0), WAY, None);
        queue.hears(36 * MS, ports[1], (number(5), 0), WAY, None);
        assert_eq!(queue.passed_over_now(36 * MS, ports[0]), 0);
    }
}
