//! Times that the slowest link may have taken for so much, of which two agree if they are that.
//!
//! Theory of operation. An answer comes later than the path's least round trip by what the slowest link takes for it and
//! for its question, and by its server's work. What acknowledges a question without an answer waits for no work, nor does
//! what lay in the server's buffer when the ACK of all before it came. The distance of a packet to the one before is what
//! that link takes for it, or a wait. Neither a server nor a timer waits as exactly in proportion to the bytes of both, so
//! what agrees is the link.

use crate::byte_time::{per_byte, ByteTime};

/// Times that are remembered until another one agrees with them.
const TIMES: usize = 4;
/// Both take as long for a byte to this share of it: what is known to the byte varies with clocks alone.
const EXACT_SHARE: i64 = 1000;
/// ... and what one of two that were late has more than the other, for in that the errors of both are.
const MORE_SHARE: i64 = 400;
/// What takes less by this share than two have agreed on shows that something else took those.
const REFUTED_SHARE: i64 = 100;
/// Of fewer bytes clocks are too large a part.
const BYTES_MIN: i64 = 64;
/// Segments that differ by no more than this share are as long.
const ALIKE_SHARE: i64 = 8;
/// What the slowest link adds to headers of IP and TCP: a frame of Ethernet, or nothing on a serial line. Two in which
/// headers are as large a part agree with both, and are taken to have a frame, as where headers are not known at all.
const FRAME_BYTES: [i64; 2] = [14, 0];

/// How long, for how many bytes besides headers of IP and TCP, and for those of how many packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkTime {
    pub(super) elapsed_ns: i64,
    pub(super) bytes: i64,
    pub(super) packets: u32,
    /// It is that of a packet to the one before.
    pub(super) is_distance: bool,
    /// What was acknowledged is of a stretch in which data was on its way all the time.
    pub(super) stretch: Option<u32>,
    /// ... which came with the SYN's answer.
    pub(super) is_with_syn: bool,
}

impl LinkTime {
    /// Of a segment that came so long behind another one.
    pub(super) fn of_distance(gap_ns: i64, bytes: u32) -> LinkTime {
        LinkTime {
            elapsed_ns: gap_ns,
            bytes: bytes.into(),
            packets: 1,
            is_distance: true,
            stretch: None,
            is_with_syn: false,
        }
    }

    /// Picoseconds that a byte takes, if packets have headers of this length.
    fn byte_ps(self, header_bytes: i64) -> i64 {
        per_byte(self.elapsed_ns, self.size(header_bytes))
    }

    fn size(self, header_bytes: i64) -> i64 {
        let headers = header_bytes.saturating_mul(self.packets.into());
        self.bytes.saturating_add(headers)
    }

    /// ... of what one of both has more than the other, if that is enough to tell.
    fn more_ps(self, other: LinkTime, header_bytes: i64) -> Option<i64> {
        let bytes = self
            .size(header_bytes)
            .saturating_sub(other.size(header_bytes));
        if bytes < 0 {
            return other.more_ps(self, header_bytes);
        }
        let elapsed_ns = self.elapsed_ns.saturating_sub(other.elapsed_ns);
        (bytes >= BYTES_MIN).then(|| per_byte(elapsed_ns, bytes))
    }

    /// Distances of segments that are as long may be the same wait.
    fn may_be_same_wait(self, other: LinkTime) -> bool {
        let apart = self.bytes.saturating_sub(other.bytes).saturating_abs();
        let are_alike = apart <= self.bytes.max(other.bytes) / ALIKE_SHARE;
        self.is_distance && other.is_distance && are_alike
    }
}

impl ByteTime {
    pub(super) fn is_same(self, other: ByteTime) -> bool {
        is_within(EXACT_SHARE, self.byte_ps, other.byte_ps)
    }

    /// Whether something took less than by that: no packet comes sooner than the link lets it.
    pub(super) fn is_refuted_by(self, time: LinkTime) -> bool {
        let least_ps = self.byte_ps.saturating_sub(self.byte_ps / REFUTED_SHARE);
        let is_enough = !time.is_distance && time.bytes >= BYTES_MIN;
        is_enough && time.byte_ps(self.header_bytes) < least_ps
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LinkTimes([Option<LinkTime>; TIMES]);

impl LinkTimes {
    pub(super) fn note(&mut self, time: LinkTime) {
        if time.bytes < BYTES_MIN || time.elapsed_ns <= 0 {
            return;
        }
        self.0.rotate_right(1);
        if let Some(newest) = self.0.first_mut() {
            *newest = Some(time);
        }
    }

    /// Whether one of the newest took less than by that.
    pub(super) fn refute(self, agreed: ByteTime) -> bool {
        let mut known = self.0.into_iter().flatten();
        known.any(|it| agreed.is_refuted_by(it))
    }

    /// What one of the newest next to the server agrees on with this one.
    pub(super) fn agree_at_server(self, time: LinkTime, header_bytes: u32) -> Option<ByteTime> {
        if time.is_distance {
            return self.agree_with(time, header_bytes);
        }
        let distances = LinkTimes(self.0.map(|it| it.filter(|it| it.is_distance)));
        let by_distance = distances.agree_with(time, header_bytes);
        by_distance.or_else(|| self.was_as_late(time, header_bytes))
    }

    /// What a byte takes, if something else was as late, and so was what one of both has more than the other,
    /// with headers of IP and TCP of so many bytes.
    pub(super) fn was_as_late(self, late: LinkTime, header_bytes: u32) -> Option<ByteTime> {
        let known = self.0.into_iter().flatten();
        let is_same = |it: &LinkTime| it.stretch.is_some() && it.stretch == late.stretch;
        let mut others = known.filter(|it| !it.is_distance && !is_same(it));
        others.find_map(|other| {
            headers(header_bytes).find_map(|header| {
                let more_ps = late.more_ps(other, header)?;
                let other_ps = other.byte_ps(header);
                let is_as_late = is_within(EXACT_SHARE, late.byte_ps(header), other_ps);
                (is_as_late && is_within(MORE_SHARE, more_ps, other_ps)).then_some(ByteTime {
                    byte_ps: other_ps,
                    header_bytes: header,
                })
            })
        })
    }

    /// ... or if one of the newest took as long for it.
    pub(super) fn agree_with(self, time: LinkTime, header_bytes: u32) -> Option<ByteTime> {
        let known = self.0.into_iter().flatten();
        let mut others = known.filter(|it| !it.may_be_same_wait(time));
        others.find_map(|other| {
            headers(header_bytes).find_map(|header| {
                let (one_ps, other_ps) = (time.byte_ps(header), other.byte_ps(header));
                is_within(EXACT_SHARE, one_ps, other_ps).then_some(ByteTime {
                    byte_ps: other_ps,
                    header_bytes: header,
                })
            })
        })
    }
}

/// What the slowest link may carry besides payload.
fn headers(packet_bytes: u32) -> impl Iterator<Item = i64> {
    let with = move |frame_bytes: i64| frame_bytes.saturating_add(packet_bytes.into());
    FRAME_BYTES.into_iter().map(with)
}

/// Whether both differ by no more than this share.
fn is_within(share: i64, one_ps: i64, other_ps: i64) -> bool {
    one_ps.saturating_sub(other_ps).saturating_abs() <= other_ps.checked_div(share).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_in_which_headers_have_no_part_are_taken_to_have_a_frame() {
        let late = |ms: i64, stretch: u32| LinkTime {
            elapsed_ns: ms * 1_000_000,
            bytes: ms * 10,
            packets: 0,
            is_distance: false,
            stretch: Some(stretch),
            is_with_syn: false,
        };
        let mut times = LinkTimes::default();
        times.note(late(100, 1));
        let agreed = times.agree_at_server(late(50, 2), 40);
        assert_eq!(agreed.map(|it| it.header_bytes), Some(54));
        assert!(agreed.is_some_and(|it| !times.refute(it)));
        times.note(LinkTime {
            bytes: 1020,
            ..late(100, 3)
        });
        assert!(agreed.is_some_and(|it| times.refute(it)));
    }

    /// Whether a segment of 960 bytes that came so long behind another one, in microseconds, took as long for a byte as
    /// so many others did, with the headers of so many packets.
    fn agrees((elapsed_us, bytes, packets): (i64, i64, u32), gap_us: i64) -> bool {
        let mut times = LinkTimes::default();
        times.note(LinkTime {
            elapsed_ns: elapsed_us * 1000,
            bytes,
            packets,
            is_distance: false,
            stretch: None,
            is_with_syn: false,
        });
        let distance = LinkTime::of_distance(gap_us * 1000, 960);
        times.agree_with(distance, 40).is_some()
    }

    #[test]
    fn an_answer_as_late_as_its_bytes_have_it_agrees_with_a_distance() {
        // 0.1 ms a byte, behind a packet without payload; on a serial line, and on Ethernet.
        for (late_us, gap_us) in [(54_000, 100_000), (55_400, 101_400)] {
            let agrees = |late_us, gap_us| agrees((late_us, 500, 1), gap_us);
            assert!(agrees(late_us, gap_us));
            assert!(!agrees(late_us + 1000, gap_us), "its server had worked");
            assert!(!agrees(late_us, gap_us + 2000), "it had waited");
        }
    }

    /// Whether what was late by so much, in microseconds, for so many bytes and the headers of so many packets was as late
    /// as 500 bytes that were so by 50 ms.
    fn was_as_late(elapsed_us: i64, bytes: i64, packets: u32) -> bool {
        let late = |elapsed_us: i64, bytes: i64, packets: u32| LinkTime {
            elapsed_ns: elapsed_us * 1000,
            bytes,
            packets,
            is_distance: false,
            stretch: None,
            is_with_syn: false,
        };
        let mut times = LinkTimes::default();
        times.note(late(50_000, 500, 0));
        times
            .was_as_late(late(elapsed_us, bytes, packets), 40)
            .is_some()
    }

    #[test]
    fn what_one_of_two_that_were_late_has_more_takes_as_long_for_a_byte() {
        assert!(was_as_late(100_000, 1000, 0) && was_as_late(104_000, 1000, 1));
        assert!(was_as_late(20_000, 200, 0), "it had less");
        assert!(!was_as_late(101_000, 1000, 0), "its server had worked");
        // Of so little more it would be a share of a percent of all.
        assert!(was_as_late(60_000, 600, 0) && !was_as_late(60_100, 600, 0));
        assert!(!was_as_late(50_000, 500, 0) && !was_as_late(53_000, 530, 0));
    }

    #[test]
    fn of_few_bytes_a_time_tells_nothing() {
        let alone = |bytes: i64| agrees((bytes * 100, bytes, 0), 100_000);
        assert!(alone(64) && alone(960));
        assert!(!alone(40));
    }
}
