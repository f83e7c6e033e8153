//! Recoveries of the data of one side of a flow.

mod acks;
mod lost_tail;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use tcptrace_tcp::TIMED_OUT_MIN_NS;
use trace_model::rows::{RecoveryKind, RecoveryRow};

use self::lost_tail::LostTail;
use super::episode::{Episode, Span};
use super::hole::Hole;
use super::kind::{kind, LossEvidence};
use super::known::{KnownState, SentSegment, SILENCE_MIN_NS, SILENCE_RTT_SHARE};
use super::open_holes::OpenHoles;
use super::row::row;
use super::window::ClosedWindow;

/// Maximum number of finished recoveries that wait for their transaction and for a D-SACK.
const RECENT_MAX: usize = 64;
/// Age at which a finished recovery is final.
///
/// A D-SACK comes within a round trip. A response is complete at the latest when its repair is acknowledged.
const SETTLED_AFTER_NS: i64 = 3_000_000_000;

#[derive(Debug, Default)]
pub struct Tracker {
    open: Option<Episode>,
    recent: VecDeque<Episode>,
    holes: OpenHoles,
    /// Highest number in a SACK block.
    sacked: i64,
    window: Option<ClosedWindow>,
    /// Number of duplicate ACKs in a row that report data received twice, not a loss (RFC 2883).
    answers: u32,
    /// Hole that SACKs report and the capture lacks: frame, time and start.
    reported_hole: Option<(u64, i64, i64)>,
    /// Start offset of new data sent as a probe (RFC 8985, section 7.3), and the wait before it.
    probe: Option<(i64, i64)>,
    /// True if numbers were skipped without a timer: the host numbers all its packets together, so gaps are
    /// no evidence.
    is_counter_shared: bool,
    /// Data that may have been lost with a recovery's first retransmission.
    lost_tail: Option<LostTail>,
    /// Payload of the newest segment, and of the previous segment.
    newest_bytes: u32,
    before_bytes: u32,
}

impl Tracker {
    pub fn sent(&mut self, sent: &SentSegment, known: &KnownState) -> Option<RecoveryKind> {
        let class = &sent.class;
        if sent.is_syn {
            return class.is_retransmission.then(|| self.syn(sent, known));
        }
        if class.is_keep_alive || class.is_window_probe {
            if let Some(window) = self.window.as_mut() {
                window.probed();
            }
            return None;
        }
        if sent.payload_bytes == 0 {
            // The ACK of a FIN also reports the data missing before it.
            if class.is_new {
                self.holes.add_before(sent, known, None);
            }
            return None;
        }
        self.before_bytes = std::mem::replace(&mut self.newest_bytes, sent.payload_bytes);
        self.close_window(sent, known);
        if class.is_new {
            return self.new_data(sent, known);
        }
        if let Some(hole) = self.holes.take(sent.start, sent.end) {
            if hole.is_overtaken_by(sent, known) {
                return Some(self.on_overtaken(hole, sent, known));
            }
            // The known original of these numbers is the segment behind the hole.
            let known = KnownState {
                original: None,
                ..*known
            };
            return Some(self.resent(sent, &known, Some(hole)));
        }
        if sent.is_late {
            self.on_late_original(sent);
            return None;
        }
        (class.is_retransmission || class.is_out_of_order).then(|| self.resent(sent, known, None))
    }

    /// Return whether a recovery or a probe is open, or whether no new data has followed a closed window.
    pub fn is_active(&self) -> bool {
        self.open.is_some() || self.window.is_some() || self.probe.is_some()
    }

    /// Take new data: a hole before it shows a loss, and a silence before it may show that it is a
    /// retransmission.
    fn new_data(&mut self, sent: &SentSegment, known: &KnownState) -> Option<RecoveryKind> {
        if self.is_new_answer(known) {
            self.close();
        }
        if let Some(kind) = self.repair_lost_tail(sent, known) {
            return Some(kind);
        }
        let gap = sent.class.gap_before_bytes;
        let probes = !known.has_no_probes
            && known.duplicate_acks == 0
            && self.sacked <= known.acked
            && self.holes.is_empty()
            && known.may_probe_with(sent);
        let waited = known.answer_wait_ns(sent);
        // A probe is a single segment (RFC 8985, section 7.3). A sender that continues without an ACK had
        // more data to send.
        let probe_is_newest = self
            .probe
            .is_some_and(|(start, _)| start.saturating_add(self.before_bytes.into()) == sent.start);
        if known.acked >= known.next || probe_is_newest && known.has_no_packet_since_data(sent) {
            self.probe = None;
        }
        if probes && gap == 0 && known.acked < known.next {
            self.probe = Some((sent.start, waited));
        }
        let probe = probes.then_some((sent.end, waited));
        self.holes.add_before(sent, known, probe);
        // A timer retransmits the first missing segment (RFC 6298, section 5.4), which opens no hole.
        let skips = sent.skipped_identifications > 0 && gap == 0;
        let are_too_many = skips && !known.is_after_timer(sent) && !self.is_numbered_copy(sent);
        self.is_counter_shared |= are_too_many && !sent.is_numbered_by_host;
        let may_be_lost = !self.is_counter_shared && known.may_be_lost(sent);
        // A retransmission does not follow a segment behind a hole either.
        let is_resent =
            skips && may_be_lost && self.holes.is_empty() && known.is_possible_retransmission(sent);
        if probes && known.is_copy_behind_hole(sent) {
            let kind = self.repair(sent, known, RecoveryKind::TailLossProbe, None);
            // The data missing before it is reported separately.
            if let Some(probed) = self.open.take() {
                self.remember(probed.without_originals());
            }
            return Some(kind);
        }
        if !is_resent && gap == 0 && self.is_numbered_copy(sent) {
            let open = self.open.as_ref().map(|open| open.row.kind);
            return open.map(|kind| self.repair(sent, known, kind, None));
        }
        is_resent.then(|| {
            let evidence = LossEvidence {
                waited_ns: known.answer_wait_ns(sent),
                duplicate_acks: known.duplicate_acks,
                ..LossEvidence::default()
            };
            self.repair(sent, known, kind(sent, known, &evidence), None)
        })
    }

    /// Return whether the open recovery's numbering shows that `sent` was sent before.
    fn is_numbered_copy(&self, sent: &SentSegment) -> bool {
        !self.is_counter_shared
            && self
                .open
                .as_ref()
                .is_some_and(|open| sent.end <= open.until)
    }

    /// Return whether new data answers a request after a recovery whose data is all acknowledged.
    ///
    /// The recovery ended with a short segment. The flight at its start is known in full segments only.
    fn is_new_answer(&self, known: &KnownState) -> bool {
        let is_over = known.acked >= known.next && self.before_bytes < known.segment_bytes;
        let has_later_request =
            |open: &Episode| known.peer_data_ns.is_some_and(|ns| ns > open.row.end);
        is_over && self.open.as_ref().is_some_and(has_later_request)
    }

    /// Return the sender's wait before its probe, if only a probe reported this loss.
    ///
    /// All data behind the loss in its flight was lost as well.
    fn probe_wait_ns(
        &self,
        sent: &SentSegment,
        known: &KnownState,
        hole: Option<Hole>,
    ) -> Option<i64> {
        match hole {
            Some(hole) => hole.probe.filter(|(end, _)| known.next <= *end),
            // SACKs show whether the probe arrived.
            None => self.probe.filter(|(start, _)| {
                sent.start < *start && known.acked < *start && *start < self.sacked
            }),
        }
        .map(|(_, waited)| waited)
    }

    /// Take a retransmission or late data: its original passed before, or it fills a hole.
    fn resent(
        &mut self,
        sent: &SentSegment,
        known: &KnownState,
        hole: Option<Hole>,
    ) -> RecoveryKind {
        self.reported_hole = None;
        let evidence = LossEvidence {
            waited_ns: known.waited(sent),
            duplicate_acks: known.duplicate_acks.saturating_sub(self.answers),
            has_hole: hole.is_some() || self.sacked > sent.start,
            had_hole: hole.is_some_and(|it| it.had_arrived_before(sent, known))
                || self.sacked > sent.start,
            was_reported: known.original.is_some()
                && self
                    .open
                    .as_ref()
                    .is_some_and(|open| open.has_reports_behind(known)),
            has_sack: self.sacked > sent.start,
            reordered_ns: if self.sacked > sent.start {
                known.reordering_ns(sent)
            } else {
                0
            },
        };
        let probe_wait = self.probe_wait_ns(sent, known, hole);
        let open = self.open.as_ref();
        let is_twice =
            open.is_some_and(|open| open.is_second_retransmission(sent, known, self.sacked));
        let timeout = is_twice.then_some(RecoveryKind::Timeout);
        let kind = timeout.unwrap_or_else(|| kind(sent, known, &evidence));
        match (kind, probe_wait) {
            (RecoveryKind::FastRecovery, Some(waited)) if self.open.is_none() => {
                let kind = self.repair(sent, known, RecoveryKind::TailLossProbe, hole);
                if let Some(open) = self.open.as_mut() {
                    open.row.silence = open.row.silence.saturating_add(waited);
                }
                kind
            }
            (kind, _) => self.repair(sent, known, kind, hole),
        }
    }

    /// Add `sent` to the open recovery, or begin a recovery of that kind.
    fn repair(
        &mut self,
        sent: &SentSegment,
        known: &KnownState,
        kind: RecoveryKind,
        hole: Option<Hole>,
    ) -> RecoveryKind {
        let silence = self.silence(sent, known);
        let times_out = known.waited(sent) >= TIMED_OUT_MIN_NS || kind == RecoveryKind::Timeout;
        let is_continued = self
            .open
            .as_ref()
            .is_some_and(|open| open.includes(sent, known, kind, times_out));
        if !is_continued {
            self.close();
            let mut opened = Episode::new(sent, known, row(known, sent, kind, hole));
            if known.is_sender_far() && sent.is_gap_own {
                opened.until = opened.until.max(known.sent_before(sent));
            }
            self.open = Some(opened);
            self.note_lost_tail(sent, known, kind);
        }
        let Some(open) = self.open.as_mut() else {
            return kind;
        };
        if is_continued && times_out && open.row.kind == RecoveryKind::TailLossProbe {
            // The probe may have arrived and reported the loss of the data before it.
            open.row.kind = match kind {
                RecoveryKind::Timeout => kind,
                _ => RecoveryKind::TailLoss,
            };
        }
        open.extend(sent, silence);
        open.note_acks(known);
        open.row.timeouts = open.row.timeouts.saturating_add(u32::from(times_out));
        open.row.kind
    }

    fn syn(&mut self, sent: &SentSegment, known: &KnownState) -> RecoveryKind {
        let kind = RecoveryKind::SynRetransmission;
        if self.open.as_ref().is_none_or(|open| open.row.kind != kind) {
            self.close();
            let row = row(known, sent, kind, None);
            self.open = Some(Episode::new(sent, known, row));
        }
        if let Some(open) = self.open.as_mut() {
            let waited = sent.time_ns.saturating_sub(open.row.end);
            open.extend(sent, waited);
        }
        kind
    }

    /// Take data that fills a hole and was on its way when the hole appeared.
    fn on_overtaken(&mut self, hole: Hole, sent: &SentSegment, known: &KnownState) -> RecoveryKind {
        let silence = self.silence(sent, known);
        let kind = RecoveryKind::Reordering;
        let same_hole = |episode: &&mut Episode| {
            episode.row.kind == kind && episode.row.first_frame == hole.frame
        };
        if let Some(episode) = self.recent.back_mut().filter(|back| same_hole(back)) {
            episode.extend(sent, silence);
            return kind;
        }
        let has_known_order = hole.has_known_order(sent);
        let mut episode = Episode::without_retransmission(RecoveryRow {
            kind,
            first_frame: hole.frame,
            start: hole.time_ns,
            offset: sent.start,
            outstanding_bytes: u64::try_from(known.next.saturating_sub(sent.start)).unwrap_or(0),
            duplicate_acks: known.duplicate_acks,
            rtt: known.rtt_ns,
            confidence: if has_known_order { 0.95 } else { 0.7 },
            ..RecoveryRow::default()
        });
        episode.extend(sent, silence);
        self.remember(episode);
        kind
    }

    /// Take the late arrival of data that its retransmission had overtaken.
    fn on_late_original(&mut self, sent: &SentSegment) {
        for episode in self.open.iter_mut().chain(&mut self.recent) {
            episode.on_late_original((sent.start, sent.end));
        }
    }

    /// Close the episode of an opened window when the data that waited for it follows.
    fn close_window(&mut self, sent: &SentSegment, known: &KnownState) {
        let Some(window) = self.window.take_if(|it| it.is_ended_by(sent.end)) else {
            return;
        };
        let to_sender = known.sender_path_ns.unwrap_or(0);
        let (closed, persist) = window.rows(sent.frame, sent.time_ns, to_sender);
        for row in [Some(closed), persist].into_iter().flatten() {
            self.remember(Episode::without_retransmission(RecoveryRow {
                offset: window.offset(),
                rtt: known.rtt_ns,
                ..row
            }));
        }
    }

    fn silence(&self, sent: &SentSegment, known: &KnownState) -> i64 {
        let silence = sent.time_ns.saturating_sub(known.silent_since(sent));
        let pace = known.rtt_ns.unwrap_or(0) / SILENCE_RTT_SHARE;
        if silence >= pace.max(SILENCE_MIN_NS) {
            silence
        } else {
            0
        }
    }

    fn close(&mut self) {
        if let Some(episode) = self.open.take() {
            self.remember(episode);
        }
    }

    fn remember(&mut self, episode: Episode) {
        self.recent.push_back(episode);
    }

    pub fn place(&mut self, span: Span) {
        for episode in self.open.iter_mut().chain(&mut self.recent) {
            episode.place(span);
        }
    }

    pub fn unplaced(&self) -> Option<i64> {
        let latest = self.open.as_ref().or_else(|| self.recent.back());
        let open = latest.filter(|latest| !latest.is_placed)?;
        Some(open.row.offset)
    }

    /// Remove and return the episodes that are final, or all if no further evidence follows.
    pub fn taken(&mut self, all: bool, now_ns: i64) -> Vec<Episode> {
        if all {
            self.close();
        }
        let mut episodes = Vec::new();
        while let Some(oldest) = self.recent.front() {
            let age = now_ns.saturating_sub(oldest.row.end);
            let is_settled = oldest.is_placed && age > SETTLED_AFTER_NS;
            if !all && !is_settled && self.recent.len() <= RECENT_MAX {
                break;
            }
            episodes.extend(self.recent.pop_front());
        }
        if self.is_counter_shared {
            episodes.iter_mut().for_each(Episode::doubt_numbering);
        }
        episodes
    }

    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        let episodes = self.recent.len().saturating_mul(size_of::<Episode>());
        episodes.saturating_add(self.holes.held_bytes()) as u64
    }
}
