//! The slowest link, as packets without payload tell it with an answer.
//!
//! Theory of operation. Two packets that a host sends at once, as the ACK of a FIN and its own, come as far apart as the
//! slowest link takes for the headers of the second. What an answer came later than the path's least round trip asks
//! for is what that link took for its payload and that of the question, or its server's work. Both tell the same of a
//! byte only if it was the link: no server works for as long as headers of a known size have it. Nor does a path's round
//! trip vary as exactly with the options that a handshake has more.

use trace_model::{flags, Segment, SeqNumber};

use super::headers::ip_header_bytes;
use super::uplink::Ahead;
use crate::byte_time::PICOSECONDS;
use crate::jitter::CLOSE_NS;
use crate::link_margins::SLOWEST_PS;

/// A header of IP, as on a serial line, and one of Ethernet besides.
const BELOW_TCP_BYTES: [i64; 2] = [20, 34];
/// Answers whose lateness is remembered until packets without payload tell what headers take.
const ANSWERS: usize = 4;
/// Of less payload what varies is too large a part.
const PAYLOAD_MIN: i64 = 256;
/// Both agree that differ by no more than this share: the handshake's packets are longer by an option or two.
const AGREE_SHARE: i64 = 40;

/// What a connection's client has asked last.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Question {
    pub(super) time_ns: i64,
    pub(super) bytes: u32,
    /// What stood before it on the link to the server.
    pub(super) ahead: Ahead,
    /// The number after its last byte.
    end: Option<SeqNumber>,
}

impl Question {
    /// Whether what has this number acknowledges all of it.
    pub(super) fn is_all_with(self, ack: SeqNumber) -> bool {
        self.end == Some(ack)
    }

    /// A segment of the client with payload: a copy of what it has asked is no other question.
    pub(super) fn asked(self, time_ns: i64, segment: &Segment<'_>) -> Question {
        let end = segment.payload_seq().plus(segment.payload_bytes);
        if self.end.is_some_and(|known| !end.is_after(known)) {
            return self;
        }
        Question {
            time_ns,
            bytes: segment.payload_bytes,
            ahead: Ahead::default(),
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
    /// The closest that they came, and the header of TCP of the second.
    least: Option<(i64, u8)>,
    /// How late the newest answers came, and the payload of each with its question.
    answers: [(i64, i64); ANSWERS],
}

impl Bare {
    /// A packet of the server came: whether it tells what headers take.
    pub(super) fn comes(&mut self, time_ns: i64, segment: &Segment<'_>) -> bool {
        let told = (segment.destination_port, segment.ack);
        let before = self.before.replace((time_ns, told.0, told.1));
        let before = before.filter(|(_, port, ack)| (*port, *ack) == told);
        let is_bare = segment.payload_bytes == 0 && !segment.has(flags::SYN);
        let gap_ns = before.map(|(before_ns, ..)| time_ns.saturating_sub(before_ns));
        let Some(gap_ns) = gap_ns.filter(|gap_ns| is_bare && *gap_ns > 0) else {
            return false;
        };
        let gap = (gap_ns, segment.header_bytes);
        self.least = Some(self.least.map_or(gap, |least| least.min(gap)));
        true
    }

    /// The closest that packets without payload came, and the headers of IP and TCP of the second.
    pub(super) fn distance(self, is_v6: bool) -> Option<(i64, u32)> {
        let ip_bytes = ip_header_bytes(is_v6);
        self.least
            .map(|(gap_ns, header)| (gap_ns, ip_bytes.saturating_add(header.into())))
    }

    /// An answer came so late.
    pub(super) fn answered(&mut self, late_ns: i64, bytes: i64) {
        self.answers.rotate_right(1);
        if let Some(newest) = self.answers.first_mut() {
            *newest = (late_ns, bytes);
        }
    }

    /// Picoseconds that a byte takes, if one of the newest answers agrees with that.
    pub(super) fn agrees(self) -> Option<i64> {
        let mut answers = self.answers.into_iter();
        answers.find_map(|(late_ns, bytes)| self.agrees_with(late_ns, bytes))
    }

    /// How long a packet without payload takes to the server and back that took so long behind so many others.
    pub(super) fn way_ns(self, (ahead, way_ns): (u32, i64)) -> i64 {
        let bare_ns = self.least.map_or(0, |(bare_ns, _)| bare_ns);
        way_ns.saturating_sub(bare_ns.saturating_mul(ahead.into()))
    }

    /// ... if as many bytes as a handshake's packets are longer than others without payload took so much longer.
    pub(super) fn agrees_with_options(self, longer_ns: i64, bytes: u32) -> Option<i64> {
        let (bare_ns, header) = self.least?;
        let byte_ps = longer_ns
            .saturating_mul(PICOSECONDS)
            .checked_div(i64::from(bytes))?;
        let is_sure = longer_ns >= CLOSE_NS && byte_ps <= SLOWEST_PS;
        Some(byte_ps).filter(|byte_ps| is_sure && is_of_headers(*byte_ps, bare_ns, header))
    }

    /// Picoseconds that a byte takes, if so many that came so late took as long each as headers did. A packet without
    /// payload may have gone right before the question: the handshake's last.
    fn agrees_with(self, late_ns: i64, bytes: i64) -> Option<i64> {
        let (bare_ns, header) = self.least.filter(|_| bytes >= PAYLOAD_MIN)?;
        let late_ps = |ahead_ns: i64| {
            let taken_ps = late_ns.saturating_sub(ahead_ns).saturating_mul(PICOSECONDS);
            taken_ps.checked_div(bytes).unwrap_or(0)
        };
        let mut late = [0, bare_ns].into_iter().map(late_ps);
        late.find(|byte_ps| {
            (1..=SLOWEST_PS).contains(byte_ps) && is_of_headers(*byte_ps, bare_ns, header)
        })
    }
}

/// Whether a packet with this header of TCP and no payload takes so long on a link on which a byte takes so long.
fn is_of_headers(byte_ps: i64, bare_ns: i64, header: u8) -> bool {
    let bare_ps = bare_ns.saturating_mul(PICOSECONDS);
    BELOW_TCP_BYTES.into_iter().any(|below| {
        let headers = below.saturating_add(i64::from(header));
        let taken_ps = byte_ps.saturating_mul(headers);
        taken_ps.saturating_sub(bare_ps).saturating_abs() <= bare_ps / AGREE_SHARE
    })
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
    fn an_answer_before_the_headers_shows_the_link_as_well() {
        let mut bare = Bare::default();
        bare.answered(100 * MS, 1000);
        assert_eq!(bare.agrees(), None);
        for time_ns in [500 * MS, 504 * MS] {
            bare.comes(time_ns, &segment(flags::ACK, u32::MAX, u32::MAX - 10, 0));
        }
        assert_eq!(bare.agrees(), Some(100_000_000));
    }

    #[test]
    fn a_round_trip_longer_by_what_options_take_shows_the_link() {
        let bare = after(&[(0, 0), (4, 0)]);
        assert_eq!(bare.agrees_with_options(800_000, 8), Some(100_000_000));
        assert_eq!(bare.agrees_with_options(1_000_000, 8), None);
        assert_eq!(bare.agrees_with_options(80_000, 8), None, "jitter");
    }

    #[test]
    fn a_packet_that_stood_behind_others_without_payload_takes_less_alone() {
        let bare = after(&[(0, 0), (4, 0)]);
        assert_eq!(bare.way_ns((0, 100 * MS)), 100 * MS);
        assert_eq!(bare.way_ns((2, 108 * MS)), 100 * MS);
        assert_eq!(Bare::default().way_ns((1, 104 * MS)), 104 * MS);
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
