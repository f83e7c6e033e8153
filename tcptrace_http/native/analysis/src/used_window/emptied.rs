//! A sender that had nothing left each time that it stopped, with just as much outstanding as the time before.
//!
//! What it pushed ends a write (RFC 9293, section 3.9.1.2), and may be all that it had. A window that stops it lets its
//! buffer keep the rest, and grows with the ACKs; an application that waits for its next write stops wherever its
//! writes end. Only a buffer that takes no more of a write than it has room for is emptied with as much outstanding, to
//! the byte.

use super::buffer::BUFFER_MIN_BYTES;
use super::UsedWindow;
use std::cmp::Ordering;

/// Once a write may end where a window does.
const TIMES_MIN: u32 = 2;

/// 4.3BSD's and 4.4BSD's sosend hands TCP a write in clusters of this size (MCLBYTES; Heidemann 1996).
const CLUSTER_BYTES: i64 = 2048;

/// Buffers are set in units of so many bytes.
const UNIT_BYTES: i64 = 1024;

/// With how much outstanding a sender stopped behind a push.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Emptied {
    outstanding: i64,
    times: u32,
    /// The receiver's window is as large.
    is_as_offered: bool,
}

impl UsedWindow {
    /// How much its buffer holds, if it was emptied with as much each time that it was full.
    pub(super) fn emptied_each_time(&self) -> Option<i64> {
        let is_told = self.emptied.times >= TIMES_MIN;
        self.emptied_with()
            .filter(|it| is_told && self.is_odd(*it) && *it >= BUFFER_MIN_BYTES)
    }

    /// Whether so much is no whole number of segments.
    fn is_odd(&self, bytes: i64) -> bool {
        let rest = bytes.checked_rem(self.full_bytes);
        rest.is_some_and(|rest| rest > 0)
    }

    /// How much its buffer holds that it is known to have waited for, if it was emptied with as much before: a window that
    /// is as large, of whole segments, would have let the buffer keep the rest. Buffers are set in units of a kilobyte.
    pub(crate) fn buffer_emptied_before(&self) -> Option<i64> {
        let emptied = self
            .emptied_with()
            .filter(|_| self.emptied.times >= TIMES_MIN);
        let is_whole = |it: &i64| it.checked_rem(UNIT_BYTES) == Some(0);
        let known = emptied.filter(|it| self.buffer == Some(*it) && self.threshold.is_none());
        known.filter(is_whole)
    }

    /// What it had sent when it stopped was all that lay in its buffer, for all that is seen.
    pub(crate) fn is_emptied(&mut self) {
        let Emptied {
            outstanding, times, ..
        } = self.emptied;
        let times = match self.outstanding.cmp(&outstanding) {
            Ordering::Equal => times.saturating_add(1),
            // The end of what was to be written fills no buffer. A window that was lowered grows slowly: it may stop
            // its sender at the end of a write now and then.
            Ordering::Less if self.threshold.is_none() => return,
            Ordering::Less | Ordering::Greater => 1,
        };
        self.emptied = Emptied {
            outstanding: self.outstanding,
            times,
            is_as_offered: self.emptied.is_as_offered && times > 1,
        };
    }

    /// What it was emptied with filled the receiver's window to the byte, which is as large. Whether that tells of a buffer
    /// that was not known to be.
    pub(crate) fn is_as_offered(&mut self) -> bool {
        let holds = self.outstanding;
        let is_buffer = self.is_odd(holds) && holds >= BUFFER_MIN_BYTES;
        let is_new = is_buffer && self.emptied_with() == Some(holds);
        is_new && !std::mem::replace(&mut self.emptied.is_as_offered, true)
    }

    /// Whether so much outstanding fills a buffer that is as large as the receiver's window.
    pub(crate) fn would_fill_emptied(&self, outstanding: i64) -> bool {
        let holds = self.emptied_with().filter(|_| self.emptied.is_as_offered);
        holds.is_some_and(|holds| outstanding.saturating_add(self.full_bytes) > holds)
    }

    /// ... and what is now.
    pub(crate) fn fills_as_offered(&self) -> bool {
        self.would_fill_emptied(self.outstanding)
    }

    /// How much its buffer holds, if that was full when it was emptied last.
    pub(crate) fn emptied_with(&self) -> Option<i64> {
        Some(self.emptied.outstanding).filter(|_| self.emptied.times > 0)
    }

    /// ... if it was full with as much before.
    pub(crate) fn emptied_as_before(&self) -> Option<i64> {
        let rest = self.emptied.outstanding.checked_rem(self.full_bytes);
        let is_told = self.emptied.times >= TIMES_MIN && rest.is_some_and(|rest| rest > 0);
        // A write goes to TCP in pieces as large as a cluster of buffers, each of which ends with a push.
        let emptied = Some(self.emptied.outstanding).filter(|it| is_told && *it > CLUSTER_BYTES);
        emptied.filter(|it| self.never_had_more_than(*it))
    }

    /// More lay in its buffer than it had been emptied with.
    pub(crate) fn holds_more(&mut self) {
        self.emptied.times = 0;
    }

    /// Whether its buffer was emptied each time that it stopped with as much outstanding, which is no whole number of
    /// segments as a window is.
    pub(crate) fn empties_its_buffer(&self) -> bool {
        let outstanding = Some(self.outstanding);
        let as_other = self.other.emptied == outstanding
            && self.is_odd(self.outstanding)
            && self.outstanding > CLUSTER_BYTES;
        as_other || self.emptied_each_time() == outstanding
    }
}

#[cfg(test)]
mod tests {
    use super::super::Sockets;
    use super::*;

    /// The window of a sender with nothing left that stopped with so much outstanding each time.
    fn emptied(stops: &[i64]) -> UsedWindow {
        let mut window = UsedWindow::default();
        let mut end = (1 << 32) - 7000;
        for outstanding in stops {
            window.hears(end, end);
            end += outstanding;
            window.stops(end, 1000);
            window.is_emptied();
        }
        window
    }

    /// Whether that was a full buffer.
    fn empties(stops: &[i64]) -> bool {
        emptied(stops).empties_its_buffer()
    }

    #[test]
    fn who_has_nothing_left_with_as_much_outstanding_twice_had_a_full_buffer() {
        assert!(empties(&[4000, 6144, 6144]));
        assert!(!empties(&[6144]));
        assert!(!empties(&[6144, 7168]));
    }

    #[test]
    fn a_buffer_that_was_emptied_twice_was_full_before_though_it_holds_whole_segments() {
        for (stops, is_full) in [([4000, 8192, 8192], true), ([4000, 6000, 8192], false)] {
            let mut window = emptied(&stops);
            assert_eq!(window.buffer_emptied_before(), None, "no buffer is known");
            window.is_of_buffer();
            let told = Some(8192).filter(|_| is_full);
            assert_eq!(window.buffer_emptied_before(), told);
        }
    }

    #[test]
    fn no_buffer_is_smaller_than_the_smallest() {
        assert!(empties(&[2100, 2100]));
        assert!(!empties(&[1900, 1900]));
    }

    #[test]
    fn what_empties_the_buffers_of_others_empties_this_one_at_once() {
        for (other, outstanding, is_full) in [
            (6144, 6144, true),
            (6144, 6000, false),
            (6000, 6000, false),
            (1024, 1024, false),
        ] {
            let mut window = UsedWindow::default();
            window.stops(1 + outstanding, 1000);
            window.has_sockets_of(Sockets {
                emptied: Some(other),
                ..Sockets::default()
            });
            window.is_emptied();
            assert_eq!(window.empties_its_buffer(), is_full);
            assert_eq!(
                window.emptied_each_time(),
                None,
                "it is its own that tells others"
            );
        }
    }

    #[test]
    fn whose_buffer_held_more_once_was_not_stopped_by_that() {
        let mut window = UsedWindow::default();
        let mut end = (1 << 32) - 7000;
        for is_left in [false, true, false] {
            window.hears(end, end);
            end += 6144;
            window.stops(end, 1000);
            if is_left {
                window.holds_more();
            } else {
                window.is_emptied();
            }
        }
        assert!(!window.empties_its_buffer());
    }

    #[test]
    fn the_end_of_what_was_to_be_written_says_nothing_of_the_buffer() {
        assert!(empties(&[6144, 700, 6144]));
    }

    #[test]
    fn full_segments_fill_a_window_as_well() {
        assert!(!empties(&[6000, 6000]));
    }
}
