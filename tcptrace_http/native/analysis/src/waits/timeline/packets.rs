//! How many packets are on their way, where windows are counted in those.
//!
//! Theory of operation. A window that is counted in packets has room for no more of them, however short they are (Linux,
//! tcp_cwnd_test): of short ones it is full with far less outstanding than of full ones. In slow start it grows by one with
//! each ACK, as any window does (RFC 5681, section 3.1).

use std::collections::VecDeque;

use tcptrace_tcp::TIMEOUT_MIN_NS;

use super::super::acks::Acks;
use super::{Data, Route, Timeline};
use crate::used_window::WINDOW_NOW_SEGMENTS;

/// Packets on their way that are known: of many more short ones a window is not full.
const PACKETS_MAX: usize = 64;

/// A window that a loss has lowered has room for so many (RFC 5681, equation 4).
const LOWERED_MIN: i64 = 2;

/// What is on its way, and how many packets the window has room for at the least, in slow start.
#[derive(Debug, Default)]
pub(super) struct Packets {
    /// Where those end that may be on their way, and when they went by.
    ends: VecDeque<(i64, i64)>,
    /// The most that were at once since something was lost.
    most: usize,
    least: usize,
    /// Something was lost: windows grow by less than with each ACK.
    is_lowered: bool,
    heard_until_ns: i64,
    /// The newest left then.
    sent_ns: i64,
}

impl Packets {
    /// The sender has heard all ACKs until then, each of which opens a window that is used.
    fn hear(&mut self, until_ns: i64, acks: &Acks) {
        for ack in acks.between(self.heard_until_ns, until_ns) {
            let before = self.ends.len();
            self.ends.retain(|(end, _)| *end > ack.acked);
            if self.ends.len() < before && !self.is_lowered {
                let most = self.most.saturating_mul(2);
                self.least = self.least.saturating_add(1).min(most).max(self.least);
            }
        }
        self.heard_until_ns = self.heard_until_ns.max(until_ns);
    }

    /// A packet leaves; behind a timeout in which none did the window may have begun anew (RFC 5681, section 4.1).
    fn send(&mut self, end: i64, time_ns: i64, rtt_ns: i64) {
        let idle_ns = time_ns.saturating_sub(self.sent_ns);
        if self.ends.is_empty() && idle_ns > rtt_ns.saturating_add(TIMEOUT_MIN_NS) {
            (self.most, self.least) = (0, 0);
        }
        self.sent_ns = time_ns;
        if self.ends.len() >= PACKETS_MAX {
            self.ends.pop_front();
        }
        self.ends.push_back((end, time_ns));
        self.most = self.most.max(self.ends.len());
        self.least = self.least.max(self.ends.len());
    }

    /// When the newest went by of those that an ACK up to `acked` is of, if that is of two: one alone may have waited for
    /// a timer.
    pub(super) fn newest_of(&self, acked: i64) -> Option<i64> {
        let mut covered = self.ends.iter().take_while(|(end, _)| *end <= acked);
        covered.next()?;
        covered.last().map(|(_, time_ns)| *time_ns)
    }

    fn begin_anew(&mut self) {
        *self = Packets {
            is_lowered: true,
            heard_until_ns: self.heard_until_ns,
            sent_ns: self.sent_ns,
            ..Packets::default()
        };
    }

    /// Whether the window has room for another.
    pub(super) fn have_room(&self) -> bool {
        self.ends.len() < self.least
    }

    /// Whether it has none, and more of them are on their way than an application sends by chance.
    fn fill_window(&self) -> bool {
        let least = if self.is_lowered {
            LOWERED_MIN
        } else {
            WINDOW_NOW_SEGMENTS
        };
        !self.have_room() && self.count() >= least
    }

    fn count(&self) -> i64 {
        i64::try_from(self.ends.len()).unwrap_or(i64::MAX)
    }
}

impl Timeline {
    /// `data` leaves.
    pub(super) fn note_packet(&mut self, data: Data, route: Route, acks: &Acks) {
        let known_ns = Acks::known_by(data.at.time_ns, route.to_sender_ns);
        if data.recovery.is_some() || data.opens_hole || self.window.is_recovering() {
            self.packets.begin_anew();
        }
        self.packets.hear(known_ns, acks);
        self.packets.send(data.end, data.at.time_ns, route.rtt_ns());
    }

    /// The ACKs that its sender had heard before that which let `data` go.
    pub(super) fn hear_packets(&mut self, data: Data, route: Route, acks: &Acks) {
        let until_ns = self.known_before_release(data, route, acks);
        self.packets.hear(until_ns, acks);
    }

    /// Whether as many packets are on their way as the window has room for, of a sender that sends them short.
    pub(super) fn has_packets_of_window(&self, data: Data) -> bool {
        let count = self.packets.count();
        let are_short = |missing: i64| {
            let full = count.saturating_sub(missing);
            self.window.outstanding() <= full.saturating_mul(i64::from(data.full_bytes))
        };
        // Nagle's algorithm lets no second short one go.
        let is_off = data.nagle_is_off || are_short(2);
        let is_window = !data.opens_hole && !self.may_hold(self.window.outstanding());
        is_off && are_short(1) && is_window && self.packets.fill_window()
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::partition::Moment;
    use super::super::Words;
    use super::*;

    const MS: i64 = 1_000_000;
    const START: i64 = (1 << 32) - 2000;

    /// A sender of so many packets of 250 bytes, with its ACKs.
    fn sent(count: i64) -> (Timeline, Acks) {
        let (route, mut acks) = (Route::at_sender(100), Acks::default());
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        acks.push(-100 * MS, START, 60_000, 100 * MS);
        for packet in 1..=count {
            timeline.note_packet(Data::at_ms(0, START + 250 * packet), route, &acks);
        }
        timeline.window.hears(0, START);
        timeline.window.stops(START + 250 * count, 1000);
        (timeline, acks)
    }

    /// Whether so many short packets fill the window of their sender.
    fn fill(count: i64, has_lost: bool) -> bool {
        let (mut timeline, _) = sent(count);
        timeline.packets.is_lowered = has_lost;
        let data = Data::plain(Moment::at_ms(100), START + 250 * count + 1000);
        timeline.has_packets_of_window(data)
    }

    #[test]
    fn a_window_of_packets_is_full_of_short_ones() {
        assert!(fill(10, false));
        assert!(!fill(9, false), "windows begin with ten");
        assert!(fill(5, true));
    }

    #[test]
    fn a_window_of_packets_grows_by_one_with_each_ack_in_slow_start() {
        let (mut timeline, mut acks) = sent(10);
        for packet in 1..=2 {
            acks.push(100 * MS + packet, START + 250 * packet, 60_000, 100 * MS);
        }
        timeline.packets.hear(101 * MS, &acks);
        assert_eq!((timeline.packets.count(), timeline.packets.least), (8, 12));
    }

    #[test]
    fn the_memory_of_packets_is_bounded() {
        let (timeline, _) = sent(200);
        assert_eq!(timeline.packets.ends.len(), PACKETS_MAX);
    }
}
