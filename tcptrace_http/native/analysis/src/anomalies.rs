//! The anomalies as they come, few enough of each kind to be kept.

use trace_model::rows::{AnomaliesTable, AnomalyRow};
use trace_model::{Anomaly, AnomalyKind};

/// Anomaly rows of one kind that are kept. A broken capture has one at every packet; the first
/// thousand tell what is wrong, and a last row tells how many there were.
const OF_A_KIND_MAX: u64 = 1000;

/// Where an anomaly stands among the others, whichever thread noticed it: by frame, what the flow
/// noticed before what the decoder did; at the end of the capture by flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    frame: u64,
    is_at_the_end: bool,
    is_the_decoders: bool,
    flow: u32,
}

/// Anomalies of one share of a capture, or of all of it.
#[derive(Debug, Default)]
pub struct Anomalies {
    listed: Vec<(Place, Anomaly)>,
    /// How many there were, by kind.
    counts: Vec<u64>,
    is_at_the_end: bool,
}

impl Anomalies {
    /// Adds what a flow noticed while `frame` was the last frame seen.
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

    /// Adds what the decoder noticed.
    pub fn push_decoders(&mut self, frame: u64, anomaly: Anomaly) {
        let place = Place {
            frame,
            is_the_decoders: true,
            ..Place::default()
        };
        self.list(place, anomaly);
    }

    /// What comes from now on comes because the capture is over.
    pub fn at_the_end(&mut self) {
        self.is_at_the_end = true;
    }

    fn list(&mut self, place: Place, anomaly: Anomaly) {
        if self.count(anomaly.kind, 1) < OF_A_KIND_MAX {
            self.listed.push((place, anomaly));
        }
    }

    /// Counts `more` of a kind; gives how many there were before.
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

    /// Takes what is listed now. The counts stay.
    #[must_use]
    pub fn take(&mut self) -> Anomalies {
        Anomalies {
            listed: std::mem::take(&mut self.listed),
            ..Anomalies::default()
        }
    }

    /// The numbers of the flows, as another numbering has them.
    pub fn renumber(&mut self, numbers: &[u32]) {
        for (place, anomaly) in &mut self.listed {
            let of = |flow: u32| numbers.get(usize::try_from(flow).ok()?).copied();
            anomaly.flow = anomaly.flow.map(|flow| of(flow).unwrap_or(flow));
            if place.is_at_the_end {
                place.flow = anomaly.flow.unwrap_or(0);
            }
        }
    }

    /// Adds the anomalies of another share of the same packets.
    pub fn append(&mut self, other: Anomalies) {
        self.listed.extend(other.listed);
    }

    /// The rows, in order. Rows over the limit, counting those already `given`, are left out.
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

    /// How many there were of each kind.
    #[must_use]
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }
}

/// Says how many anomaly rows of each kind were left out.
pub fn push_left_out(counts: &[u64], table: &mut AnomaliesTable) {
    for (word, count) in AnomalyKind::WORDS.iter().zip(counts) {
        let left_out = count.saturating_sub(OF_A_KIND_MAX);
        if left_out > 0 {
            table.push(&AnomalyRow {
                kind: AnomalyKind::LimitReached,
                detail: format!("{left_out} more anomalies of kind {word} are not listed"),
                ..AnomalyRow::default()
            });
        }
    }
}
