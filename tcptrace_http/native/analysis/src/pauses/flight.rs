//! What a sender had in flight when data left, as the ACKs that had come to it by then tell.

use tcptrace_tcp::TIMEOUT_MIN_NS;

use super::pause::PeerAck;
use super::used::Growth;
use super::{Path, PauseTracker, SentData};
use super::{ACK_AGE_SLACK_NS, DISPROOF_MARGIN_NS, RELEASE_MAX_NS, RELEASE_RTT_SHARE};

impl PauseTracker {
    /// Whether all had been acknowledged, early enough for that to have released the data.
    pub(super) fn may_be_released(&self, previous: SentData, data: SentData, path: &Path) -> bool {
        let left_ns = data.time_ns.saturating_sub(path.sender_rtt_ns.unwrap_or(0));
        let acked = self.acks.iter().rev().find(|ack| ack.time_ns <= left_ns);
        acked.is_some_and(|ack| ack.after >= previous.end)
    }

    /// From when on ACKs are asked for once this one has come at `time_ns`. Next to the sender one may have made room in
    /// the window long before data leaves that Nagle's algorithm holds until the last one.
    pub(super) fn acks_are_asked_for_since(&self, time_ns: i64, path: &Path) -> i64 {
        let way_ns = path
            .sender_rtt_ns
            .unwrap_or(0)
            .saturating_add(self.takes_ns);
        let since_ns = time_ns.saturating_sub(way_ns.saturating_add(ACK_AGE_SLACK_NS));
        let sent_ns = self.previous.filter(|_| path.is_nearer_to_sender());
        since_ns.min(sent_ns.map_or(i64::MAX, |previous| previous.time_ns))
    }

    /// What its sender had in flight with this segment, at least: the ACKs that had not come to it when the
    /// segment left, which was no later than the path and the slowest link tell. A link that takes a round trip
    /// for a segment has each acknowledged before the next one is seen.
    pub(super) fn flight_at_sender(&self, data: SentData, path: &Path) -> u64 {
        let acked = self
            .had_come(data, path)
            .map(|ack| ack.after)
            .or_else(|| self.acks.front().map(|ack| ack.before))
            .unwrap_or(data.start);
        data.end.saturating_sub(acked)
    }

    /// The newest ACK that had come to the sender when this segment left.
    fn had_come(&self, data: SentData, path: &Path) -> Option<&PeerAck> {
        let took_ns = path
            .sender_rtt_ns
            .unwrap_or(0)
            .saturating_add(path.takes_ns);
        // What comes sooner behind an ACK than path and link take was not let go by that; a link that is not known
        // may take any time.
        let least_ns = if path.takes_ns > 0 {
            DISPROOF_MARGIN_NS
        } else {
            RELEASE_MAX_NS
        };
        let slack_ns = least_ns.max(took_ns / RELEASE_RTT_SHARE);
        let left_ns = data
            .time_ns
            .saturating_sub(took_ns)
            .saturating_add(slack_ns);
        self.acks.iter().rev().find(|ack| ack.time_ns <= left_ns)
    }

    /// How many ACKs had come to the sender when it sent data from this offset on again: none that acknowledges that,
    /// be it older where it was seen.
    pub(super) fn acks_before_resent(&self, start: u64) -> u64 {
        let later = self.acks.iter().find(|ack| ack.after > start);
        later.map_or(self.acks_counted, |ack| ack.number.saturating_sub(1))
    }

    /// Follows the window as it grows in slow start.
    pub(super) fn note_window(&mut self, data: SentData, path: &Path) {
        let acks = self.had_come(data, path).map_or(0, |ack| ack.number);
        let full = u64::from(path.segment_bytes.max(1));
        let flight = self.flight_at_sender(data, path);
        let mut whole = flight.div_ceil(full).saturating_mul(full);
        let growth = self.growth(path);
        if self.used.is_unused() && !self.had_loss {
            let initial = path.initial_window_bytes.div_ceil(full);
            whole = whole.max(initial.saturating_mul(full));
        }
        // In fast recovery duplicate ACKs let go what no window has room for (RFC 5681, section 3.2).
        if data.end.saturating_sub(flight) < self.recovery_end {
            whole = 0;
            self.used.begins_anew(acks);
            self.used_since_idle.begins_anew(acks);
        }
        let window = self.used.shows(whole, acks, full, growth);
        self.shown_window_bytes = self.used_since_idle.shows(whole, acks, full, growth);
        self.last_flight_bytes = flight;
        self.last_window_bytes = window;
    }

    fn growth(&self, path: &Path) -> Growth {
        // Once something was lost a window need not grow so; and those who offer SACK came to ask whether a window
        // is used before they let it grow (RFC 2018 and RFC 2861 are of one time).
        match (self.had_loss, path.sender_permits_sack) {
            (false, _) => Growth::SlowStart,
            (true, false) => Growth::Avoidance,
            (true, true) => Growth::Unknown,
        }
    }

    /// The least that the window was when all ACKs had come but the one that may have let `data` go.
    pub(super) fn window_before(&self, data: SentData, path: &Path) -> u64 {
        let newest = self.had_come(data, path).map_or(0, |ack| ack.number);
        let full = u64::from(path.segment_bytes.max(1));
        let before = newest.saturating_sub(1);
        self.used_since_idle.at(before, full, self.growth(path))
    }

    /// When the ACK went by that made room for `data` in the window, if that had none when the segment before left:
    /// until then the window held it, whatever would have held it besides.
    pub(super) fn made_room_ns(
        &self,
        previous: SentData,
        data: SentData,
        path: &Path,
    ) -> Option<i64> {
        // How a window grows that was lowered is not known so well: that it was used up shows in whole segments.
        let may_have_room = self.had_loss && !self.was_used_up();
        let lowered = path.lowered_bytes();
        let is_told = !path.may_share_window && (!may_have_room || lowered.is_some());
        let window = lowered.unwrap_or(self.largest_flight_bytes.max(self.last_window_bytes));
        self.made_room_in(window, previous, data)
            .filter(|_| is_told)
    }

    /// ... if the window is no larger than it was shown to be.
    pub(super) fn may_have_made_room_ns(&self, previous: SentData, data: SentData) -> Option<i64> {
        let window = self.largest_flight_bytes.max(self.last_window_bytes);
        self.made_room_in(window, previous, data)
    }

    fn made_room_in(&self, window: u64, previous: SentData, data: SentData) -> Option<i64> {
        let bytes = u64::from(data.bytes);
        let fits = |in_flight: u64| in_flight.saturating_add(bytes) <= window;
        if fits(self.last_flight_bytes) {
            return None;
        }
        let acked = previous.end.saturating_sub(self.last_flight_bytes);
        let makes_room =
            |ack: &&PeerAck| ack.after > acked && fits(previous.end.saturating_sub(ack.after));
        let first = self.acks.iter().find(makes_room);
        first.map(|ack| ack.time_ns)
    }

    /// Whether what was in flight filled the window to its last byte: there was no room for one more.
    pub(super) fn was_used_up(&self) -> bool {
        let window = self.largest_flight_bytes.max(self.last_window_bytes);
        window > 0 && self.last_flight_bytes == window
    }

    /// Whether all had been acknowledged for longer than an ACK takes to release data, and nothing was sent for longer
    /// than a retransmission timeout, which no round trip is longer than: the sender may have thrown its window away
    /// (RFC 5681, section 4.1).
    pub(super) fn was_idle(&self, previous: SentData, data: SentData, path: &Path) -> bool {
        let sent_ns = self
            .resent_ns
            .map_or(previous.time_ns, |it| it.max(previous.time_ns));
        let gap = data.time_ns.saturating_sub(sent_ns);
        let timer_ns = TIMEOUT_MIN_NS
            .saturating_add(path.sender_rtt_ns.unwrap_or(0))
            .saturating_add(path.receiver_rtt_ns.unwrap_or(0));
        if gap < timer_ns {
            return false;
        }
        let released_by = path
            .sender_rtt_ns
            .unwrap_or(0)
            .saturating_add(path.takes_ns)
            .saturating_add(RELEASE_MAX_NS);
        self.acks.back().is_some_and(|ack| {
            ack.after >= previous.end && data.time_ns.saturating_sub(ack.time_ns) > released_by
        })
    }
}

#[cfg(test)]
mod tests;
