//! The slowest link, as packets without payload tell it with an answer.
//!
//! Theory of operation. Two packets that a host sends at once, as the ACK of a FIN and its own, come as far apart as the
//! slowest link takes for the headers of the second. What an answer came later than the path's least round trip asks
//! for is what that link took for its payload and that of the question, or its server's work. Both tell the same of a
//! byte only if it was the link: no server works for as long as headers of a known size have it.

use trace_model::{flags, Segment, SeqNumber};

use crate::link_margins::SLOWEST_PS;

const PICOSECONDS: i64 = 1_000;
/// Headers of IP and TCP alone, as on a serial line, and with those of Ethernet.
const HEADERS_BYTES: [i64; 2] = [40, 54];
/// Of less payload what varies is too large a part.
const PAYLOAD_MIN: i64 = 256;
/// Both agree that differ by no more than this share: the handshake's packets are longer by an option or two.
const AGREE_SHARE: i64 = 40;

/// What a connection's client has asked last.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Question {
    pub(super) time_ns: i64,
    pub(super) bytes: u32,
    /// The number after its last byte.
    end: Option<SeqNumber>,
}

impl Question {
    /// A segment of the client with payload: a copy of what it has asked is no other question.
    pub(super) fn asked(self, time_ns: i64, segment: &Segment<'_>) -> Question {
        let end = segment.payload_seq().plus(segment.payload_bytes);
        if self.end.is_some_and(|known| !end.is_after(known)) {
            return self;
        }
        Question {
            time_ns,
            bytes: segment.payload_bytes,
            end: Some(end),
        }
    }
}

/// Packets of the server without payload, each behind another one of its connection that told as much: nothing that
/// came from the client let it go.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bare {
    /// The newest packet: when it came, to which port, and what it acknowledged.
    before: Option<(i64, u16, SeqNumber)>,
    /// The closest that they came.
    least_ns: Option<i64>,
}

impl Bare {
    /// A packet of the server came.
    pub(super) fn comes(&mut self, time_ns: i64, segment: &Segment<'_>) {
        let told = (segment.destination_port, segment.ack);
        let before = self.before.replace((time_ns, told.0, told.1));
        let before = before.filter(|(_, port, ack)| (*port, *ack) == told);
        let is_bare = segment.payload_bytes == 0 && !segment.has(flags::SYN);
        let gap_ns = before.map(|(before_ns, ..)| time_ns.saturating_sub(before_ns));
        if let Some(gap_ns) = gap_ns.filter(|gap_ns| is_bare && *gap_ns > 0) {
            self.least_ns = Some(self.least_ns.map_or(gap_ns, |least| least.min(gap_ns)));
        }
    }

    /// Picoseconds that a byte takes, if so many that came so late took as long each as headers did. A packet without
    /// payload may have gone right before the question: the handshake's last.
    pub(super) fn agrees_with(self, late_ns: i64, bytes: i64) -> Option<i64> {
        let bare_ns = self.least_ns.filter(|_| bytes >= PAYLOAD_MIN)?;
        let late_ps = |ahead_ns: i64| {
            let taken_ps = late_ns.saturating_sub(ahead_ns).saturating_mul(PICOSECONDS);
            taken_ps.checked_div(bytes).unwrap_or(0)
        };
        let is_of_headers = |byte_ps: &i64| {
            let bare_ps = bare_ns.saturating_mul(PICOSECONDS);
            HEADERS_BYTES.into_iter().any(|headers| {
                let taken_ps = byte_ps.saturating_mul(headers);
                taken_ps.saturating_sub(bare_ps).saturating_abs() <= bare_ps / AGREE_SHARE
            })
        };
        let mut late = [0, bare_ns].into_iter().map(late_ps);
        late.find(|byte_ps| (1..=SLOWEST_PS).contains(byte_ps) && is_of_headers(byte_ps))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::segment;
    use super::*;

    const MS: i64 = 1_000_000;

    /// Packets so long after each other, and what each carried.
    fn after(gaps_ms: &[(i64, u32)]) -> Bare {
        let mut bare = Bare::default();
        let mut time_ns = 0;
        for (gap_ms, payload_bytes) in gaps_ms {
            time_ns += gap_ms * MS;
            let packet = segment(flags::ACK, u32::MAX - 100, u32::MAX - 10, *payload_bytes);
            bare.comes(time_ns, &packet);
        }
        bare
    }

    #[test]
    fn an_answer_as_late_as_headers_have_it_shows_the_link() {
        // 0.1 ms a byte, on a serial line and on Ethernet.
        for headers in [4, 5] {
            let bare = after(&[(0, 0), (100, 0), (headers, 0)]);
            let late_ns = 100 * MS + headers * MS;
            let byte_ps = bare.agrees_with(late_ns, 1000);
            assert_eq!(byte_ps.is_some(), headers == 4, "{headers}");
        }
        assert_eq!(
            after(&[(0, 0), (4, 0)]).agrees_with(100 * MS, 1000),
            Some(100_000_000)
        );
    }

    #[test]
    fn a_copy_of_a_question_is_no_other_question() {
        let of = |seq: u32| segment(flags::ACK, seq, 0, 100);
        let question = Question::default().asked(MS, &of(u32::MAX - 50));
        let copied = question.asked(200 * MS, &of(u32::MAX - 50));
        assert_eq!((copied.time_ns, copied.bytes), (MS, 100));
        assert_eq!(copied.asked(300 * MS, &of(49)).time_ns, 300 * MS);
    }

    #[test]
    fn a_server_that_worked_for_a_while_shows_none() {
        let bare = after(&[(0, 0), (4, 0)]);
        assert_eq!(bare.agrees_with(110 * MS, 1000), None);
        assert_eq!(bare.agrees_with(10 * MS, 100), None, "too few bytes");
        assert_eq!(after(&[(0, 0), (4, 10)]).agrees_with(100 * MS, 1000), None);
    }
}
