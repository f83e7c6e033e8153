//! What stood before a request on the link to the server, until its transaction is over.

use std::collections::VecDeque;

use super::partition::Moment;
use crate::shared_windows::Ahead;

/// Requests whose transactions are not over, as the openings of their answers.
const REQUESTS_MAX: usize = 1 << 11;

/// The frames of requests that stood behind others, and what those were.
#[derive(Debug, Default)]
pub(super) struct Behind {
    requests: VecDeque<(u64, Ahead)>,
}

impl Behind {
    pub(super) fn note(&mut self, at: Moment, ahead: Ahead) {
        if ahead != Ahead::default() && self.requests.len() < REQUESTS_MAX {
            self.requests.push_back((at.frame, ahead));
        }
    }

    /// What stood before the segment in `frame`; what went before it is forgotten.
    pub(super) fn take(&mut self, frame: u64) -> Ahead {
        let past = self.requests.partition_point(|(at, _)| *at < frame);
        self.requests.drain(..past);
        let request = self.requests.front().filter(|(at, _)| *at == frame);
        request.map_or(Ahead::default(), |(_, ahead)| *ahead)
    }

    pub(super) fn held_bytes(&self) -> u64 {
        let each = size_of::<(u64, Ahead)>();
        u64::try_from(self.requests.capacity().saturating_mul(each)).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_told_by_the_frame_of_its_last_segment() {
        let mut behind = Behind::default();
        let ahead = |packets| Ahead {
            packets,
            ..Ahead::default()
        };
        for (frame, packets) in [(10, 1), (20, 2), (30, 0)] {
            let at = Moment { time_ns: 0, frame };
            behind.note(at, ahead(packets));
        }
        assert_eq!(behind.take(20), ahead(2));
        assert_eq!(behind.take(30), ahead(0));
    }
}
