//! Waits of the stretches of a critical path.

use trace_model::column::{Columns, Values};
use trace_model::rows::Cause;

use super::critical_path::{pieces, Place, Stretch, Wait};
use crate::numbered::NumberMap;

/// Finished waits by transaction.
pub(super) struct TransactionWaits<'a> {
    /// Batch of a transaction's waits, their first row in it, and their number.
    rows: NumberMap<Place, (&'a Columns, usize, usize)>,
    stalled: &'a NumberMap<Place, Vec<Wait>>,
}

impl<'a> TransactionWaits<'a> {
    pub(super) fn of(
        parts: &'a [Columns],
        stalled: &'a NumberMap<Place, Vec<Wait>>,
    ) -> TransactionWaits<'a> {
        let mut rows: NumberMap<Place, (&Columns, usize, usize)> = NumberMap::default();
        for part in parts {
            let flows = part.numbers("flow").unwrap_or_default().iter();
            let transactions = part.numbers("transaction").unwrap_or_default();
            // The waits of a transaction are consecutive and in one batch.
            let places: Vec<Place> = flows.copied().zip(transactions.iter().copied()).collect();
            let mut first = 0_usize;
            for waits in places.chunk_by(|one, next| one == next) {
                if let Some(place) = waits.first() {
                    rows.insert(*place, (part, first, waits.len()));
                }
                first = first.saturating_add(waits.len());
            }
        }
        TransactionWaits { rows, stalled }
    }

    pub(super) fn pieces(&self, stretch: &Stretch) -> Vec<Wait> {
        if let Some(waits) = self.stalled.get(&stretch.place) {
            return pieces(stretch, waits.iter().copied());
        }
        let Some((part, first, count)) = self.rows.get(&stretch.place).copied() else {
            return pieces(stretch, std::iter::empty());
        };
        let values = |name| part.column(name).map(|column| &column.values);
        let (Some(Values::Enum(causes, _)), Some(Values::Time(starts)), Some(Values::Time(ends))) =
            (values("cause"), values("start"), values("end"))
        else {
            return pieces(stretch, std::iter::empty());
        };
        let waits = (first..first.saturating_add(count)).filter_map(|row| {
            Some(Wait {
                cause: *Cause::ALL.get(usize::from(*causes.get(row)?))?,
                start_ns: *starts.get(row)?,
                end_ns: *ends.get(row)?,
            })
        });
        pieces(stretch, waits)
    }
}
