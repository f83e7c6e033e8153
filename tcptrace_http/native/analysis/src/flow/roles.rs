//! Which side of a connection is the client.

use tcptrace_tcp::{starts_like_http, Side, Spoken};

use super::Flow;
use crate::pauses::PauseTracker;

impl Flow {
    /// Learns who the client is from the first bytes of a message.
    pub(super) fn orient(&mut self, side: Side, payload: &[u8]) {
        let client = match starts_like_http(payload) {
            Some(Spoken::Request) => side,
            Some(Spoken::Response) => side.other(),
            None => return,
        };
        self.take_roles(client);
        self.roles_are_certain = true;
    }

    /// Makes `client` the client. What was inferred under the other assumption is dropped.
    pub(super) fn take_roles(&mut self, client: Side) {
        if self.client != client {
            self.client = client;
            self.http = None;
            self.waits = None;
            self.request_pauses = None;
            self.followed().pauses = PauseTracker::default();
        }
    }
}
