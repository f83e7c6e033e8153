//! The packets table: the facts of each record, built on request.

use crate::blocks::Blocks;
use crate::rows::{PacketRow, PacketsTable};
use crate::{IpAddress, Packet};

/// Add the row of a packet. A column that needs its own memory is filled only if it is wanted.
pub fn push(table: &mut Blocks<PacketsTable>, packet: &Packet<'_>) {
    let wanted = table.wanted();
    let network = packet.network.as_ref();
    let segment = packet.segment.as_ref();
    let address = |of: Option<IpAddress>| of.map(|address| address.text());
    let sack = segment
        .filter(|_| wanted.sack_edges_raw)
        .map_or(&[][..], |it| it.options.sack.as_slice());
    let length = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX);
    table.push(&PacketRow {
        frame: packet.frame,
        time: packet.time_ns,
        interface: packet.interface,
        link_type: packet.link_type.0,
        wire_bytes: packet.wire_bytes,
        captured_bytes: packet.captured_bytes,
        source: address(network.filter(|_| wanted.source).map(|it| it.source)),
        destination: address(
            network
                .filter(|_| wanted.destination)
                .map(|it| it.destination),
        ),
        protocol: network.map(|it| it.protocol),
        ttl: network.map(|it| it.ttl),
        identification: network.map(|it| it.identification),
        is_fragment: network.is_some_and(|it| it.is_fragment),
        ecn: network.map(|it| it.ecn),
        network_offset: network.map(|it| it.header_offset),
        source_port: segment.map(|it| it.source_port),
        destination_port: segment.map(|it| it.destination_port),
        seq_raw: segment.map(|it| it.seq.0),
        ack_raw: segment.map(|it| it.ack.0),
        flags: segment.map(|it| it.flags),
        window_raw: segment.map(|it| it.window),
        checksum: segment.map(|it| it.checksum),
        urgent_pointer: segment.map(|it| it.urgent_pointer),
        header_bytes: segment.map(|it| it.header_bytes),
        mss_option: segment.and_then(|it| it.options.mss),
        window_scale_option: segment.and_then(|it| it.options.window_scale),
        sack_permitted: segment.is_some_and(|it| it.options.sack_permitted),
        sack_edges_raw: sack
            .iter()
            .flat_map(|(left, right)| [left.0, right.0])
            .collect(),
        timestamp_value: segment.and_then(|it| Some(it.options.timestamps?.value)),
        timestamp_echo: segment.and_then(|it| Some(it.options.timestamps?.echo_reply)),
        fast_open_cookie_bytes: segment.and_then(|it| it.options.fast_open_cookie_bytes),
        payload_offset: segment.map(|it| it.payload_offset),
        payload_bytes: segment.map(|it| it.payload_bytes),
        payload_captured_bytes: segment.map(|it| length(it.payload.len())),
    });
}
