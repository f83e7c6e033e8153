//! One recovery while it goes on, and until its transaction is known.

use tcptrace_tcp::TIMED_OUT_MIN_NS;
use trace_model::rows::{RecoveryKind, RecoveryRow, SpuriousEvidence};

use super::known::{Known, Sent};
use super::Heard;

/// The ACK for what was sent again tells that the original had arrived, if it comes within this part
/// of the least round trip; a tenth is for the noise of hosts.
const EARLY_NUMERATOR: i64 = 9;
const EARLY_DENOMINATOR: i64 = 10;

/// Confidence of a loss that only the numbering of packets showed, when that turns out to be another.
const DOUBTED: f64 = 0.2;

/// What a transaction's message takes of a stream, in offsets of the half.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    pub transaction: u32,
    pub start: i64,
    pub end: i64,
}

#[derive(Clone, Debug)]
pub struct Episode {
    pub row: RecoveryRow,
    /// It is over when all up to here is acknowledged.
    pub until: i64,
    /// What was sent again first, and with which timestamp.
    first: (i64, i64),
    timestamp: Option<u32>,
    /// The first ACK for it has come, or none is to be judged.
    is_judged: bool,
    /// Up to where was acknowledged when it sent something again last, and how many duplicate ACKs had come.
    sent_with: (i64, u32),
    /// From the first resending to that ACK.
    answered_after_ns: Option<i64>,
    /// A SYN-ACK that was answered when it was sent again.
    was_answered: bool,
    pub is_placed: bool,
}

impl Episode {
    /// A recovery that begins with `sent`. Its row lacks what depends on the view.
    pub fn opened_by(sent: &Sent, known: &Known, row: RecoveryRow) -> Self {
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

    /// Whether what ACKs had told to be lost comes by once more, though its first copy came: who sent it had heard of
    /// nothing that left behind that copy, and one that has SACKs counts no ACK twice. The timer was left.
    pub fn sends_twice(&self, sent: &Sent, known: &Known, sacked: i64) -> bool {
        let was_told = self.row.kind == RecoveryKind::FastRecovery && sacked > sent.start;
        was_told && self.first.0 == sent.start && sent.end <= known.acked
    }

    /// Whether `sent`, which is sent again and alone would begin a recovery of that kind, is part of this one.
    pub fn includes(
        &self,
        sent: &Sent,
        known: &Known,
        kind: RecoveryKind,
        times_out: bool,
    ) -> bool {
        let is_timed = matches!(
            self.row.kind,
            RecoveryKind::Timeout | RecoveryKind::TailLoss | RecoveryKind::TailLossProbe
        );
        let is_silent = known.waited(sent) >= TIMED_OUT_MIN_NS;
        let is_told_since =
            kind == RecoveryKind::Timeout && self.row.kind == RecoveryKind::TailLoss && is_silent;
        // All that had come behind what that timer sent again is acknowledged: of what the next one sends nothing told.
        let is_untold_since = kind == RecoveryKind::TailLoss
            && self.row.kind == RecoveryKind::Timeout
            && is_silent
            && known.next <= sent.start.min(known.acked);
        // Of what a timer sent again something came, and told that the rest was lost: the next timer's silence is
        // another.
        let is_told_anew = is_timed
            && kind == RecoveryKind::FastRecovery
            && known.has_third_duplicate_since(self.sent_with);
        sent.start < self.until
            && (is_timed || !times_out)
            && !is_told_since
            && !is_untold_since
            && !is_told_anew
    }

    /// Whether duplicate ACKs have told of more than what was acknowledged since in part (RFC 6582, section 1): something
    /// behind that has come.
    pub fn told_behind(&self, known: &Known) -> bool {
        let full = i64::from(known.segment_bytes.max(1));
        let filled = known.acked.saturating_sub(self.first.1).max(0);
        let filled = filled.saturating_add(full).saturating_sub(1) / full;
        let is_partial = self.first.1 <= known.acked && known.acked < self.until;
        self.row.kind == RecoveryKind::FastRecovery
            && is_partial
            && i64::from(self.row.duplicate_acks) > filled
    }

    /// What happened to data that was not sent again: it was overtaken, or a window was closed.
    pub fn without_resending(row: RecoveryRow) -> Self {
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

    /// Nothing that it sent again had come: what comes twice is a later copy.
    pub fn that_came_first(self) -> Self {
        Episode {
            first: (0, 0),
            is_judged: true,
            ..self
        }
    }

    pub fn sends_with(&mut self, known: &Known) {
        self.sent_with = (known.acked, known.duplicate_acks);
    }

    /// `sent` is part of it, and ended a silence.
    pub fn extend(&mut self, sent: &Sent, silence_ns: i64) {
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

    /// Takes the ACK that may tell whether the first resending was needed (RFC 3522, section 3.2).
    pub fn judge(&mut self, heard: &Heard<'_>) {
        if self.is_judged || heard.ack <= self.first.0 {
            return;
        }
        self.is_judged = true;
        let echo = heard
            .segment
            .options
            .timestamps
            .map(|stamps| stamps.echo_reply);
        let is_older = |(echo, resent): (u32, u32)| (echo.wrapping_sub(resent) as i32) < 0;
        let resent_ns = self.row.resent_time.unwrap_or(i64::MAX);
        let elapsed = heard.time_ns.saturating_sub(resent_ns);
        self.answered_after_ns = Some(elapsed);
        let is_early = heard
            .receiver_path_ns
            .is_some_and(|rtt| elapsed < rtt.saturating_mul(EARLY_NUMERATOR) / EARLY_DENOMINATOR);
        // The timestamps decide where there are some: the least round trip seen may be that of a queue
        // which has drained since, and then every ACK is early.
        if let Some(stamps) = echo.zip(self.timestamp) {
            if is_older(stamps) {
                self.row.spurious_by = SpuriousEvidence::Timestamps;
            }
        } else if is_early {
            self.row.spurious_by = SpuriousEvidence::EarlyAck;
        }
    }

    /// The receiver got the numbers of this block twice (RFC 2883).
    pub fn received_twice(&mut self, block: (i64, i64)) {
        self.was_unnecessary_for(block, SpuriousEvidence::Dsack);
    }

    /// These numbers, which were sent before, come by only now.
    pub fn original_arrived(&mut self, block: (i64, i64)) {
        self.was_unnecessary_for(block, SpuriousEvidence::OriginalArrived);
    }

    fn was_unnecessary_for(&mut self, block: (i64, i64), evidence: SpuriousEvidence) {
        let is_first = block.0 < self.first.1 && self.first.0 < block.1;
        if is_first && self.row.spurious_by == SpuriousEvidence::None {
            self.row.spurious_by = evidence;
        }
    }

    /// Its sender does not count its packets as was thought.
    pub fn doubt_numbering(&mut self) {
        let is_inferred = self.row.was_tail && self.row.original_frame.is_none();
        if is_inferred {
            self.row.confidence = self.row.confidence.min(DOUBTED);
        }
    }

    /// The row, when the round trip of the path is as well known as it will be.
    #[must_use]
    pub fn into_row(self, rtt_ns: Option<i64>) -> RecoveryRow {
        let mut row = self.row;
        // The answer to a SYN echoes the first one also if the answer to that was lost; but only an
        // answer that was on its way already comes within a round trip of the second.
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

    /// Its transaction is known, if the span is of it.
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
