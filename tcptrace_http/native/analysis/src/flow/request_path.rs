//! The path of requests and of the ACKs of them.

use super::Flow;
use crate::pauses::Path;

impl Flow {
    /// The path of the client's data.
    pub(super) fn request_path(&self) -> Path {
        let (client, server) = (self.client_half(), self.server_half());
        let segment_bytes = self.segment_size.full();
        let waits = self.waits.as_deref();
        Path {
            segment_bytes,
            sender_rtt_ns: server.path_rtt_ns,
            receiver_rtt_ns: client.path_rtt_ns,
            receive_window: u64::from(server.last_window_bytes),
            in_loss_recovery: client.acked < self.request_recovery_until,
            takes_ns: 0,
            queued_ns: 0,
            service_ns: 0,
            there_ns: waits.map_or(0, |waits| waits.response_takes_ns(segment_bytes)),
            window_bytes: 0,
            initial_window_bytes: 0,
            sender_permits_sack: client.sack_permitted,
            is_let_go_by_other: false,
            may_share_window: false,
            had_room_ns: None,
            heard_until_ns: None,
            made_buffer_room_ns: None,
            lowered_bytes: None,
            written_ns: None,
            is_over_when_sent: true,
        }
    }

    /// The server sent so much, behind which its ACKs come.
    pub(super) fn acks_of_requests_come_behind(&mut self, time_ns: i64, bytes: u32) {
        let path = self.request_path();
        if let Some(pauses) = self.request_pauses.as_mut() {
            pauses.peer_sent(time_ns, bytes, &path);
        }
    }
}
