//! A bounded list of anomalies: the first of each kind as rows, the rest as one count at the end.

use trace_model::{Anomaly, AnomalyKind, PacketSink};

/// Maximum number of rows per kind. Further anomalies are only counted. The limit of 100 rows shows a
/// pattern. A hostile file of a billion odd packets still gives a short table.
const ROWS_PER_KIND: u64 = 100;

#[derive(Debug, Default)]
pub(crate) struct Notices {
    /// Count per kind. A map costs more than this list, because kinds are few.
    counts: Vec<(AnomalyKind, u64)>,
    waiting: Vec<Anomaly>,
}

impl Notices {
    /// Count an anomaly, and make a row if its kind has room. The rows wait for [`Notices::flush`], because
    /// the packet borrows the sink while its layers are read.
    pub(crate) fn report(
        &mut self,
        kind: AnomalyKind,
        frame: Option<u64>,
        offset: Option<u64>,
        detail: impl FnOnce() -> String,
    ) {
        if self.count(kind) <= rows_shown(kind) {
            self.waiting.push(Anomaly {
                kind,
                frame,
                flow: None,
                offset,
                detail: detail(),
            });
        }
    }

    fn count(&mut self, kind: AnomalyKind) -> u64 {
        for (counted, count) in &mut self.counts {
            if *counted == kind {
                *count = count.saturating_add(1);
                return *count;
            }
        }
        self.counts.push((kind, 1));
        1
    }

    #[inline]
    pub(crate) fn flush<S: PacketSink>(&mut self, sink: &mut S) {
        if !self.waiting.is_empty() {
            self.waiting.drain(..).for_each(|row| sink.anomaly(row));
        }
    }

    /// Add a row with the total count for each kind with unlisted anomalies.
    pub(crate) fn finish<S: PacketSink>(&mut self, sink: &mut S) {
        self.flush(sink);
        for (kind, count) in self.counts.drain(..) {
            let unlisted = count.saturating_sub(rows_shown(kind));
            if unlisted > 0 {
                sink.anomaly(Anomaly {
                    kind,
                    frame: None,
                    flow: None,
                    offset: None,
                    detail: format!("{count} in total, {unlisted} of them not listed"),
                });
            }
        }
    }
}

/// Return the row limit of a kind. A merged file has steps back of the clock everywhere, so one row and the
/// count are enough.
fn rows_shown(kind: AnomalyKind) -> u64 {
    if kind == AnomalyKind::TimeBackwards {
        1
    } else {
        ROWS_PER_KIND
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Recorder;

    #[test]
    fn test_a_million_anomalies_of_a_kind_give_bounded_rows() {
        let (mut notices, mut recorder) = (Notices::default(), Recorder::default());
        for frame in 0..1_000_000 {
            notices.report(AnomalyKind::TruncatedPacket, Some(frame), None, String::new);
        }
        notices.report(AnomalyKind::AbsurdTime, Some(7), None, || "odd".to_owned());
        notices.finish(&mut recorder);
        assert_eq!(recorder.anomalies.len() as u64, ROWS_PER_KIND + 2);
        let last = &recorder.anomalies[recorder.anomalies.len() - 1];
        assert_eq!(last.kind, AnomalyKind::TruncatedPacket);
        assert_eq!(last.detail, "1000000 in total, 999900 of them not listed");
    }

    #[test]
    fn test_time_backwards_is_one_row_and_the_count() {
        let (mut notices, mut recorder) = (Notices::default(), Recorder::default());
        for frame in 1..=3 {
            notices.report(AnomalyKind::TimeBackwards, Some(frame), None, String::new);
        }
        notices.finish(&mut recorder);
        assert_eq!(recorder.anomalies.len(), 2);
        assert_eq!(recorder.anomalies[0].frame, Some(1));
        assert_eq!(
            recorder.anomalies[1].detail,
            "3 in total, 2 of them not listed"
        );
    }
}
