//! Evidence from the receiver's ACKs: holes that close, windows that close, data received twice.

use tcptrace_tcp::selective_acks::{duplicate, offsets};
use trace_model::rows::{RecoveryKind, RecoveryRow};

use super::super::episode::Episode;
use super::super::window::ClosedWindow;
use super::super::ReceivedAck;
use super::{Tracker, SETTLED_AFTER_NS};

impl Tracker {
    /// Take an ACK, and return whether it gave a new row.
    pub fn on_ack(&mut self, received: &ReceivedAck<'_>) -> bool {
        self.note_window(received);
        if received.class.duplicate_ack_count == 0 {
            self.answers = 0;
        } else if duplicate(received.segment).is_some() {
            self.answers = self.answers.saturating_add(1);
        }
        let is_new = self.note_closing_hole(received);
        self.judge_episodes(received);
        is_new
    }

    fn judge_episodes(&mut self, received: &ReceivedAck<'_>) {
        let twice = duplicate(received.segment);
        for block in received.segment.options.sack.as_slice() {
            let at = offsets(*block, received.segment, received.ack);
            if Some(*block) == twice {
                for episode in self.open.iter_mut().chain(&mut self.recent) {
                    episode.on_dsack(at);
                }
            } else {
                self.sacked = self.sacked.max(at.1);
            }
        }
        for episode in self.recent.iter_mut().rev().take(2) {
            episode.judge(received);
        }
        let Some(open) = self.open.as_mut() else {
            return;
        };
        open.judge(received);
        let is_duplicate = received.class.duplicate_ack_count > 0;
        open.row.duplicate_acks = open
            .row
            .duplicate_acks
            .saturating_add(u32::from(is_duplicate));
        if received.ack >= open.until {
            self.close();
        }
    }

    /// Record a hole that SACKs report and that closes without a retransmission: reordering at the receiver.
    fn note_closing_hole(&mut self, received: &ReceivedAck<'_>) -> bool {
        let mut is_reordering = false;
        if let Some((frame, time_ns, start)) = self
            .reported_hole
            .filter(|(_, _, start)| received.ack > *start)
        {
            self.reported_hole = None;
            let late = received.time_ns.saturating_sub(time_ns);
            is_reordering = late <= SETTLED_AFTER_NS && self.open.is_none();
            if is_reordering {
                self.remember(Episode::without_retransmission(RecoveryRow {
                    kind: RecoveryKind::Reordering,
                    first_frame: frame,
                    last_frame: received.frame,
                    start: time_ns,
                    end: received.time_ns,
                    offset: start,
                    resent_segments: 1,
                    rtt: received.receiver_path_ns,
                    confidence: 0.9,
                    ..RecoveryRow::default()
                }));
            }
        }
        let blocks = received.segment.options.sack.as_slice();
        let reports_hole = blocks
            .first()
            .is_some_and(|block| offsets(*block, received.segment, received.ack).0 > received.ack);
        if reports_hole
            && self.reported_hole.is_none()
            && self.holes.is_empty()
            && self.open.is_none()
        {
            self.reported_hole = Some((received.frame, received.time_ns, received.ack));
        }
        is_reordering
    }

    fn note_window(&mut self, received: &ReceivedAck<'_>) {
        let Some(window) = received.window else {
            return;
        };
        match self.window.as_mut() {
            Some(closed) => closed.announced(received.frame, received.time_ns, window),
            None if window == 0 => {
                let closed =
                    ClosedWindow::announced_by(received.frame, received.time_ns, received.ack);
                self.window = Some(closed);
            }
            None => {}
        }
    }
}
