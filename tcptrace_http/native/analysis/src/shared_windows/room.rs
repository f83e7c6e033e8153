//! When the window that connections share had room for more.
//!
//! Theory of operation. Of all connections together it is known what was in flight when data left: what had been
//! sent before, less what ACKs had acknowledged that were with the server by then. The most that ever was, since
//! anything was lost, is the least that the window is, for it grows until the next loss. Whenever less than that
//! was in flight, by a segment at least, data that was there would have left: a server that was silent then had
//! none. So a connection that had sent all of its data waited for the application up to the last such moment, and
//! for the window after it, though an ACK of another connection let its data go.

/// Until a timer sends what was lost, at first (RFC 1122, section 4.2.3.1).
pub(super) const TIMEOUT_INITIAL_NS: i64 = 3_000_000_000;

/// What all connections of two hosts have in flight, in bytes of the server, and the window that they show.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Room {
    sent: i64,
    acked: i64,
    /// The most that was in flight at once since the last loss, or since nothing was.
    largest: i64,
    /// What was in flight at that loss is acknowledged when so much is.
    recovers_until: i64,
    /// Data that left up to when this came by found room for a full segment.
    pub(super) until_ns: Option<i64>,
    /// The newest data had room since so much was acknowledged, if that was before the ACK came which let it go.
    pub(super) had_room_at: Option<i64>,
}

impl Room {
    pub(super) fn sent(&self) -> i64 {
        self.sent
    }

    pub(super) fn acked(&self) -> i64 {
        self.acked
    }

    /// The server sent so much more.
    pub(super) fn sends(&mut self, bytes: i64) {
        self.sent = self.sent.saturating_add(bytes.max(0));
    }

    /// The client acknowledged so much more, or a connection is gone that had as much in flight. Of how much in
    /// all.
    pub(super) fn acknowledges(&mut self, bytes: i64) -> i64 {
        self.acked = self.acked.saturating_add(bytes.max(0));
        self.acked
    }

    /// Something was lost: the window is smaller now, and what is in flight does not tell which it is.
    pub(super) fn had_loss(&mut self) {
        self.largest = 0;
        self.recovers_until = self.sent;
    }

    /// Data comes by at `time_ns` that left when so much was acknowledged, right after so much was (`before`).
    pub(super) fn leaves(
        &mut self,
        time_ns: i64,
        (before, acked): (i64, i64),
        bytes: i64,
        full: i64,
    ) {
        let others = self.sent.saturating_sub(bytes);
        let in_flight = others.saturating_sub(before);
        let fits = in_flight > 0 && in_flight.saturating_add(bytes) <= self.largest;
        self.had_room_at = fits.then(|| self.sent.saturating_sub(self.largest));
        if in_flight <= 0 {
            // Who pauses may begin with a smaller window than before (RFC 5681, section 4.1).
            self.largest = 0;
        }
        if in_flight <= 0 || in_flight.saturating_add(full) <= self.largest {
            self.until_ns = Some(time_ns);
        }
        if acked >= self.recovers_until {
            self.largest = self.largest.max(self.sent.saturating_sub(acked));
        }
    }

    /// Data follows it at once.
    pub(super) fn goes_on(&mut self, acked: i64) {
        if acked >= self.recovers_until {
            self.largest = self.largest.max(self.sent.saturating_sub(acked));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: i64 = 1000;

    /// Four segments left at once, of which two are acknowledged.
    fn room() -> Room {
        let mut room = Room::default();
        room.sends(FULL);
        room.leaves(100, (0, 0), FULL, FULL);
        for _ in 0..3 {
            room.sends(FULL);
            room.goes_on(0);
        }
        room.acknowledges(2 * FULL);
        room
    }

    #[test]
    fn what_leaves_with_less_in_flight_than_once_was_found_room() {
        let mut room = room();
        assert_eq!(room.until_ns, Some(100));
        room.sends(FULL);
        room.leaves(200, (2 * FULL, 2 * FULL), FULL, FULL);
        assert_eq!(room.until_ns, Some(200));
    }

    #[test]
    fn what_an_ack_lets_go_behind_a_full_window_found_none() {
        let mut room = room();
        room.sends(FULL);
        room.leaves(200, (0, 2 * FULL), FULL, FULL);
        assert_eq!(room.until_ns, Some(100));
    }

    #[test]
    fn what_fits_behind_all_that_was_in_flight_before_its_ack_had_room_then() {
        let at = FULL / 2;
        for (before, had_room_at) in [(0, None), (FULL, Some(at)), (4 * FULL, None)] {
            let mut room = room();
            room.sends(FULL / 2);
            room.leaves(200, (before, 4 * FULL), FULL / 2, FULL);
            assert_eq!(room.had_room_at, had_room_at, "{before}");
        }
    }

    #[test]
    fn after_a_loss_the_window_is_not_known_until_all_of_its_flight_is_acknowledged() {
        let mut room = room();
        room.had_loss();
        room.sends(FULL);
        room.leaves(200, (2 * FULL, 2 * FULL), FULL, FULL);
        assert_eq!(room.until_ns, Some(100));
        assert_eq!(room.largest, 0);
        room.acknowledges(2 * FULL);
        room.sends(FULL);
        room.leaves(300, (4 * FULL, 4 * FULL), FULL, FULL);
        assert_eq!((room.until_ns, room.largest), (Some(100), 2 * FULL));
    }
}
