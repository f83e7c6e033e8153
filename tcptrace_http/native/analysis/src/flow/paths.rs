//! The path of a connection, of its transactions and of data as it comes.

use tcptrace_tcp::Side;

use super::Flow;
use crate::waits;

impl Flow {
    /// What is known of the path, as waits read it.
    pub(super) fn waits_path(&self) -> waits::Path {
        let to_client_ns = self.server_half().path_rtt_ns;
        // Data before the end of the handshake (RFC 1644, RFC 7413) goes by before that tells who is near.
        let is_early = self.syn_ack_ns.is_some() && to_client_ns.is_none();
        waits::Path {
            to_server_ns: self.client_half().path_rtt_ns,
            to_client_ns,
            sent_byte_time: self.sharing().sent_byte_time,
            receiver: self.sharing().receiver,
            is_undecided: is_early || self.client_half().answered_syn_ns.is_some(),
        }
    }

    /// ... of a transaction: a SYN-ACK may have waited for its data, or for the timer of a delayed ACK, or stood in a
    /// queue, so of all connections between two hosts the quickest tells the path. (An answer to one of several SYNs is
    /// not known to be that to the last. Where none tells of its own connection, those of the others do.)
    pub(super) fn quickest_path(&self) -> waits::Path {
        let mut path = self.waits_path();
        if !self.setup.was_resent() {
            path.to_server_ns = self.least_way_ns(self.client.other());
        }
        path.to_server_ns = path.to_server_ns.or(self.sharing().to_server_ns);
        // Whose ACKs are of something nearer is as far as its handshake tells.
        path.to_server_ns = self.round_trip_behind_local_acks_ns().or(path.to_server_ns);
        path
    }

    /// The way to one side and back, if its own connection tells of that, by the quickest of all between two hosts.
    pub(super) fn least_way_ns(&self, to: Side) -> Option<i64> {
        let own_ns = self.half(to.other()).path_rtt_ns?;
        Some(
            self.way_of_others_ns(to)
                .map_or(own_ns, |ns| ns.min(own_ns)),
        )
    }

    /// ... by its own connection, or by the others where that does not tell: data went with a SYN that was sent again.
    pub(super) fn known_way_ns(&self, to: Side) -> Option<i64> {
        let own_ns = self.half(to.other()).path_rtt_ns;
        own_ns.or_else(|| self.way_of_others_ns(to))
    }

    fn way_of_others_ns(&self, to: Side) -> Option<i64> {
        if to == self.client {
            self.sharing().to_client_ns
        } else {
            self.sharing().to_server_ns
        }
    }

    /// ... of data as it comes: what an ACK of any connection lets go follows that by the quickest path. Behind others'
    /// data it is later than that by a part of what the slowest link takes for them, as its own connection's first
    /// round trip may have been.
    pub(super) fn path_of_data(&self) -> waits::Path {
        if self.sharing().may_be_shared || self.sharing().queued_ns == 0 {
            self.quickest_path()
        } else {
            self.waits_path()
        }
    }

    /// Round trip of the whole path: both parts of it, as seen from the observation point.
    #[must_use]
    pub fn path_rtt_ns(&self) -> Option<i64> {
        let to_server_ns = self.client_half().path_rtt_ns?;
        Some(self.with_way_to_client_ns(to_server_ns))
    }

    /// ... of which other connections may tell.
    pub(super) fn known_rtt_ns(&self) -> Option<i64> {
        let to_server_ns = self.known_way_ns(self.client.other())?;
        Some(self.with_way_to_client_ns(to_server_ns))
    }

    fn with_way_to_client_ns(&self, to_server_ns: i64) -> i64 {
        to_server_ns.saturating_add(self.server_half().path_rtt_ns.unwrap_or(0))
    }
}
