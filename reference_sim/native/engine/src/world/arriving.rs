//! Handling of a packet at its destination.

use trace_model::flags;

use crate::app::End;
use crate::endpoint::Endpoint;
use crate::fabric::{of, peer, Arrived};
use crate::packet::Packet;
use crate::random::{element, Random};
use crate::segment::Segment;
use crate::tcp::Connection;
use crate::truth::{SendReason, Side};
use crate::world::World;

impl World {
    pub(super) fn arrive(&mut self, number: u32) {
        let Some(place) = self.fabric.place_of(number) else {
            return;
        };
        let Some(pair) = self.pairs.get_mut(place) else {
            return;
        };
        let connection = pair.flow.connection;
        match self.fabric.arrive(number, &mut pair.flow) {
            Some(Arrived::There(packet)) => self.receive(place, &packet),
            Some(Arrived::Dropped) => self.settle(connection),
            Some(Arrived::PassedOn) | None => {}
        }
    }

    /// Send the next packet of a managed queue. Packets that waited too long are dropped.
    pub(super) fn serve(&mut self, link: u32) {
        for packet in self.fabric.serve(link) {
            if let Some(pair) = self.pairs.get_mut(packet.place) {
                pair.flow.in_flight -= 1;
            }
            self.settle(packet.connection);
        }
    }

    fn receive(&mut self, place: u32, packet: &Packet) {
        let side = peer(packet.side);
        let segment = &packet.segment;
        let Some(pair) = self.pairs.get_mut(place) else {
            return;
        };
        if segment.has(flags::ACK) {
            pair.flow.on_ack(side, segment.ack);
        }
        if of(&pair.ends, side).is_none() {
            return self.knock(place, packet);
        }
        let at = End {
            connection: packet.connection,
            side,
        };
        self.take(at, segment);
        self.drive(at);
    }

    fn take(&mut self, at: End, segment: &Segment) {
        let now = self.fabric.now;
        let ack = segment.has(flags::ACK).then_some(segment.ack);
        self.act(at, ack, |tcp| tcp.receive(segment, now));
    }

    /// Handle a segment for a server without this connection.
    fn knock(&mut self, place: u32, packet: &Packet) {
        let Some(pair) = self.pairs.get_mut(place) else {
            return;
        };
        let [_, node] = pair.flow.nodes;
        let [_, port] = pair.flow.ports;
        let listener = self.listeners.get(&(node, port)).copied();
        let stack = listener.and_then(|it| self.stacks.get(it.stack as usize));
        let at = End {
            connection: packet.connection,
            side: Side::Server,
        };
        let (Some(listener), Some(stack)) = (listener, stack) else {
            if !packet.segment.has(flags::RST) {
                let refusal = refusal(&packet.segment);
                self.fabric
                    .send(place, &mut pair.flow, at.side, refusal, SendReason::Reset);
            }
            return self.settle(at.connection);
        };
        let random = Random::new(self.seed, element::end(at.connection, at.side));
        let tcp = Connection::accept(stack).drawing_from(random);
        let [_, server] = &mut pair.ends;
        let [_, buffer] = &mut pair.flow.buffers;
        *buffer = stack.send_buffer;
        *server = Some(Endpoint::new(tcp, listener.app, stack));
        self.share(at, Some(&packet.segment));
        self.take(at, &packet.segment);
        self.drive(at);
    }
}

/// Return the answer of a host without a listener (RFC 9293, section 3.10.7.1).
fn refusal(segment: &Segment) -> Segment {
    Segment {
        ack: segment.end(),
        flags: flags::RST | flags::ACK,
        ..Segment::default()
    }
}
