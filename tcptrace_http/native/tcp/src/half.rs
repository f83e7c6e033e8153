//! Half of a flow: the data of one sender and the ACKs of its peer.

use std::collections::VecDeque;

use trace_model::{Segment, SeqNumber};

use crate::early::EarlyData;
use crate::holes::Holes;
use crate::identifications::Identifications;
use crate::into_closed_window::IntoClosedWindow;
use crate::marks::Marks;
use crate::outstanding::OutstandingSegment;
use crate::reassembly::Reassembler;
use crate::rtt::Rtt;
use crate::send_sequence::SendSequence;
use crate::sender_clock::SenderClock;
use crate::syn_options::SynOptions;

/// Limit of an ACK beyond the sent data: the largest window (RFC 7323, section 2.3).
///
/// An ACK further ahead does not belong to this flow.
pub const ACK_AHEAD_MAX: i64 = 1 << 30;

/// Longest time between a packet and its second capture on the same host, which comes within about 50 µs.
///
/// No sender detects a loss within this time.
const COPY_MAX_NS: i64 = 100_000;
/// Maximum number of packets between a packet and its copy.
const COPIES_LOOKED_AT: usize = 64;

/// Counts of one direction in the flows table.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub packets: u64,
    pub retransmissions: u64,
    pub out_of_order: u64,
    pub duplicate_acks: u64,
    pub zero_windows: u64,
}

/// ACKs that one direction sends for the data of the other.
#[derive(Debug, Default)]
pub struct Acks {
    /// Last ACK sent, as an offset of the peer's data.
    pub last: Option<i64>,
    pub window: u16,
    pub duplicates_in_a_row: u32,
}

/// Times of the last segments of one direction.
#[derive(Debug, Default)]
pub struct LastSent {
    /// Time at which the highest byte was sent.
    pub advanced_ns: i64,
    /// Time of the last packet of any kind.
    pub packet_ns: i64,
    /// Time of the last packet with news for the peer, and the ACK number of that packet.
    pub news_ns: i64,
    pub news_acked: i64,
    /// Frame and time of the last segment with payload.
    pub data: Option<(u64, i64)>,
}

/// State of one direction.
#[derive(Debug, Default)]
pub struct Half {
    pub sequence: SendSequence,
    /// Bytes seen before offset 1: the first captured segment of a flow may have overtaken others.
    before_one: i64,
    pub has_syn: bool,
    pub options: SynOptions,
    pub acks: Acks,
    /// True if its newest segment was a probe.
    pub has_probed: bool,
    pub last: LastSent,
    pub identifications: Identifications,
    pub clock: SenderClock,
    pub outstanding: VecDeque<OutstandingSegment>,
    pub reassembler: Reassembler,
    /// Data that arrived before the SYN-ACK, until an ACK decides whether the peer received it.
    pub early: Option<Box<EarlyData>>,
    /// Data that arrived while the peer's window was closed, until an ACK decides whether the peer accepted
    /// it.
    pub into_closed_window: Option<Box<IntoClosedWindow>>,
    pub counts: Counts,
    pub marks: Marks,
    pub rtt: Rtt,
    /// Unique payload bytes in the capture.
    pub unique_bytes: u64,
    pub holes: Holes,
    /// True after a FIN, an RST or the end of the capture.
    pub has_ended: bool,
}

impl Half {
    /// Return the number of bytes from `start` to `end` before all seen data, and mark them as seen.
    pub fn before_first(&mut self, start: i64, end: i64) -> u64 {
        let first = 1_i64.saturating_sub(self.before_one);
        if self.has_syn || start >= first {
            return 0;
        }
        self.before_one = 1_i64.saturating_sub(start);
        u64::try_from(end.min(first).saturating_sub(start)).unwrap_or(0)
    }

    /// Set the initial number at the first SYN; data before the SYN was early, or was forged.
    pub fn begin(&mut self, initial: SeqNumber) {
        let is_other = self.sequence.initial.is_some_and(|guess| guess != initial);
        if !self.has_syn && (is_other || self.early.is_some()) {
            self.reset();
            // A SYN-ACK behind its own data is a retransmission, or was overtaken.
            let early = self.early.as_ref();
            let announced = early.and_then(|early| early.announced_next(initial));
            self.sequence.announced_next = announced.unwrap_or(0);
        }
    }

    /// Set the initial number of early data from the peer's first ACK, if the SYN-ACK was not captured.
    pub fn begin_before_ack(&mut self, ack: SeqNumber) {
        let early = self.early.as_ref().filter(|_| !self.has_syn);
        if let Some(first_byte) = early.map(|early| early.first_byte(ack)) {
            self.reset();
            self.sequence.initial_or_before(first_byte);
        }
    }

    fn reset(&mut self) {
        *self = Half {
            counts: self.counts,
            marks: self.marks,
            early: self.early.take(),
            ..Half::default()
        };
    }

    /// Take the options of this direction's SYN.
    pub fn handshake(&mut self, segment: &Segment<'_>) {
        self.has_syn = true;
        self.options.take(segment);
    }

    /// Return whether a segment that ends at `end` is a second capture of a recent packet on the same host.
    ///
    /// A second capture is no retransmission.
    #[must_use]
    pub fn is_copy(&self, end: i64, time_ns: i64) -> bool {
        let recent = self.outstanding.iter().rev().take(COPIES_LOOKED_AT);
        let before = recent.into_iter().find(|sent| sent.end == end);
        before.is_some_and(|sent| time_ns.saturating_sub(sent.time_ns) < COPY_MAX_NS)
    }

    /// Return the memory of unacknowledged and waiting segments.
    #[inline]
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        let outstanding = size_of::<OutstandingSegment>().saturating_mul(self.outstanding.len());
        let early = self.early.as_ref().map_or(0, |early| early.held_bytes());
        let refused = self.into_closed_window.as_ref();
        let refused = refused.map_or(0, |waiting| waiting.held_bytes());
        self.reassembler
            .held_bytes()
            .saturating_add(outstanding as u64)
            .saturating_add(early)
            .saturating_add(refused)
    }

    /// Take the peer's ACK up to `ack`, and call `acked` for each segment that is now acknowledged.
    pub fn acknowledge(
        &mut self,
        ack: i64,
        time_ns: i64,
        mut acked: impl FnMut(&OutstandingSegment, Option<i64>),
    ) {
        if ack <= self.sequence.acked {
            return;
        }
        self.sequence.acked = ack;
        while let Some(sent) = self.outstanding.front().copied() {
            if sent.end > ack {
                break;
            }
            self.outstanding.pop_front();
            let sample = self.rtt.sample(&sent, ack, time_ns);
            acked(&sent, sample);
        }
    }
}
