//! Recovery, from its start until its transaction is known.

use tcptrace_tcp::TIMED_OUT_MIN_NS;
use trace_model::rows::{RecoveryKind, RecoveryRow, SpuriousEvidence};

use super::known::{KnownState, SentSegment};
use super::ReceivedAck;

/// Share of the smallest round trip before which an ACK of a retransmission shows that the original had
/// arrived.
///
/// The remaining tenth covers host jitter.
const EARLY_NUMERATOR: i64 = 9;
const EARLY_DENOMINATOR: i64 = 10;

/// Confidence of a loss that only packet numbers showed, after evidence against the numbering.
const DOUBTED: f64 = 0.2;

/// Range of a transaction's message in a stream, in offsets of the half.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    pub transaction: u32,
    pub start: i64,
    pub end: i64,
}

#[derive(Clone, Debug)]
pub struct Episode {
    pub row: RecoveryRow,
    /// Offset whose ACK ends the recovery.
    pub until: i64,
    /// First retransmission, and its timestamp.
    first: (i64, i64),
    timestamp: Option<u32>,
    /// True if the first ACK of the retransmission has arrived, or if no ACK is to be judged.
    is_judged: bool,
    /// ACK number and number of duplicate ACKs at the last retransmission.
    sent_with: (i64, u32),
    /// Time from the first retransmission to that ACK.
    answered_after_ns: Option<i64>,
    /// True for a SYN-ACK that was acknowledged before its retransmission.
    was_answered: bool,
    pub is_placed: bool,
}

impl Episode {
    /// Create a recovery that begins with `sent`; its row lacks the columns that depend on the capture point.
    pub fn new(sent: &SentSegment, known: &KnownState, row: RecoveryRow) -> Self {
        let is_acked = sent.end <= known.acked;
        let has_original = known.original.is_some() || is_acked;
        Episode {
            until: known.next.max(sent.end),
            first: (sent.start, sent.end),
            timestamp: sent.timestamp,
            is_judged: !has_original || is_acked,
            sent_with: (known.acked, known.duplicate_acks),
            answered_after_ns: None,
            was_answered: is_acked && sent.is_syn_ack,
            is_placed: false,
            row: RecoveryRow {
                spurious_by: if is_acked {
                    SpuriousEvidence::Acknowledged
                } else {
                    SpuriousEvidence::None
                },
                offset: sent.start,
                outstanding_bytes: u64::try_from(
                    known.next.max(sent.end).saturating_sub(sent.start),
                )
                .unwrap_or(0),
                duplicate_acks: known.duplicate_acks,
                rtt: known.rtt_ns,
                resent_frame: Some(sent.frame),
                resent_time: Some(sent.time_ns),
                ..row
            },
        }
    }

    /// Return whether data is retransmitted again although its first copy arrived.
    ///
    /// The sender had received no ACK of data behind that copy. With SACK, no ACK counts twice. Only the
    /// timer remains as the cause.
    pub fn is_second_retransmission(
        &self,
        sent: &SentSegment,
        known: &KnownState,
        sacked: i64,
    ) -> bool {
        let was_reported = self.row.kind == RecoveryKind::FastRecovery && sacked > sent.start;
        was_reported && self.first.0 == sent.start && sent.end <= known.acked
    }

    /// Return whether the retransmission `sent` belongs to this recovery; alone it would begin a recovery of
    /// `kind`.
    pub fn includes(
        &self,
        sent: &SentSegment,
        known: &KnownState,
        kind: RecoveryKind,
        times_out: bool,
    ) -> bool {
        let is_timed = matches!(
            self.row.kind,
            RecoveryKind::Timeout | RecoveryKind::TailLoss | RecoveryKind::TailLossProbe
        );
        let is_silent = known.waited(sent) >= TIMED_OUT_MIN_NS;
        let is_reported_since =
            kind == RecoveryKind::Timeout && self.row.kind == RecoveryKind::TailLoss && is_silent;
        // All data behind the timer's retransmission is acknowledged: no ACK reported the loss of the next
        // retransmission.
        let is_unreported_since = kind == RecoveryKind::TailLoss
            && self.row.kind == RecoveryKind::Timeout
            && is_silent
            && known.next <= sent.start.min(known.acked);
        // Data behind the timer's retransmission arrived and reported that the rest was lost: the next
        // silence is a new recovery.
        let is_reported_again = is_timed
            && kind == RecoveryKind::FastRecovery
            && known.has_third_duplicate_since(self.sent_with);
        sent.start < self.until
            && (is_timed || !times_out)
            && !is_reported_since
            && !is_unreported_since
            && !is_reported_again
    }

    /// Return whether duplicate ACKs report more arrivals than a partial ACK has covered since (RFC 6582,
    /// section 1).
    pub fn has_reports_behind(&self, known: &KnownState) -> bool {
        let full = i64::from(known.segment_bytes.max(1));
        let filled = known.acked.saturating_sub(self.first.1).max(0);
        let filled = filled.saturating_add(full).saturating_sub(1) / full;
        let is_partial = self.first.1 <= known.acked && known.acked < self.until;
        self.row.kind == RecoveryKind::FastRecovery
            && is_partial
            && i64::from(self.row.duplicate_acks) > filled
    }

    /// Create an episode without a retransmission: reordering or a closed window.
    pub fn without_retransmission(row: RecoveryRow) -> Self {
        Episode {
            until: i64::MIN,
            first: (0, 0),
            timestamp: None,
            is_judged: true,
            sent_with: (i64::MIN, 0),
            answered_after_ns: None,
            was_answered: false,
            is_placed: false,
            row,
        }
    }

    /// Mark that none of its retransmitted data had arrived: data received twice is a later copy.
    pub fn without_originals(self) -> Self {
        Episode {
            first: (0, 0),
            is_judged: true,
            ..self
        }
    }

    pub fn note_acks(&mut self, known: &KnownState) {
        self.sent_with = (known.acked, known.duplicate_acks);
    }

    /// Add `sent`, which ended a silence, to the recovery.
    pub fn extend(&mut self, sent: &SentSegment, silence_ns: i64) {
        let row = &mut self.row;
        row.last_frame = sent.frame;
        row.end = sent.time_ns;
        row.offset = row.offset.min(sent.start);
        row.resent_segments = row.resent_segments.saturating_add(1);
        row.resent_bytes = row
            .resent_bytes
            .saturating_add(u64::from(sent.payload_bytes));
        row.silence = row.silence.saturating_add(silence_ns);
        row.skipped_identifications = row
            .skipped_identifications
            .saturating_add(sent.skipped_identifications);
    }

    /// Take an ACK that may show whether the first retransmission was necessary (RFC 3522, section 3.2).
    pub fn judge(&mut self, received: &ReceivedAck<'_>) {
        if self.is_judged || received.ack <= self.first.0 {
            return;
        }
        self.is_judged = true;
        let echo = received
            .segment
            .options
            .timestamps
            .map(|stamps| stamps.echo_reply);
        let is_older = |(echo, resent): (u32, u32)| (echo.wrapping_sub(resent) as i32) < 0;
        let resent_ns = self.row.resent_time.unwrap_or(i64::MAX);
        let elapsed = received.time_ns.saturating_sub(resent_ns);
        self.answered_after_ns = Some(elapsed);
        let is_early = received
            .receiver_path_ns
            .is_some_and(|rtt| elapsed < rtt.saturating_mul(EARLY_NUMERATOR) / EARLY_DENOMINATOR);
        // Timestamps decide if present. The smallest round trip may include a queue that has drained since,
        // which makes every ACK early.
        if let Some(stamps) = echo.zip(self.timestamp) {
            if is_older(stamps) {
                self.row.spurious_by = SpuriousEvidence::Timestamps;
            }
        } else if is_early {
            self.row.spurious_by = SpuriousEvidence::EarlyAck;
        }
    }

    /// Take a D-SACK: the receiver got the numbers of this block twice (RFC 2883).
    pub fn on_dsack(&mut self, block: (i64, i64)) {
        self.mark_spurious(block, SpuriousEvidence::Dsack);
    }

    /// Take the late arrival of numbers that were sent before.
    pub fn on_late_original(&mut self, block: (i64, i64)) {
        self.mark_spurious(block, SpuriousEvidence::OriginalArrived);
    }

    fn mark_spurious(&mut self, block: (i64, i64), evidence: SpuriousEvidence) {
        let is_first = block.0 < self.first.1 && self.first.0 < block.1;
        if is_first && self.row.spurious_by == SpuriousEvidence::None {
            self.row.spurious_by = evidence;
        }
    }

    /// Reduce the confidence: the sender does not number its packets as assumed.
    pub fn doubt_numbering(&mut self) {
        let is_inferred = self.row.was_tail && self.row.original_frame.is_none();
        if is_inferred {
            self.row.confidence = self.row.confidence.min(DOUBTED);
        }
    }

    /// Return the row, with the final estimate of the path's round trip.
    #[must_use]
    pub fn into_row(self, rtt_ns: Option<i64>) -> RecoveryRow {
        let mut row = self.row;
        // The answer to a SYN echoes the first timestamp even if the first answer was lost. But an answer
        // within a round trip of the second SYN was already on its way.
        if row.kind == RecoveryKind::SynRetransmission {
            let is_early = self
                .answered_after_ns
                .zip(rtt_ns)
                .is_some_and(|(elapsed, rtt)| elapsed < rtt.saturating_mul(3) / 4);
            row.rtt = rtt_ns;
            row.spurious_by = if self.was_answered {
                SpuriousEvidence::Acknowledged
            } else if is_early {
                SpuriousEvidence::EarlyAck
            } else {
                SpuriousEvidence::None
            };
        }
        row
    }

    /// Assign the episode to the transaction of the span, if it lies within the span.
    pub fn place(&mut self, span: Span) {
        let is_syn = self.row.kind == RecoveryKind::SynRetransmission;
        let is_in = if is_syn {
            span.transaction == 0
        } else {
            (span.start..span.end).contains(&self.row.offset)
        };
        if !self.is_placed && is_in {
            self.is_placed = true;
            self.row.transaction = Some(span.transaction);
            self.row.ends_message = !is_syn && self.until >= span.end;
        }
    }
}
