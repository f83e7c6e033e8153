//! What a sender sends again behind what its timer had sent again.
//!
//! Theory of operation. A timer takes all that is in flight for lost: its sender goes back to the first of that, and on
//! from there as ACKs let it go, by a window of one segment at first (RFC 6298, section 5.4; RFC 5681, section 3.1). Where
//! more was missing than what the timer has sent again first, and no other connection may have lost it, what comes next
//! was among it: it waits for the repair still, and not for the window.

use super::ack::Ack;
use super::connection::Connection;
use super::departures::Left;
use super::host_pair::HostPair;
use super::missed::MissedBefore;
use super::Sharing;

impl Sharing {
    /// Data follows what a timer has sent again, and was missing with that: no ACK, however late, is what it waited for.
    pub fn is_gone_back_to(&self) -> bool {
        self.missed.is_some_and(|it| it.is_gone_back_to)
    }
}

impl HostPair {
    /// Data follows what a timer has sent again, as the ACK of that has let it go: whether it was lost before as well, and
    /// missed.
    pub(super) fn goes_back(&mut self, ports: (u16, u16), left: Left) -> Option<MissedBefore> {
        let noticed_ns = self.connection(ports.0, ports.1)?.goes_back_ns.take()?;
        let is_own = |ack: &Ack| ack.client_port == ports.0;
        // Whose data shows that they are missing has lost none of them but those in a hole before that.
        let may_have_lost = |it: &Connection| {
            it.client_port != ports.0 && it.over_ns.is_none() && it.newest_ns < noticed_ns
        };
        let was_let_go = self.acks_when(left).any(is_own);
        if !was_let_go || self.connections.iter().any(may_have_lost) {
            return None;
        }
        let place = self.missing.noticed_at(noticed_ns)?;
        self.missing.account_for(place)?;
        self.room.had_loss();
        self.connection(ports.0, ports.1)?.goes_back_ns = Some(noticed_ns);
        Some(MissedBefore {
            would_come_ns: noticed_ns,
            is_told: false,
            is_gone_back_to: true,
        })
    }
}
