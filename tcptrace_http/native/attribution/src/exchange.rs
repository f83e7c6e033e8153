//! Input of the attribution for a transaction: its messages, its handshake and its premature end.

use crate::partition::Moment;

/// Captured part of the handshake.
#[derive(Clone, Copy, Debug, Default)]
pub struct Handshake {
    pub begun: Option<Moment>,
    /// Last retransmission of a SYN or SYN-ACK.
    pub resent: Option<Moment>,
    pub done: Option<Moment>,
    /// End of the TLS handshake.
    pub secured: Option<Moment>,
    /// True if the application protocol in the client's ALPN starts with a request.
    pub is_http_client: bool,
    /// The server's HTTP/2 SETTINGS, if the client's preface came before its first request.
    pub settings: Option<Moment>,
}

/// First and last byte of a message, and its offsets in the stream.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    pub first: Moment,
    pub last: Moment,
    pub start: i64,
    pub end: i64,
}

/// Transaction with the boundaries of its HTTP messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange {
    pub(crate) request: Option<Extent>,
    pub(crate) response: Option<Extent>,
    /// Handshake, for the transaction that opened the connection.
    pub(crate) handshake: Option<Handshake>,
    /// True if the capture has only one side's packets.
    pub(crate) is_one_sided: bool,
    /// Time at which the previous response was complete.
    pub(crate) previous_end: Option<Moment>,
    /// Header bytes of a packet.
    pub(crate) header_bytes: u32,
    /// State of a transaction whose client lacks a part of the response.
    pub(crate) unfinished: Option<UnfinishedTransaction>,
}

/// End of a connection that left a transaction unfinished.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionEnd {
    /// FIN of the server.
    pub by_server: Option<Moment>,
    /// FIN of the client, or RST.
    pub client_end: Option<Moment>,
    /// Time of the capture's last packet.
    pub capture_ns: i64,
}

impl ConnectionEnd {
    /// Return the end of the wait of both sides after a standstill at `since`; the frame is 0 at the end of
    /// the capture.
    pub(crate) fn after(&self, since: Moment, known: Moment) -> Moment {
        let closes = [self.by_server, self.client_end].into_iter().flatten();
        self.first_of(closes, since).later(known)
    }

    /// Return the end of the client's wait.
    pub(crate) fn client_end_after(&self, since: Moment) -> Moment {
        self.first_of(self.client_end.into_iter(), since)
    }

    fn first_of(&self, closes: impl Iterator<Item = Moment>, since: Moment) -> Moment {
        let capture = Moment {
            time_ns: self.capture_ns.max(since.time_ns),
            frame: 0,
        };
        closes
            .filter(|it| it.time_ns >= since.time_ns)
            .reduce(Moment::earlier)
            .unwrap_or(capture)
    }
}

/// Transaction whose client lacks a part of its response.
#[derive(Clone, Copy, Debug)]
pub struct UnfinishedTransaction {
    pub request_is_whole: bool,
    /// True if the complete response passed and was not acknowledged.
    pub response_is_whole: bool,
    /// True if interim responses passed.
    pub has_interim: bool,
    /// True for an event stream (`text/event-stream`), which is idle between events.
    pub is_event_stream: bool,
    pub ended: ConnectionEnd,
}
