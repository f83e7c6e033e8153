//! Row of a recovery at its start.

use trace_model::rows::{RecoveryKind, RecoveryRow};

use super::hole::Hole;
use super::known::{KnownState, SentSegment};

/// Return the columns that depend on the capture point.
///
/// Near the sender, the row starts at the original. Near the receiver, it starts at the segment behind the
/// hole, or at the silence.
pub(super) fn row(
    known: &KnownState,
    sent: &SentSegment,
    kind: RecoveryKind,
    hole: Option<Hole>,
) -> RecoveryRow {
    let shown = hole.map(|hole| (hole.frame, hole.time_ns));
    let silent_since = known.silent_since(sent);
    let last_frame = known.last_data.map_or(sent.frame, |(frame, _)| frame);
    let (first_frame, start) = known
        .original
        .or(shown)
        .unwrap_or((last_frame, silent_since));
    let is_tail = matches!(kind, RecoveryKind::TailLoss | RecoveryKind::TailLossProbe);
    // A lost ACK of the sender may also explain the missing number.
    let may_be_an_ack = known.original.is_none()
        && hole.is_none()
        && sent.skipped_identifications < 2
        && known.peer_data_ns > known.last_data.map(|(_, time_ns)| time_ns);
    let confidence = match kind {
        RecoveryKind::Unknown => 0.3,
        _ if may_be_an_ack && !known.is_timer_expiry(sent) => 0.4,
        _ if may_be_an_ack => 0.6,
        _ if known.original.is_some() => 0.95,
        _ => 0.9,
    };
    RecoveryRow {
        kind,
        first_frame,
        start,
        end: start,
        original_frame: known.original.map(|(frame, _)| frame),
        original_time: known.original.map(|(_, time_ns)| time_ns),
        timer: known
            .original
            .map(|(_, time_ns)| sent.time_ns.saturating_sub(time_ns)),
        was_tail: is_tail,
        confidence,
        ..RecoveryRow::default()
    }
}
