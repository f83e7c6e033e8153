//! How long the slowest link before the observation point takes for a segment, by how close segments come.
//!
//! Theory of operation. Behind a link no two segments come closer than it takes for the later one with its
//! headers, so the least gap a byte bounds its pace from above, and any two segments that stood in its queue
//! together show it. Segments that something bunches behind the link show a faster one: then what is told is too
//! little, and a segment is taken to come as soon as the path lets it.

use crate::byte_time::{per_byte, takes_ns, SERIAL_HEADER_BYTES};

#[derive(Clone, Copy, Debug, Default)]
pub struct Serialization {
    byte_ps: Option<i64>,
}

impl Serialization {
    /// A segment came so long after the one before.
    pub fn came(&mut self, gap_ns: i64, bytes: u32) {
        let size = i64::from(bytes).saturating_add(SERIAL_HEADER_BYTES);
        let bound = per_byte(gap_ns, size);
        self.byte_ps = Some(self.byte_ps.map_or(bound, |least| least.min(bound)));
    }

    /// Picoseconds that a byte takes, at most.
    #[must_use]
    pub fn byte_ps(self) -> Option<i64> {
        self.byte_ps
    }

    /// How much longer a segment takes than a packet without payload, whose round trip is `path_ns`: its headers
    /// crossed the link in that, so no link is slower.
    #[must_use]
    pub fn of_payload(self, bytes: u32, path_ns: i64) -> i64 {
        self.of(i64::from(bytes), path_ns)
    }

    /// How long a segment takes with its headers.
    #[must_use]
    pub fn of_packet(self, bytes: u32, path_ns: i64) -> i64 {
        self.of(
            i64::from(bytes).saturating_add(SERIAL_HEADER_BYTES),
            path_ns,
        )
    }

    fn of(self, size: i64, path_ns: i64) -> i64 {
        let most = per_byte(path_ns, SERIAL_HEADER_BYTES);
        takes_ns(self.byte_ps.unwrap_or(0).min(most), size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn the_closest_segments_tell_what_one_takes() {
        let mut link = Serialization::default();
        link.came(200 * MS, 1460);
        link.came(15 * MS, 1460);
        link.came(40 * MS, 1460);
        assert_eq!(link.of_payload(1460, 100 * MS), 14_600_000);
        assert_eq!(link.of_payload(730, 100 * MS), 7_300_000);
    }

    #[test]
    fn before_two_segments_came_nothing_is_known() {
        assert_eq!(Serialization::default().of_payload(1460, 100 * MS), 0);
    }

    #[test]
    fn no_link_is_so_slow_that_the_handshake_had_not_crossed_it() {
        let mut link = Serialization::default();
        link.came(40 * MS, 700);
        assert_eq!(link.of_payload(1000, 400_000), 10 * MS);
    }
}
