//! The search for the sequence number of a record. The tag or MAC confirms a match.

/// Maximum number of records in a gap: 4 MiB in records of 4 KiB, more than most receive windows. The search
/// for the longest record of AES-128-GCM takes 12 ms.
pub(crate) const GAP_RECORDS_MAX: u64 = 1024;

/// Consecutive failed attempts after which a direction is abandoned: the cost of eight gaps. Without this
/// limit, wrong keys would make each record as slow as a gap.
pub(crate) const ATTEMPTS_MAX: u64 = 8 * GAP_RECORDS_MAX;

/// State of the search over the records of a direction.
#[derive(Debug)]
pub(crate) struct Search {
    /// Maximum number of records missing before the next record.
    missing: u64,
    attempts_left: u64,
    /// Number of records missing before the last record found.
    missed: u64,
}

impl Search {
    pub(crate) fn new() -> Self {
        Search {
            missing: 0,
            attempts_left: ATTEMPTS_MAX,
            missed: 0,
        }
    }

    pub(crate) fn is_exhausted(&self) -> bool {
        self.attempts_left == 0
    }

    pub(crate) fn missed(&self) -> u64 {
        self.missed
    }

    pub(crate) fn is_certain(&self) -> bool {
        self.missing == 0
    }

    /// Count records that were not opened.
    pub(crate) fn add_missing(&mut self, records: u64) {
        self.missing = self.missing.saturating_add(records).min(GAP_RECORDS_MAX);
    }

    /// Find the first sequence number from `next` on for which `opens` returns true.
    pub(crate) fn find(&mut self, next: u64, mut opens: impl FnMut(u64) -> bool) -> Option<u64> {
        for sequence in next..=next.saturating_add(self.missing) {
            if self.is_exhausted() {
                return None;
            }
            if opens(sequence) {
                *self = Search {
                    missed: sequence.saturating_sub(next),
                    ..Search::new()
                };
                return Some(sequence);
            }
            self.attempts_left = self.attempts_left.saturating_sub(1);
        }
        None
    }
}
