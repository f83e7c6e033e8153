//! Which flow it is: its number, and its two ends.

use tcptrace_tcp::{Endpoint, Key, Side};

use super::Flow;

#[derive(Clone, Copy, Debug)]
pub struct Identity {
    /// By which the flow table finds it.
    pub key: Key,
    pub number: u32,
    /// The sender of the first packet, and the other one.
    pub endpoints: [Endpoint; 2],
    /// The first one is the lower endpoint of the key.
    pub first_is_low: bool,
}

impl Flow {
    /// The side of a sender, by whether it is the lower endpoint of the flow's key; the two ends of a
    /// flow to itself cannot be told apart.
    #[must_use]
    pub fn side_of(&self, sender_is_low: bool) -> Side {
        if sender_is_low == self.id.first_is_low {
            Side::First
        } else {
            Side::Second
        }
    }

    /// The endpoints by their roles.
    #[must_use]
    pub fn client_and_server(&self) -> (Endpoint, Endpoint) {
        let [first, second] = self.id.endpoints;
        match self.client() {
            Side::First => (first, second),
            Side::Second => (second, first),
        }
    }
}
