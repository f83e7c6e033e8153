//! The map from plaintext to the stream of its records.

use std::collections::VecDeque;

use trace_model::Mark;

use crate::record::HEADER_BYTES;

/// A record and its plaintext.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlacedRecord {
    /// Plaintext offset of the record's first byte in its direction.
    pub(crate) plain: u64,
    pub(crate) plain_bytes: u64,
    /// Stream offsets of the record.
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// The packet that carried the first byte.
    pub(crate) first: Mark,
    /// The latest packet that carried a byte of the record.
    pub(crate) last: Mark,
}

impl PlacedRecord {
    fn plain_end(&self) -> u64 {
        self.plain.saturating_add(self.plain_bytes)
    }

    /// Return the stream offset inside the record. Ciphers keep the length of their plaintext.
    fn within(&self, inside: u64) -> u64 {
        let place = self.start.saturating_add(HEADER_BYTES as u64);
        place.saturating_add(inside).min(self.end)
    }
}

/// The records of a direction that can still be looked up, in order.
#[derive(Debug, Default)]
pub(crate) struct Offsets {
    records: VecDeque<PlacedRecord>,
}

impl Offsets {
    pub(crate) fn push(&mut self, record: PlacedRecord) {
        self.records.push_back(record);
    }

    /// Return the start of a message: the record's start, if the message is the first one in the record.
    pub(crate) fn start_of(&self, plain: u64) -> u64 {
        let before = self.records.partition_point(|it| it.plain <= plain);
        self.place(before, plain, |record| record.start)
    }

    /// Return the exclusive end of a message: the record's end, if the message is the last one in the record.
    pub(crate) fn end_of(&self, plain: u64) -> u64 {
        let before = self.records.partition_point(|it| it.plain < plain);
        self.place(before, plain, |record| record.end)
    }

    /// Return the record of this plaintext byte.
    pub(crate) fn record_of(&self, plain: u64) -> Option<&PlacedRecord> {
        let before = self.records.partition_point(|it| it.plain <= plain);
        let record = self.records.get(before.checked_sub(1)?)?;
        (plain < record.plain_end()).then_some(record)
    }

    /// Return the stream offset of a boundary in the last of the first `count` records, or after that record.
    /// Missing bytes lie there.
    fn place(&self, count: usize, plain: u64, at_edge: impl Fn(&PlacedRecord) -> u64) -> u64 {
        let record = count.checked_sub(1).and_then(|at| self.records.get(at));
        let Some(record) = record else {
            // Dropped records are not looked up again.
            return self.records.front().map_or(0, |first| first.start);
        };
        let inside = plain.saturating_sub(record.plain);
        if inside == 0 || inside == record.plain_bytes && at_edge(record) == record.end {
            return at_edge(record);
        }
        if inside < record.plain_bytes {
            return record.within(inside);
        }
        let behind = inside.saturating_sub(record.plain_bytes);
        let next = self.records.get(count).map_or(u64::MAX, |next| next.start);
        record.end.saturating_add(behind).min(next)
    }

    /// Return the number of plaintext bytes before a stream offset. `next` is the start of the next record,
    /// and `next_plain` its plaintext offset. After `next`, each byte counts as plaintext.
    pub(crate) fn plain_before(&self, offset: u64, next: u64, next_plain: u64) -> u64 {
        if offset >= next {
            return next_plain.saturating_add(offset.saturating_sub(next));
        }
        let before = self.records.partition_point(|it| it.start < offset);
        let record = before.checked_sub(1).and_then(|at| self.records.get(at));
        let Some(record) = record else {
            return self.records.front().map_or(0, |first| first.plain);
        };
        if offset >= record.end {
            return record.plain_end();
        }
        let inside = offset.saturating_sub(record.within(0));
        record.plain.saturating_add(inside.min(record.plain_bytes))
    }

    /// Drop the records before `plain`, because messages up to that offset are output.
    pub(crate) fn forget_before(&mut self, plain: u64) {
        while self.records.get(1).is_some_and(|it| it.plain <= plain) {
            self.records.pop_front();
        }
    }

    /// Drop all records except the last. Unfinished messages count as starting there.
    pub(crate) fn give_up(&mut self) {
        let last = self.records.pop_back();
        self.records = last.into_iter().collect();
    }

    pub(crate) fn held_bytes(&self) -> u64 {
        self.records
            .capacity()
            .saturating_mul(size_of::<PlacedRecord>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Return records of 10 plaintext bytes in 32 bytes, the first at offset 100. After the second record, 40
    /// bytes of another record follow. After the third record, 5 plaintext bytes in 27 bytes are missing.
    fn offsets() -> Offsets {
        let mut offsets = Offsets::default();
        let places = [(0, 100), (10, 132), (20, 204), (35, 263)];
        for (frame, (plain, start)) in (1..).zip(places) {
            let first = Mark { frame, time_ns: 0 };
            offsets.push(PlacedRecord {
                plain,
                plain_bytes: 10,
                start,
                end: start + 32,
                first,
                last: first,
            });
        }
        offsets
    }

    #[test]
    fn a_message_begins_and_ends_with_its_records() {
        let offsets = offsets();
        let starts = [0, 10, 20, 35].map(|plain| offsets.start_of(plain));
        assert_eq!(starts, [100, 132, 204, 263]);
        let ends = [10, 20, 30, 45].map(|plain| offsets.end_of(plain));
        assert_eq!(ends, [132, 164, 236, 295]);
    }

    #[test]
    fn messages_that_share_a_record_meet_within_it() {
        let offsets = offsets();
        assert_eq!(offsets.end_of(14), 132 + 5 + 4);
        assert_eq!(offsets.start_of(14), 132 + 5 + 4);
    }

    #[test]
    fn missing_plaintext_lies_between_its_neighbours() {
        let offsets = offsets();
        let places: Vec<u64> = (30..=35).map(|plain| offsets.start_of(plain)).collect();
        assert_eq!(places, [236, 237, 238, 239, 240, 263]);
        assert_eq!(offsets.record_of(32).map(|it| it.first), None);
        assert_eq!(offsets.record_of(35).map(|it| it.first.frame), Some(4));
        assert_eq!(offsets.start_of(48), 298);
    }

    #[test]
    fn an_acknowledgment_covers_the_plaintext_of_whole_records_and_of_their_parts() {
        let offsets = offsets();
        let before = |offset| offsets.plain_before(offset, 295, 45);
        let found = [90, 100, 105, 109, 132, 164, 180, 204, 250, 295, 300].map(before);
        assert_eq!(found, [0, 0, 0, 4, 10, 20, 20, 20, 30, 45, 50]);
        assert_eq!(Offsets::default().plain_before(70, 80, 0), 0);
    }

    #[test]
    fn dropped_records_do_not_change_later_offsets() {
        let whole = offsets();
        for forgotten in 0..=50 {
            let mut offsets = offsets();
            offsets.forget_before(forgotten);
            for plain in forgotten..60 {
                assert_eq!(offsets.start_of(plain), whole.start_of(plain));
                assert_eq!(offsets.end_of(plain + 1), whole.end_of(plain + 1));
            }
        }
    }

    #[test]
    fn places_are_in_order() {
        let mut offsets = offsets();
        for _ in 0..2 {
            for plain in 1..60 {
                assert!(offsets.start_of(plain - 1) <= offsets.end_of(plain));
                assert!(offsets.end_of(plain) <= offsets.start_of(plain));
            }
            offsets.give_up();
        }
    }
}
