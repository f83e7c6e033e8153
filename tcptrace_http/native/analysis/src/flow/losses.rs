//! What is known of a flow's losses, and of the numbers that its hosts give their packets.

use tcptrace_tcp::HostStep;

use crate::recoveries::Recoveries;

#[derive(Debug, Default)]
pub struct Losses {
    /// Losses and closed windows, once there is one.
    pub(super) recoveries: Option<Box<Recoveries>>,
    /// What the numbers of its host tell of the packet that is taken.
    pub host_step: Option<HostStep>,
    /// Other hosts have the same counter.
    pub counter_is_of_several: bool,
    /// A client has asked the server as one asks a proxy.
    pub(super) is_of_proxy: bool,
}
