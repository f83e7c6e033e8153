//! A transaction as it is told to the core: its messages, its handshake, and how it ended before its time.

use crate::partition::Moment;

/// The handshake as far as it was seen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Handshake {
    pub begun: Option<Moment>,
    /// The last SYN or SYN-ACK that was sent again.
    pub resent: Option<Moment>,
    pub done: Option<Moment>,
    /// The end of the TLS handshake behind it.
    pub secured: Option<Moment>,
    /// What the client offers to speak in TLS begins with its request.
    pub client_speaks_first: bool,
    /// The server's SETTINGS of HTTP/2, where the client's preface came before its first request.
    pub settings: Option<Moment>,
}

/// A message: its first and its last byte, and where it lies in its stream.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    pub first: Moment,
    pub last: Moment,
    pub start: i64,
    pub end: i64,
}

/// A transaction, as HTTP framed it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange {
    pub(crate) request: Option<Extent>,
    pub(crate) response: Option<Extent>,
    /// Of the transaction that opened the connection.
    pub(crate) handshake: Option<Handshake>,
    /// Only one side's packets were captured.
    pub(crate) is_one_sided: bool,
    /// When the response before was there.
    pub(crate) previous_end: Option<Moment>,
    /// Bytes of a packet's headers.
    pub(crate) header_bytes: u32,
    /// Its client has not got all of the response.
    pub(crate) unfinished: Option<Unfinished>,
}

/// How a connection ended that left a transaction unfinished.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// The server's FIN.
    pub by_server: Option<Moment>,
    /// The client's FIN, or a RST.
    pub given_up: Option<Moment>,
    /// The capture's last packet.
    pub capture_ns: i64,
}

impl Ended {
    /// When nobody waits any more for what stands still since `since`; the frame is 0 if the capture ends then.
    pub(crate) fn after(&self, since: Moment, known: Moment) -> Moment {
        let closes = [self.by_server, self.given_up].into_iter().flatten();
        self.first_of(closes, since).later(known)
    }

    /// When the client stopped waiting.
    pub(crate) fn given_up_after(&self, since: Moment) -> Moment {
        self.first_of(self.given_up.into_iter(), since)
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

/// A transaction whose client has not got all of its response.
#[derive(Clone, Copy, Debug)]
pub struct Unfinished {
    pub request_is_whole: bool,
    /// It passed whole, and was not acknowledged.
    pub response_is_whole: bool,
    /// Interim responses came.
    pub has_interim: bool,
    /// Events come when there are any (`text/event-stream`).
    pub is_event_stream: bool,
    pub ended: Ended,
}
