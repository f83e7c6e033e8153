//! What a packet without data tells of what is missing.
//!
//! A FIN, or an ACK, has the number of what follows the data before it (RFC 9293, section 3.10.7.4): where that is more
//! than came, the rest is missing; where it is no more, nothing was sent that did not come.

use tcptrace_tcp::HostStep;

use super::HostPair;

impl HostPair {
    /// One of the connection of these ports comes, of which data came last at `since_ns`; so far behind what came of that is
    /// its number.
    pub(super) fn tells_by_number(
        &mut self,
        ports: (u16, u16),
        (since_ns, time_ns): (i64, i64),
        ahead: i32,
        host_step: HostStep,
    ) {
        let Some(connection) = self.connection(ports.0, ports.1) else {
            return;
        };
        let unheard_ns = connection.unheard_fin_ns.take();
        if ahead == 0 && !host_step.is_late {
            connection.newest_ns = connection.newest_ns.max(time_ns);
        }
        if ahead > 0 {
            self.shows_hole(ahead.unsigned_abs(), since_ns, time_ns);
        }
        if let Some(fin_ns) = unheard_ns {
            self.missing.account_for_ack(fin_ns);
        }
    }
}
