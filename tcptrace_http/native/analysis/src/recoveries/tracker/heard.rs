//! Evidence from the receiver's ACKs: holes that close, windows that close, data received twice.

use tcptrace_tcp::selective_acks::{duplicate, offsets};
use trace_model::rows::{RecoveryKind, RecoveryRow};

use super::super::episode::Episode;
use super::super::window::ClosedWindow;
use super::super::Heard;
use super::{Tracker, SETTLED_AFTER_NS};

impl Tracker {
    /// Take an ACK, and return whether it gave a new row.
    pub fn heard(&mut self, heard: &Heard<'_>) -> bool {
        self.note_window(heard);
        if heard.class.duplicate_ack_count == 0 {
            self.answers = 0;
        } else if duplicate(heard.segment).is_some() {
            self.answers = self.answers.saturating_add(1);
        }
        let is_new = self.note_closing_hole(heard);
        self.judge_episodes(heard);
        is_new
    }

    fn judge_episodes(&mut self, heard: &Heard<'_>) {
        let twice = duplicate(heard.segment);
        for block in heard.segment.options.sack.as_slice() {
            let at = offsets(*block, heard.segment, heard.ack);
            if Some(*block) == twice {
                for episode in self.open.iter_mut().chain(&mut self.recent) {
                    episode.received_twice(at);
                }
            } else {
                self.sacked = self.sacked.max(at.1);
            }
        }
        for episode in self.recent.iter_mut().rev().take(2) {
            episode.judge(heard);
        }
        let Some(open) = self.open.as_mut() else {
            return;
        };
        open.judge(heard);
        let is_duplicate = heard.class.duplicate_ack_count > 0;
        open.row.duplicate_acks = open
            .row
            .duplicate_acks
            .saturating_add(u32::from(is_duplicate));
        if heard.ack >= open.until {
            self.close();
        }
    }

    /// Record a hole that SACKs report and that closes without a retransmission: reordering at the receiver.
    fn note_closing_hole(&mut self, heard: &Heard<'_>) -> bool {
        let mut is_reordering = false;
        if let Some((frame, time_ns, start)) = self.told.filter(|(_, _, start)| heard.ack > *start)
        {
            self.told = None;
            let late = heard.time_ns.saturating_sub(time_ns);
            is_reordering = late <= SETTLED_AFTER_NS && self.open.is_none();
            if is_reordering {
                self.remember(Episode::without_retransmission(RecoveryRow {
                    kind: RecoveryKind::Reordering,
                    first_frame: frame,
                    last_frame: heard.frame,
                    start: time_ns,
                    end: heard.time_ns,
                    offset: start,
                    resent_segments: 1,
                    rtt: heard.receiver_path_ns,
                    confidence: 0.9,
                    ..RecoveryRow::default()
                }));
            }
        }
        let blocks = heard.segment.options.sack.as_slice();
        let tells = blocks
            .first()
            .is_some_and(|block| offsets(*block, heard.segment, heard.ack).0 > heard.ack);
        if tells && self.told.is_none() && self.holes.is_empty() && self.open.is_none() {
            self.told = Some((heard.frame, heard.time_ns, heard.ack));
        }
        is_reordering
    }

    fn note_window(&mut self, heard: &Heard<'_>) {
        let Some(window) = heard.window else { return };
        match self.window.as_mut() {
            Some(closed) => closed.announced(heard.frame, heard.time_ns, window),
            None if window == 0 => {
                let closed = ClosedWindow::announced_by(heard.frame, heard.time_ns, heard.ack);
                self.window = Some(closed);
            }
            None => {}
        }
    }
}
