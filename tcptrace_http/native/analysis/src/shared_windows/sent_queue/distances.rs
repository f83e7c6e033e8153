//! How far apart ACKs come, by which the slowest link may be told.
//!
//! Theory of operation. What had come to the link before the ACK of the packet before it went by stood there behind that
//! packet: both ACKs are as far apart as the link takes for it. That packet may have brought nothing new: a copy that was
//! not needed takes its time on the link as well, and its receiver acknowledges it at once (RFC 9293, section 3.10.7.4). If
//! the next ACK of its connection is of a single segment, nothing had come out of order.

use trace_model::SeqNumber;

use super::super::asked::Closest;
use super::super::sent_link::Distance;
use super::super::way::Way;
use super::{Heard, OnItsWay, SentQueue};

/// Shorter distances of ACKs are no slow link's.
const GAP_MIN_NS: i64 = 2_000_000;
/// Heartbeats of hosts send delayed ACKs, every 200 or 500 ms: such a rhythm is theirs, give or take so much.
const HEARTBEAT_NS: i64 = 100_000_000;
const HEARTBEAT_JITTER_NS: i64 = 500_000;

/// The newest ACK of nothing new: of which connection, and when.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Again {
    ports: (u16, u16),
    time_ns: i64,
}

impl SentQueue {
    /// An ACK of nothing new came, with so much data of its sender's own.
    pub(super) fn hears_again(
        &mut self,
        time_ns: i64,
        ports: (u16, u16),
        (ack, bytes): (SeqNumber, u32),
    ) {
        let is_again = |side: &mut super::Side| side.acked == ack && side.in_flight() > 0;
        if bytes == 0 && self.side(ports).is_some_and(is_again) {
            self.again = Again { ports, time_ns };
        }
    }

    /// An ACK came, so long after one before it of whichever connection.
    pub(super) fn learn_pace(
        &mut self,
        (time_ns, before_ns): (i64, i64),
        ports: (u16, u16),
        (newest, heard): (OnItsWay, Heard),
        way: Way,
        asked: Option<Closest>,
    ) {
        let way_ns = way.bare_ns(self.link.byte_ps());
        let (before_ns, left_ns) = self.after_again(ports, before_ns, (newest, heard.segments));
        let had_waited = left_ns.saturating_add(way_ns) <= before_ns;
        let gap_ns = time_ns.saturating_sub(before_ns);
        if had_waited && gap_ns >= GAP_MIN_NS && !is_of_heartbeat(gap_ns) {
            let distance = Distance {
                gap_ns,
                newly: heard.newly,
                segments: heard.segments,
            };
            self.link.is_paced(distance, asked);
        }
    }

    /// When the packet came before that of which so many segments are acknowledged now, and when this had left: as ACKs of
    /// something new tell it, if there was none of nothing new since.
    fn after_again(
        &self,
        ports: (u16, u16),
        before_ns: i64,
        (newest, segments): (OnItsWay, i64),
    ) -> (i64, i64) {
        let again = self.again;
        if segments == 1 && again.ports == ports && again.time_ns > before_ns {
            (again.time_ns, newest.left_ns.max(newest.left_again_ns))
        } else {
            (before_ns, newest.left_ns)
        }
    }
}

/// Whether ACKs are as far apart as the ticks of a heartbeat.
fn is_of_heartbeat(gap_ns: i64) -> bool {
    let beats_ns = gap_ns.saturating_add(HEARTBEAT_JITTER_NS) / HEARTBEAT_NS * HEARTBEAT_NS;
    gap_ns.saturating_sub(beats_ns).saturating_abs() <= HEARTBEAT_JITTER_NS && beats_ns > 0
}

#[cfg(test)]
mod tests {
    use super::super::tests::{number, BYTES, MS, PORTS, WAY};
    use super::*;

    const SERVICE_MS: i64 = 110;
    const WAY_MS: i64 = 20;

    /// Whether the link is known after two cycles, in each of which a segment is sent behind a copy of the one before
    /// that was not needed, and after that again, if at all.
    fn is_known(again_ms: Option<i64>) -> bool {
        let mut queue = SentQueue::default();
        queue.opens(PORTS, number(0));
        for segment in 0..2 {
            queue.sends(0, PORTS, (number(segment), BYTES), WAY);
        }
        for acked in 1..=2 {
            let came_ms = WAY_MS + SERVICE_MS * i64::from(acked);
            queue.hears(came_ms * MS, PORTS, (number(acked), 0), WAY, None);
        }
        let (mut now_ms, mut acked) = (1000, 2);
        for _ in 0..2 {
            queue.sends(now_ms * MS, PORTS, (number(acked - 1), BYTES), WAY);
            queue.sends(now_ms * MS, PORTS, (number(acked), BYTES), WAY);
            let copy_ms = now_ms + WAY_MS + SERVICE_MS;
            queue.hears(copy_ms * MS, PORTS, (number(acked), 0), WAY, None);
            if let Some(again_ms) = again_ms {
                queue.sends((now_ms + again_ms) * MS, PORTS, (number(acked), BYTES), WAY);
            }
            acked += 1;
            let came_ms = copy_ms + SERVICE_MS;
            queue.hears(came_ms * MS, PORTS, (number(acked), 0), WAY, None);
            now_ms += 1000;
        }
        queue.byte_ps().is_some()
    }

    #[test]
    fn what_stood_behind_a_copy_is_acknowledged_as_much_later_as_the_link_takes_for_it() {
        assert!(is_known(None));
        assert!(is_known(Some(50)));
        assert!(!is_known(Some(120)), "it left too late");
    }
}
