//! How late ACKs come, by which the slowest link may be told, and what that makes of the queue.

use trace_model::SeqNumber;

use super::super::link_times::LinkTime;
use super::super::way::Way;
use super::{SentQueue, Stretch};
use crate::byte_time::ByteTime;

impl SentQueue {
    /// A connection's first data comes with its SYN's answer.
    pub(in crate::shared_windows) fn begins_with_syn(&mut self, ports: (u16, u16)) {
        if let Some(side) = self.side(ports) {
            side.is_with_syn = true;
        }
    }

    pub(super) fn is_with_syn(&self, ports: (u16, u16), start: SeqNumber) -> bool {
        let side = self.sides.iter().rev().find(|it| it.ports == ports);
        side.is_some_and(|it| it.is_with_syn && it.first == start)
    }

    /// An ACK came so late.
    pub(in crate::shared_windows) fn link_took(&mut self, time: LinkTime) {
        self.link.took(time);
    }

    /// Two times have agreed on the link: what had left before stands in its queue as well.
    pub(in crate::shared_windows) fn link_takes(&mut self, timed: ByteTime, way: Way) {
        self.link.is_timed(timed);
        self.carries_untimed(way);
    }
}

impl Stretch {
    /// How much later than by the path's least round trip an ACK came that had so much data with it, of all that is
    /// acknowledged: the path has the headers of one packet, and maybe a request.
    pub(super) fn was_late(self, (time_ns, bytes): (i64, u32), way: Way) -> LinkTime {
        let elapsed_ns = time_ns.saturating_sub(self.begun_ns);
        let all = self.acked.saturating_add(bytes.into());
        LinkTime {
            elapsed_ns: elapsed_ns.saturating_sub(way.elapsed_ns),
            bytes: all.saturating_sub(way.bytes.into()),
            packets: u32::try_from(self.segments.saturating_sub(1)).unwrap_or(0),
            is_distance: false,
            stretch: Some(self.number),
            is_with_syn: self.is_with_syn,
        }
    }
}

#[cfg(test)]
impl SentQueue {
    pub(in crate::shared_windows) fn carries(&mut self, bytes: u32) {
        self.link.carries(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{number, BYTES, MS, PORTS, WAY};
    use super::*;

    #[test]
    fn an_ack_is_late_by_what_all_of_its_stretch_and_its_own_data_take() {
        let mut queue = SentQueue::default();
        queue.opens(PORTS, number(0));
        for segment in 0..2 {
            queue.sends(0, PORTS, (number(segment), BYTES), WAY);
        }
        let mut late = |time_ms: i64, segments: u32, bytes: u32| {
            let late = queue.hears(time_ms * MS, PORTS, (number(segments), bytes), WAY, None);
            late.map(|it| (it.elapsed_ns / MS, it.bytes, it.packets))
        };
        assert_eq!(late(125, 1, 0), Some((105, 1046, 0)));
        assert_eq!(late(265, 2, 300), Some((245, 2 * 1046 + 300, 1)));
        assert_eq!(late(300, 2, 0), None);
    }

    #[test]
    fn what_begins_with_a_syn_tells_of_that_until_something_else_begins() {
        let mut queue = SentQueue::default();
        queue.opens(PORTS, number(0));
        queue.begins_with_syn(PORTS);
        let send = |queue: &mut SentQueue, time_ms: i64, segments: std::ops::Range<u32>| {
            for segment in segments {
                queue.sends(time_ms * MS, PORTS, (number(segment), BYTES), WAY);
            }
        };
        let is_with_syn = |queue: &mut SentQueue, time_ms: i64, segments: u32| {
            let late = queue.hears(time_ms * MS, PORTS, (number(segments), 0), WAY, None);
            late.map(|it| it.is_with_syn)
        };
        send(&mut queue, 0, 0..2);
        assert_eq!(is_with_syn(&mut queue, 125, 1), Some(true));
        assert_eq!(is_with_syn(&mut queue, 235, 2), Some(true));
        send(&mut queue, 300, 2..3);
        assert_eq!(is_with_syn(&mut queue, 425, 3), Some(false));
    }

    #[test]
    fn what_had_left_before_the_link_was_known_stands_in_its_queue() {
        let mut queue = SentQueue::default();
        queue.opens(PORTS, number(0));
        queue.sends(0, PORTS, (number(0), BYTES), WAY);
        let agreed = ByteTime {
            byte_ps: 100_000_000,
            header_bytes: 54,
        };
        queue.link_takes(agreed, WAY);
        let due_ns = queue.sends(0, PORTS, (number(1), BYTES), WAY);
        assert_eq!(due_ns, Some(124_600_000 + 110 * MS));
    }

    #[test]
    fn what_is_short_takes_as_long_as_its_own_headers_and_those_that_the_link_has() {
        let mut queue = SentQueue::default();
        queue.opens(PORTS, number(0));
        let agreed = ByteTime {
            byte_ps: 100_000_000,
            header_bytes: 66,
        };
        queue.link_takes(agreed, WAY);
        let due = [0, 1].map(|it| queue.sends(0, PORTS, (number(it), 34), WAY));
        assert_eq!(due, [Some(23_400_000), Some(33_400_000)]);
    }
}
