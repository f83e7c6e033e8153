//! The path between client, capture point and server, and the route of each direction's data on it.

use trace_model::rows::ObservationPoint;

use super::timeline::Route;
use crate::byte_time::ByteTime;
use crate::observation::observation_point;
use crate::shared_windows::Receiver;

/// The path as far as it is known.
#[derive(Clone, Copy, Debug, Default)]
pub struct Path {
    pub to_server_ns: Option<i64>,
    pub to_client_ns: Option<i64>,
    /// Picoseconds that a byte of a response takes on the slowest link, if ACKs have agreed on that.
    pub sent_byte_time: Option<ByteTime>,
    /// When the client acknowledges responses.
    pub receiver: Receiver,
    /// A SYN-ACK waited for its data; whether this is the server's end shows when that is acknowledged.
    pub is_undecided: bool,
}

impl Path {
    pub(super) fn of_responses(self) -> Route {
        let place = observation_point(self.to_server_ns, self.to_client_ns);
        Route {
            to_sender_ns: self.to_server_ns.unwrap_or(0),
            to_receiver_ns: self.to_client_ns.unwrap_or(0),
            is_at_sender: place == ObservationPoint::Server || self.is_undecided,
            byte_time: self.sent_byte_time,
            receiver: self.receiver,
        }
    }

    /// When a request came is what its response shows; its ACKs are not waited for.
    pub(super) fn of_requests(self) -> Route {
        Route {
            to_sender_ns: self.to_client_ns.unwrap_or(0),
            to_receiver_ns: self.to_server_ns.unwrap_or(0),
            is_at_sender: false,
            byte_time: None,
            receiver: Receiver::UNHEARD,
        }
    }
}
