//! How large a send buffer is, as far as it has been full.

use super::before_idle::WINDOW_NOW_SEGMENTS;
use super::UsedWindow;

/// Once a full buffer may be a chance, if no other of its host has left room.
const LEFT_ROOM_MIN: u32 = 2;

/// What a connection has shown of its sockets, which are alike on all of its host: how large the buffer is that was full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sockets {
    /// It was full though the receiver's window had room, often enough.
    pub left_room: Option<i64>,
    /// It was emptied with so much outstanding each time that it was full.
    pub emptied: Option<i64>,
    /// It was refilled each time that an ACK made room in it.
    pub refilled: Option<i64>,
    pub ends: Ends,
}

/// Whether Nagle's algorithm holds what is short, as writes have shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// Something was held.
    pub are_held: bool,
    /// An end has left with the full segments before it, as it does where the algorithm holds it behind a short one only.
    pub are_sent: bool,
}

impl Sockets {
    /// A connection tells what is known of them.
    pub(crate) fn is_told(&mut self, told: Sockets) {
        self.left_room = told.left_room.or(self.left_room);
        self.emptied = told.emptied.or(self.emptied);
        self.refilled = told.refilled.or(self.refilled);
        self.ends.are_held |= told.ends.are_held;
        self.ends.are_sent |= told.ends.are_sent;
    }

    /// A connection has so much outstanding, in full segments of that size: one buffer holds no less.
    pub(crate) fn holds(&mut self, outstanding: i64, full_bytes: i64) {
        let most = outstanding.saturating_sub(full_bytes);
        self.left_room.take_if(|it| *it <= most);
        self.emptied.take_if(|it| *it < outstanding);
        self.refilled.take_if(|it| *it < outstanding);
    }
}

/// No buffer is smaller: 4.3BSD's had 2,048 bytes, and Linux makes none with less room (SOCK_MIN_SNDBUF).
pub(super) const BUFFER_MIN_BYTES: i64 = 2048;

impl UsedWindow {
    /// Whether what was outstanding when it stopped fills the buffer as far as that is known, or is more than the smallest
    /// holds with a segment of `bytes` more.
    pub(crate) fn may_fill_buffer(&self, bytes: u32) -> bool {
        let is_enough = self.outstanding.saturating_add(i64::from(bytes)) > BUFFER_MIN_BYTES;
        is_enough || self.would_fill_buffer(self.outstanding)
    }

    /// Its full buffer stopped it although the receiver's window had room for a segment.
    pub(crate) fn leaves_room(&mut self) {
        self.left_room = self.left_room.saturating_add(1);
    }

    /// What it shows of its buffer, as far as that tells others.
    pub(crate) fn sockets(&self) -> Sockets {
        Sockets {
            left_room: self.buffer.filter(|_| self.left_room >= LEFT_ROOM_MIN),
            emptied: self.emptied_each_time(),
            ..Sockets::default()
        }
    }

    /// ... and that of another connection of its host.
    pub(crate) fn has_sockets_of(&mut self, other: Sockets) {
        self.other = other;
    }

    /// Whether it stopped with a buffer full that is no larger than the receiver's window, as it showed before.
    pub(crate) fn is_full_buffer(&self) -> bool {
        let both = self.buffer.zip(self.other.left_room);
        let differ = both.map(|(own, other)| own.abs_diff(other));
        let as_other = differ.is_some_and(|it| it < self.full_bytes.unsigned_abs());
        let least = if as_other { 1 } else { LEFT_ROOM_MIN };
        self.left_room >= least && self.buffer.is_some_and(|buffer| self.fills(buffer))
    }

    /// Whether so much was the most that it ever had outstanding: a buffer holds no less.
    pub(crate) fn never_had_more_than(&self, holds: i64) -> bool {
        self.ever <= holds
    }

    /// Whether so much outstanding fills its send buffer, as far as that is known.
    pub(crate) fn would_fill_buffer(&self, outstanding: i64) -> bool {
        let room = outstanding.saturating_add(self.full_bytes);
        self.buffer.is_some_and(|buffer| room > buffer)
    }

    /// How large its send buffer is, if that is known and no whole number of segments.
    pub(crate) fn odd_buffer(&self) -> Option<i64> {
        let rest = |buffer: &i64| buffer.checked_rem(self.full_bytes);
        self.buffer
            .filter(|buffer| rest(buffer).is_some_and(|it| it > 0))
    }

    /// Whether all that it sent before the first ACK fills the buffer that is known by now, and is more than a window
    /// begins with (RFC 6928): one that is known from before is hardly just as large.
    pub(crate) fn began_full(&self) -> bool {
        let most = self.full_bytes.saturating_mul(WINDOW_NOW_SEGMENTS);
        let inherited = self.initial.filter(|initial| *initial > most);
        inherited.is_some_and(|initial| self.would_fill_buffer(initial))
    }

    /// How large its send buffer is, if it has waited for that.
    pub(crate) fn buffer(&self) -> Option<i64> {
        self.buffer
    }

    /// Other connections of its host have shown how large a send buffer is.
    pub(crate) fn has_buffer_of(&mut self, buffer: Option<i64>) {
        self.buffer = self.buffer.or(buffer);
    }

    /// The sender did wait for room in its send buffer.
    pub(crate) fn is_of_buffer(&mut self) {
        self.buffer = Some(self.buffer.unwrap_or(0).max(self.largest));
    }
}
