//! Reductions of cwnd by losses and by marks (RFC 3168, section 6.1.2).

/// The reductions so far, and whether a mark caused the last one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reduction {
    /// True if a loss or a mark has reduced cwnd.
    pub(crate) was_reduced: bool,
    /// True if a mark reduced cwnd last, and the end of the data in flight at that time.
    is_by_mark: bool,
    marked_until: i64,
}

impl Reduction {
    /// Take a loss.
    pub(crate) fn on_loss(&mut self) {
        self.was_reduced = true;
        self.is_by_mark = false;
    }

    /// Take an echo of a mark on an ACK up to `ack`, and return whether it reduces cwnd: once per window of data.
    ///
    /// RFC 3168, section 6.1.2; Linux, tcp_try_to_open and tcp_enter_cwr.
    pub(crate) fn on_echo(&mut self, ack: i64, snd_nxt: i64) -> bool {
        let is_new = ack > self.marked_until;
        if is_new {
            self.was_reduced = true;
            self.is_by_mark = true;
            self.marked_until = snd_nxt;
        }
        is_new
    }

    /// Take a restart after an idle period: the window is that of slow start again.
    pub(crate) fn on_restart(&mut self) {
        self.is_by_mark = false;
    }

    /// Return whether data behind `acked` has the window that a mark reduced.
    pub(crate) fn is_by_mark_before(&self, acked: i64) -> bool {
        self.is_by_mark && acked > self.marked_until
    }
}
