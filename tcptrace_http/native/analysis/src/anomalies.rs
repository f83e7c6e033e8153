//! Anomalies in order of arrival, up to a limit per kind.

use trace_model::rows::{AnomaliesTable, AnomalyRow};
use trace_model::{Anomaly, AnomalyKind};

/// Maximum number of anomaly rows per kind.
///
/// A broken capture has one anomaly per packet. The first thousand describe the fault, and a last row gives
/// the count.
const OF_A_KIND_MAX: u64 = 1000;

/// Position of an anomaly, independent of the thread that found it.
///
/// The order is by frame, with the flow's anomalies before the decoder's. At the end of the capture the order
/// is by flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    frame: u64,
    is_at_the_end: bool,
    is_the_decoders: bool,
    flow: u32,
}

/// Anomalies of one share of a capture or of the whole capture.
#[derive(Debug, Default)]
pub struct Anomalies {
    listed: Vec<(Place, Anomaly)>,
    /// Number of anomalies per kind.
    counts: Vec<u64>,
    is_at_the_end: bool,
}

impl Anomalies {
    /// Add an anomaly of a flow, found while `frame` was the last frame.
    pub fn push(&mut self, frame: u64, anomaly: Anomaly) {
        let is_at_the_end = self.is_at_the_end;
        let flow = anomaly.flow.filter(|_| is_at_the_end).unwrap_or(0);
        let place = Place {
            frame,
            is_at_the_end,
            is_the_decoders: false,
            flow,
        };
        self.list(place, anomaly);
    }

    /// Add an anomaly of the decoder.
    pub fn push_decoders(&mut self, frame: u64, anomaly: Anomaly) {
        let place = Place {
            frame,
            is_the_decoders: true,
            ..Place::default()
        };
        self.list(place, anomaly);
    }

    /// Mark the end of the capture: later anomalies come from its end.
    pub fn at_the_end(&mut self) {
        self.is_at_the_end = true;
    }

    fn list(&mut self, place: Place, anomaly: Anomaly) {
        if self.count(anomaly.kind, 1) < OF_A_KIND_MAX {
            self.listed.push((place, anomaly));
        }
    }

    /// Add `more` to the count of a kind, and return the previous count.
    fn count(&mut self, kind: AnomalyKind, more: u64) -> u64 {
        let at = kind as usize;
        if self.counts.len() <= at {
            self.counts.resize(at.saturating_add(1), 0);
        }
        let Some(count) = self.counts.get_mut(at) else {
            return u64::MAX;
        };
        let before = *count;
        *count = before.saturating_add(more);
        before
    }

    /// Take the listed anomalies and keep the counts.
    #[must_use]
    pub fn take(&mut self) -> Anomalies {
        Anomalies {
            listed: std::mem::take(&mut self.listed),
            ..Anomalies::default()
        }
    }

    /// Replace the flow numbers by those of another numbering.
    pub fn renumber(&mut self, numbers: &[u32]) {
        for (place, anomaly) in &mut self.listed {
            let of = |flow: u32| numbers.get(usize::try_from(flow).ok()?).copied();
            anomaly.flow = anomaly.flow.map(|flow| of(flow).unwrap_or(flow));
            if place.is_at_the_end {
                place.flow = anomaly.flow.unwrap_or(0);
            }
        }
    }

    /// Add the anomalies of another share of the same packets.
    pub fn append(&mut self, other: Anomalies) {
        self.listed.extend(other.listed);
    }

    /// Return the rows in order, without those over the limit; `given` counts the rows returned before.
    #[must_use]
    pub fn into_table(mut self, given: &mut Vec<u64>) -> AnomaliesTable {
        self.listed.sort_by_key(|(place, _)| *place);
        let mut table = AnomaliesTable::default();
        let mut so_far = Anomalies {
            counts: std::mem::take(given),
            ..Anomalies::default()
        };
        for (_, anomaly) in self.listed {
            if so_far.count(anomaly.kind, 1) < OF_A_KIND_MAX {
                table.push(&AnomalyRow {
                    kind: anomaly.kind,
                    frame: anomaly.frame,
                    flow: anomaly.flow,
                    offset: anomaly.offset,
                    detail: anomaly.detail,
                });
            }
        }
        *given = so_far.counts;
        table
    }

    /// Return the number of anomalies of each kind.
    #[must_use]
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }
}

/// Add rows with the number of omitted anomalies of each kind.
pub fn push_left_out(counts: &[u64], table: &mut AnomaliesTable) {
    for (word, count) in AnomalyKind::WORDS.iter().zip(counts) {
        let left_out = count.saturating_sub(OF_A_KIND_MAX);
        if left_out > 0 {
            table.push(&AnomalyRow {
                kind: AnomalyKind::LimitReached,
                detail: format!("{left_out} further anomalies of kind {word} omitted"),
                ..AnomalyRow::default()
            });
        }
    }
}
