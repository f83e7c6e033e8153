//! The ends of requests, and what stood before them on the link to the server, until their transactions are over.

use std::collections::VecDeque;

use super::partition::Moment;
use super::timeline::Question;
use super::{Sent, Waits};
use crate::shared_windows::Ahead;

/// Requests whose transactions are not over, as the openings of their answers.
const REQUESTS_MAX: usize = 1 << 11;

/// The last segment of a request, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ending {
    pub(super) bytes: u32,
    pub(super) ahead: Ahead,
    /// Where it ends, if that is known.
    pub(super) end: Option<i64>,
}

impl From<Sent> for Ending {
    fn from(sent: Sent) -> Ending {
        Ending {
            bytes: sent.bytes,
            ahead: sent.sharing.ahead,
            end: Some(sent.end),
        }
    }
}

/// ... with its frame.
#[derive(Clone, Copy, Debug)]
struct Last {
    frame: u64,
    ending: Ending,
    /// Another request begins in it: here one ends, whether or not its sender goes on.
    is_last: bool,
}

/// The last segments of requests.
#[derive(Debug, Default)]
pub(super) struct Behind {
    requests: VecDeque<Last>,
}

impl Waits {
    /// Of the first request so much had been sent when it was found to be one.
    pub fn had_asked(&mut self, at: Moment, bytes: u32, ahead: Ahead) {
        let ending = Ending {
            bytes,
            ahead,
            end: None,
        };
        self.behind.note(at, ending);
        self.question = Some(Question::of(None, at.time_ns, bytes));
    }

    /// A request was found to begin in the newest segment of the client.
    pub fn request_opens(&mut self) {
        if let Some(newest) = self.behind.requests.back_mut() {
            newest.is_last = true;
        }
    }
}

impl Behind {
    pub(super) fn note(&mut self, at: Moment, ending: Ending) {
        if ending.ahead.goes_on && self.requests.back().is_some_and(|it| !it.is_last) {
            self.requests.pop_back();
        }
        if self.requests.len() < REQUESTS_MAX {
            self.requests.push_back(Last {
                frame: at.frame,
                ending,
                is_last: false,
            });
        }
    }

    /// The request that ended in `frame`; what went before it is forgotten.
    pub(super) fn take(&mut self, frame: u64) -> Option<Ending> {
        let past = self.requests.partition_point(|it| it.frame < frame);
        self.requests.drain(..past);
        let request = self.requests.front().filter(|it| it.frame == frame);
        request.map(|it| it.ending)
    }

    pub(super) fn held_bytes(&self) -> u64 {
        let each = size_of::<Last>();
        u64::try_from(self.requests.capacity().saturating_mul(each)).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_told_by_the_frame_of_its_last_segment() {
        let mut behind = Behind::default();
        for (frame, bytes, goes_on) in [(10, 100, false), (20, 500, false), (21, 30, true)] {
            let at = Moment { time_ns: 0, frame };
            let ahead = Ahead {
                goes_on,
                ..Ahead::default()
            };
            let ending = Ending {
                bytes,
                ahead,
                end: None,
            };
            behind.note(at, ending);
        }
        assert_eq!(behind.requests.len(), 2);
        let of = |ending: Option<Ending>| ending.map(|it| it.bytes);
        assert_eq!(of(behind.take(21)), Some(30));
        assert_eq!(of(behind.take(30)), None);
    }
}
