//! When an application wrote, as the distances between its other writes tell.
//!
//! An application that writes an answer piece by piece, as a clock tells it to, leaves the same time between the
//! beginnings of pieces that are equally long. Where the first packet of a piece is lost, and nothing was on its way
//! that could tell of that, it comes when a timer has sent it again: of the silence before it the part up to when the
//! piece was due was the application's. What comes when it is due was not lost, whatever the numbers of its host have
//! passed over, and waited for nothing but its application.

use std::collections::VecDeque;

use crate::jitter::AT_ONCE_MAX_NS;

/// So many distances that are equal are no chance.
const EQUAL_MIN: u32 = 2;
/// Pieces in a row that may begin unnoticed.
const STEPS_MAX: i64 = 4;
/// Distances that are equal differ by no more.
const EXACT_NS: i64 = 2_000_000;
/// What agrees with one distance only, which may be chance, was made late by other data before the slowest link, or at
/// the end of what came before it, but not by both; and by this share of what a rhythm may be late by.
const LATE_SHARE: i64 = 2;
/// Distances that are remembered, of which one may be that of a rhythm.
const OTHERS_MAX: usize = 4;
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
    /// Between when the two left the time may be longer by this, for the first may have stood before that link ...
    pub(super) longer_ns: i64,
    /// ... and shorter, for the second may have.
    pub(super) shorter_ns: i64,
    /// What the slowest link takes for headers: how many bytes of options each packet has is not known there.
    pub(super) headers_ns: i64,
    /// The first may have been written before it left.
    pub(super) may_be_held: bool,
    /// The second left when no ACK came, and stood behind nothing: it was written then.
    pub(super) is_written_then: bool,
}

/// The time between the beginnings of what a host writes.
#[derive(Clone, Debug, Default)]
pub(super) struct Rhythm {
    /// What several distances have agreed on last.
    known: Tempo,
    /// Other ones, the newest last: what began unnoticed, or stood in a queue, makes some longer or shorter.
    others: VecDeque<Tempo>,
}

/// Distances that are equal.
#[derive(Clone, Debug, Default)]
struct Tempo {
    distance_ns: i64,
    equal: u32,
    /// What came at the end of the first was written then.
    is_to_written: bool,
    lengths: VecDeque<Length>,
}

/// So many pieces were so long to the byte.
#[derive(Clone, Copy, Debug)]
struct Length {
    bytes: i64,
    times: u32,
}

impl Rhythm {
    /// Nothing was lost between a piece and the next one.
    pub(super) fn note(&mut self, piece: Written) {
        if self.known.is_exact(piece) {
            self.known.note(piece);
            return;
        }
        if self.known.equal >= EQUAL_MIN && self.known.is_nearly_some(piece) {
            return;
        }
        let is_same = |it: &Tempo| it.is_exact(piece) || it.is_some_of(piece);
        let Some(at) = self.others.iter().rposition(is_same) else {
            self.begins(piece);
            return;
        };
        let Some(mut same) = self.others.remove(at) else {
            return;
        };
        same.note(piece);
        if same.equal >= EQUAL_MIN {
            std::mem::swap(&mut self.known, &mut same);
        }
        if same.equal > 0 {
            self.others.push_back(same);
        }
    }

    /// The next piece after one that was lost, as long before a timer sent it again as that waits. How long it waits is
    /// likely only: as this one distance is, which others may agree with.
    pub(super) fn note_likely(&mut self, piece: Written) {
        if !self.agrees(piece) {
            self.begins(piece);
        }
    }

    /// A distance that no other has agreed with.
    fn begins(&mut self, piece: Written) {
        if self.others.len() >= OTHERS_MAX {
            self.others.pop_front();
        }
        let mut tempo = Tempo::default();
        tempo.note(piece);
        self.others.push_back(tempo);
    }

    fn tempos(&self) -> impl Iterator<Item = &Tempo> {
        std::iter::once(&self.known).chain(&self.others)
    }

    /// Whether the next piece begins when it was due: nothing of it was lost.
    pub(super) fn is_due(&self, piece: Written) -> bool {
        let is_due = |it: &Tempo| it.is_equal(piece) && it.is_known(piece.bytes);
        self.tempos().any(is_due)
    }

    /// Whether the time between two pieces is as that of others before them, be it one pair only.
    pub(super) fn agrees(&self, piece: Written) -> bool {
        self.tempos().any(|it| it.is_exact(piece))
    }

    /// ... to the millisecond.
    pub(super) fn is_exactly_due(&self, piece: Written) -> bool {
        self.known.is_exact(piece) && self.known.is_known(piece.bytes)
    }

    /// ... if there is a rhythm, however long the piece is.
    pub(super) fn is_in(&self, piece: Written) -> bool {
        let is_next = self.known.is_exact(piece) && self.known.steps(piece) == Some(1);
        self.known.equal >= EQUAL_MIN && is_next
    }

    /// How long after a piece so long the next one is due: what several distances have agreed on, or one that ended
    /// when nothing but an application can have held data.
    pub(super) fn distance_ns(&self, bytes: i64) -> Option<i64> {
        let is_known = |it: &&Tempo| it.is_known(bytes);
        if self.known.equal >= EQUAL_MIN {
            return Some(&self.known).filter(is_known).map(|it| it.distance_ns);
        }
        let mut newest_first = self.others.iter().rev().filter(|it| it.is_to_written);
        newest_first.find(is_known).map(|it| it.distance_ns)
    }

    /// Whether a piece that is not the last of its answer is so long, if there is a rhythm: as others to the byte.
    pub(super) fn is_piece(&self, bytes: i64) -> bool {
        let is_same = |it: &Length| it.bytes == bytes && it.times >= EQUAL_MIN;
        self.known.equal >= EQUAL_MIN && self.known.lengths.iter().any(is_same)
    }
}

impl Tempo {
    fn note(&mut self, piece: Written) {
        if !self.is_exact(piece) {
            self.distance_ns = piece.distance_ns;
            self.is_to_written = piece.is_written_then;
            self.lengths.clear();
        }
        self.equal = self.equal.saturating_add(1);
        if self.steps(piece) != Some(1) {
            // So long are several.
            return;
        }
        let mut lengths = self.lengths.iter_mut();
        if let Some(same) = lengths.find(|it| it.bytes == piece.bytes) {
            same.times = same.times.saturating_add(1);
            return;
        }
        if self.lengths.len() >= LENGTHS_MAX {
            let rarest = (0..LENGTHS_MAX).min_by_key(|at| self.lengths.get(*at).map(|it| it.times));
            rarest.and_then(|at| self.lengths.remove(at));
        }
        self.lengths.push_back(Length {
            bytes: piece.bytes,
            times: 1,
        });
    }

    fn is_equal(&self, piece: Written) -> bool {
        let off_ns = piece.distance_ns.saturating_sub(self.distance_ns);
        let stood_ns = if off_ns < 0 {
            piece.longer_ns
        } else {
            piece.shorter_ns
        };
        let late_ns = if self.equal < EQUAL_MIN {
            let late_ns = stood_ns.max(piece.late_ns / LATE_SHARE);
            late_ns.min(self.distance_ns / RHYTHM_SHARE)
        } else {
            stood_ns.saturating_add(piece.late_ns)
        };
        off_ns.saturating_abs() <= AT_ONCE_MAX_NS.saturating_add(late_ns)
    }

    /// Whether it is that distance, to the millisecond, or some of them: pieces between had begun unnoticed.
    fn is_exact(&self, piece: Written) -> bool {
        self.steps(piece).is_some_and(|steps| {
            let off_ns = piece
                .distance_ns
                .saturating_sub(self.distance_ns.saturating_mul(steps));
            off_ns.saturating_abs() <= EXACT_NS.max(piece.headers_ns)
        })
    }

    /// Whether it may be several of that distance, each of which is known to the millisecond only: it is no other one.
    fn is_nearly_some(&self, piece: Written) -> bool {
        self.steps(piece).is_some_and(|steps| {
            let all_ns = self.distance_ns.saturating_mul(steps);
            let off_ns = piece.distance_ns.saturating_sub(all_ns);
            steps > 1 && off_ns.saturating_abs() <= EXACT_NS.saturating_mul(steps)
        })
    }

    /// Whether it is some of the distance of a piece: others between had begun unnoticed. What several were is no such.
    fn is_some_of(&self, piece: Written) -> bool {
        let all = Written {
            distance_ns: self.distance_ns,
            ..piece
        };
        let one = Tempo {
            distance_ns: piece.distance_ns,
            ..Tempo::default()
        };
        self.equal < EQUAL_MIN && one.is_exact(all)
    }

    /// How many distances a piece is nearest to, if to some.
    fn steps(&self, piece: Written) -> Option<i64> {
        let half_ns = self.distance_ns / 2;
        let steps = piece
            .distance_ns
            .saturating_add(half_ns)
            .checked_div(self.distance_ns)?;
        (1..=STEPS_MAX).contains(&steps).then_some(steps)
    }

    fn is_known(&self, bytes: i64) -> bool {
        let is_same =
            |it: &Length| bytes.saturating_sub(it.bytes).saturating_abs() <= bytes / SAME_SHARE;
        self.lengths.iter().any(is_same)
    }
}

#[cfg(test)]
mod tests;
