//! Losses of a flow, and the IP identifications of its hosts.

use tcptrace_tcp::HostStep;

use crate::recoveries::Recoveries;

#[derive(Debug, Default)]
pub struct Losses {
    /// Losses and closed windows, after the first one.
    pub(super) recoveries: Option<Box<Recoveries>>,
    /// Result of the host's counter for the current packet.
    pub host_step: Option<HostStep>,
    /// True if several hosts share the counter.
    pub is_counter_shared: bool,
    /// True if a client has sent the server a request for a proxy.
    pub(super) is_of_proxy: bool,
}
