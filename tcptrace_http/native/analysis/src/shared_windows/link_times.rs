//! Times that the slowest link may have taken for so much, of which two agree if they are that.
//!
//! Theory of operation. An answer comes later than the path's least round trip by what the slowest link takes for it and
//! for its question, and by its server's work. What acknowledges a question without an answer waits for no work, nor does
//! what lay in the server's buffer when the ACK of all before it came. The distance of a packet to the one before is what
//! that link takes for it, or a wait. Neither a server nor a timer waits as exactly in proportion to the bytes of both, so
//! what agrees is the link.

use crate::byte_time::per_byte;

/// Times that are remembered until another one agrees with them.
const TIMES: usize = 4;
/// Both take as long for a byte to this share of it: what is known to the byte varies with clocks alone.
const EXACT_SHARE: i64 = 200;
/// Of fewer bytes clocks are too large a part.
const BYTES_MIN: i64 = 64;
/// Segments that differ by no more than this share are as long.
const ALIKE_SHARE: i64 = 8;
/// What the slowest link adds to headers of IP and TCP: nothing on a serial line, or a frame of Ethernet.
const FRAME_BYTES: [i64; 2] = [0, 14];

/// How long, for how many bytes besides headers of IP and TCP, and for those of how many packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkTime {
    pub(super) elapsed_ns: i64,
    pub(super) bytes: i64,
    pub(super) packets: u32,
    /// It is that of a packet to the one before.
    pub(super) is_distance: bool,
}

impl LinkTime {
    /// Of a segment that came so long behind another one.
    pub(super) fn of_distance(gap_ns: i64, bytes: u32) -> LinkTime {
        LinkTime {
            elapsed_ns: gap_ns,
            bytes: bytes.into(),
            packets: 1,
            is_distance: true,
        }
    }

    /// Picoseconds that a byte takes, if packets have headers of this length.
    fn byte_ps(self, header_bytes: i64) -> i64 {
        let headers = header_bytes.saturating_mul(self.packets.into());
        per_byte(self.elapsed_ns, self.bytes.saturating_add(headers))
    }

    /// Distances of segments that are as long may be the same wait.
    fn may_be_same_wait(self, other: LinkTime) -> bool {
        let apart = self.bytes.saturating_sub(other.bytes).saturating_abs();
        let are_alike = apart <= self.bytes.max(other.bytes) / ALIKE_SHARE;
        self.is_distance && other.is_distance && are_alike
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

    /// Picoseconds that a byte takes, if one of the newest took as long for it, with headers of IP and TCP of so many
    /// bytes.
    pub(super) fn agree_with(self, time: LinkTime, header_bytes: u32) -> Option<i64> {
        let known = self.0.into_iter().flatten();
        let mut others = known.filter(|it| !it.may_be_same_wait(time));
        others.find_map(|other| {
            FRAME_BYTES.into_iter().find_map(|frame_bytes| {
                let header = frame_bytes.saturating_add(header_bytes.into());
                let (one_ps, other_ps) = (time.byte_ps(header), other.byte_ps(header));
                let apart = one_ps.saturating_sub(other_ps).saturating_abs();
                (apart <= other_ps / EXACT_SHARE).then_some(other_ps)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a segment of 960 bytes that came so long behind another one, in microseconds, took as long for a byte as
    /// so many others did, with the headers of so many packets.
    fn agrees((elapsed_us, bytes, packets): (i64, i64, u32), gap_us: i64) -> bool {
        let mut times = LinkTimes::default();
        times.note(LinkTime {
            elapsed_ns: elapsed_us * 1000,
            bytes,
            packets,
            is_distance: false,
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

    #[test]
    fn of_few_bytes_a_time_tells_nothing() {
        let alone = |bytes: i64| agrees((bytes * 100, bytes, 0), 100_000);
        assert!(alone(64) && alone(960));
        assert!(!alone(40));
    }
}
