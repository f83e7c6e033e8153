//! One direction of a link: a drop-tail queue, then a transmitter with a rate, then a wire with a delay.
//!
//! Theory of operation. Packets leave in order of arrival. The departure time of a packet is known at its
//! arrival: the transmitter's end of all earlier packets. Only the arrival at the other end is an event. The
//! queue's length follows from the service start times of the earlier packets. A packet taken into service at
//! the moment of another arrival no longer waits.

use std::collections::VecDeque;

use crate::codel::{Codel, Waiting};
use crate::loss::{Lossy, Passing};
use crate::random::Random;
use crate::scenario::{Link as Description, Queue};
use crate::segment::{flags, Segment};
use crate::stack::Nanoseconds;
use crate::truth::{Drop, HopRow, LinkTotals, QueueRow};

const NANOSECONDS: u64 = 1_000_000_000;

#[derive(Debug)]
pub struct Link {
    rate_bps: Option<u64>,
    delay: Nanoseconds,
    queue: Queue,
    losses: Vec<Lossy>,
    opens_at_once: bool,
    /// Time at which the transmitter finishes all its packets.
    free_at: Nanoseconds,
    /// Packets after the one in service: their service start times and lengths.
    waiting: VecDeque<(Nanoseconds, u32)>,
    waiting_bytes: u64,
    codel: Option<Codel>,
    totals: LinkTotals,
}

/// The outcome of a packet on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Departure time of the first bit. None if the queue was full.
    pub dequeued: Option<Nanoseconds>,
    /// Arrival time of the last bit, or the reason for the drop.
    pub arrival: Result<Nanoseconds, Drop>,
}

impl Link {
    /// Create a link. `random` returns the random number stream of each loss cause.
    #[must_use]
    pub fn new(description: &Description, random: impl Fn(u32) -> Random) -> Self {
        let losses = description.loss.iter().zip(0..);
        Link {
            rate_bps: description.rate_bps,
            delay: description.delay_ns,
            queue: description.queue,
            losses: losses
                .map(|(loss, number)| Lossy::new(loss.clone(), random(number)))
                .collect(),
            opens_at_once: description.opens_at_once,
            free_at: 0,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            codel: match description.queue {
                Queue::Codel(limits) => Some(Codel::new(limits)),
                _ => None,
            },
            totals: LinkTotals::default(),
        }
    }

    /// Accept or drop a packet. Changes of the queue's length up to now go to `changed`.
    pub fn pass(
        &mut self,
        now: Nanoseconds,
        packet: Passing<'_>,
        mut changed: impl FnMut(Nanoseconds, u32, u64),
    ) -> Passage {
        self.take_into_service(now, &mut changed);
        self.totals.packets += 1;
        self.totals.bytes += u64::from(packet.bytes);
        if self.opens_at_once && is_opening(packet.segment) {
            return Passage {
                dequeued: Some(now),
                arrival: Ok(now),
            };
        }
        let waits = self.free_at > now;
        if waits && !self.has_room(packet.bytes) {
            self.totals.drops += 1;
            return Passage {
                dequeued: None,
                arrival: Err(Drop::QueueFull),
            };
        }
        let start = self.free_at.max(now);
        if waits {
            self.waiting.push_back((start, packet.bytes));
            self.waiting_bytes += u64::from(packet.bytes);
            changed(now, self.waiting.len() as u32, self.waiting_bytes);
        }
        let service = self.service_time(packet.bytes);
        // At one bit per second, the queue can take centuries to drain.
        self.free_at = start.saturating_add(service);
        self.totals.busy = self.totals.busy.saturating_add(service);
        Passage {
            dequeued: Some(start),
            arrival: self.on_the_wire(packet),
        }
    }

    /// Remove the packets from the queue that are in service or on the wire by now.
    pub fn take_into_service(
        &mut self,
        now: Nanoseconds,
        mut changed: impl FnMut(Nanoseconds, u32, u64),
    ) {
        while let Some((start, bytes)) = self.waiting.front().copied() {
            if start > now {
                break;
            }
            self.waiting.pop_front();
            self.waiting_bytes -= u64::from(bytes);
            changed(start, self.waiting.len() as u32, self.waiting_bytes);
        }
    }

    fn has_room(&self, bytes: u32) -> bool {
        match self.queue {
            Queue::Unlimited | Queue::Codel(_) => true,
            Queue::Packets(limit) => self.waiting.len() < limit as usize,
            Queue::Bytes(limit) => self.waiting_bytes + u64::from(bytes) <= limit,
        }
    }

    /// Return true if the queue decides about a packet only at its removal.
    #[must_use]
    pub fn is_managed(&self) -> bool {
        self.codel.is_some()
    }

    /// Accept a packet into a managed queue, or drop it. Return the time at which the transmitter must be
    /// served.
    pub fn offer(&mut self, waiting: Waiting) -> Result<Option<Nanoseconds>, Drop> {
        self.totals.packets += 1;
        self.totals.bytes += u64::from(waiting.bytes);
        let codel = self.codel.as_mut().ok_or(Drop::QueueFull)?;
        if !codel.offer(waiting) {
            self.totals.drops += 1;
            return Err(Drop::QueueFull);
        }
        let is_alone = codel.length().0 == 1;
        Ok(is_alone.then_some(self.free_at.max(waiting.enqueued)))
    }

    /// Return the packets and bytes in a managed queue.
    #[must_use]
    pub fn length(&self) -> (u32, u64) {
        self.codel.as_ref().map_or((0, 0), Codel::length)
    }

    /// Return the next packet of a managed queue, with a flag for a mark.
    pub fn take(
        &mut self,
        now: Nanoseconds,
        dropped: &mut Vec<Waiting>,
    ) -> Option<(Waiting, bool)> {
        let taken = self.codel.as_mut()?.take(now, dropped);
        self.totals.drops += dropped.len() as u64;
        taken
    }

    /// Put a packet of a managed queue on the wire. Return the time at which the transmitter is free, and the
    /// arrival time.
    pub fn put(
        &mut self,
        now: Nanoseconds,
        packet: Passing<'_>,
    ) -> (Nanoseconds, Result<Nanoseconds, Drop>) {
        let service = self.service_time(packet.bytes);
        self.free_at = now.saturating_add(service);
        self.totals.busy = self.totals.busy.saturating_add(service);
        (self.free_at, self.on_the_wire(packet))
    }

    fn on_the_wire(&mut self, packet: Passing<'_>) -> Result<Nanoseconds, Drop> {
        // All loss causes see the packet, so that each cause is independent of the others.
        let mut lost = None;
        for cause in &mut self.losses {
            lost = cause.loses(packet).or(lost);
        }
        self.totals.drops += u64::from(lost.is_some());
        lost.map_or(Ok(self.free_at.saturating_add(self.delay)), Err)
    }

    /// Return the service time, rounded to the nearest nanosecond. A packet has at most 2^16 bytes and a
    /// valid rate is below 10^15, so the product fits.
    fn service_time(&self, bytes: u32) -> Nanoseconds {
        let Some(rate) = self.rate_bps else {
            return 0;
        };
        let bits = 8 * u64::from(bytes);
        (bits * NANOSECONDS + rate / 2) / rate
    }

    /// Forget a finished connection.
    pub fn forget(&mut self, connection: u32) {
        for loss in &mut self.losses {
            loss.forget(connection);
        }
    }

    /// Return the totals up to `now`, without unfinished service.
    #[must_use]
    pub fn totals(&self, now: Nanoseconds) -> LinkTotals {
        LinkTotals {
            busy: self
                .totals
                .busy
                .saturating_sub(self.free_at.saturating_sub(now)),
            ..self.totals
        }
    }
}

/// Return true for a client's SYN, the first segment of a connection.
fn is_opening(segment: &Segment) -> bool {
    segment.has(flags::SYN) && !segment.has(flags::ACK)
}

/// Return the row of a packet's passage.
#[must_use]
pub fn hop_row(packet: u64, link: u32, now: Nanoseconds, passage: &Passage) -> HopRow {
    HopRow {
        packet,
        link,
        enqueued: now,
        dequeued: passage.dequeued,
        drop: passage.arrival.err(),
    }
}

#[must_use]
pub fn queue_row(time: Nanoseconds, link: u32, packets: u32, bytes: u64) -> QueueRow {
    QueueRow {
        time,
        link,
        packets,
        bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Loss;
    use crate::truth::Side;

    const MILLISECOND: Nanoseconds = 1_000_000;

    /// Return a link of 1 Mb/s and 20 ms delay. 1250 bytes take 10 ms.
    fn link(queue: Queue) -> Link {
        let description = Description {
            name: String::new(),
            from: 0,
            to: 1,
            rate_bps: Some(1_000_000),
            delay_ns: 20 * MILLISECOND,
            queue,
            loss: Vec::new(),
            opens_at_once: false,
        };
        Link::new(&description, |number| Random::new(1, u64::from(number)))
    }

    fn offer(link: &mut Link, now: Nanoseconds, bytes: u32) -> Passage {
        let packet = Passing {
            connection: 0,
            side: Side::Client,
            segment: &Segment::default(),
            bytes,
        };
        link.pass(now, packet, |_, _, _| {})
    }

    #[test]
    fn a_packet_arrives_after_its_service_and_the_delay() {
        let mut link = link(Queue::Unlimited);
        let arrivals = [0, 0, 5, 40].map(|at| offer(&mut link, at * MILLISECOND, 1250).arrival);
        assert_eq!(arrivals, [30, 40, 50, 70].map(|at| Ok(at * MILLISECOND)));
    }

    #[test]
    fn an_opening_packet_arrives_at_once_and_uses_no_queue() {
        let mut link = link(Queue::Packets(1));
        link.opens_at_once = true;
        let mut opening = |flags, now| {
            let segment = Segment {
                flags,
                ..Segment::default()
            };
            let packet = Passing {
                connection: 0,
                side: Side::Client,
                segment: &segment,
                bytes: 1250,
            };
            link.pass(now, packet, |_, _, _| {}).arrival
        };
        assert_eq!(opening(flags::ACK, 0), Ok(30 * MILLISECOND));
        assert_eq!(opening(flags::ACK, 1), Ok(40 * MILLISECOND));
        assert_eq!(opening(flags::SYN, 2), Ok(2));
        assert_eq!(opening(flags::SYN | flags::ACK, 3), Err(Drop::QueueFull));
    }

    #[test]
    fn a_link_without_a_rate_only_delays() {
        let mut link = link(Queue::Packets(0));
        link.rate_bps = None;
        for _ in 0..3 {
            assert_eq!(offer(&mut link, 7, 1250).arrival, Ok(7 + 20 * MILLISECOND));
        }
    }

    #[test]
    fn the_limit_counts_packets_besides_the_one_in_service() {
        let mut link = link(Queue::Packets(2));
        let taken = [0; 5].map(|at| offer(&mut link, at, 1250).dequeued.is_some());
        assert_eq!(taken, [true, true, true, false, false]);
        // At 10 ms the second packet is taken into service, so one more can wait.
        let taken = [10 * MILLISECOND; 2].map(|at| offer(&mut link, at, 1250).dequeued.is_some());
        assert_eq!(taken, [true, false]);
        assert_eq!(link.totals(0).drops, 3);
    }

    #[test]
    fn a_byte_limit_admits_short_packets_and_drops_long_ones() {
        let mut link = link(Queue::Bytes(1500));
        let drops = [1250, 1250, 251, 250].map(|bytes| offer(&mut link, 0, bytes).arrival.err());
        assert_eq!(drops, [None, None, Some(Drop::QueueFull), None]);
    }

    #[test]
    fn each_change_of_the_queue_length_is_recorded() {
        let mut link = link(Queue::Unlimited);
        let mut rows = Vec::new();
        let packet = Passing {
            connection: 0,
            side: Side::Client,
            segment: &Segment::default(),
            bytes: 1250,
        };
        for at in [0, 0, 0, 25 * MILLISECOND] {
            link.pass(at, packet, |time, packets, _| {
                rows.push((time / MILLISECOND, packets))
            });
        }
        assert_eq!(rows, [(0, 1), (0, 2), (10, 1), (20, 0), (25, 1)]);
    }

    #[test]
    fn the_transmitters_busy_time_covers_sent_packets() {
        let mut link = link(Queue::Unlimited);
        offer(&mut link, 0, 1250);
        offer(&mut link, 0, 1250);
        assert_eq!(link.totals(15 * MILLISECOND).busy, 15 * MILLISECOND);
        assert_eq!(link.totals(90 * MILLISECOND).busy, 20 * MILLISECOND);
    }

    #[test]
    fn a_packet_lost_on_the_wire_was_serialized_before() {
        let mut link = link(Queue::Unlimited);
        let numbered = Loss::Numbered { packets: vec![0] };
        link.losses = vec![Lossy::new(numbered, Random::new(1, 1))];
        let first = offer(&mut link, 0, 1250);
        assert_eq!(
            (first.dequeued, first.arrival),
            (Some(0), Err(Drop::Scripted))
        );
        assert_eq!(offer(&mut link, 0, 1250).arrival, Ok(40 * MILLISECOND));
    }
}
