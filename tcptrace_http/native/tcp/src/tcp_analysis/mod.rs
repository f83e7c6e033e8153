//! Wireshark's TCP analysis of a segment: every `tcp.analysis.*` field, under this project's names.
//!
//! Theory of operation. The rules are those of the Wireshark User's Guide, "TCP Analysis". Where the guide is
//! silent, the rules follow tshark 4.0: `tests/differential` compares every segment of every capture. The
//! rules use little state: the highest number sent, the last ACK and window per side, and the unacknowledged
//! segments. They are separate from [`classify()`](crate::classify()), which the flows table and the
//! detectors use. They run only if the segments table is requested.

mod flight;
mod repeats;
mod resent;
mod sender;
mod unacknowledged;

#[cfg(test)]
mod tests;

use trace_model::rows::SegmentRow;
use trace_model::{flags, Packet, Segment, SeqNumber};

use self::sender::{LastSegment, Sender};

/// Segment with the fields that the rules read.
#[derive(Clone, Copy)]
struct SeenSegment {
    frame: u64,
    time_ns: i64,
    seq: SeqNumber,
    /// Acknowledgment number from the header, with or without the ACK flag.
    ack: SeqNumber,
    flags: u16,
    window: u16,
    payload_bytes: u32,
}

impl SeenSegment {
    fn new(packet: &Packet<'_>, segment: &Segment<'_>) -> Self {
        SeenSegment {
            frame: packet.frame,
            time_ns: packet.time_ns,
            seq: segment.seq,
            ack: segment.ack,
            flags: segment.flags,
            window: segment.window,
            payload_bytes: segment.payload_bytes,
        }
    }

    fn has_any(&self, bits: u16) -> bool {
        self.flags & bits != 0
    }

    fn is_control(&self) -> bool {
        self.has_any(flags::SYN | flags::FIN | flags::RST)
    }

    /// Return whether the segment takes sequence numbers.
    fn occupies(&self) -> bool {
        self.payload_bytes > 0 || self.has_any(flags::SYN | flags::FIN)
    }

    /// Return the number after the last number that the segment takes.
    fn end(&self) -> SeqNumber {
        let control = self.has_any(flags::SYN | flags::FIN);
        self.seq.plus(self.payload_bytes).plus(u32::from(control))
    }
}

/// State of the rules per flow.
#[derive(Debug, Default)]
pub struct TcpAnalysis {
    first: Sender,
    second: Sender,
    /// Time of the last SYN.
    syn_ns: Option<i64>,
    /// Time from the last SYN to the first segment with ACK and without SYN: the limit of reordering.
    initial_rtt_ns: Option<i64>,
}

impl TcpAnalysis {
    /// Fill in the verdicts on the next segment and update the state; `from_first` selects its sender.
    pub fn describe(
        &mut self,
        from_first: bool,
        packet: &Packet<'_>,
        segment: &Segment<'_>,
        row: &mut SegmentRow,
    ) {
        let seen = SeenSegment::new(packet, segment);
        let (sender, peer) = if from_first {
            (&mut self.first, &mut self.second)
        } else {
            (&mut self.second, &mut self.first)
        };
        row.is_reused_ports |= sender::begin(sender, peer, &seen);
        if seen.has_any(flags::ACK) {
            peer.flight_is_known = true;
        }
        repeats::window_and_ack(sender, peer, &seen, row);
        repeats::unseen(sender, peer, &seen, row);
        if seen.occupies() && !row.is_keep_alive {
            resent::kind_of(sender, peer, &seen, self.initial_rtt_ns, row);
        }
        sender.advance(&seen, row);
        sender.last = LastSegment::new(&seen, row);
        peer.unacknowledged.acknowledge(&seen, row);
        flight::measure(sender, peer, &seen, row);
        row.window_bytes = sender.window_bytes(&seen);
        self.handshake(from_first, &seen, segment);
    }

    /// Take the handshake facts that only later segments need.
    fn handshake(&mut self, from_first: bool, seen: &SeenSegment, segment: &Segment<'_>) {
        let (sender, peer) = if from_first {
            (&mut self.first, &mut self.second)
        } else {
            (&mut self.second, &mut self.first)
        };
        sender.sacked_bytes = flight::sacked_bytes(segment);
        let is_ack = seen.has_any(flags::ACK);
        if seen.has_any(flags::SYN) {
            sender::negotiate_scale(sender, peer, segment.options.window_scale, is_ack);
            if !is_ack {
                self.syn_ns = Some(seen.time_ns);
            }
        } else if is_ack && self.initial_rtt_ns.is_none() {
            self.initial_rtt_ns = self
                .syn_ns
                .map(|syn| seen.time_ns.saturating_sub(syn))
                .filter(|rtt| *rtt != 0);
        }
    }
}
