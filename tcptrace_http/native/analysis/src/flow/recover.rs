//! Loss evidence of a segment, before it advances the two directions.

use tcptrace_http_messages::Message;
use tcptrace_tcp::{Class, Side};
use trace_model::{flags, Packet, Segment};

use super::asked_proxy::is_proxy_request;
use super::messages::half_offset;
use super::Flow;
use crate::pair_view::packet_bytes;
use crate::recoveries::{KnownState, ReceivedAck, Rows, SentSegment, Span};
use crate::tables::Tables;

/// Shortest silence before data that a timer may have sent, for paths of any length.
const SILENCE_MIN_NS: i64 = 10_000_000;
/// Longest time after an ACK within which the ACK has overtaken the data that it reports (Wireshark's limit).
const OVERTAKEN_MAX_NS: i64 = 3_000_000;

impl Flow {
    /// Take a segment and return whether it is part of a recovery.
    ///
    /// The segment starts at offset `start`, acknowledges the other side up to `ack` and announces `window`
    /// bytes.
    pub(super) fn recover(
        &mut self,
        side: Side,
        packet: &Packet<'_>,
        segment: &Segment<'_>,
        place: (i64, Option<i64>, u32),
        class: &Class,
        tables: &mut Tables,
    ) -> bool {
        let is_late = self.number_packet(side, packet, segment);
        let queue_ns = self.note_lateness(side, packet, segment);
        let (start, ack, window) = place;
        let was_reported = self.was_announced(side, packet.time_ns, segment, start);
        let sender = self.half(side);
        let is_silent = sender.identifications.skipped > 0 && {
            let last_ns = sender.last.data.map_or(i64::MIN, |(_, time_ns)| time_ns);
            packet.time_ns.saturating_sub(last_ns) >= SILENCE_MIN_NS
        };
        let is_dense =
            sender.identifications.skipped > 0 && !is_silent && self.losses.host_step.is_none();
        let is_continued = class.is_new && class.gap_before_bytes == 0 && segment.payload_bytes > 0;
        if is_continued {
            let skipped = if is_silent {
                sender.identifications.skipped
            } else {
                0
            };
            let rtt_ns = self.path_rtt_ns();
            let (sender, _) = self.halves(side);
            sender
                .identifications
                .numbering
                .on_new_data(packet.time_ns, skipped, rtt_ns);
        }
        if is_dense && class.is_new && class.gap_before_bytes == 0 && segment.payload_bytes > 0 {
            let (sender, _) = self.halves(side);
            sender.identifications.numbering.mark_shared();
        }
        let sender = self.half(side);
        // New data behind unacknowledged data, after a silence of both sides, may be a probe.
        let is_probe = class.is_new
            && segment.payload_bytes > 0
            && sender.sequence.acked < sender.sequence.next
            && packet.time_ns.saturating_sub(sender.last.packet_ns) >= SILENCE_MIN_NS
            && packet
                .time_ns
                .saturating_sub(self.half(side.other()).last.packet_ns)
                >= SILENCE_MIN_NS;
        let is_trouble = is_probe
            || class.is_retransmission
            || class.is_out_of_order
            || class.is_zero_window
            || class.gap_before_bytes > 0
            || is_silent
            || !segment.options.sack.as_slice().is_empty();
        let mut kind = None;
        if is_trouble || self.losses.recoveries.is_some() {
            let takes_numbers = segment.sequence_length() > 0 && !segment.has(flags::RST);
            let has_evidence = takes_numbers || class.is_keep_alive;
            let sent_and_known = (has_evidence
                && !self.is_calm(side, packet.time_ns, segment, class))
            .then(|| self.sent(side, packet, segment, start, class, is_late))
            .filter(|sent| class.is_new || !self.half(side).is_copy(sent.end, packet.time_ns))
            .map(|sent| {
                let late_ns = queue_ns.max(self.service_ns(side, packet_bytes(segment)));
                (sent, self.known(side, packet.time_ns, start, late_ns))
            });
            let received =
                ack.map(|ack| self.received_ack(side, packet, segment, (ack, window), class));
            let recoveries = self.losses.recoveries.get_or_insert_default();
            let is_news =
                received.is_some_and(|received| recoveries.on_ack(side.other(), &received));
            if let Some((sent, known)) = sent_and_known {
                kind = recoveries.sent(side, &sent, &known);
            }
            if is_news {
                self.place_recovery(side.other());
            }
            if kind.is_some() {
                self.place_recovery(side);
                self.write_recoveries(packet.time_ns, false, tables);
            }
        }
        let passed_over = self.losses.host_step.map(|step| step.passed_over);
        let acked = self.half(side.other()).sequence.acked.max(ack.unwrap_or(0));
        let (sender, _) = self.halves(side);
        sender.last.packet_ns = packet.time_ns;
        // A copy of data without a new ACK does not restart the timer (RFC 6298, section 5.3). The copy is no
        // duplicate ACK (RFC 5681, section 2).
        let is_copy = class.is_retransmission && segment.payload_bytes > 0;
        if !is_copy || acked > sender.last.news_acked {
            sender.last.news_ns = packet.time_ns;
            sender.last.news_acked = acked;
        }
        if segment.payload_bytes > 0 {
            sender.last.data = Some((packet.frame, packet.time_ns));
            let numbers = &mut sender.identifications;
            numbers.missing_before = numbers.restart(passed_over).max(u32::from(was_reported));
        } else if !is_late && has_no_data_before(segment, start, sender.sequence.next) {
            sender.identifications.restart(passed_over);
        }
        kind.is_some()
    }

    /// Return whether an earlier ACK showed that this data had been sent.
    ///
    /// A segment without data carries the number of its sender's next byte (RFC 9293, section 3.10.7.4). Data
    /// before that number that arrives later was lost on its way.
    fn was_announced(
        &mut self,
        side: Side,
        time_ns: i64,
        segment: &Segment<'_>,
        start: i64,
    ) -> bool {
        let (sender, _) = self.halves(side);
        let is_control = segment.flags & (flags::SYN | flags::FIN | flags::RST) != 0;
        if segment.payload_bytes == 0 {
            if sender.has_syn && segment.has(flags::ACK) && !is_control {
                sender.sequence.announced_next = sender.sequence.announced_next.max(start);
            }
            return false;
        }
        let is_overtaken = time_ns.saturating_sub(sender.last.packet_ns) <= OVERTAKEN_MAX_NS;
        (sender.sequence.next..sender.sequence.announced_next).contains(&start) && !is_overtaken
    }

    /// Return whether a segment is new data directly behind other data, without a gap.
    ///
    /// No recovery and no closed window is open. The segment is then part of no recovery and no probe.
    fn is_calm(&self, side: Side, time_ns: i64, segment: &Segment<'_>, class: &Class) -> bool {
        let sender = self.half(side);
        let last_ns = sender.last.data.map(|(_, last_ns)| last_ns);
        class.is_new
            && class.gap_before_bytes == 0
            && sender.identifications.skipped == 0
            && !segment.has(flags::SYN)
            && last_ns.is_some_and(|last_ns| time_ns.saturating_sub(last_ns) < SILENCE_MIN_NS)
            && self
                .losses
                .recoveries
                .as_ref()
                .is_none_or(|recoveries| !recoveries.is_active(side))
    }

    /// Take the IP identification of a packet, and return whether it was sent before an earlier captured
    /// packet.
    #[inline]
    fn number_packet(&mut self, side: Side, packet: &Packet<'_>, segment: &Segment<'_>) -> bool {
        if side == self.client() && !self.losses.is_of_proxy {
            self.losses.is_of_proxy = is_proxy_request(segment.payload);
        }
        let segments = self.segment_size.wire_segments(segment.payload_bytes);
        let identification = packet.network.map_or(0, |network| network.identification);
        // A proxy also sends packets to other hosts.
        let is_from_proxy = self.losses.is_of_proxy && side != self.client();
        let host_step = self.losses.host_step;
        let is_of_several = self.losses.is_counter_shared;
        let numbers = &mut self.halves(side).0.identifications;
        if is_of_several {
            numbers.numbering.refute_shared_counter();
        }
        numbers.number(identification, segments, host_step, is_from_proxy)
    }

    /// Return the queueing delay of the packet by its sender's clock; 0 if unknown.
    #[inline]
    fn note_lateness(&mut self, side: Side, packet: &Packet<'_>, segment: &Segment<'_>) -> i64 {
        let from_server = side != self.client();
        let Some(stamps) = segment.options.timestamps else {
            return 0;
        };
        let (sender, _) = self.halves(side);
        let lateness = sender.clock.lateness_ns(packet.time_ns, stamps.value);
        if let Some(lateness) = lateness
            .filter(|_| from_server && segment.payload_bytes > 0 && !self.carried.has_streams)
        {
            self.messages()
                .queues
                .data(packet.frame, packet.time_ns, lateness);
        }
        lateness.unwrap_or(0)
    }

    fn sent(
        &self,
        side: Side,
        packet: &Packet<'_>,
        segment: &Segment<'_>,
        start: i64,
        class: &Class,
        is_late: bool,
    ) -> SentSegment {
        let sender = self.half(side);
        let counts = sender.identifications.numbering.counts() || self.losses.host_step.is_some();
        let network = packet.network.filter(|_| counts);
        let on_link_ns = self.service_ns(side, packet_bytes(segment));
        SentSegment {
            frame: packet.frame,
            time_ns: packet.time_ns,
            start,
            end: start.saturating_add(i64::from(segment.sequence_length())),
            payload_bytes: segment.payload_bytes,
            is_syn: segment.has(flags::SYN),
            is_syn_ack: segment.has(flags::SYN | flags::ACK),
            class: *class,
            timestamp: segment.options.timestamps.map(|stamps| stamps.value),
            identification: network.map_or(0, |network| network.identification),
            skipped_identifications: sender.identifications.skipped,
            is_gap_own: sender.identifications.is_own_gap(),
            is_numbered_by_host: self.losses.host_step.is_some(),
            is_late,
            on_link_ns,
        }
    }

    /// Return the known state for data of `side` that starts at offset `start`.
    ///
    /// `late_ns` is the delay by queues and serialization on the path.
    fn known(&self, side: Side, time_ns: i64, start: i64, late_ns: i64) -> KnownState {
        let (sender, peer) = (self.half(side), self.half(side.other()));
        let to_sender = self.least_way_ns(side);
        let at_sender = |then: i64| then.saturating_add(to_sender.unwrap_or(0));
        // Queueing and serialization delay the arrival, so the data was sent earlier.
        let since_heard = time_ns
            .saturating_sub(at_sender(peer.last.news_ns))
            .saturating_sub(late_ns);
        let is_outstanding = start >= sender.sequence.acked && start < sender.sequence.next;
        let original = is_outstanding.then(|| {
            let at = sender.outstanding.partition_point(|sent| sent.end <= start);
            sender.outstanding.get(at)
        });
        KnownState {
            original: original.flatten().map(|sent| (sent.frame, sent.time_ns)),
            next: sender.sequence.next,
            acked: sender.sequence.acked,
            last_data: sender.last.data,
            peer_data_ns: peer.last.data.map(|(_, then)| at_sender(then)),
            peer_new_data_ns: peer
                .last
                .data
                .filter(|(_, then)| peer.last.advanced_ns < *then)
                .map(|_| at_sender(peer.last.advanced_ns)),
            since_received_ns: if peer.counts.packets > 0 {
                since_heard
            } else {
                i64::MAX
            },
            duplicate_acks: peer.acks.duplicates_in_a_row,
            rtt_ns: self.path_rtt_ns(),
            sender_path_ns: to_sender,
            segment_bytes: self.segment_size.full(),
            has_no_probes: sender.has_syn
                && peer.has_syn
                && !(sender.options.sack_permitted && peer.options.sack_permitted),
        }
    }

    /// Return the ACK of `side` for the data of the other side.
    fn received_ack<'a>(
        &self,
        side: Side,
        packet: &Packet<'_>,
        segment: &'a Segment<'a>,
        (ack, window): (i64, u32),
        class: &Class,
    ) -> ReceivedAck<'a> {
        let is_control = segment.flags & (flags::SYN | flags::FIN | flags::RST) != 0;
        ReceivedAck {
            frame: packet.frame,
            time_ns: packet.time_ns,
            ack,
            window: (!is_control).then_some(window),
            segment,
            class: *class,
            receiver_path_ns: self.least_way_ns(side),
        }
    }

    /// Assign a retransmission to a complete transaction that waits for its last ACK.
    fn place_recovery(&mut self, side: Side) {
        let is_client = side == self.client();
        let Some(recoveries) = self.losses.recoveries.as_mut() else {
            return;
        };
        if let Some(offset) = recoveries.unplaced(side) {
            if let Some(span) = self.unacknowledged.span_at(is_client, offset) {
                recoveries.place(side, span);
            }
        }
    }

    /// Assign the losses of a complete transaction to it.
    pub(super) fn place_recoveries(&mut self, request: Option<Span>, response: Option<Span>) {
        let client = self.client();
        let Some(recoveries) = self.losses.recoveries.as_mut() else {
            return;
        };
        for (side, span) in [(client, request), (client.other(), response)] {
            if let Some(span) = span {
                recoveries.place(side, span);
            }
        }
    }

    pub(super) fn write_recoveries(&mut self, now_ns: i64, all: bool, tables: &mut Tables) {
        let (client, rtt_ns) = (self.client(), self.path_rtt_ns());
        if let Some(recoveries) = self.losses.recoveries.as_mut() {
            let mut to = Rows {
                flow: self.id.number,
                has_messages: self.carried.has_messages(),
                client,
                rtt_ns,
                rows: &mut tables.of_flows.recoveries,
            };
            recoveries.write(&mut to, now_ns, all);
        }
    }
}

/// Return the offsets of a message of transaction `index` in its half.
pub(super) fn span_of(index: u32, message: Option<&Message>) -> Option<Span> {
    message.map(|message| Span {
        transaction: index,
        start: half_offset(message.start),
        end: half_offset(message.end),
    })
}

/// Return whether the segment's number shows that no data is missing before it.
///
/// A segment without data carries the number of its sender's next byte (RFC 9293, section 3.10.7.4). Missing
/// packets before it were ACKs.
fn has_no_data_before(segment: &Segment<'_>, start: i64, next: i64) -> bool {
    let is_control = segment.flags & (flags::SYN | flags::FIN | flags::RST) != 0;
    segment.payload_bytes == 0 && segment.has(flags::ACK) && !is_control && start == next
}
