//! Finds the flow of a segment, and numbers flows as tshark numbers tcp.stream.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use trace_model::{flags, IpAddress, Packet, Segment};

use crate::flow::{Endpoint, Flow, Side};
use crate::flow_row::flow_row;
use crate::tables::Tables;

/// A flow that both ends have closed is forgotten after this time: 2 MSL, when its ports may be
/// used again (RFC 9293, section 3.4.2).
const TIME_WAIT_NS: i64 = 240_000_000_000;
/// Packets between two looks for flows to forget.
const SWEEP_PACKETS: u32 = 1 << 18;

/// The two endpoints, the lower one first, so that both directions have one key.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    low: u128,
    high: u128,
    ports: u32,
    is_v6: bool,
}

impl Key {
    fn new(source: Endpoint, destination: Endpoint) -> Self {
        let number = |address: IpAddress| u128::from_be_bytes(address.octets);
        let a = (number(source.address), source.port);
        let b = (number(destination.address), destination.port);
        let (low, high) = if a <= b { (a, b) } else { (b, a) };
        Key {
            low: low.0,
            high: high.0,
            ports: (u32::from(low.1) << 16) | u32::from(high.1),
            is_v6: source.address.is_v6,
        }
    }
}

#[derive(Default)]
pub struct FlowTable {
    flows: HashMap<Key, Box<Flow>, FixedState>,
    next_number: u32,
    packets_since_sweep: u32,
}

impl FlowTable {
    /// Takes a segment to its flow, which may be a new one.
    pub fn segment(&mut self, packet: &Packet<'_>, segment: &Segment<'_>, tables: &mut Tables) {
        let Some(network) = packet.network else { return };
        let source = Endpoint { address: network.source, port: segment.source_port };
        let destination = Endpoint { address: network.destination, port: segment.destination_port };
        let key = Key::new(source, destination);
        let next_number = self.next_number;
        let new_flow = || Box::new(Flow::new(next_number, packet, segment, [source, destination]));
        let mut is_new = false;
        let flow = self.flows.entry(key).or_insert_with(|| {
            is_new = true;
            new_flow()
        });
        let side_of = |flow: &Flow| if flow.endpoints[0] == source { Side::First } else { Side::Second };
        if !is_new && segment.has(flags::SYN) && flow.is_reused_by(side_of(flow), segment) {
            let mut over = std::mem::replace(flow, new_flow());
            finish(&mut over, tables);
            is_new = true;
        }
        let side = side_of(flow);
        flow.segment(side, packet, segment, tables);
        if is_new {
            self.next_number = next_number.saturating_add(1);
        }
        self.packets_since_sweep = self.packets_since_sweep.saturating_add(1);
        if self.packets_since_sweep >= SWEEP_PACKETS {
            self.packets_since_sweep = 0;
            self.forget_closed(packet.time_ns, tables);
        }
    }

    /// The capture is over.
    pub fn finish(&mut self, tables: &mut Tables) {
        let mut flows: Vec<_> = self.flows.drain().map(|(_, flow)| flow).collect();
        flows.sort_by_key(|flow| flow.number);
        for mut flow in flows {
            finish(&mut flow, tables);
        }
    }

    fn forget_closed(&mut self, now_ns: i64, tables: &mut Tables) {
        let is_forgotten = |flow: &Flow| {
            flow.is_over() && now_ns.saturating_sub(flow.end_ns) > TIME_WAIT_NS
        };
        for (_, mut flow) in self.flows.extract_if(|_, flow| is_forgotten(flow)) {
            finish(&mut flow, tables);
        }
    }
}

fn finish(flow: &mut Flow, tables: &mut Tables) {
    flow.finish(tables);
    tables.flows.push(&flow_row(flow));
}
