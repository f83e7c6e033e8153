//! The headers that the slowest link carries with each segment.
//!
//! Theory of operation. A capture shows the headers of IP and TCP with their options, but not what the slowest link adds
//! to them: Ethernet frames a packet with 14 bytes, a serial line with next to none. Full segments alone tell nothing of
//! that. But a shorter one behind another takes longer than its share of a full one's time, by its headers; and what an
//! ACK let go comes later than a bare packet by its payload alone, of which there is the more in a full one's time the
//! shorter the headers are. What comes as exactly as one of the two has it tells of that one.

/// Ethernet's destination, source and type.
const FRAME_BYTES: u32 = 14;
/// What comes by no more than this share of what lies between the two from one of them tells of that one.
const CLOSE_SHARE: i64 = 4;
/// Times of captures are no more exact: where no more than this lies between the two, nothing tells which it is.
const APART_MIN_NS: i64 = 20_000;
/// As many signs are enough that a few by chance change nothing.
const SIGNS_MAX: i32 = 8;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LinkHeaders {
    /// Headers of IP and TCP.
    packet_bytes: Option<u32>,
    /// The largest segment that came in the pace of the link: how long behind another one, and its payload.
    largest: Option<(i64, u32)>,
    /// By how many more signs a frame has been told than none.
    signs: i32,
}

impl LinkHeaders {
    /// The headers of IP and TCP are as long as this.
    pub(crate) fn of_packets(self, packet_bytes: u32) -> LinkHeaders {
        LinkHeaders {
            packet_bytes: Some(packet_bytes),
            ..self
        }
    }

    /// What is known on other connections, or of this one, if there are as many signs for that.
    pub(crate) fn or_as(self, other: LinkHeaders) -> LinkHeaders {
        let is_surer = other.signs.saturating_abs() > self.signs.saturating_abs();
        LinkHeaders {
            packet_bytes: other.packet_bytes.or(self.packet_bytes),
            signs: if is_surer { other.signs } else { self.signs },
            ..self
        }
    }

    /// What distances have told is not the pace of the link.
    pub(crate) fn forgets(&mut self) {
        self.largest = None;
    }

    /// The largest segment that came in the pace of the link: how long behind another one, and its payload.
    pub(crate) fn distance(self) -> Option<(i64, u32)> {
        self.largest
    }

    /// A segment came in the pace of the link.
    pub(crate) fn keeps_pace(&mut self, gap_ns: i64, bytes: u32) {
        self.largest = match self.largest {
            Some((least_ns, largest)) if largest == bytes => Some((least_ns.min(gap_ns), bytes)),
            Some((_, largest)) if largest > bytes => self.largest,
            _ => Some((gap_ns, bytes)),
        };
    }

    /// A segment came so long behind another one.
    pub(crate) fn came_behind(&mut self, gap_ns: i64, bytes: u32) {
        self.tells(gap_ns, bytes, 1);
    }

    /// A segment came so much later than a bare packet that the ACK would have let go which did so.
    pub(crate) fn came_late(&mut self, late_ns: i64, bytes: u32) {
        self.tells(late_ns, bytes, 0);
    }

    fn tells(&mut self, elapsed_ns: i64, bytes: u32, headers: u32) {
        let of = |frame_bytes| self.takes_with_ns(frame_bytes, bytes, headers);
        let Some((bare_ns, framed_ns)) = of(0).zip(of(FRAME_BYTES)) else {
            return;
        };
        let apart_ns = framed_ns.saturating_sub(bare_ns).saturating_abs();
        if apart_ns < APART_MIN_NS {
            return;
        }
        let is_close = |takes_ns: i64| {
            elapsed_ns.saturating_sub(takes_ns).saturating_abs() <= apart_ns / CLOSE_SHARE
        };
        let sign = i32::from(is_close(framed_ns)).saturating_sub(i32::from(is_close(bare_ns)));
        self.signs = self.signs.saturating_add(sign).clamp(-SIGNS_MAX, SIGNS_MAX);
    }

    /// What the link takes for so much payload with the headers of so many segments; none as long as no distance or no
    /// header is known.
    pub(crate) fn takes_ns(self, bytes: u32, headers: u32) -> Option<i64> {
        let frame_bytes = if self.signs > 0 { FRAME_BYTES } else { 0 };
        self.takes_with_ns(frame_bytes, bytes, headers)
    }

    fn takes_with_ns(self, frame_bytes: u32, bytes: u32, headers: u32) -> Option<i64> {
        let (gap_ns, largest) = self.largest?;
        let header = i64::from(self.packet_bytes?.saturating_add(frame_bytes));
        let size = header
            .saturating_mul(i64::from(headers))
            .saturating_add(bytes.into());
        let full = header.saturating_add(largest.into());
        gap_ns.saturating_mul(size).checked_div(full)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// On a link that takes 0.1 ms for a byte, and of which segments of 960 bytes tell that have so many bytes of headers.
    fn known(header: i64) -> LinkHeaders {
        let mut headers = LinkHeaders::default().of_packets(40);
        headers.keeps_pace((960 + header) * MS / 10, 960);
        headers
    }

    #[test]
    fn a_short_segment_behind_another_tells_whether_the_link_has_a_frame() {
        for header in [40, 54] {
            let mut headers = known(header);
            headers.came_behind((260 + header) * MS / 10, 260);
            assert_eq!(headers.takes_ns(100, 0), Some(10 * MS));
            assert_eq!(headers.takes_ns(100, 2), Some((100 + 2 * header) * MS / 10));
        }
    }

    #[test]
    fn what_an_ack_let_go_tells_of_a_frame_by_its_payload_alone() {
        for header in [40, 54] {
            let mut headers = known(header);
            headers.came_late(50 * MS, 500);
            assert_eq!(headers.takes_ns(100, 1), Some((100 + header) * MS / 10));
        }
    }

    #[test]
    fn what_comes_as_neither_has_it_and_a_full_segment_tell_nothing() {
        let mut headers = known(54);
        for gap_ms in [30, 33, 101] {
            headers.came_behind(gap_ms * MS, 260);
        }
        headers.came_behind(known(54).takes_ns(960, 1).unwrap_or(0), 960);
        assert_eq!(headers, known(54));
    }

    #[test]
    fn without_headers_or_distances_nothing_is_known() {
        let mut headers = LinkHeaders::default();
        headers.keeps_pace(100 * MS, 960);
        assert_eq!(headers.takes_ns(100, 1), None);
        assert_eq!(headers.or_as(known(40)).takes_ns(960, 1), Some(100 * MS));
        let mut headers = known(40);
        headers.forgets();
        assert_eq!(headers.takes_ns(100, 1), None);
    }

    #[test]
    fn the_largest_segment_is_what_others_are_measured_by_as_soon_as_it_came() {
        let mut headers = known(40);
        for (gap_ms, bytes) in [(101, 960), (60, 560), (99, 960)] {
            headers.keeps_pace(gap_ms * MS, bytes);
        }
        assert_eq!(headers.takes_ns(960, 1), Some(99 * MS));
    }
}
