//! Known facts of a connection's path, and the routes that they imply.

use tcptrace_path::{Place, Route, Serialization};

/// Path of a connection as known so far.
#[derive(Clone, Copy, Debug)]
pub struct PathFacts {
    /// True if the client is the second side.
    pub client_is_second: bool,
    /// Smallest round trips from the capture.
    pub to_server_ns: i64,
    pub to_client_ns: i64,
    /// Serialization times of the client's packets and of the server's.
    pub links: [Serialization; 2],
    /// The same serialization times, estimated from ACKs.
    pub links_by_acks: [Serialization; 2],
    /// True if client and server are one host, without a link between them.
    pub is_one_host: bool,
    /// True if the ACKs of the client's data, or of the server's, were not captured.
    pub has_no_acks: [bool; 2],
    /// Bytes of a packet without payload.
    pub header_bytes: u32,
    /// Bytes of the two packets that measured the longer round trip, forward and back.
    pub probe_bytes: u32,
}

impl PathFacts {
    /// Return the routes of requests and of responses.
    pub(crate) fn routes(&self, link_at_most: Option<Serialization>) -> (Route, Route) {
        let [up_link, down_link] = self.links;
        let is_one_host = self.is_one_host;
        let is_at_server = self.to_server_ns < self.to_client_ns;
        // The known link also describes the other direction until evidence shows a difference.
        let [_, down_by_acks] = self.links_by_acks;
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
            to_sender_ns: self.to_client_ns,
            to_receiver_ns: self.to_server_ns,
            link,
            link_at_most: link_at_most.filter(|_| !is_one_host),
            probe_bytes: self.probe_bytes,
            ack_bytes: self.header_bytes,
        };
        let down = Route {
            place: places.1,
            to_sender_ns: self.to_server_ns,
            to_receiver_ns: self.to_client_ns,
            ..up
        };
        (up, down)
    }
}
