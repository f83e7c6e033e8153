//! When an application wrote, as the distances between its other writes tell.
//!
//! An application that writes an answer piece by piece, as a clock tells it to, leaves the same time between the
//! beginnings of pieces that are equally long. Where the first packet of a piece is lost, and nothing was on its way
//! that could tell of that, it comes when a timer has sent it again: of the silence before it the part up to when the
//! piece was due was the application's. What comes when it is due was not lost, whatever the numbers of its host have
//! passed over.

use std::collections::VecDeque;

use crate::jitter::AT_ONCE_MAX_NS;

/// So many distances that are equal are no chance.
const EQUAL_MIN: u32 = 2;
/// Lengths of pieces that are remembered: of the beginnings of answers and of what follows.
const LENGTHS_MAX: usize = 4;
/// Pauses of a rhythm differ by less than this share of them.
const RHYTHM_SHARE: i64 = 16;
/// The beginnings of answers are equally long but for the digits in them.
const SAME_SHARE: i64 = 16;

/// Whether two pauses are the same, but for jitter.
pub(crate) fn is_rhythm(before_ns: i64, pause_ns: i64) -> bool {
    before_ns.saturating_sub(pause_ns).saturating_abs() <= before_ns / RHYTHM_SHARE
}

/// A piece of an answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    /// The time to the next one, and its own length.
    pub(super) distance_ns: i64,
    pub(super) bytes: i64,
    /// What stands before a packet on the slowest link makes it late by this.
    pub(super) late_ns: i64,
}

/// The time between the beginnings of what a host writes.
#[derive(Clone, Debug, Default)]
pub(super) struct Rhythm {
    distance_ns: i64,
    equal: u32,
    lengths: VecDeque<i64>,
}

impl Rhythm {
    /// Nothing was lost between a piece and the next one.
    pub(super) fn note(&mut self, piece: Written) {
        if self.is_equal(piece) {
            self.equal = self.equal.saturating_add(1);
        } else {
            self.equal = 1;
            self.distance_ns = piece.distance_ns;
            self.lengths.clear();
        }
        if !self.is_known(piece.bytes) {
            if self.lengths.len() >= LENGTHS_MAX {
                self.lengths.pop_front();
            }
            self.lengths.push_back(piece.bytes);
        }
    }

    /// Whether the next piece begins when it was due: nothing of it was lost.
    pub(super) fn is_due(&self, piece: Written) -> bool {
        self.is_equal(piece) && self.is_known(piece.bytes)
    }

    /// How long after a piece so long the next one is due, if there is a rhythm.
    pub(super) fn distance_ns(&self, bytes: i64) -> Option<i64> {
        (self.equal >= EQUAL_MIN && self.is_known(bytes)).then_some(self.distance_ns)
    }

    fn is_equal(&self, piece: Written) -> bool {
        let off_ns = piece.distance_ns.saturating_sub(self.distance_ns);
        off_ns.saturating_abs() <= AT_ONCE_MAX_NS.saturating_add(piece.late_ns)
    }

    fn is_known(&self, bytes: i64) -> bool {
        let is_same = |it: &i64| bytes.saturating_sub(*it).saturating_abs() <= bytes / SAME_SHARE;
        self.lengths.iter().any(is_same)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn written(distance_ms: i64, bytes: i64) -> Written {
        Written {
            distance_ns: distance_ms * MS,
            bytes,
            late_ns: 0,
        }
    }

    #[test]
    fn equal_distances_between_writes_tell_when_the_next_is_due_and_a_single_one_does_not() {
        let mut rhythm = Rhythm::default();
        rhythm.note(written(1100, 4096));
        rhythm.note(written(1500, 170));
        assert_eq!(rhythm.distance_ns(171), None);
        rhythm.note(written(1502, 4096));
        assert_eq!(rhythm.distance_ns(171), Some(1500 * MS));
        assert_eq!(rhythm.distance_ns(4096), Some(1500 * MS));
        rhythm.note(written(700, 4096));
        assert_eq!(rhythm.distance_ns(4096), None);
    }

    #[test]
    fn what_comes_when_it_is_due_behind_a_piece_as_long_as_others_was_not_lost() {
        let mut rhythm = Rhythm::default();
        rhythm.note(written(1100, 4096));
        assert!(rhythm.is_due(written(1105, 4096)));
        assert!(!rhythm.is_due(written(1300, 4096)), "a timer has run out");
        assert!(!rhythm.is_due(written(1100, 2048)), "a part of a piece");
    }
}
