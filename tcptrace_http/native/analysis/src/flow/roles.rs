//! Roles of the two sides: client and server.

use tcptrace_http2::is_of_client;
use tcptrace_tcp::{starts_like_http, MessageKind, Side};
use tcptrace_tls::{starts_like, Start};
use trace_model::{flags, Segment};

use super::Flow;

#[derive(Clone, Copy, Debug)]
pub(super) struct Roles {
    client: Side,
    /// True if a SYN showed the client; otherwise the first message may still show it.
    pub(super) is_certain: bool,
}

impl Roles {
    /// Return the roles from the first segment of a flow.
    pub(super) fn of_first(segment: &Segment<'_>) -> Self {
        let is_syn = segment.has(flags::SYN);
        let sender_is_client = if is_syn {
            !segment.has(flags::ACK)
        } else {
            // Without other evidence, the server is the side with the lower port.
            segment.source_port >= segment.destination_port
        };
        Roles {
            client: if sender_is_client {
                Side::First
            } else {
                Side::Second
            },
            is_certain: is_syn,
        }
    }
}

impl Flow {
    /// Return the side of the client.
    #[inline]
    #[must_use]
    pub fn client(&self) -> Side {
        self.roles.client
    }

    /// Set the roles from the first bytes of a message.
    pub(super) fn orient(&mut self, side: Side, payload: &[u8]) {
        let is_request = match (starts_like_http(payload), starts_like(payload)) {
            (Some(MessageKind::Request), _) | (None, Some(Start::ClientHello)) => true,
            (Some(MessageKind::Response), _) | (None, Some(Start::ServerHello)) => false,
            (None, Some(Start::Records)) => return,
            (None, None) => match is_of_client(payload) {
                Some(is_of_client) => is_of_client,
                None => return,
            },
        };
        let client = if is_request { side } else { side.other() };
        self.take_roles(client);
        self.roles.is_certain = true;
    }

    /// Set the client to `client`; inferences under other roles are dropped.
    pub(super) fn take_roles(&mut self, client: Side) {
        if self.roles.client != client {
            self.roles.client = client;
            self.carried.reader = None;
            self.messages = None;
        }
    }
}
