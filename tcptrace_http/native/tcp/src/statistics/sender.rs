//! Statistics of one direction, kept per sender.

use trace_model::{flags, Packet, Segment};

use super::causes::{Causes, Retransmission};
use super::copies::Copies;
use super::counts::Counts;
use super::flight::Flight;
use super::ledger::{Ledger, Sample, Sending};
use super::moments::Moments;
use super::round_trips::RoundTrips;
use super::selective_acks::{duplicate, offsets, SelectiveAcks};
use super::windows::AnnouncedWindows;
use crate::classify::Class;

/// Segment with its position in its direction.
#[derive(Clone, Copy)]
pub struct SeenSegment<'a> {
    pub packet: &'a Packet<'a>,
    pub segment: &'a Segment<'a>,
    pub class: &'a Class,
    pub start: i64,
    pub window: u32,
    pub peer_window_is_zero: bool,
}

impl SeenSegment<'_> {
    fn has(&self, flag: u16) -> bool {
        self.segment.has(flag)
    }
}

#[derive(Debug, Default)]
pub struct Sender {
    pub counts: Counts,
    pub announced: AnnouncedWindows,
    pub selective_acks: SelectiveAcks,
    pub copies: Copies,
    pub flight: Flight,
    pub trips: RoundTrips,
    pub causes: Causes,
    pub retransmission_times: Moments,
    pub retransmitted_bytes: u64,
    pub triple_duplicate_acks: u64,
    pub initial_window_segments: u64,
    pub initial_window_bytes: u64,
    pub window_probes: u64,
    pub window_probe_bytes: u64,
    pub ledger: Ledger,
    /// Offset after the last payload byte.
    payload_end: i64,
    pub fin: Option<i64>,
    /// Offset up to which the peer has acknowledged, after its first ACK.
    acked: Option<i64>,
}

impl Sender {
    /// Take a segment that this direction sent.
    pub fn sent(&mut self, seen: &SeenSegment<'_>) {
        let time_ns = seen.packet.time_ns;
        if seen.has(flags::SYN) && self.counts.syns == 0 {
            self.begin();
        }
        self.counts.segment(seen.packet, seen.segment);
        self.selective_acks.count(seen.segment);
        let is_third = seen.class.duplicate_ack_count == 3;
        self.triple_duplicate_acks = self
            .triple_duplicate_acks
            .saturating_add(u64::from(is_third));
        let is_copy = self.copies.is_copy(seen.packet, seen.segment);
        if seen.has(flags::RST) {
            return;
        }
        if seen.has(flags::SYN) {
            let end = seen
                .start
                .saturating_add(i64::from(seen.segment.sequence_length()));
            self.trips.syn(self.counts.syns, end, time_ns);
        }
        if seen.has(flags::SYN) || seen.has(flags::ACK) {
            self.announced.add(seen.window, seen.has(flags::SYN));
        }
        if is_copy {
            return;
        }
        let sending = self.numbers(seen);
        if !seen.has(flags::SYN) {
            let is_sample = sending.again == 0 && !sending.is_behind;
            self.in_flight(time_ns, is_sample);
        }
    }

    /// Reset the state: segments before the first SYN belong to another connection.
    fn begin(&mut self) {
        self.ledger = Ledger::default();
        self.payload_end = 0;
        self.acked = None;
    }

    /// Take the numbers of a segment: payload, SYN and FIN.
    fn numbers(&mut self, seen: &SeenSegment<'_>) -> Sending {
        let length = seen.segment.sequence_length();
        if length == 0 || seen.class.is_keep_alive {
            return Sending::default();
        }
        let payload = i64::from(seen.segment.payload_bytes);
        let first = seen.start.saturating_add(i64::from(seen.has(flags::SYN)));
        let end = seen.start.saturating_add(i64::from(length));
        let times = &mut self.retransmission_times;
        let sending = self
            .ledger
            .send(seen.start, end, seen.packet.time_ns, |elapsed| {
                times.add(elapsed);
            });
        self.payload_end = self.payload_end.max(first.saturating_add(payload));
        if seen.has(flags::FIN) {
            self.fin.get_or_insert(first.saturating_add(payload));
        }
        self.resent(seen, sending, end);
        if payload > 0 {
            self.data(seen, sending);
        }
        sending
    }

    fn resent(&mut self, seen: &SeenSegment<'_>, sending: Sending, end: i64) {
        let payload = u64::from(seen.segment.payload_bytes);
        let again = sending.again.min(payload);
        self.retransmitted_bytes = self.retransmitted_bytes.saturating_add(again);
        if seen.class.is_retransmission {
            self.causes.resent(&Retransmission {
                start: seen.start,
                end,
                time_ns: seen.packet.time_ns,
                since_last_ns: sending.since_last_ns,
                next: self.ledger.next(),
                peer_window_is_zero: seen.peer_window_is_zero,
            });
        }
    }

    fn data(&mut self, seen: &SeenSegment<'_>, sending: Sending) {
        let payload = u64::from(seen.segment.payload_bytes);
        let add = |count: &mut u64, value: u64| *count = count.saturating_add(value);
        if sending.again == 0 && self.acked.is_none_or(|acked| acked <= 1) {
            add(&mut self.initial_window_segments, 1);
            add(&mut self.initial_window_bytes, payload);
        }
        if seen.peer_window_is_zero && !seen.has(flags::SYN) {
            add(&mut self.window_probes, 1);
            add(&mut self.window_probe_bytes, payload);
        }
    }

    /// Record the payload in flight, without the numbers of SYN and FIN.
    fn in_flight(&mut self, time_ns: i64, is_sample: bool) {
        if let Some(acked) = self.acked {
            let bytes = self.payload_end.saturating_sub(acked.max(1));
            self.flight
                .sent(u64::try_from(bytes).unwrap_or(0), time_ns, is_sample);
        }
    }

    /// Take an ACK of this direction's data from the peer's `segment`.
    pub fn acknowledged(&mut self, ack: i64, segment: &Segment<'_>, class: &Class, time_ns: i64) {
        let acked = self.ledger.acknowledge(ack, time_ns);
        self.trips.acknowledged(ack, acked, time_ns);
        if let Some(Sample::RoundTrip(rtt_ns, _)) = acked.sample {
            self.causes.round_trip(rtt_ns);
        }
        self.causes
            .acknowledged(ack, class.duplicate_ack_count, time_ns);
        let twice = duplicate(segment);
        if let Some(block) = twice {
            self.causes.received_twice(offsets(block, segment, ack));
        }
        for block in segment.options.sack.as_slice() {
            if Some(*block) != twice {
                self.causes.sacked(offsets(*block, segment, ack));
            }
        }
        if self.acked.is_none_or(|acked| acked < ack) {
            self.acked = Some(ack);
            let bytes = self.payload_end.saturating_sub(ack.max(1));
            self.flight
                .change(u64::try_from(bytes).unwrap_or(0), time_ns);
        }
    }
}
