//! When the response was asked for that is being delivered.

use super::connection::Connection;
use super::exchange::ResponseFacts;
use super::slot::Slot;
use super::Mark;

impl Connection {
    /// The first byte of the request that the response delivered last answers, as far as that is known.
    #[must_use]
    pub fn response_was_asked(&self) -> Option<Mark> {
        let start = self.response_start()?;
        let is_of = |response: &ResponseFacts| response.sequence_start <= start;
        let mut exchanges = self.pairing.slots.iter().rev().filter_map(Slot::exchange);
        let exchange = exchanges.find(|it| it.response.as_ref().is_some_and(is_of))?;
        exchange.request.map(|request| request.first)
    }
}
