//! Payload of a full segment of the server: the measure of a short segment.

/// Payload of a segment on Ethernet; a larger packet was merged by a network card.
pub const FULL_SEGMENT_BYTES: u32 = 1460;
/// Length of the timestamps option with padding; options reduce the payload of every segment (RFC 7323,
/// appendix A; RFC 6691).
const TIMESTAMPS_BYTES: u32 = 12;
/// TCP header without options (RFC 9293, section 3.1).
const HEADER_BYTES: u32 = 20;
/// Run of equal segments, each sent before the previous one's ACK, that shows a path limit below the MSS.
///
/// A sender without Nagle's algorithm may send two equal segments by chance.
const EQUAL_RUN_MIN: u32 = 3;
/// TCP payload with timestamps of a 1280-byte packet, the smallest MTU of IPv6 (RFC 8200, section 5).
///
/// Today's paths carry this payload. A shorter segment that ends a write (PSH) has the length of that write.
const LEAST_PATH_PAYLOAD: u32 = 1280 - 40 - 20 - TIMESTAMPS_BYTES;

/// Payload of a sender without an MSS option: packets of 576 bytes with the largest headers (RFC 9293,
/// section 3.7.1).
///
/// Many senders use larger segments.
const DEFAULT_PAYLOAD: u32 = 576 - 20 - 60;

/// Segment sizes of a flow, from its handshake and its data.
#[derive(Clone, Copy, Debug, Default)]
pub struct SegmentSize {
    negotiated: Option<u32>,
    /// The smaller MSS of both sides, and the client's MSS, before options are subtracted.
    mss: [Option<u32>; 2],
    /// Fewest option bytes of all data segments (timestamps, or T/TCP's counts).
    option_bytes: Option<u32>,
    /// Option bytes of a SYN-ACK that carries or acknowledges data.
    syn_option_bytes: u32,
    /// True if the handshake was captured.
    had_handshake: bool,
    /// Payload that the client accepts; a server with a smaller MSS of its own may use it in full.
    accepted: Option<u32>,
    /// Largest payload seen; it replaces the MSS without a handshake.
    largest: u32,
    /// The client's largest payload that does not end a write (no PSH flag).
    ///
    /// A client with more data fills its segments. Two hosts without an MSS option use the same size.
    client_full: u32,
    /// Size at which a run of equal unacknowledged segments showed a smaller path limit.
    path_limit: Option<u32>,
    previous: u32,
    equal_run: u32,
    /// Packets with more payload than a segment allows: offload merged them before the wire.
    pub super_segments: u64,
    /// Frame of the first super-segment.
    pub super_segment_frame: Option<u64>,
}

impl SegmentSize {
    /// Take the MSS options of the handshake, which may be retransmitted.
    pub fn negotiated(&mut self, client: Option<u16>, server: Option<u16>, timestamps: bool) {
        let least = match (client, server) {
            (Some(client), Some(server)) => Some(client.min(server)),
            (one, other) => one.or(other),
        };
        self.mss = [least.map(u32::from), client.map(u32::from)];
        self.had_handshake = true;
        let promised = if timestamps { TIMESTAMPS_BYTES } else { 0 };
        self.subtract_options(self.option_bytes.unwrap_or(promised));
    }

    /// Subtract the option bytes that each segment carries from its payload.
    fn subtract_options(&mut self, option_bytes: u32) {
        let [least, accepted] = self.mss.map(|mss| {
            mss.map(|mss| mss.saturating_sub(option_bytes))
                .filter(|payload| *payload > 0)
        });
        self.negotiated = least;
        self.accepted = accepted.max(least);
    }

    /// Take the TCP header length of a new data segment of the server.
    pub fn header(&mut self, header_bytes: u8) {
        let option_bytes = u32::from(header_bytes).saturating_sub(HEADER_BYTES);
        if self.option_bytes.is_none_or(|least| option_bytes < least) {
            self.option_bytes = Some(option_bytes);
            self.subtract_options(option_bytes);
        }
    }

    /// Take the TCP header length of a SYN-ACK that carries or acknowledges data (RFC 1644, RFC 7413).
    pub fn syn_header(&mut self, header_bytes: u8) {
        self.syn_option_bytes = u32::from(header_bytes).saturating_sub(HEADER_BYTES);
    }

    /// Take a new data segment of the server that starts at `start`; `ends_write` is its PSH flag.
    pub fn data(
        &mut self,
        frame: u64,
        payload_bytes: u32,
        ends_write: bool,
        acked: i64,
        start: i64,
    ) {
        self.largest = self.largest.max(payload_bytes);
        let Some(negotiated) = self.negotiated else {
            return;
        };
        if self.accepted.is_some_and(|most| payload_bytes > most) {
            self.super_segments = self.super_segments.saturating_add(1);
            self.super_segment_frame.get_or_insert(frame);
        }
        let is_a_write = ends_write && payload_bytes < LEAST_PATH_PAYLOAD;
        let repeats = payload_bytes == self.previous
            && payload_bytes < negotiated
            && acked < start
            && !is_a_write;
        self.equal_run = if repeats {
            self.equal_run.saturating_add(1)
        } else {
            0
        };
        self.previous = payload_bytes;
        if self.equal_run >= EQUAL_RUN_MIN && payload_bytes >= self.largest {
            self.path_limit = Some(payload_bytes);
        }
        if self.path_limit.is_some_and(|limit| payload_bytes > limit) {
            self.path_limit = None;
        }
    }

    /// Take a data segment of the client; `ends_write` is its PSH flag.
    pub fn client_data(&mut self, payload_bytes: u32, ends_write: bool) {
        if !ends_write {
            self.client_full = self.client_full.max(payload_bytes);
        }
    }

    /// Return the largest payload of a packet of the server.
    #[must_use]
    pub fn largest(&self) -> u32 {
        self.largest
    }

    /// Return the payload of a full segment; 0 while unknown.
    #[must_use]
    pub fn full(&self) -> u32 {
        let without = if self.had_handshake {
            self.largest.max(self.client_full).max(DEFAULT_PAYLOAD)
        } else {
            self.largest
        };
        self.path_limit.or(self.negotiated).unwrap_or(without)
    }

    /// Return the payload of a full segment for a segment with this header and payload length.
    ///
    /// The segment may carry more options than others. Until a SYN-ACK of data is acknowledged, a sender
    /// leaves room for that SYN-ACK's options.
    #[must_use]
    pub fn full_behind(&self, header_bytes: u8, payload_bytes: u32) -> u32 {
        let least = self.option_bytes.unwrap_or(0);
        let without = |option_bytes: u32| {
            let more = self
                .option_bytes
                .map_or(0, |_| option_bytes.saturating_sub(least));
            self.full().saturating_sub(more)
        };
        let own = u32::from(header_bytes).saturating_sub(HEADER_BYTES);
        let behind_syn = without(own.max(self.syn_option_bytes));
        if payload_bytes == behind_syn {
            behind_syn
        } else {
            without(own)
        }
    }

    /// Return the number of wire segments of a payload.
    #[must_use]
    pub fn wire_segments(&self, payload_bytes: u32) -> u32 {
        match self.negotiated {
            _ if payload_bytes == 0 => 0,
            _ if self.accepted.is_some_and(|most| payload_bytes <= most) => 1,
            Some(full) => payload_bytes.div_ceil(full.max(1)),
            None => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_segment_is_the_smaller_mss_minus_timestamps() {
        let mut size = SegmentSize::default();
        size.negotiated(Some(1460), Some(65495), true);
        assert_eq!(size.full(), 1448);
        assert_eq!(size.wire_segments(14480), 10);
        assert_eq!(size.wire_segments(100), 1);
    }

    #[test]
    fn options_of_every_data_segment_are_subtracted_from_the_mss() {
        let mut size = SegmentSize::default();
        size.negotiated(Some(1460), Some(1460), false);
        for header_bytes in [40, 28, 32] {
            size.header(header_bytes);
        }
        assert_eq!((size.full(), size.full_behind(32, 1448)), (1452, 1448));
        size.syn_header(32);
        assert_eq!(
            size.full_behind(28, 1448),
            1448,
            "data sent with the SYN-ACK"
        );
        assert_eq!(size.full_behind(28, 1452), 1452, "data sent after its ACK");
    }

    #[test]
    fn retransmitted_handshake_keeps_the_option_bytes_of_data() {
        let mut size = SegmentSize::default();
        size.negotiated(Some(1460), Some(1460), true);
        size.header(40);
        size.negotiated(Some(1460), Some(1460), true);
        assert_eq!(size.full(), 1440);
    }

    #[test]
    fn segment_within_the_clients_mss_is_no_super_segment() {
        let mut size = SegmentSize::default();
        size.negotiated(Some(1460), Some(1400), false);
        size.data(1, 1460, false, 1, 1);
        assert_eq!((size.super_segments, size.wire_segments(1460)), (0, 1));
        size.data(2, 2920, false, 1, 1461);
        assert_eq!(
            (size.super_segments, size.super_segment_frame),
            (1, Some(2))
        );
    }

    #[test]
    fn a_run_of_equal_unacknowledged_segments_shows_the_limit_of_the_path() {
        let mut size = SegmentSize::default();
        size.negotiated(Some(1460), Some(1460), false);
        for start in 1..=5 {
            size.data(1, 1380, true, 0, start * 1380);
        }
        assert_eq!(size.full(), 1380);
        size.data(2, 1460, false, 0, 6 * 1380);
        assert_eq!(size.full(), 1460);
    }

    #[test]
    fn equal_small_writes_show_no_path_limit() {
        let full_after_five = |ends_write| {
            let mut size = SegmentSize::default();
            size.negotiated(Some(1460), Some(1460), true);
            for start in 1..=5 {
                size.data(1, 500, ends_write, 0, start * 500);
            }
            size.full()
        };
        assert_eq!(full_after_five(true), 1448);
        assert_eq!(full_after_five(false), 500);
    }

    #[test]
    fn without_an_mss_the_clients_unfinished_segment_is_full() {
        let mut size = SegmentSize::default();
        size.negotiated(None, None, false);
        size.client_data(520, true);
        assert_eq!(
            size.full(),
            DEFAULT_PAYLOAD,
            "the segment may be the whole write"
        );
        size.client_data(504, false);
        assert_eq!(size.full(), 504);
    }

    #[test]
    fn without_a_handshake_the_largest_segment_is_full() {
        let mut size = SegmentSize::default();
        size.data(1, 1460, false, 1, 1);
        size.data(2, 13, true, 1, 1461);
        assert_eq!(size.full(), 1460);
    }
}
