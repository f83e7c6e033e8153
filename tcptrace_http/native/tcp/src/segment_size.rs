//! How many bytes a full segment of the server carries: what "short" is measured against.

/// Payload of a segment on Ethernet: a larger one was put together by a network card.
pub const FULL_SEGMENT_BYTES: u32 = 1460;
/// Length of the timestamps option with its padding: as all options it is taken off the MSS in every
/// segment (RFC 7323, appendix A; RFC 6691).
const TIMESTAMPS_BYTES: u32 = 12;
/// A TCP header without options (RFC 9293, section 3.1).
const HEADER_BYTES: u32 = 20;
/// Equal segments in a row, each sent before the one before was acknowledged, that show a limit of
/// the path below the announced MSS. A sender without Nagle may send two of one size by chance.
const EQUAL_RUN_MIN: u32 = 3;
/// TCP payload of a packet of 1280 bytes, the least MTU of IPv6 (RFC 8200, section 5), with timestamps. Paths of
/// today carry that much. What is shorter and ends a write of the sender (PSH) is as long as that write.
const LEAST_PATH_PAYLOAD: u32 = 1280 - 40 - 20 - TIMESTAMPS_BYTES;

/// A sender that was offered no MSS fills packets of 576 bytes (RFC 9293, section 3.7.1), in which headers take no
/// more than this. Many send more.
const DEFAULT_PAYLOAD: u32 = 576 - 20 - 60;

/// How large the segments of a flow are, as its handshake and its data tell.
#[derive(Clone, Copy, Debug, Default)]
pub struct SegmentSize {
    negotiated: Option<u32>,
    /// The smaller MSS, and the client's, before options are taken off.
    mss: [Option<u32>; 2],
    /// The least options of a data segment: what each of them has (timestamps, or T/TCP's counts).
    option_bytes: Option<u32>,
    /// The options of a SYN-ACK with data, or of data.
    syn_option_bytes: u32,
    /// The SYNs were seen.
    had_handshake: bool,
    /// What the client accepts, which a server with a smaller MSS of its own may use in full.
    accepted: Option<u32>,
    /// Largest payload seen; it stands in where no handshake was.
    largest: u32,
    /// The client's largest payload that does not end a write (no PSH flag): who has more to send fills its
    /// segments, and two hosts without an MSS fill as much.
    client_full: u32,
    /// Size at which a run of unacknowledged, equal segments showed a smaller limit on the path.
    path_limit: Option<u32>,
    previous: u32,
    equal_run: u32,
    /// Packets with more payload than a segment may have: merged by offload, before the wire.
    pub super_segments: u64,
    /// Frame of the first of them.
    pub super_segment_frame: Option<u64>,
}

impl SegmentSize {
    /// Takes the MSS options of the handshake, which may be sent again.
    pub fn negotiated(&mut self, client: Option<u16>, server: Option<u16>, timestamps: bool) {
        let least = match (client, server) {
            (Some(client), Some(server)) => Some(client.min(server)),
            (one, other) => one.or(other),
        };
        self.mss = [least.map(u32::from), client.map(u32::from)];
        self.had_handshake = true;
        let promised = if timestamps { TIMESTAMPS_BYTES } else { 0 };
        self.take_off(self.option_bytes.unwrap_or(promised));
    }

    /// Each segment carries so many bytes of options, and that much less payload.
    fn take_off(&mut self, option_bytes: u32) {
        let [least, accepted] = self.mss.map(|mss| {
            mss.map(|mss| mss.saturating_sub(option_bytes))
                .filter(|payload| *payload > 0)
        });
        self.negotiated = least;
        self.accepted = accepted.max(least);
    }

    /// A new data segment of the server has a TCP header of this length.
    pub fn header(&mut self, header_bytes: u8) {
        let option_bytes = u32::from(header_bytes).saturating_sub(HEADER_BYTES);
        if self.option_bytes.is_none_or(|least| option_bytes < least) {
            self.option_bytes = Some(option_bytes);
            self.take_off(option_bytes);
        }
    }

    /// The SYN-ACK has data, or is of some, and a TCP header of this length (RFC 1644, RFC 7413).
    pub fn syn_header(&mut self, header_bytes: u8) {
        self.syn_option_bytes = u32::from(header_bytes).saturating_sub(HEADER_BYTES);
    }

    /// Notes a new data segment of the server that starts at `start`; `ends_write` is its PSH flag.
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

    /// Notes a data segment of the client; `ends_write` is its PSH flag.
    pub fn client_data(&mut self, payload_bytes: u32, ends_write: bool) {
        if !ends_write {
            self.client_full = self.client_full.max(payload_bytes);
        }
    }

    /// Largest payload of a packet of the server.
    #[must_use]
    pub fn largest(&self) -> u32 {
        self.largest
    }

    /// Payload of a full segment; 0 before anything is known.
    #[must_use]
    pub fn full(&self) -> u32 {
        let without = if self.had_handshake {
            self.largest.max(self.client_full).max(DEFAULT_PAYLOAD)
        } else {
            self.largest
        };
        self.path_limit.or(self.negotiated).unwrap_or(without)
    }

    /// As [`SegmentSize::full`], of a segment with a header and a payload of these lengths. Its own options may be
    /// more than others have; and behind a SYN-ACK of data, until that is acknowledged, a sender leaves room for the
    /// options of that.
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

    /// Segments that a payload was on the wire.
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
    fn the_smaller_mss_less_the_timestamps_is_a_full_segment() {
        let mut size = SegmentSize::default();
        size.negotiated(Some(1460), Some(65495), true);
        assert_eq!(size.full(), 1448);
        assert_eq!(size.wire_segments(14480), 10);
        assert_eq!(size.wire_segments(100), 1);
    }

    #[test]
    fn what_options_every_data_segment_has_is_taken_off_the_mss() {
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
            "what is sent with the SYN-ACK"
        );
        assert_eq!(
            size.full_behind(28, 1452),
            1452,
            "what is sent when that is acknowledged"
        );
    }

    #[test]
    fn a_handshake_that_is_sent_again_takes_nothing_back_of_what_data_has_told() {
        let mut size = SegmentSize::default();
        size.negotiated(Some(1460), Some(1460), true);
        size.header(40);
        size.negotiated(Some(1460), Some(1460), true);
        assert_eq!(size.full(), 1440);
    }

    #[test]
    fn a_segment_that_the_client_accepts_was_not_merged() {
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
    fn equal_writes_of_a_few_hundred_bytes_are_no_limit_of_the_path() {
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
    fn where_no_mss_was_offered_what_a_client_sends_of_more_is_a_full_segment() {
        let mut size = SegmentSize::default();
        size.negotiated(None, None, false);
        size.client_data(520, true);
        assert_eq!(size.full(), DEFAULT_PAYLOAD, "it may be all there was");
        size.client_data(504, false);
        assert_eq!(size.full(), 504);
    }

    #[test]
    fn without_a_handshake_the_largest_segment_is_a_full_one() {
        let mut size = SegmentSize::default();
        size.data(1, 1460, false, 1, 1);
        size.data(2, 13, true, 1, 1461);
        assert_eq!(size.full(), 1460);
    }
}
