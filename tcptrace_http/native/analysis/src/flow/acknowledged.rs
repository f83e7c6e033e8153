//! Effects of an ACK on its sender's peer: RTT samples, and messages that have arrived.

use tcptrace_tcp::Side;
use trace_model::{Mark, Packet};

use super::messages::stream_offset;
use super::round_trips::AckedData;
use super::{moment, Flow};
use crate::observation::PATH_MIN_NS;
use crate::tables::Tables;

impl Flow {
    /// Take an ACK from `side` up to `ack`; it may be a SYN-ACK with payload.
    pub(super) fn acknowledge(
        &mut self,
        side: Side,
        packet: &Packet<'_>,
        (ack, is_answered_syn): (i64, bool),
        tables: &mut Tables,
    ) {
        let acknowledges_server = side == self.client();
        let (_, peer) = self.halves(side);
        if ack <= peer.sequence.acked {
            return;
        }
        let outstanding_bytes = peer.sequence.flight_bytes();
        let mut sample = None;
        let segments = &mut tables.segments;
        let (rtt_before, acked_before) = (peer.rtt.path_ns, peer.sequence.acked);
        peer.acknowledge(ack, packet.time_ns, |sent, rtt| {
            sample = rtt;
            if let Some((row, segments)) = sent.row.zip(segments.as_mut()) {
                segments.acknowledged(row, packet.frame, rtt);
            }
        });
        if is_answered_syn && acked_before < 1 {
            peer.rtt.answered_syn_ns = std::mem::replace(&mut peer.rtt.path_ns, rtt_before);
        }
        let acked = stream_offset(ack);
        if let Some(messages) = self.messages.as_mut() {
            let tracker = messages.tracker(!acknowledges_server);
            tracker.acknowledged(acked, packet.time_ns);
            if acknowledges_server {
                messages.acked = Mark {
                    frame: packet.frame,
                    time_ns: packet.time_ns,
                };
            }
        }
        if !acknowledges_server {
            return;
        }
        self.set_answered_syn_path();
        if acked_before <= 1 {
            self.setup.done(moment(packet));
        }
        if self.carried.has_messages() {
            let acked = AckedData {
                until: acked,
                bytes: u64::try_from(ack.saturating_sub(acked_before)).unwrap_or(0),
                of_bytes: outstanding_bytes,
                full_bytes: self.segment_size.full(),
            };
            self.note_round_trip(packet, acked, sample, tables);
            self.flush_acknowledged(packet, ack, tables);
        }
    }

    /// Set the round trip to the server of a connection whose SYN had payload (RFC 1644, RFC 7413).
    ///
    /// The SYN-ACK waited for the application, so the handshake gives no round trip of the path. If the round
    /// trip to the client exceeds a host's answer time, the capture counts as near the server. Otherwise the
    /// handshake bounds the round trip to the server.
    fn set_answered_syn_path(&mut self) {
        let Some(rtt_ns) = self.server_half().rtt.path_ns else {
            return;
        };
        let client = self.client();
        // Another connection to that host may give a round trip without application time.
        let least_ns = self.least_way_ns(client.other()).unwrap_or(i64::MAX);
        let (half, _) = self.halves(client);
        if let Some(answered_ns) = half.rtt.answered_syn_ns.take() {
            let to_server_ns = if rtt_ns >= PATH_MIN_NS {
                0
            } else {
                answered_ns.min(least_ns)
            };
            half.rtt.path_ns.get_or_insert(to_server_ns);
        }
    }
}
