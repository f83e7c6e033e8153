//! Receive window (RFC 9293, section 3.8.6): a segment waits until the right edge reaches its end.

/// A sender waits until one third of the window is free (Linux, tcp_tso_win_divisor).
const DEFERRED_SHARE: i64 = 3;

/// Return whether a sender waits for more free receive window to send more at once (Linux,
/// tcp_tso_should_defer).
#[must_use]
pub fn should_defer(free_bytes: i64, window_bytes: i64) -> bool {
    free_bytes < window_bytes / DEFERRED_SHARE
}

/// Right edge of the window that the peer has offered.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReceiveWindow {
    right_edge: i64,
    is_zero: bool,
    /// True if the last ACK moved the edge and acknowledged no data.
    is_update: bool,
}

impl ReceiveWindow {
    /// Take an ACK up to `ack` that offers a window of `window` bytes.
    pub fn on_ack(&mut self, ack: i64, window: i64, is_new: bool) {
        let edge = ack.saturating_add(window);
        self.is_update = !is_new && edge > self.right_edge;
        self.is_zero = window == 0;
        self.right_edge = self.right_edge.max(edge);
    }

    #[must_use]
    pub fn right_edge(&self) -> i64 {
        self.right_edge
    }

    /// Return whether the window is closed.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.is_zero
    }

    #[must_use]
    pub fn is_update(&self) -> bool {
        self.is_update
    }
}
