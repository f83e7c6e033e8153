//! How close the client's data comes at the server: no closer than the slowest link takes for it.
//!
//! Theory of operation. Packets that the client sends at once come one by one as that link lets them, on whichever
//! connections. What the client sends when it hears of the server comes a round trip after that instead, which
//! tells of no link.

use crate::byte_time::per_byte;
use crate::serialization::Serialization;

/// Data of the client that came closest to the packet before it by its size: after so long, and so much of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Closest {
    pub(super) gap_ns: i64,
    pub(super) bytes: i64,
}

impl Closest {
    /// Picoseconds that a byte takes, if each packet has such a header.
    pub(super) fn byte_ps(self, header: i64) -> i64 {
        per_byte(self.gap_ns, self.bytes.saturating_add(header))
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Asked {
    /// When the client's newest packet came.
    heard_ns: Option<i64>,
    /// When the server sent what the client's newest packet cannot know yet: the first of that and the last.
    unheard_ns: Option<(i64, i64)>,
    link: Serialization,
    closest: Option<Closest>,
}

impl Asked {
    /// The server sent something.
    pub(super) fn said(&mut self, time_ns: i64) {
        let first_ns = self.unheard_ns.map_or(time_ns, |(first_ns, _)| first_ns);
        self.unheard_ns = Some((first_ns, time_ns));
    }

    /// A packet of the client came, whose least round trip is known or not: how long behind another one, if it had not
    /// waited for the server.
    pub(super) fn heard(
        &mut self,
        time_ns: i64,
        bytes: u32,
        round_trip_ns: Option<i64>,
    ) -> Option<i64> {
        let before_ns = self.heard_ns.replace(time_ns);
        let known_ns = time_ns.saturating_sub(round_trip_ns.unwrap_or(0));
        let has_waited = self
            .unheard_ns
            .is_some_and(|(first_ns, _)| first_ns <= known_ns);
        if has_waited {
            let last_ns = self.unheard_ns.map(|(_, last_ns)| last_ns);
            let left = last_ns.filter(|last_ns| *last_ns > known_ns);
            self.unheard_ns = left.map(|last_ns| (last_ns, last_ns));
        }
        let gap_ns = time_ns.saturating_sub(before_ns.filter(|_| !has_waited)?);
        if bytes > 0 {
            let before_ps = self.link.byte_ps();
            self.link.came(gap_ns, bytes);
            if self.link.byte_ps() != before_ps {
                let bytes = i64::from(bytes);
                self.closest = Some(Closest { gap_ns, bytes });
            }
        }
        Some(gap_ns)
    }

    /// When the client's newest packet came.
    pub(super) fn heard_ns(self) -> Option<i64> {
        self.heard_ns
    }

    pub(super) fn closest(self) -> Option<Closest> {
        self.closest
    }

    /// Picoseconds that a byte takes, at most.
    pub(super) fn byte_ps(self) -> Option<i64> {
        self.link.byte_ps()
    }

    /// How long the link takes for so many bytes and their headers, at most.
    pub(super) fn on_link_ns(self, bytes: u32, round_trip_ns: i64) -> i64 {
        self.link.of_packet(bytes, round_trip_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn what_comes_behind_the_ack_of_a_handshake_bounds_the_link() {
        let mut asked = Asked::default();
        asked.heard(0, 0, None);
        asked.said(0);
        asked.heard(20 * MS, 0, Some(20 * MS));
        assert_eq!(asked.byte_ps(), None);
        assert_eq!(asked.heard(50 * MS, 260, Some(20 * MS)), Some(30 * MS));
        assert_eq!(asked.byte_ps(), Some(100_000_000));
        asked.heard(300 * MS, 260, Some(20 * MS));
        assert_eq!(
            asked.closest().map(|it| (it.gap_ns, it.bytes)),
            Some((30 * MS, 260))
        );
    }

    #[test]
    fn what_waited_for_an_answer_bounds_none() {
        let mut asked = Asked::default();
        asked.heard(0, 0, Some(20 * MS));
        asked.said(5 * MS);
        asked.said(6 * MS);
        for time_ms in [25, 26] {
            assert_eq!(asked.heard(time_ms * MS, 260, Some(20 * MS)), None);
        }
        assert_eq!(asked.byte_ps(), None);
    }
}
