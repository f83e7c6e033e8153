//! The network between the hosts: links, routes, packets in flight, and taps.

use trace_model::flags;

use crate::codel::Waiting;
use crate::event_queue::{Event, EventQueue};
use crate::link::{self, Link};
use crate::loss::Passing;
use crate::packet::Packet;
use crate::random::{element, Random};
use crate::route::Routes;
use crate::scenario::{self, Record, Scenario};
use crate::segment::{Ecn, Segment};
use crate::slab::Slab;
use crate::stack::Nanoseconds;
use crate::stream::Stream;
use crate::tap::Tap;
use crate::truth::{Drop, HopRow, PacketRow, SendReason, Side, Truth};
use crate::wire::{self, Header};

/// Initial time to live that RFC 1700 recommends.
const TIME_TO_LIVE: u8 = 64;

/// The common headers of a connection's packets, and the content of its streams.
#[derive(Debug)]
pub struct Flow {
    pub connection: u32,
    /// Nodes, by [`Side`].
    pub nodes: [u32; 2],
    /// Ports, by [`Side`].
    pub ports: [u16; 2],
    /// Sequence numbers of the SYNs, by [`Side`].
    pub initial: [u32; 2],
    /// Window scale shifts that the SYNs offer.
    pub scales: [Option<u8>; 2],
    /// First offset that was not sent yet.
    pub sent_end: [u64; 2],
    /// Maximum data in flight per side: the size of its send buffer.
    pub buffers: [u64; 2],
    /// Kept only if a tap records frames.
    pub streams: [Stream; 2],
    /// Number of packets in flight.
    pub in_flight: u32,
}

impl Flow {
    /// Record that data from `side` is acknowledged up to `ack`. A copy of acknowledged data can still be in
    /// flight. Packets do not overtake each other, so the copy belongs to the last acknowledged flight.
    pub fn on_ack(&mut self, side: Side, ack: u64) {
        let stream = of_mut(&mut self.streams, side);
        if !stream.is_empty() {
            stream.trim(ack.saturating_sub(*of(&self.buffers, side)));
        }
    }
}

#[must_use]
pub fn peer(side: Side) -> Side {
    match side {
        Side::Client => Side::Server,
        Side::Server => Side::Client,
    }
}

/// Return one of two values, by side.
pub fn of<T>(both: &[T; 2], side: Side) -> &T {
    let [client, server] = both;
    match side {
        Side::Client => client,
        Side::Server => server,
    }
}

pub fn of_mut<T>(both: &mut [T; 2], side: Side) -> &mut T {
    let [client, server] = both;
    match side {
        Side::Client => client,
        Side::Server => server,
    }
}

/// The ends of a link, and its tap.
#[derive(Debug)]
struct Place {
    from: u32,
    to: u32,
    tap: Option<u32>,
}

#[derive(Debug)]
struct Node {
    address: [u8; 4],
    tap: Option<u32>,
    /// Identification of the next IP packet (one counter per host, as in 4.4BSD).
    identification: u16,
}

#[derive(Debug)]
pub struct Fabric {
    pub now: Nanoseconds,
    pub events: EventQueue,
    pub truth: Truth,
    pub record: Record,
    pub taps: Vec<Tap>,
    epoch_ns: i64,
    framing_bytes: u32,
    nodes: Vec<Node>,
    links: Vec<Link>,
    places: Vec<Place>,
    routes: Routes,
    packets: Slab<Packet>,
    packets_sent: u64,
}

/// The outcome of a packet's arrival at the end of a link.
#[derive(Debug)]
pub enum Arrived {
    /// The packet is at its destination.
    There(Packet),
    /// The packet is forwarded.
    PassedOn,
    /// The next link dropped the packet.
    Dropped,
}

impl Fabric {
    #[must_use]
    pub fn new(scenario: &Scenario, routes: Routes, random: impl Fn(u64) -> Random) -> Self {
        let tap_of = |wanted: &scenario::Tap| {
            let found = scenario.taps.iter().position(|tap| tap == wanted);
            found.map(|number| number as u32)
        };
        let node = |(node, number): (&scenario::Node, u32)| Node {
            address: node.address,
            tap: tap_of(&scenario::Tap::Node(number)),
            identification: random(element::node(number)).word() as u16,
        };
        let place = |(link, number): (&scenario::Link, u32)| Place {
            from: link.from,
            to: link.to,
            tap: tap_of(&scenario::Tap::Link(number)),
        };
        let link = |(link, number): (&scenario::Link, u32)| {
            Link::new(link, |loss| random(element::loss(number, loss)))
        };
        Fabric {
            now: 0,
            events: EventQueue::default(),
            truth: Truth::new(scenario.record),
            record: scenario.record,
            taps: scenario
                .taps
                .iter()
                .map(|tap| Tap::new(name(scenario, tap)))
                .collect(),
            epoch_ns: scenario.epoch_ns,
            framing_bytes: scenario.framing_bytes,
            nodes: scenario.nodes.iter().zip(0..).map(node).collect(),
            links: scenario.links.iter().zip(0..).map(link).collect(),
            places: scenario.links.iter().zip(0..).map(place).collect(),
            routes,
            packets: Slab::default(),
            packets_sent: 0,
        }
    }

    /// Send a segment.
    pub fn send(
        &mut self,
        place: u32,
        flow: &mut Flow,
        side: Side,
        segment: Segment,
        reason: SendReason,
    ) {
        let source = *of(&flow.nodes, side);
        let destination = *of(&flow.nodes, peer(side));
        let Some(link) = self.routes.next(source, destination) else {
            // Validation guarantees a path between applications that communicate.
            debug_assert!(false, "no path");
            return;
        };
        if segment.has(flags::SYN) {
            *of_mut(&mut flow.scales, side) = segment.options.window_scale;
        }
        let is_retransmission =
            segment.end() > segment.seq && segment.seq < *of(&flow.sent_end, side);
        let sent_end = of_mut(&mut flow.sent_end, side);
        *sent_end = segment.end().max(*sent_end);
        let mut packet = Packet {
            segment,
            connection: flow.connection,
            place,
            side,
            destination,
            next_node: source,
            link,
            number: self.packets_sent,
            row: None,
            identification: self.next_identification(source),
            hops: 0,
        };
        self.packets_sent += 1;
        if self.record.packets {
            packet.row = Some(self.truth.packets.len() as u32);
            let row = packet_row(&packet, reason, is_retransmission, self.now);
            self.truth.packets.push(row);
        }
        let tap = self.nodes.get(source as usize).and_then(|node| node.tap);
        self.see(tap, flow, &packet, link);
        if self.is_managed(link) {
            let number = self.packets.insert(packet);
            if self.enqueue(link, number, flow) {
                flow.in_flight += 1;
            } else {
                self.packets.remove(number);
            }
        } else if let Some(arrival) = self.pass(link, &mut packet, flow) {
            flow.in_flight += 1;
            let packet = self.packets.insert(packet);
            self.events.push(arrival, Event::Arrival { packet });
        }
    }

    /// Return the place of the connection that a packet in flight belongs to.
    #[must_use]
    pub fn place_of(&self, packet: u32) -> Option<u32> {
        self.packets.get(packet).map(|packet| packet.place)
    }

    /// Handle a packet that leaves a link.
    pub fn arrive(&mut self, number: u32, flow: &mut Flow) -> Option<Arrived> {
        let mut packet = *self.packets.get(number)?;
        let tap = self
            .nodes
            .get(packet.next_node as usize)
            .and_then(|node| node.tap);
        self.see(tap, flow, &packet, packet.link);
        if packet.next_node == packet.destination {
            self.packets.remove(number);
            flow.in_flight -= 1;
            self.note_received(&packet);
            return Some(Arrived::There(packet));
        }
        let link = self.routes.next(packet.next_node, packet.destination)?;
        packet.hops += 1;
        if self.is_managed(link) {
            *self.packets.get_mut(number)? = packet;
            if self.enqueue(link, number, flow) {
                return Some(Arrived::PassedOn);
            }
            self.packets.remove(number);
            flow.in_flight -= 1;
            return Some(Arrived::Dropped);
        }
        let Some(arrival) = self.pass(link, &mut packet, flow) else {
            self.packets.remove(number);
            flow.in_flight -= 1;
            return Some(Arrived::Dropped);
        };
        *self.packets.get_mut(number)? = packet;
        self.events.push(arrival, Event::Arrival { packet: number });
        Some(Arrived::PassedOn)
    }

    /// Pass a packet to a link. Return its arrival time at the other end, or None if it is dropped.
    fn pass(&mut self, number: u32, packet: &mut Packet, flow: &Flow) -> Option<Nanoseconds> {
        let passing = Passing {
            connection: packet.connection,
            side: packet.side,
            segment: &packet.segment,
            bytes: packet.segment.packet_bytes() + self.framing_bytes,
        };
        let link = self.links.get_mut(number as usize)?;
        let queues = &mut self.truth.queues;
        let is_recorded = self.record.queues;
        let passage = link.pass(self.now, passing, |time, packets, bytes| {
            if is_recorded {
                queues.push(link::queue_row(time, number, packets, bytes));
            }
        });
        if self.record.packets {
            let row = link::hop_row(packet.number, number, self.now, &passage);
            self.truth.hops.push(row);
        }
        let place = self.places.get(number as usize)?;
        packet.next_node = place.to;
        packet.link = number;
        if passage.dequeued.is_some() {
            self.see(place.tap, flow, packet, number);
        }
        passage.arrival.ok()
    }

    fn is_managed(&self, link: u32) -> bool {
        let link = self.links.get(link as usize);
        link.is_some_and(Link::is_managed)
    }

    /// Pass a packet to a link with a managed queue. Return true if there was room.
    fn enqueue(&mut self, number: u32, packet_number: u32, flow: &Flow) -> bool {
        let (Some(packet), Some(link), Some(place)) = (
            self.packets.get_mut(packet_number),
            self.links.get_mut(number as usize),
            self.places.get(number as usize),
        ) else {
            return false;
        };
        packet.next_node = place.to;
        packet.link = number;
        let (packet, tap) = (*packet, place.tap);
        let hops = &mut self.truth.hops;
        let offered = link.offer(Waiting {
            packet: packet_number,
            bytes: packet.segment.packet_bytes() + self.framing_bytes,
            enqueued: self.now,
            hop: self.record.packets.then_some(hops.len()),
            is_capable: packet.segment.ecn != Ecn::NotCapable,
        });
        if self.record.packets {
            hops.push(HopRow {
                packet: packet.number,
                link: number,
                enqueued: self.now,
                dequeued: None,
                drop: offered.err(),
            });
        }
        self.note_queue(number);
        if let Ok(Some(service)) = offered {
            self.events.push(service, Event::Service { link: number });
        }
        if offered.is_ok() {
            self.see(tap, flow, &packet, number);
        }
        offered.is_ok()
    }

    /// Serve a managed queue whose transmitter is free. Return the dropped packets.
    pub fn serve(&mut self, number: u32) -> Vec<Packet> {
        let mut late = Vec::new();
        let mut gone = Vec::new();
        let Some(link) = self.links.get_mut(number as usize) else {
            return gone;
        };
        let taken = link.take(self.now, &mut late);
        for waiting in late {
            self.note_hop(waiting, None, Some(Drop::Codel));
            gone.extend(self.packets.remove(waiting.packet));
        }
        if let Some((waiting, is_marked)) = taken {
            gone.extend(self.transmit(number, waiting, is_marked));
        }
        self.note_queue(number);
        gone
    }

    /// Put a waiting packet on the wire. Return the packet if it is lost there.
    fn transmit(&mut self, number: u32, waiting: Waiting, is_marked: bool) -> Option<Packet> {
        let packet = self.packets.get_mut(waiting.packet)?;
        if is_marked {
            packet.segment.ecn = Ecn::Congested;
        }
        let link = self.links.get_mut(number as usize)?;
        let passing = Passing {
            connection: packet.connection,
            side: packet.side,
            segment: &packet.segment,
            bytes: waiting.bytes,
        };
        let (free, arrival) = link.put(self.now, passing);
        if link.length().0 > 0 {
            self.events.push(free, Event::Service { link: number });
        }
        self.note_hop(waiting, Some(self.now), arrival.err());
        let packet = waiting.packet;
        match arrival {
            Ok(time) => {
                self.events.push(time, Event::Arrival { packet });
                None
            }
            Err(_) => self.packets.remove(packet),
        }
    }

    fn note_hop(&mut self, waiting: Waiting, dequeued: Option<Nanoseconds>, drop: Option<Drop>) {
        let row = waiting.hop.and_then(|hop| self.truth.hops.get_mut(hop));
        if let Some(row) = row {
            row.dequeued = dequeued;
            row.drop = drop;
        }
    }

    fn note_queue(&mut self, number: u32) {
        let length = self.links.get(number as usize).map(Link::length);
        if let Some((packets, bytes)) = length.filter(|_| self.record.queues) {
            let row = link::queue_row(self.now, number, packets, bytes);
            self.truth.queues.push(row);
        }
    }

    fn note_received(&mut self, packet: &Packet) {
        let rows = &mut self.truth.packets;
        let row = packet.row.and_then(|row| rows.get_mut(row as usize));
        if let Some(row) = row {
            row.received = Some(self.now);
        }
    }

    fn next_identification(&mut self, node: u32) -> u16 {
        let Some(node) = self.nodes.get_mut(node as usize) else {
            return 0;
        };
        node.identification = node.identification.wrapping_add(1);
        node.identification
    }

    /// Show a packet on a link to a tap, if there is one.
    #[inline]
    fn see(&mut self, tap: Option<u32>, flow: &Flow, packet: &Packet, link: u32) {
        if let Some(tap) = tap {
            self.record_frame(tap, flow, packet, link);
        }
    }

    fn record_frame(&mut self, tap: u32, flow: &Flow, packet: &Packet, link: u32) {
        let segment = &packet.segment;
        let (here, there) = (packet.side, peer(packet.side));
        let address = |side| {
            let node = self.nodes.get(*of(&flow.nodes, side) as usize);
            node.map_or([0; 4], |node| node.address)
        };
        let stations = self.places.get(link as usize);
        let (initial, ack_initial) = (*of(&flow.initial, here), *of(&flow.initial, there));
        // Windows are scaled only if both SYNs offer scaling (RFC 7323, section 2.2).
        let shift = match flow.scales {
            [Some(_), Some(_)] => of(&flow.scales, here).unwrap_or(0),
            _ => 0,
        };
        let has_ack = segment.has(flags::ACK);
        let header = Header {
            stations: stations.map_or((0, 0), |place| (place.from, place.to)),
            addresses: (address(here), address(there)),
            ports: (*of(&flow.ports, here), *of(&flow.ports, there)),
            identification: packet.identification,
            ttl: TIME_TO_LIVE.saturating_sub(packet.hops),
            seq: wire::number(initial, segment.seq),
            ack: if has_ack {
                wire::number(ack_initial, segment.ack)
            } else {
                0
            },
            flags: segment.flags,
            window: wire::window_field(segment, shift),
            ecn: segment.ecn.bits(),
            payload_bytes: segment.payload,
        };
        let time_ns = self.epoch_ns.saturating_add_unsigned(self.now);
        // The payload of a SYN follows the SYN in the stream.
        let first = segment.seq + u64::from(segment.has(flags::SYN));
        let payload = (of(&flow.streams, here), first);
        if let Some(tap) = self.taps.get_mut(tap as usize) {
            tap.see(time_ns, header, &segment.options, ack_initial, payload);
        }
    }

    /// Forget a finished connection.
    pub fn forget(&mut self, connection: u32) {
        for link in &mut self.links {
            link.forget(connection);
        }
    }

    /// Return the number of packets in flight.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.packets.len()
    }

    /// Return the maximum number of packets in flight so far.
    #[must_use]
    pub fn most_in_flight(&self) -> usize {
        self.packets.places()
    }

    /// Collect the final records of the links.
    pub fn finish(&mut self) {
        let queues = &mut self.truth.queues;
        for (link, number) in self.links.iter_mut().zip(0..) {
            link.take_into_service(self.now, |time, packets, bytes| {
                if self.record.queues {
                    queues.push(link::queue_row(time, number, packets, bytes));
                }
            });
            self.truth.links.push(link.totals(self.now));
        }
        // A link records changes of its queue only when the next packet arrives, so the rows are sorted by
        // time.
        queues.sort_by_key(|row| row.time);
    }
}

fn packet_row(
    packet: &Packet,
    reason: SendReason,
    is_retransmission: bool,
    now: Nanoseconds,
) -> PacketRow {
    let segment = &packet.segment;
    PacketRow {
        packet: packet.number,
        connection: packet.connection,
        side: packet.side,
        seq: segment.seq,
        ack: segment.ack,
        payload: segment.payload,
        flags: segment.flags,
        bytes: segment.packet_bytes(),
        window: segment.window,
        reason,
        is_retransmission,
        sent: now,
        received: None,
    }
}

fn name(scenario: &Scenario, tap: &scenario::Tap) -> String {
    let name = match *tap {
        scenario::Tap::Node(node) => scenario.nodes.get(node as usize).map(|node| &node.name),
        scenario::Tap::Link(link) => scenario.links.get(link as usize).map(|link| &link.name),
    };
    name.cloned().unwrap_or_default()
}
