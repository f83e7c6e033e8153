//! What comes late, or behind something else, by what the slowest link takes for it.

use super::bare::Question;
use super::headers::ip_header_bytes;
use super::host_pair::HostPair;
use super::link_times::LinkTime;
use super::uplink::Ahead;
use crate::byte_time::per_byte;
use crate::link_margins::SLOWEST_PS;

/// A header of TCP without options (RFC 9293, section 3.1).
const TCP_HEADER_BYTES: i64 = 20;

impl HostPair {
    /// The server acknowledges a question without an answer.
    pub(super) fn question_was_heard(&mut self, time_ns: i64, question: Question) {
        let late_ns = self.later_than_path_ns(question.time_ns, time_ns);
        if let Some(late_ns) = late_ns {
            self.answer_was_late(late_ns, question.bytes.into(), question);
        }
    }

    /// What answers `question` came so late, and so many bytes of both.
    pub(super) fn answer_was_late(&mut self, late_ns: i64, bytes: i64, question: Question) {
        let Ahead { others, own, .. } = question.ahead;
        let ahead = i64::from(others.bytes).saturating_add(own.bytes.into());
        let packets = others.packets.saturating_add(own.packets);
        self.came_late(late_ns, (bytes.saturating_add(ahead), packets));
    }

    /// Data came that the ACK of all before it may have let go, which went by at `acked_ns`.
    pub(super) fn was_let_go_late(&mut self, (acked_ns, time_ns): (i64, i64), bytes: u32) {
        if let Some(late_ns) = self.later_than_path_ns(acked_ns, time_ns) {
            self.came_late(late_ns, (bytes.into(), 0));
        }
    }

    /// How much later than by the path's least round trip something came.
    fn later_than_path_ns(&self, from_ns: i64, time_ns: i64) -> Option<i64> {
        let to_server_ns = self.to_server_ns.filter(|_| !self.is_at_server())?;
        let elapsed_ns = time_ns.saturating_sub(from_ns);
        Some(elapsed_ns.saturating_sub(to_server_ns))
    }

    fn came_late(&mut self, late_ns: i64, (bytes, packets): (i64, u32)) {
        // The way was measured with a handshake's packets, which are longer.
        let longer = i64::from(self.headers.syn_longer_bytes());
        let late = LinkTime {
            elapsed_ns: late_ns,
            bytes: bytes.saturating_sub(longer),
            packets,
            is_distance: false,
            stretch: None,
            is_with_syn: false,
        };
        let header_bytes = self.headers.of_data(self.client.is_v6);
        let by_other = header_bytes.and_then(|it| self.link_times.was_as_late(late, it));
        let slowest_ps = self.slowest_ps(self.to_server_ns);
        let by_other = by_other.map(|it| it.byte_ps);
        if let Some(byte_ps) = by_other.filter(|it| *it <= slowest_ps) {
            self.link.agree_on(byte_ps, byte_ps);
        }
        self.link_times.note(late);
        self.link_times_agree();
    }

    /// What a byte takes at most: the headers of a handshake's packets take their time in its round trip.
    pub(super) fn slowest_ps(&self, way_ns: Option<i64>) -> i64 {
        let headers =
            i64::from(ip_header_bytes(self.client.is_v6)).saturating_add(TCP_HEADER_BYTES);
        let both = headers
            .saturating_mul(2)
            .saturating_add(self.headers.syn_longer_bytes().into());
        per_byte(way_ns.unwrap_or(0), both).min(SLOWEST_PS)
    }

    /// Whether a segment came as long behind another one as something else took, in proportion to their bytes.
    pub(super) fn is_as_long(&self, (gap_ns, bytes): (i64, u32)) -> bool {
        let header_bytes = self.headers.of_data(self.client.is_v6);
        let distance = LinkTime::of_distance(gap_ns, bytes);
        header_bytes.is_some_and(|it| self.link_times.agree_with(distance, it).is_some())
    }

    /// The only distance that is known may agree with one of them, or that of two packets without payload.
    pub(super) fn link_times_agree(&mut self) {
        let distance = self.link.single_distance();
        if distance.is_some_and(|distance| self.is_as_long(distance)) {
            self.link.is_agreed();
        }
        let bare = self.bare.distance(self.client.is_v6);
        let by_bare = bare.and_then(|(gap_ns, header_bytes)| {
            let bare = LinkTime::of_distance(gap_ns, 0);
            self.link_times.agree_with(bare, header_bytes)
        });
        if let Some(byte_ps) = by_bare.map(|it| it.byte_ps) {
            self.link.agree_on(byte_ps, byte_ps);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::segment;
    use super::*;
    use trace_model::{flags, Segment};

    const MS: i64 = 1_000_000;

    #[test]
    fn distances_that_acks_may_have_made_agree_if_they_are_in_proportion_to_their_bytes() {
        // 0.1 ms a byte.
        let after = |gaps: &[(i64, u32)]| {
            let mut pair = HostPair::with_path(10 * MS);
            pair.has_headers(false, &segment_of(960));
            for (gap_ms, bytes) in gaps {
                pair.arrives(gap_ms * MS, *bytes, true);
            }
            pair.link.takes_ns(960, 1).is_some()
        };
        let (full, short) = ((100, 960), (50, 460));
        assert!(after(&[full, short, full]));
        assert!(!after(&[full, full, full]) && !after(&[full, (60, 460), full]));
    }

    fn segment_of(bytes: u32) -> Segment<'static> {
        Segment {
            header_bytes: 20,
            ..segment(flags::ACK, 0, 0, bytes)
        }
    }

    /// A pair whose client has asked with 300 bytes, and has heard 130 ms later that all of that had come, over a path
    /// of 100 ms; and what the link takes for a full segment that comes so long behind another one.
    fn takes_after_question_heard(gap_ms: i64) -> Option<i64> {
        let mut pair = HostPair::with_path(100 * MS);
        pair.has_headers(false, &segment_of(960));
        let asks = segment(flags::ACK, u32::MAX - 100, 0, 300);
        pair.question_was_heard(130 * MS, Question::default().asked(0, &asks));
        pair.arrives(gap_ms * MS, 960, true);
        pair.link.takes_ns(960, 1)
    }

    /// What the link takes for a full segment behind an answer and what an ACK let go of so many bytes that were so late,
    /// over a path of so many milliseconds.
    fn takes_after_late(path_ms: i64, late_ms: [i64; 2]) -> Option<i64> {
        let mut pair = HostPair::with_path(path_ms * MS);
        pair.has_headers(false, &segment_of(960));
        for (late_ms, bytes) in late_ms.into_iter().zip([500, 960]) {
            pair.was_let_go_late((0, (path_ms + late_ms) * MS), bytes);
        }
        pair.link.takes_ns(960, 1)
    }

    #[test]
    fn two_that_were_late_in_proportion_to_their_bytes_agree_on_what_the_handshake_has_room_for() {
        assert!(takes_after_late(10, [50, 96]).is_some());
        assert_eq!(takes_after_late(10, [50, 98]), None, "one has waited");
        assert_eq!(
            takes_after_late(7, [50, 96]),
            None,
            "its headers alone take 8 ms"
        );
        assert_eq!(
            takes_after_late(50, [200, 384]),
            None,
            "slower than any modem"
        );
    }

    #[test]
    fn a_single_distance_agrees_with_a_question_that_was_heard_of_late_though_an_ack_may_have_let_it_go(
    ) {
        assert_eq!(takes_after_question_heard(100), Some(100 * MS));
        assert_eq!(takes_after_question_heard(120), None);
    }
}
