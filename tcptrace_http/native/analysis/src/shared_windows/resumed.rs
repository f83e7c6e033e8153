//! When the server went on behind a silence of all its connections.
//!
//! Theory of operation. Connections that have lost what they had in flight stop together, and so do their timers run out
//! together, whether they share a window or not: what lay in a buffer for seconds goes on just when ACKs of others come
//! that went on before it. So that is no less likely by chance than within the time since the first of them went on,
//! however long each had been silent.

use tcptrace_tcp::TIMEOUT_MIN_NS;

use super::flight::Coming;
use super::host_pair::HostPair;

impl HostPair {
    /// Data of the server comes by, on whichever connection: a timer may have let it go if all were silent for so long.
    pub(super) fn may_resume(&mut self, time_ns: i64) {
        let silent_ns = self
            .came_ns
            .map_or(i64::MAX, |ns| time_ns.saturating_sub(ns));
        if silent_ns >= TIMEOUT_MIN_NS.saturating_add(self.round_trip_ns()) {
            self.resumed_ns = time_ns;
        }
    }

    /// For how long an ACK of another connection may have come by chance before data that comes after such a pause. A
    /// question begins an answer, and no timer.
    pub(super) fn chance_lasts_ns(&self, coming: Coming, pause_ns: i64) -> i64 {
        if coming.begins {
            return pause_ns;
        }
        pause_ns.min(coming.time_ns.saturating_sub(self.resumed_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// Data that comes after so long a pause of its connection, 10 ms behind that of another one, before which all had been
    /// silent for so long.
    fn lasts_ms(silent_ms: i64, begins: bool) -> i64 {
        let mut pair = HostPair::with_path(100 * MS);
        pair.came_ns = Some(1000 * MS);
        let resumed_ns = (1000 + silent_ms) * MS;
        pair.may_resume(resumed_ns);
        let coming = Coming {
            time_ns: resumed_ns + 10 * MS,
            bytes: 1000,
            client_port: 1,
            quiet_ns: 1000 * MS,
            had_more: true,
            begins,
            asked_ns: None,
            tells_nothing: false,
        };
        pair.chance_lasts_ns(coming, coming.quiet_ns) / MS
    }

    #[test]
    fn an_ack_is_by_chance_before_what_a_timer_let_go_only_since_the_first_timer_ran_out() {
        assert_eq!(lasts_ms(300, false), 10);
        assert_eq!(lasts_ms(299, false), 1000);
        assert_eq!(lasts_ms(300, true), 1000, "an answer");
    }
}
