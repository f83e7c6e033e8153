//! Connection: both streams and their transactions.

use tcptrace_path::Serialization;

use crate::causes::Words;
use crate::exchange::{Exchange, Extent, Handshake, UnfinishedTransaction};
use crate::explained_segment::ExplainedSegment;
use crate::log::{AckEvent, DataEvent};
use crate::multiplexed::StreamFrames;
use crate::partition::Moment;
use crate::path_facts::PathFacts;
use crate::profile::Profile;
use crate::stream::Stream;
use crate::transaction::{explain, ExplainedTransaction};
use crate::unfinished::Scene;

/// Record of a connection: one stream per side, in the order of their first segments.
#[derive(Debug, Default)]
pub struct Connection {
    first: Stream,
    second: Stream,
    previous_end: Option<Moment>,
    /// Offset at which the last response ended in its stream.
    answered_to: i64,
    /// Upper bound of the bottleneck's serialization time, from the fastest exchanges.
    link_at_most: Option<Serialization>,
}

/// Facts of a finished transaction and of its path.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    pub path: PathFacts,
    pub request: Option<Extent>,
    pub response: Option<Extent>,
    /// Handshake, for the transaction that opened the connection.
    pub handshake: Option<Handshake>,
    /// True if the capture has only one side's packets.
    pub is_one_sided: bool,
    /// End of a closed connection whose client lacks a part of the response.
    pub unfinished: Option<UnfinishedTransaction>,
}

impl Connection {
    fn side(&mut self, is_second: bool) -> &mut Stream {
        if is_second {
            &mut self.second
        } else {
            &mut self.first
        }
    }

    /// Take a segment with payload of one side.
    pub fn on_data(&mut self, is_second: bool, data: DataEvent) {
        self.side(is_second).on_data(data);
    }

    /// Take an ACK of one side's data.
    pub fn on_ack(&mut self, is_second: bool, ack: AckEvent) {
        self.side(is_second).on_ack(ack);
    }

    /// Request the full explanation of one side's segment in `frame`.
    pub fn ask(&mut self, is_second: bool, frame: u64) {
        self.side(is_second).asked = Some(frame);
    }

    /// Return the number of segments and ACKs of long messages that were dropped since the last call.
    pub fn take_dropped_events(&mut self) -> usize {
        let first = self.first.take_dropped_events();
        first.saturating_add(self.second.take_dropped_events())
    }

    /// Return the requested segment once its message is explained.
    pub fn take_asked(&mut self) -> Option<Box<ExplainedSegment>> {
        let first = self.first.explained_segment.take();
        first.or_else(|| self.second.explained_segment.take())
    }

    /// Return the profile of a direction's sender and path; none if none of its data was explained.
    #[must_use]
    pub fn profile(&self, is_second: bool) -> Option<Profile> {
        if is_second {
            self.second.profile()
        } else {
            self.first.profile()
        }
    }

    /// Return the memory of the connection.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        let streams = [&self.first, &self.second];
        streams
            .iter()
            .map(|it| it.held_bytes())
            .fold(size_of::<Self>(), usize::saturating_add)
    }

    /// Drop the log of incomplete messages: their time is unobserved.
    pub fn give_up(&mut self) {
        self.first.give_up();
        self.second.give_up();
    }

    /// Bound the link's serialization time: request and response passed the link within the time between
    /// them.
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
            // The serialization time of the probe packet is at most the smallest round trip.
            let probe_ns = path.to_server_ns.max(path.to_client_ns);
            let probe = Serialization::at_most(probe_ns, path.probe_bytes / 2);
            let bounds = [Some(most), probe, self.link_at_most];
            self.link_at_most = bounds.into_iter().flatten().min();
        }
    }

    /// Return whether the log of a message is long enough to explain a part of it.
    #[must_use]
    pub fn is_long(&self) -> bool {
        self.first.is_long() || self.second.is_long()
    }

    /// Explain the log of long messages except for the latest events, which show losses.
    ///
    /// `begun` is where the latest request and the latest response began. `overlap` is true if several HTTP/2 messages overlap.
    pub fn explain_parts(&mut self, path: &PathFacts, begun: [Option<i64>; 2], overlap: bool) {
        let (up, down) = path.routes(self.link_at_most);
        let [has_no_acks_up, has_no_acks_down] = path.has_no_acks;
        let [request, response] = begun;
        let requests = self.side(path.client_is_second);
        requests.explain_part((request, overlap), &up, Words::Requests, has_no_acks_up);
        let responses = self.side(!path.client_is_second);
        responses.explain_part(
            (response, overlap),
            &down,
            Words::Responses,
            has_no_acks_down,
        );
    }

    /// Return the waits of a finished transaction; the calls follow the order of transactions.
    ///
    /// `of_stream` is given for HTTP/2, whose transactions overlap.
    pub fn explain(
        &mut self,
        facts: &Facts,
        of_stream: Option<&StreamFrames>,
    ) -> ExplainedTransaction {
        let is_asked_first =
            |request: Extent, response: Extent| request.last.time_ns <= response.first.time_ns;
        let messages = facts.request.zip(facts.response);
        // In an HTTP/2 stream, request and response may overlap.
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
        let [has_no_acks_up, has_no_acks_down] = facts.path.has_no_acks;
        let has_streams = of_stream.is_some();
        self.side(client_is_second).explain(
            (end(facts.request), has_streams),
            &up,
            Words::Requests,
            has_no_acks_up,
        );
        self.side(!client_is_second).explain(
            (end(facts.response), has_streams),
            &down,
            Words::Responses,
            has_no_acks_down,
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
            has_no_acks: facts.path.has_no_acks,
            answered_to: match of_stream {
                // Other streams may have been answered since.
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

/// Minimum length of a response's first packet.
const ANSWER_BYTES_MIN: u32 = 100;
