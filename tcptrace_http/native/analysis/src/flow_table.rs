//! Finds the flow of a segment, and numbers flows as tshark numbers tcp.stream.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use trace_model::{IpAddress, Packet, Segment};

use crate::flow::{Endpoint, Flow};
use crate::flow_row::flow_row;
use crate::tables::Tables;

/// A flow that both ends have closed is forgotten after this time: 2 MSL, when its ports may be
/// used again (RFC 9293, section 3.4.2).
const TIME_WAIT_NS: i64 = 240_000_000_000;
/// Packets between two looks for flows to forget.
const SWEEP_PACKETS: u32 = 1 << 18;

/// The two endpoints, the lower one first, so that both directions have one key. Lower in what
/// order does not matter, so the bytes are taken as the machine reads them.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    low: u128,
    high: u128,
    ports: u32,
    is_v6: bool,
}

impl Key {
    /// The key, and whether the source is the lower endpoint.
    #[inline]
    fn new(source: Endpoint, destination: Endpoint) -> (Self, bool) {
        let number = |address: IpAddress| u128::from_ne_bytes(address.octets);
        let a = (number(source.address), source.port);
        let b = (number(destination.address), destination.port);
        let source_is_low = a <= b;
        let (low, high) = if source_is_low { (a, b) } else { (b, a) };
        let key = Key {
            low: low.0,
            high: high.0,
            ports: (u32::from(low.1) << 16) | u32::from(high.1),
            is_v6: source.address.is_v6,
        };
        (key, source_is_low)
    }
}

#[derive(Default)]
pub struct FlowTable {
    places: HashMap<Key, usize, FixedState>,
    /// Open flows at their places; a place is used again when its flow is forgotten.
    flows: Vec<Option<Box<Flow>>>,
    free_places: Vec<usize>,
    /// Where the packet before went: packets come in trains.
    last: Option<(Key, usize)>,
    next_number: u32,
    packets_since_sweep: u32,
}

impl FlowTable {
    /// Takes a segment to its flow, which may be a new one.
    pub fn segment(&mut self, packet: &Packet<'_>, segment: &Segment<'_>, tables: &mut Tables) {
        let Some(network) = packet.network else {
            return;
        };
        let source = Endpoint {
            address: network.source,
            port: segment.source_port,
        };
        let destination = Endpoint {
            address: network.destination,
            port: segment.destination_port,
        };
        let (key, source_is_low) = Key::new(source, destination);
        let place = self.place_of(key);
        let Some(slot) = self.flows.get_mut(place) else {
            return;
        };
        let next_number = &mut self.next_number;
        let mut new_flow = || {
            let number = *next_number;
            *next_number = number.saturating_add(1);
            Box::new(Flow::new(
                number,
                packet,
                segment,
                [source, destination],
                source_is_low,
            ))
        };
        let flow = slot.get_or_insert_with(&mut new_flow);
        if flow.is_reused_by(flow.side_of(source_is_low), segment) {
            let mut over = std::mem::replace(flow, new_flow());
            flow.reuses_ports = true;
            finish(&mut over, tables);
        }
        flow.segment(flow.side_of(source_is_low), packet, segment, tables);
        self.packets_since_sweep = self.packets_since_sweep.saturating_add(1);
        if self.packets_since_sweep >= SWEEP_PACKETS {
            self.packets_since_sweep = 0;
            self.forget_closed(packet.time_ns, tables);
        }
    }

    /// The capture is over.
    pub fn finish(&mut self, tables: &mut Tables) {
        let mut flows: Vec<_> = self.flows.drain(..).flatten().collect();
        flows.sort_by_key(|flow| flow.number);
        for mut flow in flows {
            finish(&mut flow, tables);
        }
    }

    /// The place of the flow with that key, empty if there is no such flow yet.
    fn place_of(&mut self, key: Key) -> usize {
        if let Some((last, place)) = self.last {
            if last == key {
                return place;
            }
        }
        let (flows, free_places) = (&mut self.flows, &mut self.free_places);
        let place = *self.places.entry(key).or_insert_with(|| {
            free_places.pop().unwrap_or_else(|| {
                flows.push(None);
                flows.len().saturating_sub(1)
            })
        });
        self.last = Some((key, place));
        place
    }

    fn forget_closed(&mut self, now_ns: i64, tables: &mut Tables) {
        self.last = None;
        let (flows, free_places) = (&mut self.flows, &mut self.free_places);
        self.places.retain(|_, place| {
            let Some(slot) = flows.get_mut(*place) else {
                return false;
            };
            let is_forgotten = |flow: &mut Box<Flow>| {
                flow.is_over() && now_ns.saturating_sub(flow.end_ns) > TIME_WAIT_NS
            };
            match slot.take_if(is_forgotten) {
                None => true,
                Some(mut flow) => {
                    finish(&mut flow, tables);
                    free_places.push(*place);
                    false
                }
            }
        });
    }
}

fn finish(flow: &mut Flow, tables: &mut Tables) {
    flow.finish(tables);
    tables.flows.push(&flow_row(flow));
}
