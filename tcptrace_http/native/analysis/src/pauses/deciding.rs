//! Whether an ACK ended a pause: told at once, or when the pace of the slowest link is known.

use super::pause::{Ending, OpenPause, Pause, PeerAck, ShortSegment};
use super::{Path, PauseTracker, SentData, UNDECIDED_ACKS_MAX};
use crate::waits::Waits;

/// Pauses that wait for the pace of the link to show: it does with the next two segments that come at once.
const UNDECIDED_MAX: usize = 16;

impl PauseTracker {
    /// Looks at the pause between two data segments, which an ACK may have ended. Near the receiver it is told
    /// when the pace of the link is known, at the end of the message if not before.
    pub(super) fn consider(
        &mut self,
        previous: SentData,
        data: SentData,
        is_short: bool,
        path: &Path,
    ) {
        if path.in_loss_recovery || self.was_disturbed {
            return;
        }
        let shorts = &self.shorts;
        let short_of = |ack: &PeerAck| {
            let is_acked = |short: &&ShortSegment| short.end <= ack.after && short.end > ack.before;
            shorts.iter().rev().find(is_acked).copied()
        };
        let ending = |ack: &PeerAck| Ending {
            ack: *ack,
            short: short_of(ack),
        };
        let mut pause = Pause {
            previous,
            data,
            is_short,
            path: *path,
            spacing_ns: self.spacing_ns,
            bound_ns: 0,
            drained_ns: if path.is_nearer_to_sender() {
                self.link.drained_ns()
            } else {
                previous.time_ns
            },
            queued_until_ns: self
                .link
                .had_drained_ns(previous.end)
                .filter(|_| path.is_nearer_to_sender()),
            largest_flight_bytes: self.largest_flight_bytes.max(path.window_bytes),
            made_room_ns: self.made_room_ns(previous, data, path),
            waits_for_all: self.waits_for_all(),
            shorts: self.counted.shorts,
            endings: Vec::new(),
        };
        let is_known = path.is_nearer_to_sender() || path.takes_ns > 0;
        if !is_known && self.undecided.len() < UNDECIDED_MAX {
            // On a slow link the ACK that ends it counts as heard long before, and it has opened the window.
            let by_ack = u64::from(path.segment_bytes);
            pause.largest_flight_bytes = self
                .largest_flight_bytes
                .max(path.window_bytes.saturating_sub(by_ack));
            let last = self.acks.iter().rev().take(UNDECIDED_ACKS_MAX);
            pause.endings = last.map(ending).collect();
            self.undecided.push(pause);
            return;
        }
        let endings = self.acks.iter().rev().map(ending);
        if let Some(open) = pause.ended_by(endings, path.takes_ns) {
            self.holds(open);
        }
    }

    /// Whether its sender is known to hold what is short until all is acknowledged.
    fn waits_for_all(&self) -> bool {
        self.holds_behind_full > 0 && self.full_disproofs == 0
    }

    fn holds(&mut self, pause: OpenPause) {
        let count = u32::from(pause.waited_for_all);
        self.holds_behind_full = self.holds_behind_full.saturating_add(count);
        self.open.push(pause);
    }

    /// Decides on the pauses for which the pace of the link was not known.
    pub(super) fn decide(&mut self, waits: Option<&Waits>) {
        if self.undecided.is_empty() {
            return;
        }
        for mut pause in std::mem::take(&mut self.undecided) {
            pause.waits_for_all = self.waits_for_all();
            let path_ns = pause.path.sender_rtt_ns.unwrap_or(0);
            let bytes = pause.data.bytes;
            let known = |takes: fn(&Waits, u32) -> i64| {
                let takes_ns = waits.map_or(0, |it| takes(it, bytes));
                (takes_ns > 0).then_some(takes_ns)
            };
            let takes_ns = known(Waits::response_takes_ns)
                .unwrap_or_else(|| self.behind.of_payload(bytes, path_ns));
            pause.bound_ns = known(Waits::response_is_on_link_ns)
                .unwrap_or_else(|| self.behind.of_packet(bytes, path_ns));
            let endings = pause.endings.iter().copied();
            if let Some(open) = pause.ended_by(endings, takes_ns) {
                self.holds(open);
            }
        }
        self.open.sort_by_key(|pause| pause.released_start);
    }
}
