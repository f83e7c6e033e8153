//! A window that the receiver fills no later than its sender's buffer.

use super::{Data, Timeline};

impl Timeline {
    /// Whether what was outstanding fills a buffer that is as large as the window that its sender offers itself.
    pub(super) fn fills_buffer_as_offered(&self, data: Data) -> bool {
        let full_bytes = i64::from(data.full_bytes);
        let needed = self.window.outstanding().saturating_add(full_bytes);
        data.buffer_as_offered.is_some_and(|holds| needed > holds)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::acks::Released;
    use super::super::super::partition::Moment;
    use super::super::Words;
    use super::*;
    use crate::used_window::Limit;
    use trace_model::rows::Cause;

    /// What waits for room in the receiver's window with so much outstanding.
    fn waited_for(outstanding: i64, buffer_as_offered: Option<i64>) -> Cause {
        let start = (1 << 32) - 2000;
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        timeline.window.hears(1, start);
        timeline.window.stops(start + outstanding, 1000);
        let data = Data {
            buffer_as_offered,
            ..Data::plain(Moment::default(), start + outstanding + 1000)
        };
        let limit = Limit::SlowStart;
        let (cause, _) = timeline.cause_of(Released::ByWindow, limit, (data, true));
        cause
    }

    #[test]
    fn a_window_as_large_as_its_senders_buffer_is_filled_when_that_is() {
        let window = Cause::SendLimitedReceiveWindow;
        assert_eq!(waited_for(4000, Some(4096)), Cause::SendLimitedSendBuffer);
        assert_eq!(waited_for(4000, None), window);
        assert_eq!(waited_for(2000, Some(4096)), window, "it had been lowered");
    }
}
