//! Flows with long waits: detectors need few others.

use std::collections::HashMap;

use trace_model::column::{Columns, Values};

use crate::numbered::NumberSet;

/// Return the flows with a transaction whose waits for a cause reach the given nanoseconds.
///
/// Rows of `waits` are in the order of their transactions.
#[must_use]
pub fn flows_that_waited(waits: &Columns, causes: &HashMap<String, i64>) -> NumberSet<u32> {
    let values = |name| waits.column(name).map(|column| &column.values);
    let (Some(Values::Enum(codes, words)), Some(Values::Time(starts)), Some(Values::Time(ends))) =
        (values("cause"), values("start"), values("end"))
    else {
        return NumberSet::default();
    };
    let least: Vec<Option<i64>> = words
        .iter()
        .map(|word| causes.get(*word).copied())
        .collect();
    let flows = waits.numbers("flow").unwrap_or_default();
    let transactions = waits.numbers("transaction").unwrap_or_default();
    let mut waited = vec![0_i64; least.len()];
    let mut current = None;
    let mut found = NumberSet::default();
    let places = flows.iter().zip(transactions);
    for ((place, code), (start, end)) in places.zip(codes).zip(starts.iter().zip(ends)) {
        if current.replace(place) != Some(place) {
            waited.fill(0);
        }
        let code = usize::from(*code);
        let (Some(Some(least)), Some(sum)) = (least.get(code), waited.get_mut(code)) else {
            continue;
        };
        *sum = sum.saturating_add(end.saturating_sub(*start));
        if *sum >= *least {
            found.insert(*place.0);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_model::rows::{Cause, WaitRow, WaitsTable};

    #[test]
    fn waits_of_one_transaction_and_cause_add_up() {
        let mut waits = WaitsTable::default();
        let mut row = |flow, transaction, cause, took: i64| {
            waits.push(&WaitRow {
                flow,
                transaction,
                cause,
                start: 100,
                end: 100 + took,
                ..WaitRow::default()
            });
        };
        row(0, 0, Cause::ServerThink, 15);
        row(0, 1, Cause::ServerThink, 15);
        row(1, 0, Cause::ServerThink, 15);
        row(1, 0, Cause::ClientThink, 500);
        row(1, 0, Cause::ServerThink, 5);
        row(2, 0, Cause::ClientThink, 500);
        row(3, 7, Cause::ServerThink, 20);
        let causes = HashMap::from([("server.think".to_owned(), 20)]);
        let found = flows_that_waited(&waits.into_columns(), &causes);
        assert_eq!(found, NumberSet::from_iter([1, 3]));
    }
}
