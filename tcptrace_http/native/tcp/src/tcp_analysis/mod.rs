//! What Wireshark's TCP analysis says of a segment: every `tcp.analysis.*` field, under our names.
//!
//! Theory of operation. The rules are those of the Wireshark User's Guide, "TCP Analysis", and where
//! it is silent those that tshark 4.0 is seen to follow: `tests/differential` compares every segment
//! of every capture. They judge a segment by little: the highest number its sender has sent, the last
//! ACK and window of each side, and a list of what is not acknowledged. So they are kept apart from
//! the judgement of [`classify()`](crate::classify()), which the flows table and the detectors follow, and cost
//! nothing unless the segments table is asked for.

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

/// A segment as the rules look at it.
#[derive(Clone, Copy)]
struct Seen {
    frame: u64,
    time_ns: i64,
    seq: SeqNumber,
    /// As it stands in the header, whether or not the ACK flag makes it valid.
    ack: SeqNumber,
    flags: u16,
    window: u16,
    payload_bytes: u32,
}

impl Seen {
    fn new(packet: &Packet<'_>, segment: &Segment<'_>) -> Self {
        Seen {
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

    /// Takes sequence numbers.
    fn occupies(&self) -> bool {
        self.payload_bytes > 0 || self.has_any(flags::SYN | flags::FIN)
    }

    /// Number after the last one it takes.
    fn end(&self) -> SeqNumber {
        let control = self.has_any(flags::SYN | flags::FIN);
        self.seq.plus(self.payload_bytes).plus(u32::from(control))
    }
}

/// What the rules remember of a flow.
#[derive(Debug, Default)]
pub struct TcpAnalysis {
    first: Sender,
    second: Sender,
    /// Time of the last SYN.
    syn_ns: Option<i64>,
    /// From the last SYN to the first segment with an ACK and no SYN: the limit of reordering.
    initial_rtt_ns: Option<i64>,
}

impl TcpAnalysis {
    /// Fills in what is said of the next segment, and remembers it. `from_first` tells its sender.
    pub fn describe(
        &mut self,
        from_first: bool,
        packet: &Packet<'_>,
        segment: &Segment<'_>,
        row: &mut SegmentRow,
    ) {
        let seen = Seen::new(packet, segment);
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

    /// Takes what only the segments after this one are judged by.
    fn handshake(&mut self, from_first: bool, seen: &Seen, segment: &Segment<'_>) {
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
