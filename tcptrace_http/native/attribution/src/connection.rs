//! A connection: both streams, and the transactions on them.

use tcptrace_path::Serialization;

use crate::causes::Words;
use crate::exchange::{Exchange, Extent, Handshake, Unfinished};
use crate::explained_segment::ExplainedSegment;
use crate::log::{AckEvent, DataEvent};
use crate::multiplexed::OfStream;
use crate::partition::Moment;
use crate::path_facts::PathFacts;
use crate::profile::Profile;
use crate::stream::Stream;
use crate::transaction::{explain, Explained};
use crate::unfinished::Scene;

/// The record of a connection: one stream for each side, in the order in which they began.
#[derive(Debug, Default)]
pub struct Connection {
    first: Stream,
    second: Stream,
    previous_end: Option<Moment>,
    /// Where the responses so far ended in their stream.
    answered_to: i64,
    /// The bottleneck's serialization time is no longer: exchanges have been as quick as that.
    link_at_most: Option<Serialization>,
}

/// What is known of a transaction that is over, and of its path.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    pub path: PathFacts,
    pub request: Option<Extent>,
    pub response: Option<Extent>,
    /// Of the transaction that opened the connection.
    pub handshake: Option<Handshake>,
    /// Only one side's packets were captured.
    pub is_one_sided: bool,
    /// Of a connection that is over: the client has not got all of the response.
    pub unfinished: Option<Unfinished>,
}

impl Connection {
    fn side(&mut self, is_second: bool) -> &mut Stream {
        if is_second {
            &mut self.second
        } else {
            &mut self.first
        }
    }

    /// A segment with payload of a side passes.
    pub fn on_data(&mut self, is_second: bool, data: DataEvent) {
        self.side(is_second).on_data(data);
    }

    /// An acknowledgment of a side's data passes.
    pub fn on_ack(&mut self, is_second: bool, ack: AckEvent) {
        self.side(is_second).on_ack(ack);
    }

    /// Asks for a segment of a side that passes in `frame`, to be explained in full.
    pub fn ask(&mut self, is_second: bool, frame: u64) {
        self.side(is_second).asked = Some(frame);
    }

    /// How many segments and acknowledgments of a long message were forgotten since this was asked before.
    pub fn take_fallen_out(&mut self) -> usize {
        let first = self.first.take_fallen_out();
        first.saturating_add(self.second.take_fallen_out())
    }

    /// The segment that was asked for, once its message is explained.
    pub fn take_asked(&mut self) -> Option<Box<ExplainedSegment>> {
        let first = self.first.explained_segment.take();
        first.or_else(|| self.second.explained_segment.take())
    }

    /// What the sender of a direction and its path have shown; nothing, if none of its data was explained.
    #[must_use]
    pub fn profile(&self, is_second: bool) -> Option<Profile> {
        if is_second {
            self.second.profile()
        } else {
            self.first.profile()
        }
    }

    /// Memory that it takes.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        let streams = [&self.first, &self.second];
        streams
            .iter()
            .map(|it| it.held_bytes())
            .fold(size_of::<Self>(), usize::saturating_add)
    }

    /// Gives up what is held of messages that are not complete: it is unobserved.
    pub fn give_up(&mut self) {
        self.first.give_up();
        self.second.give_up();
    }

    /// Request and response were on the link between them, with all that the server took.
    fn bound_link(&mut self, facts: &Facts) {
        let (Some(request), Some(response)) = (facts.request, facts.response) else {
            return;
        };
        let elapsed_ns = response.first.time_ns.saturating_sub(request.last.time_ns);
        let path = &facts.path;
        let round_trip_ns = path.to_server_ns.saturating_add(path.to_client_ns);
        let bytes = u32::try_from(request.end.saturating_sub(request.start)).unwrap_or(u32::MAX);
        let bytes = bytes.saturating_add(ANSWER_BYTES_MIN);
        let link_ns = elapsed_ns.saturating_sub(round_trip_ns);
        if let Some(most) = Serialization::at_most(link_ns, bytes) {
            // The packet that came back on the least round trip took no longer than that.
            let probe_ns = path.to_server_ns.max(path.to_client_ns);
            let probe = Serialization::at_most(probe_ns, path.probe_bytes / 2);
            let bounds = [Some(most), probe, self.link_at_most];
            self.link_at_most = bounds.into_iter().flatten().min();
        }
    }

    /// Whether so much of a message is recorded that a part of it is to be explained.
    #[must_use]
    pub fn is_long(&self) -> bool {
        self.first.is_long() || self.second.is_long()
    }

    /// Explains what is recorded of long messages but for the latest events, which tell what was lost. `begun` is where the
    /// latest request and the latest response began; `overlap`: there are several, of HTTP/2.
    pub fn explain_parts(&mut self, path: &PathFacts, begun: [Option<i64>; 2], overlap: bool) {
        let (up, down) = path.routes(self.link_at_most);
        let [lacks_up, lacks_down] = path.lacks_acks;
        let [request, response] = begun;
        let requests = self.side(path.client_is_second);
        requests.explain_part((request, overlap), &up, Words::Requests, lacks_up);
        let responses = self.side(!path.client_is_second);
        responses.explain_part((response, overlap), &down, Words::Responses, lacks_down);
    }

    /// The waits of a transaction that is over; they are asked for in order.
    /// `of_stream`: of HTTP/2, whose transactions overlap.
    pub fn explain(&mut self, facts: &Facts, of_stream: Option<&OfStream>) -> Explained {
        let is_asked_first =
            |request: Extent, response: Extent| request.last.time_ns <= response.first.time_ns;
        let messages = facts.request.zip(facts.response);
        // In a stream of HTTP/2 both may go on at once.
        if of_stream.is_none()
            || messages.is_some_and(|(request, response)| is_asked_first(request, response))
        {
            self.bound_link(facts);
        }
        let (up, down) = facts.path.routes(self.link_at_most);
        let is_over = facts.unfinished.is_some();
        let end = |message: Option<Extent>| {
            let message = message.filter(|_| !is_over);
            message.map_or(i64::MAX, |it| it.end)
        };
        let client_is_second = facts.path.client_is_second;
        let [lacks_up, lacks_down] = facts.path.lacks_acks;
        let has_streams = of_stream.is_some();
        self.side(client_is_second).explain(
            (end(facts.request), has_streams),
            &up,
            Words::Requests,
            lacks_up,
        );
        self.side(!client_is_second).explain(
            (end(facts.response), has_streams),
            &down,
            Words::Responses,
            lacks_down,
        );
        let exchange = Exchange {
            request: facts.request,
            response: facts.response,
            handshake: facts.handshake,
            previous_end: self.previous_end.filter(|_| of_stream.is_none()),
            is_one_sided: facts.is_one_sided,
            header_bytes: facts.path.header_bytes,
            unfinished: facts.unfinished,
        };
        let streams = if client_is_second {
            (&self.second, &self.first)
        } else {
            (&self.first, &self.second)
        };
        let scene = Scene {
            exchange: &exchange,
            requests: streams.0,
            responses: streams.1,
            lacks_acks: facts.path.lacks_acks,
            answered_to: match of_stream {
                // Others may have been answered since.
                Some(_) => i64::MAX,
                None => self.answered_to.max(1),
            },
        };
        let explained = explain(&scene, (&up, &down), of_stream);
        self.answered_to = facts
            .response
            .map_or(self.answered_to, |it| it.end.max(self.answered_to));
        self.previous_end = explained.had.or(self.previous_end);
        for (is_client, message) in [(true, facts.request), (false, facts.response)] {
            if let Some(message) = message {
                let stream = self.side(is_client == client_is_second);
                let [client, server] = of_stream.map_or([None; 2], |it| it.kept);
                let kept = if is_client { client } else { server };
                let kept_ns = of_stream.map_or(i64::MAX, |it| it.kept_ns);
                stream.forget_before(
                    explained.last.time_ns.min(kept_ns),
                    message.end.min(kept.unwrap_or(i64::MAX)),
                );
            }
        }
        explained
    }
}

/// A response's first packet is at least that long.
const ANSWER_BYTES_MIN: u32 = 100;
