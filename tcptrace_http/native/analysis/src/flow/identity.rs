//! Identity of a flow: its number and its two ends.

use tcptrace_tcp::{Endpoint, Key, Side};

use super::Flow;

#[derive(Clone, Copy, Debug)]
pub struct Identity {
    /// Key in the flow table.
    pub key: Key,
    pub number: u32,
    /// Sender of the first packet, and its peer.
    pub endpoints: [Endpoint; 2],
    /// True if the first endpoint is the lower endpoint of the key.
    pub first_is_low: bool,
}

impl Flow {
    /// Return the side of a sender, which is the lower endpoint of the key or not.
    ///
    /// The two ends of a flow from a host to itself are not distinguished.
    #[must_use]
    pub fn side_of(&self, sender_is_low: bool) -> Side {
        if sender_is_low == self.id.first_is_low {
            Side::First
        } else {
            Side::Second
        }
    }

    /// Return the endpoints of the client and of the server.
    #[must_use]
    pub fn client_and_server(&self) -> (Endpoint, Endpoint) {
        let [first, second] = self.id.endpoints;
        match self.client() {
            Side::First => (first, second),
            Side::Second => (second, first),
        }
    }
}
