//! The slots of the pairing's queue: exchanges, and markers where messages can be lost.

use super::exchange::Exchange;

/// Length of the shortest possible request: `A / HTTP/1.1` and two line ends (RFC 9112, section 3).
const REQUEST_BYTES_MIN: u64 = 16;

#[derive(Debug)]
pub(super) enum Slot {
    Lost(Lost),
    Exchange(Box<Exchange>),
}

/// The reason why counting proves nothing after this slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lost {
    /// Requests can be lost between these offsets.
    Requests {
        start: u64,
        end: Option<u64>,
        /// Number of server bytes that the client had received before all of them. Later server bytes can
        /// answer them.
        seen: u64,
        /// True if the first lost bytes can belong to the previous request. In that case no request need be
        /// lost.
        is_within: bool,
    },
    /// Responses are lost. At least one is lost, unless the first lost bytes can belong to the previous
    /// response.
    Responses { is_within: bool },
    /// Requests or responses can be lost, for more than one reason.
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

    /// Return true if all bytes lost here can belong to known messages.
    pub(super) fn is_loss_within(&self) -> bool {
        match self {
            Slot::Lost(Lost::Requests { is_within, .. }) => *is_within,
            Slot::Lost(Lost::Responses { .. }) => true,
            Slot::Lost(Lost::Order) | Slot::Exchange(_) => false,
        }
    }

    /// Return true if the loss is too short for a request, such as the byte of a keep-alive.
    pub(super) fn is_too_short_for_request(&self) -> bool {
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
