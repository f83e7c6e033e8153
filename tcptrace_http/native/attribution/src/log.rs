//! Log of one direction: captured segments and ACKs.

/// Segment with payload.
#[derive(Clone, Copy, Debug, Default)]
pub struct DataEvent {
    pub time_ns: i64,
    pub frame: u64,
    /// Offsets in the stream: the first byte is 1.
    pub start: i64,
    pub end: i64,
    /// Payload of a full segment when the segment passed.
    pub full_bytes: i64,
    /// Bytes of the packet.
    pub packet_bytes: u32,
    /// Time of the previous packet in this direction between the two hosts, of any connection.
    pub link_before_ns: Option<i64>,
    /// Start of that link's busy period.
    pub link_busy_since_ns: i64,
    /// Queueing delay of a link behind the capture.
    pub link_queue_ns: i64,
    /// Packets that the sender numbered before this packet and that never passed the capture.
    pub missing_before: u32,
    pub has_fin: bool,
    /// True for a window probe or a keep-alive.
    pub is_probe: bool,
}

/// ACK of this direction's data.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckEvent {
    pub time_ns: i64,
    pub frame: u64,
    pub ack: i64,
    pub window: i64,
    pub payload_bytes: u32,
    /// Bytes of the packet.
    pub packet_bytes: u32,
    /// True if the ACK reports data behind a hole.
    pub has_sack: bool,
    /// True if the ACK echoes a mark (ECE; RFC 3168, section 6.1.3).
    pub has_echo: bool,
}

impl AckEvent {
    /// Return whether the ACK is on a data segment and repeats the number and window of `before`.
    pub(crate) fn is_repeated_data(&self, before: &AckEvent) -> bool {
        let same = self.ack == before.ack && self.window == before.window;
        same && self.payload_bytes > 0 && !self.has_sack && !before.has_sack
    }
}

/// Segment or ACK, in capture order.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    Data(DataEvent),
    Ack(AckEvent),
}
