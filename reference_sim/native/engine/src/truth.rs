//! What really happened: the rows of a simulation's truth, in the order of their times.

use crate::rows::Rows;
use crate::scenario::Record;
use crate::stack::Nanoseconds;

/// One of the two ends of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    Client,
    Server,
}

/// Why a sender does not send (more) at this moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Everything written was sent, and the application has not written more.
    Application,
    /// Everything written was sent, and the application waits for room in the send buffer.
    SendBuffer,
    Handshake,
    /// The congestion window is used up, below the slow-start threshold.
    SlowStart,
    /// The congestion window is used up, above it.
    CongestionAvoidance,
    ReceiveWindow,
    ZeroWindow,
    /// What the stack keeps in flight at most, whatever the windows.
    MaxWindow,
    /// A short segment waits for an ACK.
    Nagle,
    /// Lost data is sent again, before the first ACK of something new.
    FastRecovery,
    /// A lost segment waits for, or goes on after, the retransmission timer.
    Timeout,
    /// The timer of a rate-based pacer.
    Pacing,
    /// Another connection of the ensemble has the turn.
    Scheduler,
}

/// Why a segment was sent when it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendReason {
    /// Handshake, first data, FIN: nothing held it.
    New,
    Ack,
    DelayedAck,
    WindowUpdate,
    RetransmissionTimeout,
    FastRetransmit,
    /// During recovery: a further hole, or by a partial ACK.
    Recovery,
    TailLossProbe,
    WindowProbe,
    Reset,
}

/// A change of what holds a sender back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitRow {
    pub time: Nanoseconds,
    pub connection: u32,
    pub side: Side,
    pub limit: Limit,
    /// The first offset not sent yet.
    pub next: u64,
}

/// A packet's life.
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
    /// None: lost, or still on its way.
    pub received: Option<Nanoseconds>,
}

/// A packet on one link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HopRow {
    pub packet: u64,
    pub link: u32,
    pub enqueued: Nanoseconds,
    /// When its first bit went out; none if it was dropped.
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
}

/// A sender's state after something changed it.
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

/// One request and its response. Times are at the ends: a request is sent when its first segment
/// leaves the client, a response has come when the client has its last byte in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionRow {
    pub connection: u32,
    /// Its number on the connection, from 0.
    pub index: u32,
    pub browser: u32,
    /// Which visit of the browser, from 0, and which fetch of its plan.
    pub visit: u32,
    pub fetch: u32,
    pub method: String,
    pub target: String,
    pub status: u16,
    pub request_bytes: u64,
    pub response_head_bytes: u64,
    pub response_body_bytes: u64,
    /// The offsets of their first bytes in the streams.
    pub request_offset: u64,
    pub response_offset: Option<u64>,
    /// When the application wanted it: it may have waited for a connection.
    pub wanted: Nanoseconds,
    pub written: Nanoseconds,
    pub request_first_sent: Option<Nanoseconds>,
    /// When the server had all of it.
    pub request_received: Option<Nanoseconds>,
    /// When the server's application first wrote.
    pub response_written: Option<Nanoseconds>,
    pub response_first_received: Option<Nanoseconds>,
    pub response_last_received: Option<Nanoseconds>,
}

/// A window of HTTP/2 that had kept a frame back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// The window of the stream; else that of the connection.
    pub is_of_stream: bool,
    pub since: Nanoseconds,
    /// When the window let it go; other streams' frames may have gone first.
    pub until: Option<Nanoseconds>,
}

/// A frame of HTTP/2 in a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameRow {
    pub connection: u32,
    /// Of its transaction.
    pub index: u32,
    /// Where it begins and ends in the server's stream.
    pub offset: u64,
    pub end: u64,
    /// When the application had its response.
    pub ready: Nanoseconds,
    pub written: Nanoseconds,
    pub hold: Option<Hold>,
}

/// One visit of a page, or one file of a transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetrievalRow {
    /// Of the browsers, then of the transfers.
    pub client: u32,
    pub is_transfer: bool,
    pub visit: u32,
    /// The first SYN, or the first request where no connection was opened.
    pub start: Nanoseconds,
    /// The last byte of the last response; none: not all came.
    pub end: Option<Nanoseconds>,
    pub bytes: u64,
}

/// Totals of what browsers retrieved, kept always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Visits of which all came, and the bytes and the times of these.
    pub retrievals: u64,
    pub retrieved_bytes: u64,
    pub retrieval_time: Nanoseconds,
    /// Files of transfers that came, and their bytes.
    pub files: u64,
    pub file_bytes: u64,
}

/// Totals of one link, kept always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkTotals {
    pub packets: u64,
    pub bytes: u64,
    pub drops: u64,
    /// Time during which a packet was in service.
    pub busy: Nanoseconds,
}

/// A connection's ports, nodes and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionRow {
    pub connection: u32,
    pub client_node: u32,
    pub server_node: u32,
    pub client_port: u16,
    pub server_port: u16,
    pub opened: Nanoseconds,
    pub established: Option<Nanoseconds>,
    /// When both sides were done with it.
    pub closed: Option<Nanoseconds>,
}

/// Everything that was recorded, in tables.
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
    /// Events that were handled.
    pub events: u64,
    /// Where simulated time stopped.
    pub end: Nanoseconds,
}

impl Truth {
    /// With the rows that are to be kept.
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

    /// A retrieval has all it wanted, or (no time) will not get it.
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
