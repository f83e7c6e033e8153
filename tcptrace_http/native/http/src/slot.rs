//! The places of the pairing's queue: exchanges, and markers where messages may have been lost.

use super::exchange::Exchange;

/// The shortest request there can be: `A / HTTP/1.1` and two line ends (RFC 9112, section 3).
const REQUEST_BYTES_MIN: u64 = 16;

#[derive(Debug)]
pub(super) enum Slot {
    Lost(Lost),
    Exchange(Box<Exchange>),
}

/// Why counting proves nothing behind this place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lost {
    /// Requests may have been lost between these offsets.
    Requests {
        start: u64,
        end: Option<u64>,
        /// What the client had received before all of them; what it received later may answer them.
        seen: u64,
        /// The first lost bytes may belong to the request before, so there may be no other.
        is_within: bool,
    },
    /// Responses may have been lost: one at least, unless the first lost bytes may belong to the response before.
    Responses { is_within: bool },
    /// Either, and more than one reason.
    Order,
}

impl Slot {
    pub(super) fn is_lost(&self) -> bool {
        match self {
            Slot::Lost(_) => true,
            Slot::Exchange(_) => false,
        }
    }

    pub(super) fn exchange(&self) -> Option<&Exchange> {
        match self {
            Slot::Lost(_) => None,
            Slot::Exchange(exchange) => Some(exchange),
        }
    }

    pub(super) fn exchange_mut(&mut self) -> Option<&mut Exchange> {
        match self {
            Slot::Lost(_) => None,
            Slot::Exchange(exchange) => Some(exchange),
        }
    }

    pub(super) fn awaits_request(&self) -> bool {
        self.exchange().is_some_and(Exchange::awaits_request)
    }

    pub(super) fn is_unanswered_or_lost(&self) -> bool {
        self.exchange().is_none_or(Exchange::awaits_response)
    }

    /// Whether all that was lost here may belong to messages that are known otherwise.
    pub(super) fn is_loss_within(&self) -> bool {
        match self {
            Slot::Lost(Lost::Requests { is_within, .. }) => *is_within,
            Slot::Lost(Lost::Responses { .. }) => true,
            Slot::Lost(Lost::Order) | Slot::Exchange(_) => false,
        }
    }

    /// Whether too little was lost here for a request: the byte of a keep-alive, say.
    pub(super) fn holds_no_request(&self) -> bool {
        match self {
            Slot::Lost(Lost::Requests {
                start,
                end: Some(end),
                ..
            }) => end.saturating_sub(*start) < REQUEST_BYTES_MIN,
            Slot::Lost(_) | Slot::Exchange(_) => false,
        }
    }

    pub(super) fn is_open_loss_of_requests(&self) -> bool {
        matches!(self, Slot::Lost(Lost::Requests { end: None, .. }))
    }
}
