//! How long a pacer has held what goes on behind a silence of all connections that share a window.
//!
//! Theory of operation. Where a timer has repaired all that was lost nothing is in flight any more, and nothing has been
//! sent for so long that the window is paced from then on (Eggert 1999, section 3.1): the ACK of the repair lets one
//! segment go, of whichever connection, and a clock the next, until an ACK of the first comes. What had waited since
//! before the timer ran out did not come just then because its server was done.

use tcptrace_tcp::{DELAYED_ACK_MAX_NS, TIMEOUT_MIN_NS};

use super::host_pair::HostPair;

impl HostPair {
    /// New data comes behind which nothing was in flight, on whichever connection, and none before it since that time:
    /// if all was repaired then, the newest ACK has begun its window anew.
    pub(super) fn restarts_paced(&mut self, time_ns: i64, before_ns: i64) {
        if (before_ns..time_ns).contains(&self.copied_ns) {
            self.restarted_by_ns = self.newest_ack_ns();
        }
    }

    /// How much later than it might have come does data that goes by a pacer's clock, since the window was
    /// begun anew; it has waited since `since_ns` at least.
    pub(super) fn held_by_pacer_ns(
        &self,
        (time_ns, bytes): (i64, u32),
        since_ns: i64,
    ) -> Option<i64> {
        let restarted_by_ns = self.restarted_by_ns.filter(|_| self.is_shared)?;
        let is_of_restart = self.newest_ack_ns() == Some(restarted_by_ns);
        let was_waiting = restarted_by_ns.saturating_sub(since_ns) >= TIMEOUT_MIN_NS;
        let takes_ns = self.pace.of(bytes).unwrap_or(0);
        let way_ns = self.to_server_ns?.saturating_add(takes_ns);
        let held_ns = time_ns.saturating_sub(restarted_by_ns.saturating_add(way_ns));
        let longest_ns = self.round_trip_ns().saturating_add(DELAYED_ACK_MAX_NS);
        let is_held = (takes_ns..longest_ns).contains(&held_ns);
        (is_of_restart && was_waiting && is_held).then_some(held_ns)
    }
}
