//! One direction of a flow: what its sender has sent and what its peer has acknowledged.

use std::collections::VecDeque;

use trace_model::{SackBlocks, Segment, SeqNumber};

use crate::early::Early;
use crate::holes::Holes;
use crate::into_closed_window::IntoClosedWindow;
use crate::numbering::Numbering;
use crate::reassembly::Reassembler;
use crate::sender_clock::SenderClock;

/// The largest shift a window scale option may ask for (RFC 7323, section 2.3).
const WINDOW_SCALE_MAX: u8 = 14;

/// An acknowledgment further ahead than the largest window (RFC 7323, section 2.3) is no
/// acknowledgment of this flow's data.
pub const ACK_AHEAD_MAX: i64 = 1 << 30;

/// A packet that a host shows twice comes again within some 50 microseconds; no sender has learnt of
/// a loss by then.
const COPY_MAX_NS: i64 = 100_000;
/// Packets between a packet and its copy.
const COPIES_LOOKED_AT: usize = 64;

/// Sent data (or a SYN or FIN) that the peer has not acknowledged yet.
#[derive(Clone, Copy, Debug)]
pub struct Outstanding {
    pub end: i64,
    pub frame: u64,
    pub time_ns: i64,
    /// Karn's rule: no round trip is measured on what was, or may have been, sent twice.
    pub is_ambiguous: bool,
    /// Row of the segments table, if one is kept.
    pub row: Option<usize>,
}

/// Counts of one direction, as the flows table shows them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub packets: u64,
    pub retransmissions: u64,
    pub out_of_order: u64,
    pub duplicate_acks: u64,
    pub zero_windows: u64,
}

/// State of one direction. Offsets are relative to the initial sequence number and unwrapped:
/// the SYN is 0, the first payload byte 1.
#[derive(Debug, Default)]
pub struct Half {
    pub initial: Option<SeqNumber>,
    /// Offset after the last byte sent.
    pub next: i64,
    /// As far as the numbers of its ACKs tell that it has sent: what is beyond `next` did not come by.
    pub told_next: i64,
    /// Data seen before offset 1: a flow may be joined at a segment that overtook others.
    before_one: i64,
    /// Offset up to which the peer has acknowledged.
    pub acked: i64,
    pub has_syn: bool,
    pub fin_end: Option<i64>,
    pub mss_option: Option<u16>,
    pub window_scale: Option<u8>,
    pub uses_timestamps: bool,
    pub sack_permitted: bool,
    /// Last acknowledgment this direction sent, as an offset of the peer.
    pub last_ack: Option<i64>,
    pub last_window: u16,
    pub duplicate_acks_in_a_row: u32,
    /// Its newest data asked for an ACK only.
    pub has_probed: bool,
    /// Time the furthest byte was sent.
    pub advanced_ns: i64,
    /// Time of the last packet of any kind; frame and time of the last one with payload.
    pub last_packet_ns: i64,
    /// Time of the last one that told its peer something, and up to where that was acknowledged then.
    pub told_ns: i64,
    pub told_acked: i64,
    pub last_data: Option<(u64, i64)>,
    pub numbering: Numbering,
    pub clock: SenderClock,
    /// Packets that were numbered and never came by, since the last one with payload.
    pub skipped_identifications: u32,
    /// Such packets when the newest data came.
    pub missing_before: u32,
    /// Such packets as the numbers of this connection alone tell.
    pub own_skipped_identifications: u32,
    /// Packets of its host that had not come by then, of whichever connection.
    pub host_passed_over: Option<u32>,
    pub outstanding: VecDeque<Outstanding>,
    pub reassembler: Reassembler,
    /// What came before the SYN-ACK, until it is known to have arrived.
    pub early: Option<Box<Early>>,
    /// What came while the peer had no room, until it is known to have been taken.
    pub into_closed_window: Option<Box<IntoClosedWindow>>,
    pub counts: Counts,
    /// Least round trip from the observation point to the peer of this direction and back.
    pub path_rtt_ns: Option<i64>,
    /// The round trip of a SYN with payload whose SYN-ACK had some, too: the application's time is in it.
    pub answered_syn_ns: Option<i64>,
    pub rtt_samples: u64,
    /// Unique payload bytes sent, as far as they were seen.
    pub unique_bytes: u64,
    pub holes: Holes,
    /// Receive window last announced, scaled.
    pub last_window_bytes: u32,
    /// What ends up to here was in flight when an earlier byte was sent again.
    ambiguous_until: i64,
    /// The direction sends no more: FIN, RST or end of the capture.
    pub has_ended: bool,
}

impl Half {
    /// Offset of `seq`, fixing the initial number at the first segment seen: the SYN's own number,
    /// else the one before the first byte.
    pub fn offset_of(&mut self, seq: SeqNumber, is_syn: bool) -> i64 {
        if is_syn && self.initial.is_none() {
            self.initial = Some(seq);
        }
        let initial = self.initial_or_before(seq);
        seq.unwrapped(initial, self.next)
    }

    /// Offset of an acknowledgment of this direction's data.
    pub fn offset_of_ack(&mut self, ack: SeqNumber) -> i64 {
        let initial = self.initial_or_before(ack);
        ack.unwrapped(initial, self.next.max(self.acked))
    }

    /// The same, if the initial number is known, without fixing it.
    #[must_use]
    pub fn known_offset_of_ack(&self, ack: SeqNumber) -> Option<i64> {
        Some(ack.unwrapped(self.initial?, self.next.max(self.acked)))
    }

    /// Offsets of the edges of SACK blocks for this direction's data; 0 for those before the initial number.
    pub fn offsets_of_sack(&self, blocks: &SackBlocks) -> Vec<u64> {
        let Some(initial) = self.initial else {
            return Vec::new();
        };
        let near = self.next.max(self.acked);
        let offset = |edge: SeqNumber| u64::try_from(edge.unwrapped(initial, near)).unwrap_or(0);
        let blocks = blocks.as_slice().iter();
        blocks
            .flat_map(|(left, right)| [offset(*left), offset(*right)])
            .collect()
    }

    /// The initial number; if the SYN was not seen, `first_byte` is taken for the first byte sent.
    fn initial_or_before(&mut self, first_byte: SeqNumber) -> SeqNumber {
        if let Some(initial) = self.initial {
            return initial;
        }
        let initial = SeqNumber(first_byte.0.wrapping_sub(1));
        self.initial = Some(initial);
        self.next = 1;
        self.acked = 1;
        initial
    }

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
        let is_other = self.initial.is_some_and(|guess| guess != initial);
        if !self.has_syn && (is_other || self.early.is_some()) {
            self.begin_anew();
            // A SYN-ACK that comes behind its own data is a copy, or was overtaken.
            let early = self.early.as_ref();
            let told = early.and_then(|early| early.told_next(initial));
            self.told_next = told.unwrap_or(0);
        }
    }

    /// The peer's first ACK fixes the initial number of early data whose SYN-ACK was not captured.
    pub fn begin_before_ack(&mut self, ack: SeqNumber) {
        let early = self.early.as_ref().filter(|_| !self.has_syn);
        if let Some(first_byte) = early.map(|early| early.first_byte(ack)) {
            self.begin_anew();
            self.initial_or_before(first_byte);
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
        self.mss_option = segment.options.mss.or(self.mss_option);
        self.window_scale = segment
            .options
            .window_scale
            .map(|shift| shift.min(WINDOW_SCALE_MAX));
        self.uses_timestamps = segment.options.timestamps.is_some();
        self.sack_permitted = segment.options.sack_permitted;
    }

    /// Receive window that `segment` announces, in bytes. It is scaled only if both ends sent the
    /// option, and never on a SYN (RFC 7323, section 2.2).
    #[must_use]
    pub fn window_bytes(&self, segment: &Segment<'_>, peer: &Half, is_syn: bool) -> u32 {
        let raw = u32::from(segment.window);
        match (self.window_scale, peer.window_scale) {
            (Some(shift), Some(_)) if !is_syn => raw.checked_shl(u32::from(shift)).unwrap_or(raw),
            _ => raw,
        }
    }

    /// Bytes in flight: sent and not acknowledged, as far as the capture shows.
    #[must_use]
    pub fn flight_bytes(&self) -> u64 {
        u64::try_from(self.next.saturating_sub(self.acked)).unwrap_or(0)
    }

    /// Whether what ends at `end` was seen a moment ago: then this is no retransmission but the same
    /// packet, captured twice on its way through the host.
    #[must_use]
    pub fn is_copy(&self, end: i64, time_ns: i64) -> bool {
        let recent = self.outstanding.iter().rev().take(COPIES_LOOKED_AT);
        let before = recent.into_iter().find(|sent| sent.end == end);
        before.is_some_and(|sent| time_ns.saturating_sub(sent.time_ns) < COPY_MAX_NS)
    }

    /// Notes that an earlier byte was sent again: what is in flight gives no more round trips,
    /// for its acknowledgment may have waited for the resent part (Karn's rule, RFC 6298, 3).
    pub fn mark_ambiguous(&mut self) {
        self.ambiguous_until = self.next;
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
        if ack <= self.acked {
            return;
        }
        self.acked = ack;
        while let Some(sent) = self.outstanding.front().copied() {
            if sent.end > ack {
                break;
            }
            self.outstanding.pop_front();
            let elapsed = time_ns.saturating_sub(sent.time_ns);
            // Only the segment that the ACK ends on was acknowledged as soon as it came.
            let is_ambiguous = sent.is_ambiguous || sent.end <= self.ambiguous_until;
            let sample = (sent.end == ack && !is_ambiguous && elapsed >= 0).then_some(elapsed);
            if let Some(sample) = sample {
                self.rtt_samples = self.rtt_samples.saturating_add(1);
                self.path_rtt_ns = Some(self.path_rtt_ns.map_or(sample, |least| least.min(sample)));
            }
            acked(&sent, sample);
        }
    }
}
