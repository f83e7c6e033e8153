//! Waits of a transaction in sequence: handshake, request, path, server and response.

use tcptrace_path::{Place, Route, LEAST_BYTES};
use trace_model::rows::Cause;

use crate::exchange::{Exchange, Extent};
use crate::explained_stream::{Arrival, Span};
use crate::multiplexed::{StreamFrames, View};
use crate::partition::{Moment, Partition, Wait, ASSUMED, INFERRED, SEEN};
use crate::setup;
use crate::stream::Stream;
use crate::unfinished::Scene;

/// Waits of a transaction.
#[derive(Debug)]
pub struct ExplainedTransaction {
    pub waits: Vec<Wait>,
    pub start: Moment,
    pub end: Moment,
    /// Time at which the client had the whole response.
    pub had: Option<Moment>,
    /// Last byte of both messages.
    pub(crate) last: Moment,
}

/// Explain a transaction; `routes` are those of requests and of responses.
pub(crate) fn explain(
    scene: &Scene<'_>,
    (up, down): (&Route, &Route),
    of_stream: Option<&StreamFrames>,
) -> ExplainedTransaction {
    let (requests, responses) = (scene.requests, scene.responses);
    let of_request = of_stream.map(|it| View {
        stream: requests,
        frames: &it.request,
        route: up,
        application: Cause::ClientThink,
    });
    let of_response = of_stream.map(|it| View {
        stream: responses,
        frames: &it.response,
        route: down,
        application: Cause::ServerDataUnavailable,
    });
    let tail = scene.tail();
    let exchange = &Exchange {
        response: tail.map_or(scene.exchange.response, |tail| tail.delivered),
        ..*scene.exchange
    };
    let had = exchange.response.map(|it| {
        let arrival = responses.arrival_of(it.end.saturating_sub(1));
        arrival.map_or(it.last, moment_of)
    });
    let first = exchange
        .request
        .or(exchange.response)
        .map_or_else(Moment::default, |it| it.first);
    let syn = exchange.handshake.and_then(|it| it.begun);
    let syn = syn.filter(|syn| syn.time_ns <= first.time_ns);
    let start = syn.unwrap_or(first);
    let ends = [exchange.request.map(|it| it.last), had];
    let last = ends.into_iter().flatten().fold(start, Moment::later);
    let end = tail.map_or(last, |tail| tail.end.later(last));
    let mut partition = Partition::new(start, end);
    if exchange.is_one_sided {
        partition.until(end, Cause::Unobserved, SEEN);
    }
    let streams = (requests, responses);
    let handshake = exchange.handshake.filter(|_| syn.is_some());
    if let Some(handshake) = &handshake {
        setup::assign(handshake, streams, &mut partition);
    }
    if let Some(request) = exchange.request {
        if let Some(handshake) = &handshake {
            setup::assign_held_request(handshake, &request, streams, &mut partition);
            setup::assign_settings(handshake, &request, up, &mut partition);
        }
        partition.until(request.first, Cause::ClientThink, SEEN);
        let message = MessageWaits {
            stream: requests,
            view: of_request.as_ref(),
            pace: Cause::RequestSend,
            filled_ns: None,
        };
        message.assign(request.last, &mut partition);
    }
    if let (Some(response), Some(had)) = (exchange.response, had) {
        let opening = responses.arrival_of(response.start);
        let opening_at = opening.map_or(response.first, moment_of);
        let opening_at = exchange
            .previous_end
            .map_or(opening_at, |end| opening_at.later(end));
        let server = Server {
            exchange,
            opening,
            opening_at,
            requests,
            responses,
            up,
            down,
            view: of_response.as_ref(),
        };
        server.assign(&mut partition);
        let message = MessageWaits {
            stream: responses,
            view: of_response.as_ref(),
            pace: Cause::SendLimitedBottleneck,
            filled_ns: filled_segment_ns(responses, &response).filter(|_| of_stream.is_none()),
        };
        message.assign(had, &mut partition);
    }
    if let Some(tail) = tail {
        tail.assign(scene, down, &mut partition);
    }
    ExplainedTransaction {
        waits: partition.finish(),
        start,
        end,
        had,
        last,
    }
}

/// Return the arrival of a segment with the end of a response and the start of the next response.
///
/// Nagle's algorithm had held the end, and the next response filled the segment.
fn filled_segment_ns(responses: &Stream, response: &Extent) -> Option<i64> {
    let arrival = responses.arrival_of(response.end.saturating_sub(1))?;
    let is_shared = arrival.after > response.end && arrival.before < response.end;
    is_shared.then_some(arrival.time_ns)
}

fn moment_of(arrival: Arrival) -> Moment {
    Moment {
        time_ns: arrival.time_ns,
        frame: arrival.frame,
    }
}

/// Time between the deliveries of a message.
struct MessageWaits<'a> {
    stream: &'a Stream,
    /// View of an HTTP/2 stream.
    view: Option<&'a View<'a>>,
    pace: Cause,
    filled_ns: Option<i64>,
}

impl MessageWaits<'_> {
    /// Assign the time up to the last byte.
    fn assign(&self, last: Moment, partition: &mut Partition) {
        let (from_ns, until_ns) = (partition.time_ns(), last.time_ns);
        match self.view {
            Some(view) => {
                for span in view.spans(from_ns, until_ns) {
                    self.assign_span(&span, last, partition);
                }
            }
            None => {
                for span in self.stream.between(from_ns, until_ns) {
                    self.assign_span(span, last, partition);
                }
            }
        }
        partition.until(last, self.stream.unexplained(self.pace), ASSUMED);
    }

    fn assign_span(&self, span: &Span, last: Moment, partition: &mut Partition) {
        let is_filled = self.filled_ns == Some(span.end_ns) && span.bound.released_by.is_none();
        let cause = match span.cause {
            Cause::ServerDataUnavailable if is_filled => Cause::StallNagleHold,
            cause => cause,
        };
        let bound = Some(span.bound);
        if self.stream.unexplained(self.pace) == Cause::Unobserved {
            partition.within(span.start_ns, Cause::Unobserved, None, SEEN);
        }
        match span.end_frame {
            _ if span.end_ns >= last.time_ns => {
                partition.bound(last, cause, bound, span.confidence);
            }
            Some(frame) => {
                let time_ns = span.end_ns;
                partition.bound(Moment { time_ns, frame }, cause, bound, span.confidence);
            }
            None => partition.within(span.end_ns, cause, bound, span.confidence),
        }
    }
}

/// Maximum size of a request's last segment, if the request did not leave in one burst.
const ETHERNET_MSS: u32 = 1460;

/// Time from the request's last byte to the response's first byte.
struct Server<'a> {
    exchange: &'a Exchange,
    opening: Option<Arrival>,
    opening_at: Moment,
    requests: &'a Stream,
    responses: &'a Stream,
    up: &'a Route,
    down: &'a Route,
    /// View of an HTTP/2 stream.
    view: Option<&'a View<'a>>,
}

impl Server<'_> {
    fn assign(&self, partition: &mut Partition) {
        let opening_at = self.opening_at;
        let is_at_client = self.down.place == Place::Receiver;
        let round_trip_ns = self.down.least_round_trip_ns();
        self.assign_request_repairs(partition);
        let previous = self.exchange.previous_end;
        let stands_in_line = previous.is_some_and(|end| end.time_ns > partition.time_ns());
        let path_is_first = is_at_client || stands_in_line;
        if path_is_first {
            partition.at_most(
                round_trip_ns,
                self.opening_at,
                Cause::NetworkPropagation,
                INFERRED,
            );
        }
        if let Some(previous) = previous {
            partition.until(previous, Cause::ClientHeadOfLine, SEEN);
        }
        let size_ns = self.size_ns(is_at_client);
        let path_ns = if path_is_first { 0 } else { round_trip_ns };
        let repaired = self.opening.and_then(|it| it.repaired);
        let repair_ns = repaired.map_or(0, |(_, since_ns)| {
            let since_ns = since_ns.max(partition.time_ns());
            self.opening_at.time_ns.saturating_sub(since_ns)
        });
        let behind_ns = size_ns.saturating_add(repair_ns).saturating_add(path_ns);
        if self.assign_multiplexed(path_ns, partition) {
            return;
        }
        // A release by an ACK before the request is complete does not explain the response.
        let request_frame = self.exchange.request.map_or(0, |it| it.last.frame);
        let held = self.opening.and_then(|it| it.held);
        let held = held.filter(|(_, by)| by.released_by.is_none_or(|frame| frame > request_frame));
        match held {
            Some((cause, by)) if cause != Cause::ServerDataUnavailable => {
                // The hold starts when the server had sent the short segment before it, for example a TLS
                // ticket.
                let behind = by.behind.and_then(|it| self.responses.arrival_of(it.start));
                let held_ns = behind.map_or(i64::MIN, |it| it.time_ns.saturating_sub(behind_ns));
                partition.within(held_ns, Cause::ServerThink, None, INFERRED);
                partition.before((behind_ns, opening_at), cause, Some(by), INFERRED);
            }
            _ => {
                // A busy link may have delayed the answer, for at most its busy period.
                let since_ns = self.opening.and_then(|it| it.queued_since_ns);
                if let Some(since_ns) = since_ns.filter(|_| is_at_client) {
                    let longer_ns = opening_at.time_ns.saturating_sub(since_ns).max(behind_ns);
                    partition.before((longer_ns, opening_at), Cause::ServerThink, None, INFERRED);
                    partition.before(
                        (behind_ns, opening_at),
                        Cause::NetworkQueueing,
                        None,
                        ASSUMED,
                    );
                }
                partition.before((behind_ns, opening_at), Cause::ServerThink, None, INFERRED);
            }
        }
        if !is_at_client {
            // The opening passes the capture here; the path follows.
            partition.mark(opening_at.frame);
        }
        let behind_path_ns = size_ns.saturating_add(repair_ns);
        partition.before(
            (behind_path_ns, opening_at),
            Cause::NetworkPropagation,
            None,
            INFERRED,
        );
        if let Some((cause, _)) = repaired {
            partition.before((size_ns, opening_at), cause, None, INFERRED);
        }
        partition.until(opening_at, Cause::SendLimitedBottleneck, INFERRED);
    }

    /// Assign the server's time if other streams' bytes arrived before the opening, and return whether they
    /// did.
    ///
    /// If the opening passes the capture before its path, the path comes last.
    fn assign_multiplexed(&self, path_ns: i64, partition: &mut Partition) -> bool {
        let opening_at = self.opening_at;
        let Some(view) = self.view else { return false };
        let from_ns = partition.time_ns().saturating_add(path_ns);
        let Some(idle_ns) = view.idle_until(from_ns, opening_at.time_ns) else {
            return false;
        };
        let left_ns = |received_ns: i64| received_ns.saturating_sub(path_ns);
        partition.within(left_ns(idle_ns), Cause::ServerThink, None, INFERRED);
        for span in view.spans(idle_ns, opening_at.time_ns) {
            // The server may have worked on the response during all of this time.
            let confidence = span.confidence.min(ASSUMED);
            let bound = Some(span.bound);
            if left_ns(span.end_ns) >= opening_at.time_ns {
                partition.bound(opening_at, span.cause, bound, confidence);
            } else {
                partition.within(left_ns(span.end_ns), span.cause, bound, confidence);
            }
        }
        partition.until(opening_at, Cause::NetworkPropagation, INFERRED);
        true
    }

    /// Assign the time of a lost request up to its retransmission.
    fn assign_request_repairs(&self, partition: &mut Partition) {
        let Some(request) = self.exchange.request else {
            return;
        };
        let least_ns = self.down.round_trip_ns().saturating_mul(7) / 8;
        let by_ns = self.opening_at.time_ns.saturating_sub(least_ns);
        let last = request.end.saturating_sub(1);
        let previous_ns = self.exchange.previous_end.map_or(i64::MIN, |it| it.time_ns);
        let copy = self.requests.copy_of(last, by_ns);
        let copy = copy.filter(|copy| copy.time_ns > previous_ns);
        if let Some(copy) = copy.filter(|copy| !self.is_acked_too_soon(last, copy.time_ns)) {
            let at = Moment {
                time_ns: copy.time_ns,
                frame: copy.frame,
            };
            partition.until(at, copy.cause, SEEN);
        }
    }

    /// Return whether the byte at `offset` was acknowledged before a copy sent at `copy_ns` could be
    /// acknowledged.
    fn is_acked_too_soon(&self, offset: i64, copy_ns: i64) -> bool {
        let least_ns = self.up.to_receiver_ns.saturating_mul(7) / 8;
        self.requests
            .acked_ns(offset)
            .is_some_and(|acked_ns| acked_ns < copy_ns.saturating_add(least_ns))
    }

    /// Return the additional serialization time of request and response compared with the handshake.
    fn size_ns(&self, is_at_client: bool) -> i64 {
        let answer_bytes = self.opening.map_or(0, |it| it.packet_bytes);
        let down_ns = self.down.link.longer_ns(answer_bytes, LEAST_BYTES);
        let Some(request) = self.exchange.request.filter(|_| is_at_client) else {
            return down_ns;
        };
        let bytes = request.end.saturating_sub(request.start);
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let is_burst = request.last.time_ns == request.first.time_ns;
        let bytes = if is_burst {
            bytes
        } else {
            bytes.min(ETHERNET_MSS)
        };
        let packet_bytes = bytes.saturating_add(self.exchange.header_bytes);
        let up_ns = self.up.link.longer_ns(packet_bytes, LEAST_BYTES);
        down_ns.saturating_add(up_ns)
    }
}
