//! Row of a flow in the flows table.

use trace_model::rows::{ClosedBy, Direction, FlowRow};

use crate::flow::Flow;
use crate::observation::observation_point;

/// Return the row of `flow` at its end.
#[must_use]
pub fn flow_row(flow: &Flow) -> FlowRow {
    let (client, server) = (flow.client_half(), flow.server_half());
    let (client_end, server_end) = flow.client_and_server();
    let (to_server, to_client) = (client.rtt.path_ns, server.rtt.path_ns);
    let full = flow.segment_size.full();
    let of_server = flow
        .profile(Direction::ServerToClient)
        .map(|it| *it.learnt());
    FlowRow {
        flow: flow.id.number,
        client: client_end.address.text(),
        client_port: client_end.port,
        server: server_end.address.text(),
        server_port: server_end.port,
        first_frame: flow.begun.frame,
        start: flow.begun.time_ns,
        end: flow.end_ns,
        packets: client.counts.packets.saturating_add(server.counts.packets),
        client_packets: client.counts.packets,
        server_packets: server.counts.packets,
        client_bytes: client.unique_bytes,
        server_bytes: server.unique_bytes,
        client_retransmissions: client.counts.retransmissions,
        server_retransmissions: server.counts.retransmissions,
        client_out_of_order: client.counts.out_of_order,
        server_out_of_order: server.counts.out_of_order,
        client_duplicate_acks: client.counts.duplicate_acks,
        server_duplicate_acks: server.counts.duplicate_acks,
        client_zero_windows: client.counts.zero_windows,
        server_zero_windows: server.counts.zero_windows,
        ecn_negotiated: flow.has_negotiated_ecn(),
        client_ce_packets: client.marks.ce_packets,
        server_ce_packets: server.marks.ce_packets,
        client_ece_acks: client.marks.ece_acks,
        server_ece_acks: server.marks.ece_acks,
        client_cwr_segments: client.marks.cwr_segments,
        server_cwr_segments: server.marks.cwr_segments,
        client_gap_bytes: client.holes.missing_bytes(),
        server_gap_bytes: server.holes.missing_bytes(),
        has_syn: client.has_syn,
        has_syn_ack: server.has_syn,
        mss_client: client.options.mss,
        mss_server: server.options.mss,
        segment_bytes: (full > 0).then_some(full),
        client_window_scale: client.options.window_scale,
        server_window_scale: server.options.window_scale,
        initial_rtt: flow.setup.initial_rtt_ns,
        server_path_rtt: to_server,
        client_path_rtt: to_client,
        rtt_samples: client.rtt.samples.saturating_add(server.rtt.samples),
        observation_point: observation_point(to_server, to_client),
        initial_window_segments: of_server.map(|it| it.first_flight.segments),
        super_segments: flow.segment_size.super_segments,
        closed_by: closed_by(flow),
        is_http: flow.carried.is_http,
        protocol: flow.carried.protocol,
        transactions: flow.usage.transactions,
        first_request_time: flow.usage.first_request_ns,
        last_response_time: flow.usage.last_response_ns,
        request_persists: flow.usage.request_persists,
        response_persists: flow.usage.response_persists,
        close_time: flow.closing.first.map(|close| close.mark.time_ns),
        close_frame: flow.closing.first.map(|close| close.mark.frame),
        server_loss_time: flow.usage.server_loss_ns,
        largest_window_segments: of_server.map(|it| it.largest.segments),
    }
}

/// Return the side that ended the connection.
///
/// A FIN that answers the alert `close_notify` does not end it: the peer announced the end before (RFC 8446,
/// section 6.1).
fn closed_by(flow: &Flow) -> ClosedBy {
    let alerted_first = flow.carried.handshake().and_then(|it| it.alerted_first);
    match (flow.closing.by, alerted_first) {
        (ClosedBy::Client | ClosedBy::Server, Some(Direction::ClientToServer)) => ClosedBy::Client,
        (ClosedBy::Client | ClosedBy::Server, Some(Direction::ServerToClient)) => ClosedBy::Server,
        (by, _) => by,
    }
}
