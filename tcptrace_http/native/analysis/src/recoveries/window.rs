//! Closed window, and the way in which its sender learnt of the opening.

use trace_model::rows::{RecoveryKind, RecoveryRow};

/// Longest time after a round trip within which data follows an opened window, if its update arrived.
const FOLLOWS_MAX_NS: i64 = 10_000_000;

#[derive(Clone, Copy, Debug)]
struct WindowOpening {
    frame: u64,
    time_ns: i64,
    /// True if the opening answered a probe.
    was_probed: bool,
}

/// Window that the receiver of data has closed.
#[derive(Clone, Copy, Debug)]
pub struct ClosedWindow {
    frame: u64,
    time_ns: i64,
    /// Offset of the waiting data: a probe sends its first byte, which may be refused.
    offset: i64,
    /// Last segment that announced the zero window.
    last: (u64, i64),
    /// True if the sender has probed since.
    is_probed: bool,
    probes: u32,
    opened: Option<WindowOpening>,
    probes_since_opened: u32,
}

impl ClosedWindow {
    #[must_use]
    pub fn announced_by(frame: u64, time_ns: i64, acked: i64) -> Self {
        ClosedWindow {
            frame,
            time_ns,
            offset: acked,
            last: (frame, time_ns),
            is_probed: false,
            probes: 0,
            opened: None,
            probes_since_opened: 0,
        }
    }

    /// Take a window announcement of the receiver.
    pub fn announced(&mut self, frame: u64, time_ns: i64, window: u32) {
        if window == 0 {
            self.last = (frame, time_ns);
            self.is_probed = false;
            self.opened = None;
            self.probes_since_opened = 0;
        } else if self.opened.is_none() {
            self.opened = Some(WindowOpening {
                frame,
                time_ns,
                was_probed: self.is_probed,
            });
        }
    }

    /// Take a probe of the sender.
    pub fn probed(&mut self) {
        self.is_probed = true;
        if self.opened.is_some() {
            self.probes_since_opened = self.probes_since_opened.saturating_add(1);
        } else {
            self.probes = self.probes.saturating_add(1);
        }
    }

    #[must_use]
    pub fn offset(&self) -> i64 {
        self.offset
    }

    /// Return whether data up to `end` ends the closed window: it exceeds the single byte of a probe.
    #[must_use]
    pub fn is_ended_by(&self, end: i64) -> bool {
        self.opened.is_some() && end > self.offset.saturating_add(1)
    }

    /// Return the rows when data follows at `time_ns`: the closed window, and possibly the lost update.
    ///
    /// `sender_path_ns` is the round trip to the sender.
    #[must_use]
    pub fn rows(
        &self,
        frame: u64,
        time_ns: i64,
        sender_path_ns: i64,
    ) -> (RecoveryRow, Option<RecoveryRow>) {
        let opened = self.opened.unwrap_or(WindowOpening {
            frame,
            time_ns,
            was_probed: false,
        });
        let closed = RecoveryRow {
            kind: RecoveryKind::ZeroWindow,
            first_frame: self.frame,
            last_frame: opened.frame,
            start: self.time_ns,
            end: opened.time_ns,
            silence: opened.time_ns.saturating_sub(self.time_ns),
            resent_segments: self.probes,
            confidence: 0.95,
            ..RecoveryRow::default()
        };
        let could_send = opened.time_ns.saturating_add(sender_path_ns);
        let late = time_ns.saturating_sub(could_send);
        if self.probes_since_opened > 0 && late > FOLLOWS_MAX_NS {
            // The update passed the capture point and did not reach the sender.
            let persist = RecoveryRow {
                kind: RecoveryKind::Persist,
                first_frame: opened.frame,
                last_frame: frame,
                start: could_send,
                end: time_ns,
                silence: late,
                resent_segments: self.probes_since_opened,
                confidence: 0.9,
                ..RecoveryRow::default()
            };
            return (closed, Some(persist));
        }
        if !opened.was_probed {
            return (closed, None);
        }
        // The time of the opening is unknown: at the last answer the window was still closed.
        let (last_frame, last_ns) = self.last;
        let persist = RecoveryRow {
            kind: RecoveryKind::Persist,
            first_frame: last_frame,
            last_frame: opened.frame,
            start: last_ns,
            end: opened.time_ns,
            silence: opened.time_ns.saturating_sub(last_ns),
            resent_segments: 1,
            confidence: 0.5,
            ..RecoveryRow::default()
        };
        let closed = RecoveryRow {
            last_frame,
            end: last_ns,
            silence: last_ns.saturating_sub(self.time_ns),
            ..closed
        };
        (closed, Some(persist))
    }
}
