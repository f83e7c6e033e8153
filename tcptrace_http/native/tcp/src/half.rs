//! One direction of a flow: what its sender has sent and what its peer has acknowledged.

use std::collections::VecDeque;

use trace_model::{Segment, SeqNumber};

use crate::early::Early;
use crate::holes::Holes;
use crate::identifications::Identifications;
use crate::into_closed_window::IntoClosedWindow;
use crate::outstanding::Outstanding;
use crate::reassembly::Reassembler;
use crate::rtt::Rtt;
use crate::send_sequence::SendSequence;
use crate::sender_clock::SenderClock;
use crate::syn_options::SynOptions;

/// An acknowledgment further ahead than the largest window (RFC 7323, section 2.3) is no
/// acknowledgment of this flow's data.
pub const ACK_AHEAD_MAX: i64 = 1 << 30;

/// A packet that a host shows twice comes again within some 50 microseconds; no sender has learnt of
/// a loss by then.
const COPY_MAX_NS: i64 = 100_000;
/// Packets between a packet and its copy.
const COPIES_LOOKED_AT: usize = 64;

/// Counts of one direction, as the flows table shows them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub packets: u64,
    pub retransmissions: u64,
    pub out_of_order: u64,
    pub duplicate_acks: u64,
    pub zero_windows: u64,
}

/// What one direction acknowledges of the other's data.
#[derive(Debug, Default)]
pub struct Acks {
    /// Last acknowledgment sent, as an offset of the peer.
    pub last: Option<i64>,
    pub window: u16,
    pub duplicates_in_a_row: u32,
}

/// When one direction last sent.
#[derive(Debug, Default)]
pub struct LastSent {
    /// Time the furthest byte was sent.
    pub advanced_ns: i64,
    /// Time of the last packet of any kind.
    pub packet_ns: i64,
    /// Time of the last one that told its peer something, and up to where that was acknowledged then.
    pub told_ns: i64,
    pub told_acked: i64,
    /// Frame and time of the last one with payload.
    pub data: Option<(u64, i64)>,
}

/// State of one direction.
#[derive(Debug, Default)]
pub struct Half {
    pub sequence: SendSequence,
    /// Data seen before offset 1: a flow may be joined at a segment that overtook others.
    before_one: i64,
    pub has_syn: bool,
    pub options: SynOptions,
    pub acks: Acks,
    /// Its newest data asked for an ACK only.
    pub has_probed: bool,
    pub last: LastSent,
    pub identifications: Identifications,
    pub clock: SenderClock,
    pub outstanding: VecDeque<Outstanding>,
    pub reassembler: Reassembler,
    /// What came before the SYN-ACK, until it is known to have arrived.
    pub early: Option<Box<Early>>,
    /// What came while the peer had no room, until it is known to have been taken.
    pub into_closed_window: Option<Box<IntoClosedWindow>>,
    pub counts: Counts,
    pub rtt: Rtt,
    /// Unique payload bytes sent, as far as they were seen.
    pub unique_bytes: u64,
    pub holes: Holes,
    /// The direction sends no more: FIN, RST or end of the capture.
    pub has_ended: bool,
}

impl Half {
    /// How much of the data from `start` to `end` lies before all that was seen; then it is seen too.
    pub fn before_first(&mut self, start: i64, end: i64) -> u64 {
        let first = 1_i64.saturating_sub(self.before_one);
        if self.has_syn || start >= first {
            return 0;
        }
        self.before_one = 1_i64.saturating_sub(start);
        u64::try_from(end.min(first).saturating_sub(start)).unwrap_or(0)
    }

    /// The first SYN fixes the initial number, whatever came before it: that was early, or a forger sent it.
    pub fn begin(&mut self, initial: SeqNumber) {
        let is_other = self.sequence.initial.is_some_and(|guess| guess != initial);
        if !self.has_syn && (is_other || self.early.is_some()) {
            self.begin_anew();
            // A SYN-ACK that comes behind its own data is a copy, or was overtaken.
            let early = self.early.as_ref();
            let told = early.and_then(|early| early.told_next(initial));
            self.sequence.told_next = told.unwrap_or(0);
        }
    }

    /// The peer's first ACK fixes the initial number of early data whose SYN-ACK was not captured.
    pub fn begin_before_ack(&mut self, ack: SeqNumber) {
        let early = self.early.as_ref().filter(|_| !self.has_syn);
        if let Some(first_byte) = early.map(|early| early.first_byte(ack)) {
            self.begin_anew();
            self.sequence.initial_or_before(first_byte);
        }
    }

    fn begin_anew(&mut self) {
        *self = Half {
            counts: self.counts,
            early: self.early.take(),
            ..Half::default()
        };
    }

    /// Takes the options of this direction's SYN.
    pub fn handshake(&mut self, segment: &Segment<'_>) {
        self.has_syn = true;
        self.options.take(segment);
    }

    /// Whether what ends at `end` was seen a moment ago: then this is no retransmission but the same
    /// packet, captured twice on its way through the host.
    #[must_use]
    pub fn is_copy(&self, end: i64, time_ns: i64) -> bool {
        let recent = self.outstanding.iter().rev().take(COPIES_LOOKED_AT);
        let before = recent.into_iter().find(|sent| sent.end == end);
        before.is_some_and(|sent| time_ns.saturating_sub(sent.time_ns) < COPY_MAX_NS)
    }

    /// Memory that unacknowledged and waiting segments take.
    #[inline]
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        let outstanding = size_of::<Outstanding>().saturating_mul(self.outstanding.len());
        let early = self.early.as_ref().map_or(0, |early| early.held_bytes());
        let refused = self.into_closed_window.as_ref();
        let refused = refused.map_or(0, |waiting| waiting.held_bytes());
        self.reassembler
            .held_bytes()
            .saturating_add(outstanding as u64)
            .saturating_add(early)
            .saturating_add(refused)
    }

    /// The peer acknowledged up to `ack`. Calls `acked` for each segment that is now complete.
    pub fn acknowledge(
        &mut self,
        ack: i64,
        time_ns: i64,
        mut acked: impl FnMut(&Outstanding, Option<i64>),
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
