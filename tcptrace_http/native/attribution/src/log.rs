//! The log of one direction: what was sent and how it was acknowledged, as the capture saw it.

/// A segment with payload.
#[derive(Clone, Copy, Debug, Default)]
pub struct DataEvent {
    pub time_ns: i64,
    pub frame: u64,
    /// Offsets in the stream: the first byte is 1.
    pub start: i64,
    pub end: i64,
    /// Payload of a full segment at that time.
    pub full_bytes: i64,
    /// Bytes of the packet.
    pub packet_bytes: u32,
    /// When the packet before passed in this direction between the two hosts, of whatever connection.
    pub link_before_ns: Option<i64>,
    /// Since when that link has been busy.
    pub link_busy_since_ns: i64,
    /// How long it stands in the queue of a link behind the capture.
    pub link_queue_ns: i64,
    /// Packets of its sender that were numbered before it and never passed.
    pub missing_before: u32,
    pub has_fin: bool,
    /// A window probe or a keep-alive.
    pub is_probe: bool,
}

/// An acknowledgment of this direction's data.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckEvent {
    pub time_ns: i64,
    pub frame: u64,
    pub ack: i64,
    pub window: i64,
    pub payload_bytes: u32,
    /// Bytes of the packet.
    pub packet_bytes: u32,
    /// It tells of data behind a hole.
    pub has_sack: bool,
}

impl AckEvent {
    /// Whether it is data that acknowledges nothing but what `before` did, and offers the same window.
    pub(crate) fn is_data_again(&self, before: &AckEvent) -> bool {
        let same = self.ack == before.ack && self.window == before.window;
        same && self.payload_bytes > 0 && !self.has_sack && !before.has_sack
    }
}

/// Either, in the order of the capture.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    Data(DataEvent),
    Ack(AckEvent),
}
