//! What a segment does to its sender and to its peer: acknowledgments, round trips, waits and pauses.

use tcptrace_tcp::{Class, Side};
use trace_model::{flags, Packet, Segment};

use super::round_trips::Acked;
use super::{moment, Flow};
use crate::observation::PATH_MIN_NS;
use crate::pauses::{AckSeen, Path, SentData};
use crate::recoveries::RecoveryKind;
use crate::tables::Tables;
use crate::waits::{Sent, SentAgain, Waits};

impl Flow {
    /// `side` acknowledged the other's data up to `ack`, maybe with a SYN-ACK that has payload.
    pub(super) fn acknowledge(
        &mut self,
        side: Side,
        packet: &Packet<'_>,
        (ack, window, is_answered_syn): (i64, u32, bool),
        tables: &mut Tables,
    ) {
        let acknowledges_server = side == self.client;
        let (sender, peer) = self.halves(side);
        let last_window = std::mem::replace(&mut sender.last_window_bytes, window);
        let is_new = ack > peer.acked;
        if is_new || window != last_window {
            let path = self.waits_path();
            if let Some(waits) = self.waits.as_mut() {
                waits.acknowledged(acknowledges_server, moment(packet), ack, window, path);
            }
        }
        if !is_new {
            return;
        }
        let (_, peer) = self.halves(side);
        let outstanding_segments = u32::try_from(peer.outstanding.len()).unwrap_or(u32::MAX);
        let outstanding_bytes = peer.flight_bytes();
        let mut covered_ns = packet.time_ns;
        let mut sample = None;
        let segments = &mut tables.segments;
        let (rtt_before, acked_before) = (peer.path_rtt_ns, peer.acked);
        let acknowledged = peer.acknowledge(ack, packet.time_ns, |sent, rtt| {
            covered_ns = sent.time_ns;
            sample = rtt;
            if let Some((row, segments)) = sent.row.zip(segments.as_mut()) {
                segments.acknowledged(row, packet.frame, rtt);
            }
        });
        if is_answered_syn && acked_before < 1 {
            peer.answered_syn_ns = std::mem::replace(&mut peer.path_rtt_ns, rtt_before);
        }
        let seen = AckSeen {
            frame: packet.frame,
            time_ns: packet.time_ns,
            acknowledged,
            covered_ns,
            outstanding_segments,
            outstanding_bytes,
            offered_until: self.offered_until(side, acked_before, last_window),
            bytes: packet.segment.as_ref().map_or(0, |it| it.payload_bytes),
            opens_connection: packet.segment.as_ref().is_some_and(|it| it.has(flags::SYN)),
        };
        if !acknowledges_server {
            let path = self.request_path();
            if let Some(pauses) = self.request_pauses.as_mut() {
                pauses.acknowledged(seen, &path);
            }
            return;
        }
        self.place_of_answered_syn();
        if acknowledged.before <= 1 {
            self.handshake_done(packet, acknowledged.after);
        }
        if self.initial_rtt_ns.is_none() && acknowledged.before <= 1 {
            self.initial_rtt_ns = self
                .syn_ns
                .zip(self.syn_ack_ns)
                .map(|(syn, _)| packet.time_ns.saturating_sub(syn))
                .filter(|rtt| *rtt >= 0);
        }
        if self.is_http {
            let path = self.path();
            self.followed().pauses.acknowledged(seen, &path);
            let newly_acked = acknowledged.after.saturating_sub(acknowledged.before);
            let newly_acked = u64::try_from(newly_acked).unwrap_or(0);
            let acked = u64::try_from(acknowledged.after.saturating_sub(1)).unwrap_or(0);
            let full = path.segment_bytes;
            let acked = Acked {
                until: acked,
                bytes: newly_acked,
                of_bytes: outstanding_bytes,
                full_bytes: full,
            };
            self.note_round_trip(packet, acked, sample, tables);
            self.flush_acknowledged(packet, ack, tables);
        }
    }

    /// Up to where `side` had room before, of which its newest ACK told; how large the unit of its windows is its SYN tells.
    fn offered_until(&self, side: Side, acked: i64, window: u32) -> i64 {
        if self.half(side).has_syn && acked >= 1 {
            acked.saturating_add(i64::from(window))
        } else {
            i64::MAX
        }
    }

    /// The client acknowledged the SYN-ACK, and `acked` of what the server has sent.
    fn handshake_done(&mut self, packet: &Packet<'_>, acked: i64) {
        let segment = packet.segment.as_ref().filter(|_| acked == 1);
        let answer = segment.zip(self.syn_ack_ns).map(|(segment, syn_ack_ns)| {
            let elapsed_ns = packet.time_ns.saturating_sub(syn_ack_ns);
            (elapsed_ns, segment.payload_bytes)
        });
        self.setup.done(moment(packet), answer);
        let path = self.waits_path();
        if let Some((waits, answer)) = self.waits.as_mut().zip(answer) {
            waits.shook_hands(answer, path);
        }
    }

    /// The client's SYN had payload (RFC 1644, RFC 7413) and its SYN-ACK waited for what the application
    /// answered: that is no round trip of the path. Who hears of the client later than a host takes to answer
    /// is not next to it, and is taken to be next to the server; else it may be as far as that.
    fn place_of_answered_syn(&mut self) {
        let Some(rtt_ns) = self.server_half().path_rtt_ns else {
            return;
        };
        let client = self.client;
        // Another connection to that host may have had no answer to wait for.
        let least_ns = self.sharing().to_server_ns.unwrap_or(i64::MAX);
        let (half, _) = self.halves(client);
        if let Some(answered_ns) = half.answered_syn_ns.take() {
            let to_server_ns = if rtt_ns >= PATH_MIN_NS {
                0
            } else {
                answered_ns.min(least_ns)
            };
            half.path_rtt_ns.get_or_insert(to_server_ns);
        }
    }

    /// Tells the waits of data that was sent, or sent again.
    pub(super) fn note_waits(
        &mut self,
        side: Side,
        packet: &Packet<'_>,
        segment: &Segment<'_>,
        start: i64,
        (class, recovery): (&Class, Option<RecoveryKind>),
    ) {
        let path = self.path_of_data();
        let sharing = *self.sharing();
        self.segment_size.others_carry(sharing.largest_bytes);
        if side != self.client {
            self.segment_size.header(segment.header_bytes);
            if segment.has(flags::SYN) {
                self.segment_size.syn_header(segment.header_bytes);
            }
        } else {
            let ends_write = segment.has(flags::PSH);
            self.segment_size
                .client_data(segment.payload_bytes, ends_write);
        }
        // Where no MSS was offered, the first segment is the largest so far.
        let full = match self
            .segment_size
            .full_behind(segment.header_bytes, segment.payload_bytes)
        {
            0 => segment.payload_bytes,
            full => full,
        };
        let segments = self.segment_size.wire_segments(segment.payload_bytes);
        let hole_start = self.half(side).holes.first_start();
        let heard = self.half(side.other()).last_heard();
        let missing_before = self.half(side).missing_before;
        let syn_was_lost = self.half(side).early.is_some() && segment.has(flags::SYN);
        let was_told_of = start < self.half(side).told_next;
        let from_server = side != self.client;
        let nagle_is_off = from_server && self.nagle_is_off();
        let server_had_heard = self.server_had_heard;
        let holds_no_short = from_server && self.holds_no_short();
        let Some(waits) = self.waits.as_mut() else {
            return;
        };
        let at = moment(packet);
        // A SYN has a number, too.
        let first = start.saturating_add(i64::from(segment.has(flags::SYN)));
        let end = first.saturating_add(i64::from(segment.payload_bytes));
        if !class.is_sent_again() {
            let sent = Sent {
                at,
                end,
                bytes: segment.payload_bytes,
                segments,
                full_bytes: full,
                opens_hole: class.gap_before_bytes > 0,
                recovery,
                is_told_by_host: self.host_step.is_some()
                    && class.gap_before_bytes == 0
                    && !was_told_of,
                was_told_of,
                missing_before,
                syn_was_lost,
                is_pushed: segment.has(flags::PSH),
                has_fin: segment.has(flags::FIN),
                nagle_is_off,
                heard: server_had_heard,
                holds_no_short,
                sharing,
            };
            waits.sent(from_server, sent, path);
        } else {
            let sent = SentAgain {
                at,
                start,
                end,
                recovery,
                heard,
                has_sack: self.first.sack_permitted && self.second.sack_permitted,
                due_ns: sharing.due_ns,
                is_for_others: sharing.passed_over > 0 && !segment.has(flags::FIN),
                hole_start,
            };
            waits.sent_again(from_server, sent, path);
        }
    }

    /// Follows the pace of the server's data.
    pub(super) fn server_data(
        &mut self,
        packet: &Packet<'_>,
        segment: &Segment<'_>,
        start: i64,
        (class, recovery): (&Class, Option<RecoveryKind>),
    ) {
        // What had held the first segment behind a loss is not disturbed by it.
        let in_loss_recovery = self.server_half().acked < self.recovery_until;
        if !class.is_new || class.gap_before_bytes > 0 {
            self.recovery_until = self.server_half().next;
            self.usage.server_loss_ns.get_or_insert(packet.time_ns);
        }
        if !class.is_new && !self.is_first_on_syn(segment) {
            let (path, data) = (self.path(), sent_data(packet, segment, start));
            let followed = self.followed();
            followed.pauses.sent_again(data, &path);
            return;
        }
        let acked = self.server_half().acked;
        let ends_write = segment.flags & flags::PSH != 0;
        self.segment_size.header(segment.header_bytes);
        self.segment_size.data(
            packet.frame,
            segment.payload_bytes,
            ends_write,
            acked,
            start,
        );
        if !self.is_http {
            return;
        }
        let (waits, is_shared) = (self.waits.as_deref(), self.sharing().is_shared);
        // A link on which a segment takes longer than the path shows only in what came one by one.
        let one_by_one = waits.map_or(0, |it| it.response_is_on_link_ns(segment.payload_bytes));
        let path = Path {
            service_ns: one_by_one,
            takes_ns: waits.map_or(0, |waits| waits.response_takes_ns(segment.payload_bytes)),
            in_loss_recovery: in_loss_recovery || self.was_sent_before(start, recovery),
            queued_ns: self.sharing().queued_as_told_ns(),
            is_let_go_by_other: is_shared && self.sharing().is_let_go_by_other,
            may_share_window: is_shared || self.sharing().may_be_shared,
            had_room_ns: self.sharing().had_room_ns.filter(|_| is_shared),
            heard_until_ns: self.server_had_heard.until_ns,
            made_buffer_room_ns: waits.and_then(Waits::response_made_buffer_room_ns),
            lowered_bytes: waits.and_then(|it| it.response_lowered_window_bytes(start)),
            written_ns: self
                .sharing()
                .written
                .map(|written| written.came_ns(packet.time_ns)),
            window_bytes: waits
                .filter(|_| !self.sharing().had_loss)
                .map_or(0, Waits::response_window_bytes),
            // Whose SYN was lost begins with a segment (RFC 5681, section 3.1); and who answers a SYN with data keeps more
            // of what connections learn (RFC 1644, section 3.1).
            initial_window_bytes: match self.setup.was_resent() || segment.has(flags::SYN) {
                true => 0,
                false => self.sharing().initial_window_bytes,
            },
            // This connection's own handshake may have stood in a queue.
            sender_rtt_ns: self.quickest_path().to_server_ns,
            segment_bytes: self
                .segment_size
                .full_behind(segment.header_bytes, segment.payload_bytes),
            ..self.path()
        };
        let data = sent_data(packet, segment, start);
        let flight_bytes = self.server_half().flight_bytes();
        let followed = self.followed();
        followed.pauses.sent(data, &path, flight_bytes);
        if recovery.is_some() {
            followed.pauses.was_lost_unseen();
        }
        self.acks_of_requests_come_behind(packet.time_ns, segment.payload_bytes);
    }

    /// Follows the pace of the client's data, from its first segment on: a request may be split
    /// before it can be told that it is one.
    pub(super) fn client_data(
        &mut self,
        packet: &Packet<'_>,
        segment: &Segment<'_>,
        start: i64,
        class: &Class,
    ) {
        if !class.is_new || class.gap_before_bytes > 0 {
            self.request_recovery_until = self.client_half().next;
        }
        self.setup.asked(packet.time_ns, segment.payload_bytes);
        let path = self.request_path();
        let flight_bytes = self.client_half().flight_bytes();
        let pauses = self.request_pauses.get_or_insert_default();
        let data = sent_data(packet, segment, start);
        if class.is_new {
            pauses.sent(data, &path, flight_bytes);
        } else {
            pauses.sent_again(data, &path);
        }
    }

    /// The path of the server's data.
    pub(super) fn path(&self) -> Path {
        let (client, server) = (self.client_half(), self.server_half());
        Path {
            segment_bytes: self.segment_size.full(),
            sender_rtt_ns: self.path_of_data().to_server_ns,
            receiver_rtt_ns: server.path_rtt_ns,
            receive_window: u64::from(client.last_window_bytes),
            in_loss_recovery: server.acked < self.recovery_until,
            takes_ns: 0,
            queued_ns: 0,
            service_ns: 0,
            there_ns: 0,
            window_bytes: 0,
            initial_window_bytes: 0,
            sender_permits_sack: server.sack_permitted,
            is_let_go_by_other: false,
            may_share_window: false,
            had_room_ns: None,
            heard_until_ns: None,
            made_buffer_room_ns: None,
            lowered_bytes: None,
            written_ns: None,
            is_over_when_sent: false,
        }
    }
}

fn sent_data(packet: &Packet<'_>, segment: &Segment<'_>, start: i64) -> SentData {
    let start = u64::try_from(start.saturating_sub(1)).unwrap_or(0);
    SentData {
        frame: packet.frame,
        time_ns: packet.time_ns,
        start,
        end: start.saturating_add(u64::from(segment.payload_bytes)),
        bytes: segment.payload_bytes,
        has_fin: segment.has(flags::FIN),
    }
}
