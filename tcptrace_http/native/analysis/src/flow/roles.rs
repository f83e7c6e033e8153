//! Which side of a connection is the client.

use tcptrace_http2::is_of_client;
use tcptrace_tcp::{starts_like_http, Side, Spoken};
use tcptrace_tls::{starts_like, Start};
use trace_model::{flags, Segment};

use super::Flow;

#[derive(Clone, Copy, Debug)]
pub(super) struct Roles {
    client: Side,
    /// A SYN told who the client is; else the first message may still tell.
    pub(super) are_certain: bool,
}

impl Roles {
    /// As the first segment of a flow tells.
    pub(super) fn of_first(segment: &Segment<'_>) -> Self {
        let is_syn = segment.has(flags::SYN);
        let sender_is_client = if is_syn {
            !segment.has(flags::ACK)
        } else {
            // Nothing better is known yet: servers listen on the lower port.
            segment.source_port >= segment.destination_port
        };
        Roles {
            client: if sender_is_client {
                Side::First
            } else {
                Side::Second
            },
            are_certain: is_syn,
        }
    }
}

impl Flow {
    /// Who is the client.
    #[inline]
    #[must_use]
    pub fn client(&self) -> Side {
        self.roles.client
    }

    /// Learns who the client is from the first bytes of a message.
    pub(super) fn orient(&mut self, side: Side, payload: &[u8]) {
        let is_request = match (starts_like_http(payload), starts_like(payload)) {
            (Some(Spoken::Request), _) | (None, Some(Start::ClientHello)) => true,
            (Some(Spoken::Response), _) | (None, Some(Start::ServerHello)) => false,
            (None, Some(Start::Records)) => return,
            (None, None) => match is_of_client(payload) {
                Some(is_of_client) => is_of_client,
                None => return,
            },
        };
        let client = if is_request { side } else { side.other() };
        self.take_roles(client);
        self.roles.are_certain = true;
    }

    /// Makes `client` the client. What was inferred under the other assumption is dropped.
    pub(super) fn take_roles(&mut self, client: Side) {
        if self.roles.client != client {
            self.roles.client = client;
            self.carried.reader = None;
            self.messages = None;
        }
    }
}
