//! A stream at its server: a request, and the unsent rest of its response.

use crate::app::exchange::ExchangeId;
use crate::app::http_text::Head;
use crate::app::Content;
use crate::truth::Hold;

#[derive(Debug)]
pub(super) struct Stream {
    pub(super) number: u32,
    pub(super) exchange: ExchangeId,
    pub(super) urgency: u8,
    pub(super) window: u64,
    pub(super) response: Option<Prepared>,
    /// The window that blocks, or last blocked, the next frame.
    pub(super) hold: Option<Hold>,
}

/// A ready response.
#[derive(Debug)]
pub(super) struct Prepared {
    /// Rank among the ready responses of the connection.
    pub(super) place: u32,
    pub(super) ready: u64,
    /// Set until the head is written.
    pub(super) head: Option<Head>,
    pub(super) body: Vec<Content>,
    pub(super) bytes: u64,
    pub(super) sent: u64,
}

impl Stream {
    /// Return the payload that is sendable now. None: neither payload nor HEADERS are sendable.
    pub(super) fn room(&self, window: u64, frame: u64) -> Option<u64> {
        let response = self.response.as_ref()?;
        if response.head.is_some() {
            return Some(0);
        }
        let left = response.bytes - response.sent;
        Some(left.min(self.window).min(window).min(frame)).filter(|room| *room > 0)
    }

    /// Record that a window starts to block the next frame, or stops blocking it.
    pub(super) fn note_hold(&mut self, now: u64, connection_window: u64) {
        let is_ready = self.response.as_ref().is_some_and(|it| it.head.is_none());
        if self.room(connection_window, u64::MAX).is_some() {
            if let Some(hold) = &mut self.hold {
                hold.until.get_or_insert(now);
            }
        } else if is_ready {
            self.hold.get_or_insert(Hold {
                is_of_stream: self.window == 0,
                since: now,
                until: None,
            });
        }
    }

    pub(super) fn place(&self) -> u32 {
        self.response.as_ref().map_or(0, |it| it.place)
    }
}
