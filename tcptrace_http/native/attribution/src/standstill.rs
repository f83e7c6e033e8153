//! Standstill of a stream: retransmitted data without an ACK, or a zero window.

use crate::log::{AckEvent, DataEvent};
use crate::partition::Moment;

/// Retransmitted data without an ACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RetransmittedData {
    /// Payload of the smallest copy.
    pub(crate) least_bytes: i64,
    pub(crate) last: Moment,
}

/// State of a stream's last packets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Standstill {
    sent_to: i64,
    acked_to: i64,
    /// Payload of the largest segment.
    segment_max: i64,
    resent: Option<RetransmittedData>,
    /// Last ACK, if it reports data behind a hole.
    has_hole: Option<Moment>,
    /// Time since which the window is zero.
    zero_since: Option<Moment>,
}

impl Standstill {
    pub(crate) fn on_data(&mut self, data: &DataEvent) {
        let bytes = data.end.saturating_sub(data.start);
        self.segment_max = self.segment_max.max(bytes);
        if !data.is_probe && data.start < self.sent_to && data.end > self.acked_to {
            let before = self.resent.map_or(bytes, |it| it.least_bytes);
            self.resent = Some(RetransmittedData {
                least_bytes: before.min(bytes),
                last: Moment {
                    time_ns: data.time_ns,
                    frame: data.frame,
                },
            });
        }
        self.sent_to = self.sent_to.max(data.end);
    }

    pub(crate) fn on_ack(&mut self, ack: &AckEvent) {
        let at = Moment {
            time_ns: ack.time_ns,
            frame: ack.frame,
        };
        if ack.ack > self.acked_to {
            self.acked_to = ack.ack;
            self.resent = None;
        }
        self.has_hole = ack.has_sack.then_some(at);
        self.zero_since = (ack.window == 0).then(|| self.zero_since.unwrap_or(at));
    }

    /// Return the offset up to which data was acknowledged; 0 before the first ACK.
    pub(crate) fn acked_to(&self) -> i64 {
        self.acked_to
    }

    pub(crate) fn segment_max(&self) -> i64 {
        self.segment_max
    }

    pub(crate) fn zero_since(&self) -> Option<Moment> {
        self.zero_since
    }

    /// Return the last copy of data that was never acknowledged.
    ///
    /// If no copy passes the capture, return the last ACK that reported the loss.
    pub(crate) fn undelivered(&self) -> Option<RetransmittedData> {
        let hole = self.has_hole.map(|last| RetransmittedData {
            least_bytes: 0,
            last,
        });
        self.resent
            .or(hole)
            .filter(|_| self.sent_to > self.acked_to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(start: i64, end: i64) -> DataEvent {
        DataEvent {
            start,
            end,
            ..DataEvent::default()
        }
    }

    fn ack(ack: i64, window: i64) -> AckEvent {
        AckEvent {
            ack,
            window,
            time_ns: 10 * ack,
            ..AckEvent::default()
        }
    }

    #[test]
    fn copies_are_undelivered_until_they_are_acknowledged() {
        let mut stream = Standstill::default();
        for (start, end) in [(1, 1001), (1001, 1301), (1001, 1301), (1, 1001)] {
            stream.on_data(&data(start, end));
        }
        assert_eq!(stream.undelivered().map(|it| it.least_bytes), Some(300));
        stream.on_ack(&ack(1301, 500));
        assert!(stream.undelivered().is_none());
    }

    #[test]
    fn window_is_zero_since_the_first_of_the_last_zero_window_acks() {
        let mut stream = Standstill::default();
        for (number, window) in [(1, 0), (2, 500), (3, 0), (4, 0)] {
            stream.on_ack(&ack(number, window));
        }
        assert_eq!(stream.zero_since().map(|it| it.time_ns), Some(30));
    }
}
