//! Receive autotuning of Linux: the window follows the application's reads per round trip
//! (net/ipv4/tcp_input.c, `tcp_rcv_space_adjust`, `tcp_rcvbuf_grow` and `tcp_grow_window` of Linux 6.18).
//!
//! The method is "Dynamic right-sizing" (Fisk and Feng 2001). A receiver advertises twice the data of the
//! last round trip, and more while that data grows. Such a receiver never limits a sender, and does not
//! reserve the maximum buffer per connection.

use crate::stack::Nanoseconds;

/// Window of the initial buffer. `tcp_rmem[1]` is 131,072 bytes of buffers with 2304 bytes per 1448 bytes of
/// data. The window is 160/256 of the buffer.
const FIRST_CLAMP: u64 = 81_920;
/// Initial advertised window: "This value results in initial window of 65535" (ip-sysctl.rst, tcp_rmem).
const FIRST_WINDOW: u64 = 65_535;
/// Segments with which the first round trip's reads are compared (TCP_INIT_CWND).
const FIRST_SEGMENTS: u64 = 10;
/// Growth of the advertised window per received segment, in segments (`tcp_grow_window`).
const SEGMENTS_PER_SEGMENT: u64 = 2;
/// Minimum length of a segment that grows the window (`tcp_event_data_recv`).
const SHORT_BYTES: u64 = 128;

#[derive(Clone, Copy, Debug)]
pub struct Autotuning {
    /// Maximum window.
    most: u64,
    /// Current room of the receiver (`window_clamp`).
    clamp: u64,
    /// Advertised part of the room (`rcv_ssthresh`).
    offered: u64,
    /// Round trip at the receiver, in eighths.
    rtt_eighths: Option<Nanoseconds>,
    /// Timestamp of the last measurement.
    last_echo: Option<u32>,
    /// End of the current window of data, for round trips without timestamps.
    data_end: u64,
    /// Start time of the current window of data.
    data_since: Nanoseconds,
    /// Bytes read in the last counted round trip. None at the connection's start.
    space: Option<u64>,
    /// Read offset at the start of the current round trip.
    read: u64,
    /// Start time of the current round trip.
    since: Nanoseconds,
}

impl Autotuning {
    #[must_use]
    pub fn new(most: u64) -> Self {
        Autotuning {
            most,
            clamp: FIRST_CLAMP.min(most),
            offered: FIRST_WINDOW.min(most),
            rtt_eighths: None,
            last_echo: None,
            data_end: 0,
            data_since: 0,
            space: None,
            read: 1,
            since: 0,
        }
    }

    /// Return the room in bytes, and the advertised part of the room.
    #[must_use]
    pub fn window(&self) -> (u64, u64) {
        (self.clamp, self.offered)
    }

    /// Start the tuning after the handshake.
    pub fn begin(&mut self, mss: u64, now: Nanoseconds) {
        self.space = Some((FIRST_SEGMENTS * mss).min(self.offered));
        self.since = now;
    }

    /// Handle data that arrived `rtt` after the segment with this timestamp was sent. Only the first answer
    /// to a timestamp counts.
    pub fn answered(&mut self, echo: u32, rtt: Nanoseconds, is_whole: bool) {
        if self.last_echo.replace(echo) != Some(echo) && is_whole {
            self.measured(rtt);
        }
    }

    fn measured(&mut self, rtt: Nanoseconds) {
        self.rtt_eighths = Some(match self.rtt_eighths {
            Some(old) if 8 * rtt >= old => old - old / 8 + rtt,
            _ => 8 * rtt,
        });
    }

    /// Handle data in order up to `next`, with `window` bytes advertised beyond.
    pub fn arrived(&mut self, bytes: u64, next: u64, window: u64, mss: u64, now: Nanoseconds) {
        if next >= self.data_end {
            if self.data_end > 0 {
                // A window takes at least a round trip, so only a shorter time counts.
                let taken = 8 * (now - self.data_since);
                self.rtt_eighths = Some(self.rtt_eighths.map_or(taken, |old| old.min(taken)));
            }
            self.data_end = next + window;
            self.data_since = now;
        }
        if bytes >= SHORT_BYTES {
            let grown = self.offered + SEGMENTS_PER_SEGMENT * mss;
            self.offered = grown.min(self.clamp).max(self.offered);
        }
    }

    /// Handle reads of the application up to this offset.
    pub fn has_read(&mut self, read: u64, now: Nanoseconds) {
        let Some(rtt) = self.rtt_eighths.map(|eighths| eighths / 8) else {
            return;
        };
        if now - self.since < rtt {
            return;
        }
        let copied = read - self.read;
        if self.space.is_some_and(|space| copied > space) {
            self.grow(copied, 0);
        }
        self.read = read;
        self.since = now;
    }

    /// Make room for data that arrived `distance` bytes beyond a hole.
    pub fn came_beyond(&mut self, distance: u64) {
        if let Some(space) = self.space {
            self.grow(space, distance);
        }
    }

    fn grow(&mut self, copied: u64, beyond: u64) {
        let before = self.space.replace(copied).unwrap_or(copied).max(1);
        let twice = 2 * copied;
        // In slow start, the sender can double its rate.
        let more = u128::from(twice) * u128::from(copied - before.min(copied)) / u128::from(before);
        let more = u64::try_from(2 * more).unwrap_or(u64::MAX);
        let window = twice.saturating_add(more).saturating_add(beyond);
        self.clamp = self.clamp.max(window.min(self.most));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanoseconds = 1_000_000;
    const MSS: u64 = 1000;

    fn tuning() -> Autotuning {
        let mut tuning = Autotuning::new(1_000_000);
        tuning.begin(MSS, 0);
        tuning.measured(100 * MS);
        tuning
    }

    #[test]
    fn a_receiver_offers_six_times_what_a_round_trip_brought_while_that_doubles() {
        let mut tuning = tuning();
        tuning.has_read(20_001, 100 * MS);
        // Twice 20,000, plus twice as much again for growth by the whole of 10,000.
        assert_eq!(tuning.window(), (120_000, FIRST_WINDOW));
    }

    #[test]
    fn nothing_is_judged_within_a_round_trip() {
        let mut tuning = tuning();
        tuning.has_read(50_001, 99 * MS);
        assert_eq!(tuning.window().0, FIRST_CLAMP);
    }

    #[test]
    fn the_offer_follows_by_two_segments_for_each_that_came() {
        let mut tuning = tuning();
        tuning.arrived(MSS, 1001, 65_535, MSS, MS);
        assert_eq!(tuning.window().1, FIRST_WINDOW + 2 * MSS);
        tuning.arrived(100, 1101, 65_535, MSS, MS);
        assert_eq!(tuning.window().1, FIRST_WINDOW + 2 * MSS);
        for _ in 0..20 {
            tuning.arrived(MSS, 2101, 65_535, MSS, MS);
        }
        assert_eq!(tuning.window().1, FIRST_CLAMP);
    }

    #[test]
    fn of_all_that_answers_one_segment_the_first_is_measured() {
        let mut tuning = Autotuning::new(1_000_000);
        tuning.answered(7, 100 * MS, true);
        tuning.answered(7, 300 * MS, true);
        tuning.answered(8, 90 * MS, false);
        assert_eq!(tuning.rtt_eighths, Some(800 * MS));
    }

    #[test]
    fn no_window_exceeds_the_largest_buffer() {
        let mut tuning = tuning();
        tuning.has_read(900_001, 100 * MS);
        assert_eq!(tuning.window().0, 1_000_000);
    }

    #[test]
    fn data_beyond_a_hole_has_room_of_its_own() {
        let mut tuning = tuning();
        tuning.came_beyond(90_000);
        assert_eq!(tuning.window().0, 2 * 10_000 + 90_000);
    }

    #[test]
    fn a_higher_round_trip_is_smoothed_and_a_lower_one_counts_at_once() {
        let mut tuning = tuning();
        tuning.measured(180 * MS);
        assert_eq!(tuning.rtt_eighths, Some(880 * MS));
        tuning.measured(50 * MS);
        assert_eq!(tuning.rtt_eighths, Some(400 * MS));
    }
}
