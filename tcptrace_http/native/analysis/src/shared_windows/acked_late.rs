//! What the slowest link takes, next to the server, as ACKs that come late and how close the client's packets come tell.
//!
//! Theory of operation. An ACK comes later than the path's least round trip by what that link takes for all that is
//! acknowledged, or by a timer; a packet that the client sends behind another one comes as much later as the link takes
//! for it, which is taken to be as slow in that direction, or when its client has thought. Neither waits as exactly in
//! proportion to the bytes of both, so what agrees is the link: be it that of a single short answer and its question.

use trace_model::{flags, Segment};

use super::host_pair::HostPair;
use super::link_times::LinkTime;

impl HostPair {
    /// A packet of the client comes so long behind another one, and knew of nothing that the server had sent since.
    pub(super) fn asked_behind(&mut self, gap_ns: i64, segment: &Segment<'_>) {
        // A bare ACK comes in the pace of the data that it acknowledges.
        if segment.payload_bytes > 0 || segment.has(flags::FIN) {
            let distance = LinkTime::of_distance(gap_ns, segment.payload_bytes);
            let longer = i64::from(self.headers.longer_than_data_bytes(segment));
            self.took_at_server(LinkTime {
                bytes: distance.bytes.saturating_add(longer),
                ..distance
            });
        }
    }

    /// An ACK came so late: the answer to a SYN, which the path was measured with, has options besides.
    pub(super) fn acked_late(&mut self, late: LinkTime) {
        let longer = if late.is_with_syn {
            0
        } else {
            i64::from(self.headers.syn_ack_longer_bytes())
        };
        self.took_at_server(LinkTime {
            bytes: late.bytes.saturating_sub(longer),
            ..late
        });
    }

    fn took_at_server(&mut self, time: LinkTime) {
        let Some(way) = self.way_from_server() else {
            return;
        };
        let slowest_ps = self.slowest_ps(Some(way.elapsed_ns));
        let header_bytes = self.headers.of_data(self.client.is_v6);
        let timed = header_bytes.and_then(|it| self.link_times.agree_at_server(time, it));
        let timed = timed
            .filter(|it| (1..=slowest_ps).contains(&it.byte_ps) && !self.link_times.refute(*it));
        self.sent_queue.link_took(time);
        if let Some(timed) = timed.filter(|it| !it.is_refuted_by(time)) {
            self.sent_queue.link_takes(timed, way);
        }
        self.link_times.note(time);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::segment;
    use super::*;

    const MS: i64 = 1_000_000;

    /// What the link takes for a byte next to a server that is 50 ms from its client, whose request of 600 bytes came so
    /// long behind another packet, and whose ACK of 1,000 bytes and of 500 came so late.
    fn byte_ps(asked_ms: i64, late_ms: [i64; 2], stretches: [u32; 2]) -> Option<i64> {
        let mut pair = HostPair::with_path(0);
        pair.came_back(50 * MS, 0);
        let header = Segment {
            header_bytes: 20,
            ..segment(flags::ACK, 0, 0, 1000)
        };
        pair.has_headers(false, &header);
        pair.sent_queue.carries(1000);
        pair.asked_behind(asked_ms * MS, &segment(flags::ACK, 0, 0, 600));
        let late = late_ms.into_iter().zip([1000, 500]).zip(stretches);
        for ((late_ms, bytes), stretch) in late.filter(|((late_ms, _), _)| *late_ms > 0) {
            pair.acked_late(LinkTime {
                elapsed_ns: late_ms * MS,
                bytes,
                packets: 0,
                is_distance: false,
                stretch: Some(stretch),
                is_with_syn: false,
            });
        }
        pair.sent_queue.byte_ps()
    }

    #[test]
    fn a_request_and_the_ack_of_its_answer_in_proportion_to_their_bytes_tell_the_link() {
        // 0.1 ms a byte, with 40 bytes of headers and with those of a frame.
        assert!(byte_ps(64, [100, 0], [1, 2]).is_some());
        assert_eq!(byte_ps(70, [100, 0], [1, 2]), None, "it had thought");
        assert_eq!(
            byte_ps(64, [120, 0], [1, 2]),
            None,
            "a timer had delayed it"
        );
    }

    /// ... whose SYN of 600 bytes came so long behind another one, with 28 bytes of options, and whose ACK of 1,000 bytes
    /// came so late, which had come with a SYN's answer or not. That has 12 bytes of options.
    fn is_told_by_syns(asked_us: i64, late_us: i64, is_with_syn: bool) -> bool {
        let mut pair = HostPair::with_path(0);
        pair.came_back(50 * MS, 0);
        let header = |flags: u16, header_bytes: u8, bytes: u32| Segment {
            header_bytes,
            ..segment(flags, 0, 0, bytes)
        };
        pair.has_headers(false, &header(flags::SYN | flags::ACK, 32, 0));
        pair.has_headers(false, &header(flags::ACK, 20, 1000));
        pair.sent_queue.carries(1000);
        pair.asked_behind(asked_us * 1000, &header(flags::SYN, 48, 600));
        pair.acked_late(LinkTime {
            elapsed_ns: late_us * 1000,
            bytes: 1000,
            packets: 0,
            is_distance: false,
            stretch: Some(1),
            is_with_syn,
        });
        pair.sent_queue.byte_ps().is_some()
    }

    #[test]
    fn a_syn_that_asks_has_its_own_options_and_what_comes_with_its_answer_those_of_it() {
        let (syn_us, data_us) = (100 * (600 + 28 + 54), 100 * 1000);
        assert!(is_told_by_syns(syn_us, data_us, true));
        assert!(!is_told_by_syns(syn_us, data_us, false));
        assert!(is_told_by_syns(syn_us, data_us - 100 * 12, false));
        assert!(!is_told_by_syns(syn_us - 100 * 28, data_us, true));
    }

    #[test]
    fn two_acks_tell_it_of_what_was_not_on_its_way_together() {
        assert!(byte_ps(0, [100, 50], [1, 2]).is_some());
        assert_eq!(byte_ps(0, [100, 50], [1, 1]), None);
        assert_eq!(
            byte_ps(0, [400, 200], [1, 2]),
            None,
            "slower than any modem"
        );
    }
}
