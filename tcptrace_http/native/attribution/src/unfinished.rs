//! Unfinished transaction: the end of the client's wait, and its cause.

use tcptrace_path::Route;
use trace_model::rows::{Cause, Constraint, Direction};

use crate::bound::Bound;
use crate::exchange::{Exchange, Extent, UnfinishedTransaction};
use crate::partition::{Moment, Partition, ASSUMED, INFERRED, SEEN};
use crate::standstill::RetransmittedData;
use crate::stream::Stream;

/// State of both streams at the end.
pub(crate) struct Scene<'a> {
    pub(crate) exchange: &'a Exchange,
    pub(crate) requests: &'a Stream,
    pub(crate) responses: &'a Stream,
    /// True if the ACKs of the client's data, or of the server's, were not captured.
    pub(crate) has_no_acks: [bool; 2],
    /// End offset of the previous response in its stream.
    pub(crate) answered_to: i64,
}

/// Time up to the end of an unfinished transaction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tail {
    cause: Cause,
    confidence: f64,
    bound: Option<Bound>,
    /// Start of the cause, if it differs from the start of the standstill.
    since: Option<Moment>,
    pub(crate) end: Moment,
    /// Delivered part of the response.
    pub(crate) delivered: Option<Extent>,
}

impl Scene<'_> {
    /// Return the tail of the transaction, if it has one.
    pub(crate) fn tail(&self) -> Option<Tail> {
        let unfinished = self.exchange.unfinished?;
        match (self.exchange.response, self.exchange.request) {
            (Some(response), _) => self.of_response(&unfinished, response),
            (None, Some(request)) => self.of_request(&unfinished, request),
            (None, None) => None,
        }
    }

    fn of_response(&self, unfinished: &UnfinishedTransaction, response: Extent) -> Option<Tail> {
        let state = &self.responses.standstill;
        let direction = Direction::ServerToClient;
        let [_, has_no_acks] = self.has_no_acks;
        let is_whole = unfinished.response_is_whole;
        let ended = &unfinished.ended;
        if let Some(since) = state.zero_since().filter(|_| !is_whole) {
            let end = ended.after(response.last, response.last);
            let bound = bound(direction, Constraint::ReceiveWindow, response.end, 0);
            let tail = Tail::new(Cause::SendLimitedZeroWindow, SEEN, end, Some(response));
            return Some(Tail {
                bound: Some(bound),
                since: Some(since),
                ..tail
            });
        }
        let acked_to = state.acked_to();
        let undelivered = state.undelivered().filter(|_| !has_no_acks);
        if let Some(resent) = undelivered.filter(|_| acked_to < response.end || !is_whole) {
            let delivered = Extent {
                end: acked_to.min(response.end),
                ..response
            };
            let begun = Some(delivered).filter(|it| it.end > it.start);
            let tail = self.undelivered(direction, resent, ended.client_end_after(response.first));
            return Some(Tail {
                delivered: begun,
                since: begun.is_none().then_some(response.first),
                ..tail
            });
        }
        if is_whole {
            return None;
        }
        let (cause, confidence) = if unfinished.is_event_stream {
            (Cause::ServerDataUnavailable, ASSUMED)
        } else {
            (Cause::UnfinishedStopped, SEEN)
        };
        let end = ended.after(response.last, response.last);
        let bound = bound(direction, Constraint::Application, response.end, 0);
        Some(Tail {
            bound: Some(bound),
            ..Tail::new(cause, confidence, end, Some(response))
        })
    }

    fn of_request(&self, unfinished: &UnfinishedTransaction, request: Extent) -> Option<Tail> {
        let state = &self.requests.standstill;
        let direction = Direction::ClientToServer;
        let [has_no_acks, _] = self.has_no_acks;
        let end = unfinished.ended.after(request.last, request.last);
        // A FIN takes one number. An acknowledged response without captured data is missing from the capture.
        let response_acked_to = self.responses.standstill.acked_to();
        if response_acked_to > self.answered_to.saturating_add(1) && !unfinished.has_interim {
            return None;
        }
        let is_acked = self
            .requests
            .acked_ns(request.end.saturating_sub(1))
            .is_some();
        if let Some(since) = state.zero_since() {
            if !is_acked || !unfinished.request_is_whole {
                let bound = bound(direction, Constraint::ReceiveWindow, request.end, 0);
                let tail = Tail::new(Cause::SendLimitedZeroWindow, SEEN, end, None);
                return Some(Tail {
                    bound: Some(bound),
                    since: Some(since),
                    ..tail
                });
            }
        }
        if is_acked && unfinished.request_is_whole {
            return Some(Tail::new(Cause::UnfinishedUnanswered, SEEN, end, None));
        }
        if is_acked {
            let bound = bound(direction, Constraint::Application, request.end, 0);
            return Some(Tail {
                bound: Some(bound),
                ..Tail::new(Cause::UnfinishedStopped, SEEN, end, None)
            });
        }
        if let Some(resent) = state.undelivered().filter(|_| !has_no_acks) {
            return Some(self.undelivered(direction, resent, end));
        }
        if state.acked_to() > 0 {
            return Some(Tail::new(Cause::UnfinishedUnanswered, ASSUMED, end, None));
        }
        // No server packet was captured, so the server may have answered; an unanswered SYN excludes that.
        let handshake = self.exchange.handshake;
        let handshake = handshake.filter(|it| it.begun.is_some() && it.done.is_none())?;
        Some(Tail {
            since: handshake.resent,
            ..Tail::new(Cause::SetupUnanswered, INFERRED, end, None)
        })
    }

    /// Return the tail of data whose retransmissions failed; their last packet marks the end if no other
    /// frame does.
    fn undelivered(&self, direction: Direction, resent: RetransmittedData, end: Moment) -> Tail {
        let stream = match direction {
            Direction::ClientToServer => self.requests,
            Direction::ServerToClient => self.responses,
        };
        let acked_to = stream.standstill.acked_to();
        let bound = bound(direction, Constraint::Loss, acked_to, resent.least_bytes);
        let end = Moment {
            frame: if end.frame == 0 {
                resent.last.frame
            } else {
                end.frame
            },
            ..end
        };
        Tail {
            bound: Some(bound),
            ..Tail::new(Cause::UnfinishedUndelivered, SEEN, end, None)
        }
    }
}

fn bound(direction: Direction, constraint: Constraint, start: i64, bytes: i64) -> Bound {
    Bound {
        direction,
        constraint,
        released_by: None,
        start,
        end: start.saturating_add(bytes),
        behind: None,
        behind_stream: None,
    }
}

impl Tail {
    fn new(cause: Cause, confidence: f64, end: Moment, delivered: Option<Extent>) -> Self {
        Tail {
            cause,
            confidence,
            bound: None,
            since: None,
            end,
            delivered,
        }
    }

    /// Assign the time up to the end.
    pub(crate) fn assign(&self, scene: &Scene<'_>, down: &Route, partition: &mut Partition) {
        let is_of_request = scene.exchange.response.is_none();
        if is_of_request {
            if let Some(previous) = scene.exchange.previous_end {
                partition.until(previous, Cause::ClientHeadOfLine, SEEN);
            }
        }
        if self.cause == Cause::UnfinishedUnanswered {
            scene.assign_repairs(partition);
            let round_trip_ns = down.least_round_trip_ns();
            let path_end = Moment {
                frame: 0,
                ..self.end
            };
            partition.at_most(round_trip_ns, path_end, Cause::NetworkPropagation, INFERRED);
        }
        if let Some(since) = self.since {
            let before = match self.cause {
                Cause::SetupUnanswered => Cause::SetupSynRetransmission,
                Cause::SendLimitedZeroWindow => Cause::NetworkPropagation,
                _ => Cause::ServerThink,
            };
            partition.until(since, before, INFERRED);
        }
        partition.bound(self.end, self.cause, self.bound, self.confidence);
    }
}

impl Scene<'_> {
    /// Assign the time of the retransmissions before a request's ACK.
    fn assign_repairs(&self, partition: &mut Partition) {
        let Some(request) = self.exchange.request else {
            return;
        };
        let last = request.end.saturating_sub(1);
        let acked_ns = self.requests.acked_ns(last).unwrap_or(i64::MIN);
        if let Some(copy) = self.requests.copy_of(last, acked_ns) {
            let at = Moment {
                time_ns: copy.time_ns,
                frame: copy.frame,
            };
            partition.until(at, copy.cause, SEEN);
        }
    }
}
