//! A connection: both streams, and the transactions on them.

use tcptrace_path::{Place, Route, Serialization};

use crate::explained_segment::ExplainedSegment;
use crate::log::{AckEvent, DataEvent};
use crate::partition::Moment;
use crate::profile::Profile;
use crate::stream::{Stream, Words};
use crate::transaction::{explain, Exchange, Explained, Extent, Handshake};
use crate::unfinished::{Scene, Unfinished};

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
    /// The client is the second side.
    pub client_is_second: bool,
    pub request: Option<Extent>,
    pub response: Option<Extent>,
    /// Of the transaction that opened the connection.
    pub handshake: Option<Handshake>,
    /// Least round trips from the capture.
    pub to_server_ns: i64,
    pub to_client_ns: i64,
    /// Of the client's packets, and of the server's.
    pub links: [Serialization; 2],
    /// The same links, as acknowledgments show them.
    pub links_by_acks: [Serialization; 2],
    /// Client and server are one host: no link is between them.
    pub is_one_host: bool,
    /// Only one side's packets were captured.
    pub is_one_sided: bool,
    /// Acknowledgments of the client's data, and of the server's, were not captured.
    pub lacks_acks: [bool; 2],
    /// Bytes of a packet without payload.
    pub header_bytes: u32,
    /// Bytes of the packets on which the longer round trip was measured, there and back.
    pub probe_bytes: u32,
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
        let round_trip_ns = facts.to_server_ns.saturating_add(facts.to_client_ns);
        let bytes = u32::try_from(request.end.saturating_sub(request.start)).unwrap_or(u32::MAX);
        let bytes = bytes.saturating_add(ANSWER_BYTES_MIN);
        let link_ns = elapsed_ns.saturating_sub(round_trip_ns);
        if let Some(most) = Serialization::at_most(link_ns, bytes) {
            // The packet that came back on the least round trip took no longer than that.
            let probe_ns = facts.to_server_ns.max(facts.to_client_ns);
            let probe = Serialization::at_most(probe_ns, facts.probe_bytes / 2);
            let bounds = [Some(most), probe, self.link_at_most];
            self.link_at_most = bounds.into_iter().flatten().min();
        }
    }

    /// The waits of a transaction that is over; they are asked for in order.
    pub fn explain(&mut self, facts: &Facts) -> Explained {
        self.bound_link(facts);
        let (up, down) = routes(facts, self.link_at_most);
        let is_over = facts.unfinished.is_some();
        let end = |message: Option<Extent>| {
            let message = message.filter(|_| !is_over);
            message.map_or(i64::MAX, |it| it.end)
        };
        let [lacks_up, lacks_down] = facts.lacks_acks;
        self.side(facts.client_is_second).explain(
            end(facts.request),
            &up,
            Words::Requests,
            lacks_up,
        );
        self.side(!facts.client_is_second).explain(
            end(facts.response),
            &down,
            Words::Responses,
            lacks_down,
        );
        let exchange = Exchange {
            request: facts.request,
            response: facts.response,
            handshake: facts.handshake,
            previous_end: self.previous_end,
            is_one_sided: facts.is_one_sided,
            header_bytes: facts.header_bytes,
            unfinished: facts.unfinished,
        };
        let streams = if facts.client_is_second {
            (&self.second, &self.first)
        } else {
            (&self.first, &self.second)
        };
        let scene = Scene {
            exchange: &exchange,
            requests: streams.0,
            responses: streams.1,
            lacks_acks: facts.lacks_acks,
            answered_to: self.answered_to.max(1),
        };
        let explained = explain(&scene, (&up, &down));
        self.answered_to = facts
            .response
            .map_or(self.answered_to, |it| it.end.max(self.answered_to));
        self.previous_end = explained.had.or(self.previous_end);
        for (is_client, message) in [(true, facts.request), (false, facts.response)] {
            if let Some(message) = message {
                let stream = self.side(is_client == facts.client_is_second);
                stream.forget_before(explained.last.time_ns, message.end);
            }
        }
        explained
    }
}

/// A response's first packet is at least that long.
const ANSWER_BYTES_MIN: u32 = 100;

/// The routes of requests and of responses.
fn routes(facts: &Facts, link_at_most: Option<Serialization>) -> (Route, Route) {
    let [up_link, down_link] = facts.links;
    let is_one_host = facts.is_one_host;
    let is_at_server = facts.to_server_ns < facts.to_client_ns;
    // The link that is seen tells of the other direction as well, as long as that was not seen to differ.
    let [_, down_by_acks] = facts.links_by_acks;
    let link = if is_one_host {
        Serialization::default()
    } else if is_at_server {
        let known = [down_by_acks, up_link]
            .into_iter()
            .filter(|it| it.is_known());
        known.min().unwrap_or_default()
    } else if down_link.is_known() {
        link_at_most.map_or(down_link, |most| down_link.min(most))
    } else {
        up_link
    };
    let places = if is_at_server {
        (Place::Receiver, Place::Sender)
    } else {
        (Place::Sender, Place::Receiver)
    };
    let up = Route {
        place: places.0,
        to_sender_ns: facts.to_client_ns,
        to_receiver_ns: facts.to_server_ns,
        link,
        link_at_most: link_at_most.filter(|_| !is_one_host),
        probe_bytes: facts.probe_bytes,
        ack_bytes: facts.header_bytes,
    };
    let down = Route {
        place: places.1,
        to_sender_ns: facts.to_server_ns,
        to_receiver_ns: facts.to_client_ns,
        ..up
    };
    (up, down)
}
