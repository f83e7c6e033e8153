//! TCP connection: both directions, the inferences from their segments, and the HTTP messages.

mod acknowledged;
mod advance;
mod asked_proxy;
mod carried;
mod closing;
mod copies;
mod early;
mod end;
mod facts;
mod finished;
mod hello_pieces;
mod identity;
mod losses;
mod memory;
mod messages;
mod paths;
mod payload;
mod properties;
mod record;
mod recover;
mod refused;
mod reports;
mod roles;
mod round_trips;
mod setup;
mod streams;
mod unacknowledged;
mod usage;

use tcptrace_attribution::{Moment, Profile};
use tcptrace_tcp::{classify, Half, SegmentSize, Side, ACK_AHEAD_MAX};
use trace_model::rows::Direction;
use trace_model::{flags, Mark, Packet, Segment};

use crate::pair_view::IP_BYTES;
use crate::tables::Tables;
use carried::CarriedProtocols;
pub use closing::{Close, Closing};
pub use identity::Identity;
pub use losses::Losses;
use messages::Messages;
use properties::Properties;
use record::Record;
pub use reports::Reports;
use roles::Roles;
use setup::Setup;
use unacknowledged::PendingTransactions;
pub use usage::{FailedTransaction, Usage};

#[derive(Debug)]
pub struct Flow {
    pub id: Identity,
    /// True if the flow waits in the queue of open flows.
    pub is_queued: bool,
    pub first: Half,
    pub second: Half,
    roles: Roles,
    /// First packet, and time of the last packet.
    pub begun: Mark,
    pub end_ns: i64,
    pub setup: Setup,
    pub segment_size: SegmentSize,
    pub carried: CarriedProtocols,
    pub usage: Usage,
    pub closing: Closing,
    unacknowledged: PendingTransactions,
    /// Trackers and record, boxed: flows without them stay small.
    messages: Option<Box<Messages>>,
    record: Option<Box<Record>>,
    /// Profiles of both sides, after the record was dropped.
    profiles: Option<Box<[Option<Profile>; 2]>>,
    /// The flow's share of the memory of all flows.
    held_bytes: u64,
    pub losses: Losses,
    pub reports: Reports,
    pub properties: Properties,
}

impl Flow {
    #[must_use]
    pub fn new(id: Identity, packet: &Packet<'_>, segment: &Segment<'_>) -> Self {
        Flow {
            id,
            is_queued: false,
            first: Half::default(),
            second: Half::default(),
            roles: Roles::of_first(segment),
            begun: Mark {
                frame: packet.frame,
                time_ns: packet.time_ns,
            },
            end_ns: packet.time_ns,
            setup: Setup::default(),
            segment_size: SegmentSize::default(),
            carried: CarriedProtocols::default(),
            usage: Usage::default(),
            closing: Closing::default(),
            unacknowledged: PendingTransactions::default(),
            messages: None,
            record: None,
            profiles: None,
            held_bytes: 0,
            losses: Losses::default(),
            reports: Reports::default(),
            properties: Properties::default(),
        }
    }

    /// Return the half of `side`'s sender and the half of its peer.
    fn halves(&mut self, side: Side) -> (&mut Half, &mut Half) {
        match side {
            Side::First => (&mut self.first, &mut self.second),
            Side::Second => (&mut self.second, &mut self.first),
        }
    }

    #[must_use]
    pub fn half(&self, side: Side) -> &Half {
        match side {
            Side::First => &self.first,
            Side::Second => &self.second,
        }
    }

    #[must_use]
    pub fn client_half(&self) -> &Half {
        self.half(self.client())
    }

    #[must_use]
    pub fn server_half(&self) -> &Half {
        self.half(self.client().other())
    }

    /// Return whether both ends negotiated ECN; `None` without a captured SYN and SYN-ACK.
    #[must_use]
    pub fn has_negotiated_ecn(&self) -> Option<bool> {
        let (client, server) = (self.client_half(), self.server_half());
        let is_known = client.has_syn && server.has_syn;
        is_known.then(|| client.marks.are_negotiated(&server.marks))
    }

    /// Return whether both directions have ended.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.first.has_ended && self.second.has_ended
    }

    fn direction_of(&self, side: Side) -> Direction {
        if side == self.client() {
            Direction::ClientToServer
        } else {
            Direction::ServerToClient
        }
    }

    /// Return whether `segment` starts another connection on the same ports, as tshark numbers tcp.stream.
    ///
    /// A SYN with a number other than this side's initial number starts one. A SYN-ACK or a retransmitted SYN
    /// does not, even after a FIN or RST.
    #[must_use]
    pub fn is_reused_by(&self, side: Side, segment: &Segment<'_>) -> bool {
        segment.has(flags::SYN)
            && !segment.has(flags::ACK)
            && self
                .half(side)
                .sequence
                .initial
                .is_some_and(|initial| initial != segment.seq)
    }

    /// Take the next segment of the flow.
    pub fn segment(
        &mut self,
        side: Side,
        packet: &Packet<'_>,
        segment: &Segment<'_>,
        tables: &mut Tables,
    ) {
        self.end_ns = packet.time_ns;
        let is_syn = segment.has(flags::SYN);
        if is_syn {
            self.handshake(side, packet, segment);
        } else if !self.roles.is_certain && !segment.payload.is_empty() {
            self.orient(side, segment.payload);
        }
        let is_early = self.is_before_syn_ack(side, segment);
        if segment.has(flags::ACK) {
            self.begin_without_syn_ack(side, segment);
        }
        let (sender, peer) = self.halves(side);
        sender.marks.on_segment(packet, segment);
        let start = sender.sequence.offset_of(segment.seq, is_syn);
        let ack = segment
            .has(flags::ACK)
            .then(|| peer.sequence.offset_of_ack(segment.ack))
            .filter(|ack| *ack <= peer.sequence.next.saturating_add(ACK_AHEAD_MAX));
        let window = sender.options.window_bytes(segment, &peer.options, is_syn);
        let place = (start, ack, window);
        let time_ns = packet.time_ns;
        let initial_rtt = self.setup.initial_rtt_ns;
        self.note_properties(side, time_ns, segment, (start, ack));
        let class = if is_early {
            self.count_early(side, segment)
        } else {
            let (sender, peer) = self.halves(side);
            classify(sender, peer, segment, time_ns, start, ack, initial_rtt)
        };
        if !is_early {
            self.recover(side, packet, segment, place, &class, tables);
        }
        self.record(side, packet, segment, place, &class);
        if tables.asked.is(packet.frame) {
            self.ask(side, packet.frame, &mut tables.asked);
        }
        let report = self.report(side, packet, segment, (place, &class), tables);
        if let Some(ack) = ack {
            self.deliver_early(side.other(), ack, tables);
            let is_answered_syn = (is_syn || is_early) && ack > 1 && segment.payload_bytes > 0;
            self.acknowledge(side, packet, (ack, is_answered_syn), tables);
        }
        if is_early {
            self.keep_early(side, packet, segment, tables);
        } else {
            let row = report.as_ref().map(|report| report.number);
            self.advance(side, packet, segment, start, &class, row);
        }
        self.end_report(report, segment, tables);
        if is_early {
            return;
        }
        if self.was_reset() && self.disproves_reset(side, packet.time_ns, segment, class.is_new) {
            self.reopen();
        }
        if !self.carried.is_opaque {
            self.payload(side, packet, segment, start, ack, tables);
        }
        self.close(side, packet, segment, tables);
        // Only payload increases the flow's memory, and only its end reduces it much.
        if segment.payload_bytes > 0 || self.carried.is_opaque {
            self.account(packet, tables);
        }
    }

    /// Take a SYN or SYN-ACK: the client, the options, and the halves of the round trip.
    fn handshake(&mut self, side: Side, packet: &Packet<'_>, segment: &Segment<'_>) {
        let is_syn_ack = segment.has(flags::ACK);
        let packet_bytes = u32::from(segment.header_bytes).saturating_add(IP_BYTES);
        self.setup.syn(moment(packet), is_syn_ack, packet_bytes);
        if !self.roles.is_certain {
            let client = if is_syn_ack { side.other() } else { side };
            self.take_roles(client);
        }
        self.roles.is_certain = true;
        let (sender, _) = self.halves(side);
        sender.begin(segment.seq);
        sender.handshake(segment);
        let (client, server) = (self.client_half(), self.server_half());
        // The SYN had data (RFC 1644, RFC 7413): segments behind it leave room for these options.
        let is_of_data = is_syn_ack && client.sequence.next > 1;
        self.segment_size.negotiated(
            client.options.mss,
            server.options.mss,
            client.options.uses_timestamps && server.options.uses_timestamps,
        );
        if is_of_data {
            self.segment_size.syn_header(segment.header_bytes);
        }
    }
}

fn moment(packet: &Packet<'_>) -> Moment {
    Moment {
        time_ns: packet.time_ns,
        frame: packet.frame,
    }
}
