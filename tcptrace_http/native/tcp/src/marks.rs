//! Explicit congestion notification in the headers of one direction (RFC 3168).

use trace_model::{flags, Packet, Segment};

/// ECN field of a packet that a queue marked: congestion experienced (RFC 3168, section 5).
const CE: u8 = 0b11;

/// Marked packets, echoes and announced reductions of one sender.
#[derive(Clone, Copy, Debug, Default)]
pub struct Marks {
    pub ce_packets: u32,
    pub ece_acks: u32,
    pub cwr_segments: u32,
    /// True if a SYN of the sender negotiates ECN.
    has_setup: bool,
}

impl Marks {
    /// Take a segment of the sender.
    #[inline]
    pub fn on_segment(&mut self, packet: &Packet<'_>, segment: &Segment<'_>) {
        let is_marked = packet.network.is_some_and(|it| it.ecn == CE);
        if is_marked || segment.flags & (flags::ECE | flags::CWR) != 0 {
            self.note(is_marked, segment);
        }
    }

    fn note(&mut self, is_marked: bool, segment: &Segment<'_>) {
        let add = |count: &mut u32, is: bool| *count = count.saturating_add(u32::from(is));
        add(&mut self.ce_packets, is_marked);
        if segment.has(flags::SYN) {
            self.has_setup |= is_setup(segment);
            return;
        }
        add(&mut self.ece_acks, segment.has(flags::ECE));
        add(&mut self.cwr_segments, segment.has(flags::CWR));
    }

    /// Return whether the SYN of this sender and the SYN-ACK of `peer` both negotiate ECN.
    #[must_use]
    pub fn are_negotiated(&self, peer: &Marks) -> bool {
        self.has_setup && peer.has_setup
    }
}

/// Return whether a SYN or a SYN-ACK negotiates ECN (RFC 3168, section 6.1.1).
///
/// A SYN has ECE and CWR. A SYN-ACK has ECE alone: a host that reflects the flags does not support ECN, and one
/// with AE counts marks otherwise (RFC 9768).
fn is_setup(segment: &Segment<'_>) -> bool {
    let both = flags::ECE | flags::CWR;
    if segment.has(flags::ACK) {
        segment.flags & (both | flags::AE) == flags::ECE
    } else {
        segment.flags & both == both
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_packets::segment;

    #[test]
    fn flags_that_a_host_reflects_do_not_negotiate_ecn() {
        let both = flags::ECE | flags::CWR;
        let setup = |syn: u16| is_setup(&segment(flags::SYN | syn, (0, 0), b""));
        assert!(setup(both));
        assert!(setup(flags::ACK | flags::ECE));
        assert!(!setup(flags::ACK | both));
        assert!(!setup(flags::ECE));
    }

    #[test]
    fn flags_of_a_handshake_are_neither_echoes_nor_reductions() {
        let mut marks = Marks::default();
        for syn in [flags::ECE | flags::CWR, flags::ACK | flags::ECE] {
            marks.note(false, &segment(flags::SYN | syn, (0, 0), b""));
        }
        assert_eq!((marks.ece_acks, marks.cwr_segments), (0, 0));
        marks.note(true, &segment(flags::ACK | flags::CWR, (0, 0), b"data"));
        assert_eq!((marks.ce_packets, marks.cwr_segments), (1, 1));
    }
}
