//! The truth of a simulation: rows of all events, in time order.

use crate::rows::Rows;
use crate::scenario::Record;
use crate::stack::Nanoseconds;

/// One of the two ends of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    Client,
    Server,
}

/// The reason why a sender sends no further data now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// All written data is sent, and the application has written no more.
    Application,
    /// All written data is sent, and the application waits for room in the send buffer.
    SendBuffer,
    Handshake,
    /// The congestion window is full, below the slow-start threshold.
    SlowStart,
    /// The congestion window is full, above the threshold.
    CongestionAvoidance,
    ReceiveWindow,
    ZeroWindow,
    /// The stack's maximum of data in flight, regardless of the windows.
    MaxWindow,
    /// A short segment waits for an ACK.
    Nagle,
    /// Lost data is retransmitted, before the first ACK of new data.
    FastRecovery,
    /// A lost segment waits for the retransmission timer, or is retransmitted after it.
    Timeout,
    /// The timer of a rate-based pacer.
    Pacing,
    /// Another connection of the ensemble has the turn.
    Scheduler,
}

/// The reason for the sending time of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendReason {
    /// Handshake, first data or FIN, sent without a wait.
    New,
    Ack,
    DelayedAck,
    WindowUpdate,
    RetransmissionTimeout,
    FastRetransmit,
    /// Recovery: a further hole, or a partial ACK.
    Recovery,
    TailLossProbe,
    WindowProbe,
    Reset,
}

/// A change of a sender's limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitRow {
    pub time: Nanoseconds,
    pub connection: u32,
    pub side: Side,
    pub limit: Limit,
    /// First unsent offset.
    pub next: u64,
}

/// The life of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketRow {
    pub packet: u64,
    pub connection: u32,
    pub side: Side,
    pub seq: u64,
    pub ack: u64,
    pub payload: u32,
    pub flags: u16,
    pub bytes: u32,
    pub window: u32,
    pub reason: SendReason,
    pub is_retransmission: bool,
    pub sent: Nanoseconds,
    /// Reception time. None for a lost packet, or one still in flight.
    pub received: Option<Nanoseconds>,
}

/// A packet on one link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HopRow {
    pub packet: u64,
    pub link: u32,
    pub enqueued: Nanoseconds,
    /// Departure time of the first bit. None for a dropped packet.
    pub dequeued: Option<Nanoseconds>,
    pub drop: Option<Drop>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drop {
    QueueFull,
    BitError,
    PacketLoss,
    BurstLoss,
    Scripted,
    Codel,
}

/// A sender's state after a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowRow {
    pub time: Nanoseconds,
    pub connection: u32,
    pub side: Side,
    pub cwnd: u64,
    pub ssthresh: u64,
    pub flight: u64,
    pub receive_window: u64,
    pub smoothed_rtt: Option<Nanoseconds>,
    pub retransmission_timeout: Nanoseconds,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueRow {
    pub time: Nanoseconds,
    pub link: u32,
    pub packets: u32,
    pub bytes: u64,
}

/// One request and its response. Times are taken at the ends. A request is sent when its first segment leaves
/// the client. A response is received when the client has its last byte in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionRow {
    pub connection: u32,
    /// Number of the transaction on its connection, counted from 0.
    pub index: u32,
    pub browser: u32,
    /// Visit of the browser, counted from 0.
    pub visit: u32,
    /// Fetch of the visit's plan, counted from 0.
    pub fetch: u32,
    pub method: String,
    pub target: String,
    pub status: u16,
    pub request_bytes: u64,
    pub response_head_bytes: u64,
    pub response_body_bytes: u64,
    /// Stream offset of the request's first byte.
    pub request_offset: u64,
    /// Stream offset of the response's first byte.
    pub response_offset: Option<u64>,
    /// Time at which the application wanted the request. The request can wait for a connection.
    pub wanted: Nanoseconds,
    pub written: Nanoseconds,
    pub request_first_sent: Option<Nanoseconds>,
    /// Time at which the server had the whole request.
    pub request_received: Option<Nanoseconds>,
    /// Time of the server application's first write.
    pub response_written: Option<Nanoseconds>,
    pub response_first_received: Option<Nanoseconds>,
    pub response_last_received: Option<Nanoseconds>,
}

/// An HTTP/2 window that blocked a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// True for the window of the stream, false for the window of the connection.
    pub is_of_stream: bool,
    pub since: Nanoseconds,
    /// Time at which the window released the frame. Frames of other streams can go first.
    pub until: Option<Nanoseconds>,
}

/// An HTTP/2 frame of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameRow {
    pub connection: u32,
    /// Number of its transaction.
    pub index: u32,
    /// Start in the server's stream.
    pub offset: u64,
    /// End in the server's stream.
    pub end: u64,
    /// Time at which the application had its response ready.
    pub ready: Nanoseconds,
    pub written: Nanoseconds,
    pub hold: Option<Hold>,
}

/// One visit to a page, or one file of a transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetrievalRow {
    /// Number of the client: browsers first, then transfers.
    pub client: u32,
    pub is_transfer: bool,
    pub visit: u32,
    /// Time of the first SYN, or of the first request if no connection was opened.
    pub start: Nanoseconds,
    /// Time of the last response's last byte. None if a response is incomplete.
    pub end: Option<Nanoseconds>,
    pub bytes: u64,
}

/// Totals of the retrieved objects, always kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Number of complete visits.
    pub retrievals: u64,
    /// Bytes of the complete visits.
    pub retrieved_bytes: u64,
    /// Total duration of the complete visits.
    pub retrieval_time: Nanoseconds,
    /// Number of received files of transfers.
    pub files: u64,
    /// Bytes of the received files.
    pub file_bytes: u64,
}

/// Totals of one link, always kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkTotals {
    pub packets: u64,
    pub bytes: u64,
    pub drops: u64,
    /// Time with a packet in service.
    pub busy: Nanoseconds,
}

/// A connection's ports, nodes and end times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionRow {
    pub connection: u32,
    pub client_node: u32,
    pub server_node: u32,
    pub client_port: u16,
    pub server_port: u16,
    pub opened: Nanoseconds,
    pub established: Option<Nanoseconds>,
    /// Time at which both sides had finished.
    pub closed: Option<Nanoseconds>,
}

/// All recorded tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    pub connections: Rows<ConnectionRow>,
    pub transactions: Rows<TransactionRow>,
    pub retrievals: Rows<RetrievalRow>,
    pub totals: Totals,
    pub packets: Vec<PacketRow>,
    pub hops: Vec<HopRow>,
    pub windows: Vec<WindowRow>,
    pub queues: Vec<QueueRow>,
    pub limits: Vec<LimitRow>,
    pub frames: Vec<FrameRow>,
    pub links: Vec<LinkTotals>,
    /// Number of handled events.
    pub events: u64,
    /// Final simulated time.
    pub end: Nanoseconds,
}

impl Truth {
    /// Create a truth that keeps the selected rows.
    #[must_use]
    pub fn new(record: Record) -> Self {
        if record.transactions {
            return Truth::default();
        }
        Truth {
            connections: Rows::forgetful(),
            transactions: Rows::forgetful(),
            retrievals: Rows::forgetful(),
            ..Truth::default()
        }
    }

    /// End a retrieval: complete at `end`, or incomplete for None.
    pub fn retrieved(&mut self, number: usize, end: Option<Nanoseconds>, bytes: u64) {
        let Some(row) = self.retrievals.find(number) else {
            return;
        };
        row.end = end;
        row.bytes = bytes;
        if let Some(end) = end {
            if row.is_transfer {
                self.totals.files += 1;
                self.totals.file_bytes += bytes;
            } else {
                self.totals.retrievals += 1;
                self.totals.retrieved_bytes += bytes;
                self.totals.retrieval_time += end.saturating_sub(row.start);
            }
        }
        self.retrievals.over(number);
    }
}
